"""Which option of ``import`` would make the paths of a patch name files that are there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from opencoti_patches.core.model import Entry, Series
from opencoti_patches.core.shell import word
from opencoti_patches.plan.listing import Listing
from opencoti_patches.series.parse import parse

_DEEPEST = 5  # strip levels that are tried


def hint(entry: Entry, series: Series, listing: Listing, folders: Sequence[str], patches: str) -> str:
    """What to do about a patch whose files are not there; empty if its paths fit, or nothing makes them.

    ``patches`` is the patches folder as people type it; ``folders`` are where the sources of the base stand in the tree. Files that other patches create count
    as there.
    """
    made = {
        f.new
        for e in series.entries
        if e.name != entry.name
        for f in parse(e.raw, e.strip, e.reverse).files
        if f.new and f.operation != "modify"
    }

    def there(path: str) -> bool:
        return path in made or listing.get(path) is not None

    if _fits(entry, entry.strip, "", there):
        return ""
    for strip, folder in _options(entry, listing, folders):
        if _fits(entry, strip, f"{folder}/" if folder else "", there):
            if not folder:
                return f"its paths fit with -p{strip}: write '{entry.name} -p{strip}' into the series file"
            if strip != entry.strip:
                return f"its paths fit with -p{strip} under {folder}: write '{entry.name} -p{strip}' into the series file, then check again"
            option = f"--directory {word(folder)}"
            return f"opencoti-patches import {option} {word(f'{patches}/{entry.name}')}"
    return ""


def _options(entry: Entry, listing: Listing, folders: Sequence[str]) -> Iterator[tuple[int, str]]:
    levels = [entry.strip, *(n for n in range(_DEEPEST + 1) if n != entry.strip)]
    for strip in levels:
        known = dict.fromkeys([*([""] if strip != entry.strip else []), *filter(None, folders)])
        yield from ((strip, folder) for folder in known)
    for strip in levels:
        first = next(iter(_wanted(entry, strip)), None)
        for path in listing.named(first.rsplit("/", 1)[-1]) if first else ():
            if path.endswith(f"/{first}"):
                yield strip, path[: -len(f"/{first}")]


def _wanted(entry: Entry, strip: int) -> list[str]:
    files = parse(entry.raw, strip, entry.reverse).files
    return [f.old or "" for f in files if f.operation != "create"]


def _fits(entry: Entry, strip: int, under: str, there: Callable[[str], bool]) -> bool:
    wanted = _wanted(entry, strip)
    return bool(wanted) and all(p and there(under + p) for p in wanted)
