"""What patches are called: the number that a file name begins with, and which of several names a word means."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from opencoti_patches.core.errors import UsageError
from opencoti_patches.core.model import PatchName

_NUMBER = re.compile(r"(\d+)[-_.]")


def number_of(name: str) -> int | None:
    """The number a patch file's name begins with, or None."""
    m = _NUMBER.match(name.rsplit("/", 1)[-1])
    return int(m[1]) if m else None


def short(name: str) -> str:
    """How people call a patch: its number where it has one."""
    return name.split("-", 1)[0] if "/" not in name and number_of(name) is not None else name


def called(name: str, names: Sequence[str]) -> str:
    """A patch of ``names`` as a word of a command line: its number, where ``find`` takes that for it, else its name."""
    from opencoti_patches.core.shell import word

    number = short(name)
    try:
        alone = meant(names, (), number)[0] == name
    except UsageError:  # another has the number, too
        alone = False
    return word(number if alone else name)


def numeric_order(name: str) -> tuple[int, int, str]:
    """Sort key: numbered patches by number, then the rest by name."""
    number = number_of(name)
    return (1, 0, name) if number is None else (0, number, name)


def meant(
    names: Iterable[str], others: Iterable[str], wanted: str
) -> tuple[PatchName, None] | tuple[None, PatchName | None]:
    """The one of ``names`` that ``wanted`` means, or else the one of ``others``. A whole name or number of either goes
    before a part of a name: 4 is not 0034 where 0004 is disabled. Errors: UsageError ``ambiguous-patch``."""
    for look in (_exactly, _partly):
        if hit := look(names, wanted):
            return hit, None
        if other := look(others, wanted):
            return None, other
    return None, None


def _exactly(names: Iterable[str], wanted: str) -> PatchName | None:
    """The one that has this name or this number."""
    text = wanted.strip().removeprefix("./")
    tests: Sequence[Callable[[str], bool]] = (
        lambda n: n == text,
        lambda n: n.rsplit("/", 1)[-1] == text.rsplit("/", 1)[-1],
        lambda n: text.isdecimal() and len(text) < 20 and number_of(n) == int(text),
        lambda n: n.rsplit(".", 1)[0] == text,
    )
    return next((hit for test in tests if (hit := _only(filter(test, names), wanted))), None)


def _partly(names: Iterable[str], wanted: str) -> PatchName | None:
    """The one with this in its name."""
    text = wanted.strip().removeprefix("./").lower()
    return _only((n for n in names if text in n.lower()), wanted)


def _only(found: Iterable[str], wanted: str) -> PatchName | None:
    hits = list(found)
    if len(hits) > 1:
        shown = ", ".join(hits[:4]) + (", …" if len(hits) > 4 else "")
        raise UsageError(
            "ambiguous-patch", f"'{wanted}' is part of {len(hits)} patches: {shown}", "give more of the name"
        )
    return PatchName(hits[0]) if hits else None
