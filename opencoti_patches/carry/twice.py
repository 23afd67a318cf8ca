"""Lines that a patch adds and that upstream has put into the same file meanwhile: mostly it took the patch, in another
form or at another place, and now both would stand there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from opencoti_patches.carry.align import Alignment
from opencoti_patches.plan.places import squeezed

_SAYS = 6  # bytes of a line that says something, more than these
_SHARE = 1 / 3  # of the new lines that upstream must have put: fewer are the phrases of a language or a project


def twice(added: Mapping[int, Sequence[bytes]], a: Alignment) -> Iterator[tuple[int, str]]:
    """By hunk, how many of the lines that it adds, of those that the old file had not, upstream has put into it, and where
    one stands; no hunk of which it has few. ``added`` are the lines of a patch for the file, by hunk. One that either
    side puts there more than once is a phrase, too."""
    said = {hunk: [text for line in lines if len(text := squeezed(line)) > _SAYS] for hunk, lines in added.items()}
    if not any(text in a.put for texts in said.values() for text in texts):
        return
    had = set(map(squeezed, a.old))
    times = Counter(text for texts in said.values() for text in texts)
    for hunk, texts in said.items():
        new = [text for text in texts if text not in had]
        there = [text for text in new if times[text] == 1 and len(a.put.get(text, ())) == 1]
        if there and len(there) >= _SHARE * len(new):
            what = f"{len(there)} of the {len(new)} new lines" if len(new) > 1 else "the line"
            line = a.put[there[0]][0] + 1
            yield hunk, f"upstream has put {what} that it adds into the file, too, at line {line}"
