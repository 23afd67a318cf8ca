"""How added lines follow upstream: an identifier it renamed, a block it re-indented, an edit of the line
they replace. Only what the diff of old and new file proves."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from functools import cached_property

from opencoti_patches.carry.align import Alignment, Region, tokens
from opencoti_patches.carry.edits import WORD, Edits
from opencoti_patches.core.model import printable

_COUNTS = re.compile(rb"(?i)count|num|total|max|size|last")
_DIRECTIVE = re.compile(rb"#\s*(?:if|ifdef|ifndef|elif|else|endif|define|undef|include|pragma|error)\b")
_NEAR = 12  # lines around a change whose indentation speaks for it


class Follower:
    """What upstream's edits of one file mean for lines that a patch adds to it."""

    def __init__(self, alignment: Alignment) -> None:
        self.a = alignment
        self._edits = Edits(alignment)

    def lines(self, added: Sequence[bytes], near: int | None, inserted: bool = False) -> tuple[list[bytes], list[str]]:
        """Added lines as upstream would have them at old line ``near``, or ``inserted`` before that, and in words what was
        followed; None where their indentation is right already."""
        lines, words = list(added), []
        if renamed := self._edits.renamed(b"".join(lines)):
            lines = [WORD.sub(lambda m: renamed.get(m[0], m[0]), line) for line in lines]
            words += [f"follows the renaming of {w.decode()} to {now.decode()}" for w, now in renamed.items()]
        for old, new in self._edits.pieces(b"".join(lines)):
            now = _replaced(b"".join(lines), old, new).splitlines(keepends=True)
            if now != lines:
                lines = now
                words.append(f"follows the change of '{_shown(old)}' to '{_shown(new)}'")
        deeper = None if near is None else self.indent(near, lines, inserted)
        if deeper is not None and any(line.strip() for line in lines):
            lines = [shifted(line, *deeper) for line in lines]
            words.append("follows the new indentation")
        if (ends := self._ends) and any(line.endswith(b"\n") and not _ends_so(line, ends) for line in lines):
            lines = [_body(line) + ends if line.endswith(b"\n") else line for line in lines]
            words.append("follows the new line ends")
        if any(_trailing(line) for line in lines) and self._tidy:
            lines = [
                _body(line).rstrip(b" \t") + line[len(_body(line)) :] if _trailing(line) else line for line in lines
            ]
            words.append("trailing white space taken off its added lines")
        return lines, words

    def expect(self, text: bytes) -> None:
        """See ``Edits``: all lines that will be asked about."""
        self._edits.expect(text)

    def outdated(self, text: bytes) -> list[tuple[str, str]]:
        """What of this text upstream calls or puts otherwise by now, and how."""
        names = [(w.decode(), now.decode()) for w, now in self._edits.renamed(text).items()]
        pieces = [(_shown(a), _shown(b)) for a, b in self._edits.pieces(text) if _replaced(text, a, b) != text]
        return names + pieces

    def merged(self, old: Sequence[bytes], new: Sequence[bytes], added: Sequence[bytes]) -> list[bytes] | None:
        """``added`` with the edits that lead from ``old`` to ``new``, word by word; None where both change the same words, or
        where it is not known which line replaces which."""
        pairs = dict(enumerate(range(len(old)))) if len(old) == len(added) else _pairs(old, added)
        if len(pairs) < len(old):
            return None
        found = list(added)
        for i, j in pairs.items():
            one = merge_words(tokens(old[i]), tokens(new[i]), tokens(added[j]))
            if one is None:
                return None
            found[j] = b"".join(one)
        return found

    def respaced(self, old: Sequence[bytes], new: Sequence[bytes], added: Sequence[bytes]) -> list[bytes] | None:
        """``added`` with the white space that upstream gave the lines that they replace, where ``old`` and ``new`` differ
        in that alone; None if it is not known which line replaces which."""
        if len(old) == len(added):
            return self.merged(old, new, added)
        found = list(added)
        for i, j in _pairs(old, added).items():
            one = self.merged(old[i : i + 1], new[i : i + 1], added[j : j + 1])
            found[j] = one[0] if one else found[j]
        return found

    def head(self, near: int, ours: Sequence[bytes]) -> tuple[int, int] | None:
        """The head of the block in which lines are inserted before old line ``near``, and the line that it is now; None where
        there is none near by, or it is gone."""
        deep = next((depth(x) for x in ours if tells_depth(x)), 0)
        above = range(near - 1, max(near - 2 * _NEAR, -1), -1)
        first = next((i for i in above if tells_depth(self.a.old[i]) and depth(self.a.old[i]) < deep), None)
        now = None if first is None else self.a.now(first)
        return None if first is None or now is None else (first, now)

    def _block(self, near: int, ours: Sequence[bytes]) -> tuple[bytes, bytes] | None:
        """How the block was indented anew in which lines are inserted before old line ``near``; None where the lines beside
        are as they were."""
        a = self.a
        stay = near > 0 and a.exact[near - 1] is not None and a.exact[near] is not None
        head = None if stay else self.head(near, ours)
        return shift(a.old[head[0]], a.new[head[1]]) if head else None

    @cached_property
    def _ends(self) -> bytes:
        """What upstream made of the end of every line, LF or CR LF; empty if it left them as they were."""
        was, now = ({line.endswith(b"\r\n") for line in x if line.endswith(b"\n")} for x in (self.a.old, self.a.new))
        return (b"\r\n" if True in now else b"\n") if len(was) == len(now) == 1 and was != now else b""

    @cached_property
    def _tidy(self) -> bool:
        """Whether no line of the new file ends in white space."""
        return not any(map(_trailing, self.a.new))

    def indent(self, near: int, ours: Sequence[bytes] = (), inserted: bool = False) -> tuple[bytes, bytes] | None:
        """How the lines around old line ``near`` were re-indented: (white space taken from the front, put there); None if
        they were not, or do not agree. Where one of them is as deep as ``ours`` it speaks for these, and no other."""
        found: list[tuple[bytes, tuple[bytes, bytes]]] = []
        for side in (range(near - 1, max(near - _NEAR, -1), -1), range(near, min(near + _NEAR, len(self.a.old)))):
            first = next((i for i in side if self.a.old[i].strip()), None)
            j = None if first is None else self.a.now(first)
            if first is not None and j is not None:
                found.append((_front(self.a.old[first]), shift(self.a.old[first], self.a.new[j])))
        front = next((_front(line) for line in ours if line.strip()), None)
        agreed = {s for own, s in found if own == front} or {s for _, s in found}
        if len(agreed) > 1 and inserted:
            both = all(taken != put for taken, put in agreed)
            one = min(agreed, key=lambda s: len(s[1]) - len(s[0])) if both else self._block(near, ours)
            agreed = {one} if one else set()
        taken, put = agreed.pop() if len(agreed) == 1 else (b"", b"")
        return None if taken == put else (taken, put)


def _pairs(old: Sequence[bytes], added: Sequence[bytes]) -> dict[int, int]:
    """Which of the added lines an old one became."""
    return Alignment(old, added, [Region(0, len(old), 0, len(added))]).edited


def _replaced(text: bytes, old: bytes, new: bytes) -> bytes:
    """The text with a piece of code replaced, but not where it is a part of longer words."""
    left = rb"(?<!\w)" if re.match(rb"\w", old) else b""
    right = rb"(?!\w)" if re.search(rb"\w\Z", old) else b""
    return re.sub(left + re.escape(old) + right, lambda _: new, text)


def _shown(piece: bytes) -> str:
    return printable(piece.decode("utf-8", "surrogateescape").strip())


def _body(line: bytes) -> bytes:
    """A line without the end of it, LF or CR LF."""
    return line.removesuffix(b"\n").removesuffix(b"\r")


def _ends_so(line: bytes, end: bytes) -> bool:
    return line == _body(line) + end


def _trailing(line: bytes) -> bool:
    return _body(line) != _body(line).rstrip(b" \t") and line.endswith(b"\n")


def _front(line: bytes) -> bytes:
    return line[: len(line) - len(line.lstrip(b" \t"))]


def shift(old: bytes, new: bytes) -> tuple[bytes, bytes]:
    """The part of two indentations that differs: what they share at the end is the block's own."""
    a, b = _front(old), _front(new)
    same = 0
    while same < min(len(a), len(b)) and a[len(a) - 1 - same] == b[len(b) - 1 - same]:
        same += 1
    return a[: len(a) - same], b[: len(b) - same]


def tells_depth(line: bytes) -> bool:
    """Whether the indentation of a line says how deep the code is there: not of a blank one, nor of one for the preprocessor
    that stands in the first column."""
    return bool(line.strip()) and not _DIRECTIVE.match(line)


def depth(line: bytes) -> int:
    """How deep a line is indented, a tab as up to the next of every four columns."""
    return len(_front(line).expandtabs(4))


def shifted(line: bytes, taken: bytes, put: bytes) -> bytes:
    """A line with its indentation changed; a blank one, or one that lacks it, as it is, and so one for the
    preprocessor that stands in the first column, whatever is around it."""
    if _DIRECTIVE.match(line):
        return line
    return put + line[len(taken) :] if line.strip() and line.startswith(taken) else line


def merge_words(old: Sequence[bytes], theirs: Sequence[bytes], ours: Sequence[bytes]) -> list[bytes] | None:
    """Three-way merge of token lists; None if both sides change the same words. What both insert at one
    place comes one behind the other, theirs first: a parameter that each appends to a list."""
    edits_a, edits_b = _edits(old, theirs), _edits(old, ours)
    for lo, hi, new in edits_a:
        for lo2, hi2, new2 in edits_b:
            if (lo, hi, new) == (lo2, hi2, new2) or (lo == hi == lo2 == hi2):
                continue
            if (lo < hi2 and lo2 < hi) or lo == lo2 or (lo == hi and lo2 < lo < hi2) or (lo2 == hi2 and lo < lo2 < hi):
                return None
    merged: list[bytes] = []
    at = 0
    for lo, hi, new in [*dict.fromkeys(sorted([*edits_a, *edits_b], key=lambda e: (e[0], e[1])))]:
        merged += [*old[at:lo], *new]
        at = hi
    return [*merged, *old[at:]]


def _edits(old: Sequence[bytes], new: Sequence[bytes]) -> list[tuple[int, int, tuple[bytes, ...]]]:
    ops = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return [(a, b, tuple(new[c:d])) for tag, a, b, c, d in ops if tag != "equal"]


def counted(old: bytes, theirs: bytes, ours: bytes) -> bytes | None:
    """A line that counts something (its words say so) and in which both sides stepped the same numbers
    the same way: each number moved by both steps. None for any other line."""
    rows = [tokens(x) for x in (old, theirs, ours)]
    if len({len(r) for r in rows}) != 1 or not _COUNTS.search(old):
        return None
    merged, moved = [], False
    for o, t, m in zip(*rows, strict=True):
        if o == t == m:
            merged.append(o)
        elif all(x.isdigit() for x in (o, t, m)) and (int(t) - int(o)) * (int(m) - int(o)) > 0:
            merged.append(b"%d" % (int(t) + int(m) - int(o)))
            moved = True
        else:
            return None
    return b"".join(merged) if moved else None
