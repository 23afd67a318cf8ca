"""Numbers and names of patches that join a series, after the habit of those that are there."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import count, pairwise

from opencoti_patches.core.errors import Refused, UsageError
from opencoti_patches.core.model import printable
from opencoti_patches.series.naming import number_of
from opencoti_patches.series.order import SUFFIXES

_WIDTH = 4  # of the numbers of a series that has none yet
_LONGEST = 57  # characters of a name without its ".patch", as git format-patch has it
_MAIL_SUFFIXES = (".txt", ".eml", ".mail", ".mbox", ".mbx")
_RUNS = 3  # of free numbers that are named
_MAKE_ROOM = "--renumber makes room: the later patches get the next numbers"


class Numbers:
    """Gives numbers to patches that come behind the first ``at`` of ``names``, one after the other.

    Numbers are unique and ascend within a folder; ``folder`` is the one in question, "" for the series'
    own. A series is numbered if most of its patches are; an empty one counts as numbered. With
    ``renumber`` the later patches make room. ``beside``: patch files that no line lists, such as disabled ones, whose
    numbers are theirs still.
    """

    def __init__(
        self, names: Sequence[str], at: int, *, folder: str = "", renumber: bool = False, beside: Sequence[str] = ()
    ) -> None:
        self._taken = {number_of(n): n for n in beside if folder_of(n) == folder}
        self._given: set[int] = set()
        self.numbered = not names or 2 * sum(number_of(n) is not None for n in names) > len(names)
        self._names = [n for n in names if folder_of(n) == folder]
        self._later = [n for n in names[at:] if folder_of(n) == folder]
        before = [n for n in names[:at] if folder_of(n) == folder]
        self._last = max((x for n in before if (x := number_of(n)) is not None), default=-1)
        self._limit = min((x for n in self._later if (x := number_of(n)) is not None), default=None)
        self.width = _width([*reversed(before), *self._later])
        self._behind = before[-1] if before else ""
        if renumber:
            self._limit = None

    def fits(self, number: int) -> bool:
        """Whether a patch may have this number here."""
        free = number not in self._taken and number > self._last
        return free and (self._limit is None or number < self._limit)

    def room(self) -> str:
        """Which numbers a patch may have here, in words: ``0032 to 0039 fit``; empty if none."""
        if self._limit is None:
            return f"{self.written(self._free(max(self._last, 0)))} and those behind it fit"
        begin = max(self._last, 0)
        edges = [begin, *sorted(n for n in self._taken if n and begin < n < self._limit), self._limit]
        runs = [(a + 1, b - 1) for a, b in pairwise(edges) if b - a > 1]
        words = [self.written(a) if a == b else f"{self.written(a)} to {self.written(b)}" for a, b in runs]
        more = ["…"] if len(words) > _RUNS else []
        one = len(runs) == 1 and runs[0][0] == runs[0][1]
        return f"{', '.join([*words[:_RUNS], *more])} fit{'s' * one}" if words else ""

    def next(self) -> int:
        """The next number. Errors: Refused ``no-number``."""
        number = self._free(max(self._last, 0))
        if not self.fits(number):
            raise Refused("no-number", f"no number is free {self._around()}", _MAKE_ROOM)
        return self.take(number)

    def _free(self, behind: int) -> int:
        return next(n for n in count(behind + 1) if n not in self._taken)

    def take(self, number: int) -> int:
        """This number. Errors: Refused ``no-number`` if it does not fit."""
        if not self.fits(number):
            other = self._taken.get(number)
            what = (
                f"is that of {printable(other)}, which lies beside the series"
                if other
                else f"has no place {self._around()}"
            )
            room = self.room()
            raise Refused(
                "no-number",
                f"the number {self.written(number)} {what}",
                f"{room}; a name without a number gets the first of them" if room else _MAKE_ROOM,
            )
        self._last = number
        self._given.add(number)
        return number

    def _around(self) -> str:
        later = next(n for n in self._later if number_of(n) == self._limit) if self._limit is not None else ""
        around = " and ".join(printable(n) for n in (self._behind, later) if n)
        return f"{'between' if ' and ' in around else 'beside'} {around}"

    def named(self, wanted: str, words: str) -> str:
        """The file name for a patch that somebody calls ``wanted``: a number in that is the patch's, if it fits; without
        one it is the next. ``words`` stand behind a number alone. Errors: UsageError ``bad-name``; Refused
        ``no-number``."""
        number, rest = parted(wanted)
        if number is not None:  # somebody knows which one it is to have
            return f"{self.written(self.take(number))}{rest or f'-{words}'}.patch"
        return self.next_named(rest)

    def next_named(self, words: str) -> str:
        """The file name with the next number, where the patches have numbers. Errors: Refused ``no-number``."""
        return f"{self.written(self.next())}-{words}.patch" if self.numbered else f"{words}.patch"

    def written(self, number: int) -> str:
        """A number as this series writes it."""
        return f"{number:0{self.width}d}"

    def shifted(self) -> dict[str, str]:
        """New names of the later patches that must make room for the numbers given: those alone whose number is
        another's now, whatever the order of the numbers was; each gets the next one behind those before it."""
        renamed = {}
        last, given = self._last, set(self._given)
        for name in self._later:
            number = number_of(name)
            if number is None:
                continue
            if number in given:
                number = self._free(last)
                given.add(number)
                renamed[name] = with_number(name, number)
            last = max(last, number)
        return renamed


def parted(wanted: str) -> tuple[int | None, str]:
    """The number with which a name begins that somebody gives a patch, and what is behind it; a suffix is left out.
    Errors: UsageError ``bad-name``."""
    stem = _without_suffix(wanted)
    if not re.fullmatch(r"(?!\d{10})[A-Za-z0-9_][\w.+-]*", stem, re.A):
        hint = f"for instance {close}" if (close := possible(wanted)) else "use letters, digits, '-', '_' and '.'"
        raise UsageError("bad-name", f"a patch cannot be called {wanted!r}", hint)
    m = re.fullmatch(r"(\d+)([-_.].*)?", stem)
    if not m:
        return None, stem
    rest = m[2] or ""
    return int(m[1]), rest if rest.strip("-_.") else ""


def possible(wanted: str) -> str:
    """The name that is nearest to one that no patch can have; may be empty."""
    return re.sub(r"^(?:[^A-Za-z0-9_]|\d{10,})+", "", slug(_without_suffix(wanted)))


def _without_suffix(wanted: str) -> str:
    return next((wanted[: -len(s)] for s in SUFFIXES if wanted.endswith(s)), wanted)


def with_number(name: str, number: int) -> str:
    """A numbered patch's name with another number, as wide as its own."""
    head, tail = folder_of(name), name.rsplit("/", 1)[-1]
    rest = tail.lstrip("0123456789")
    return f"{head}{number:0{len(tail) - len(rest)}d}{rest}"


class Folders:
    """The numbers of each folder of a series, for patches that come behind its first ``at``; ``beside`` as with
    ``Numbers``."""

    def __init__(self, names: Sequence[str], at: int, *, renumber: bool = False, beside: Sequence[str] = ()) -> None:
        self._names, self._at, self._renumber, self._beside = names, at, renumber, beside
        self._made: dict[str, Numbers] = {}

    def __getitem__(self, folder: str) -> Numbers:
        if folder not in self._made:
            self._made[folder] = Numbers(
                self._names, self._at, folder=folder, renumber=self._renumber, beside=self._beside
            )
        return self._made[folder]

    def shifted(self) -> dict[str, str]:
        """New names of the later patches that must make room."""
        return {old: new for numbers in self._made.values() for old, new in numbers.shifted().items()}


def named(own: str, subject: str, folders: Folders, *, keep: bool = False, exact: bool = False) -> str:
    """The name for a patch that came as file ``own`` (may be empty).

    Its own one if that has a number that fits, or needs none (``keep``, or an unnumbered series); else
    the next number and the subject, as git format-patch would call it, in no folder. ``exact``: an own
    name stays to the letter, for it stood in a series file.
    """
    folder, file = folder_of(own), plain(own.rsplit("/", 1)[-1])
    if file and (keep or not folders[""].numbered):
        return own if exact else f"{folder}{file}"
    number = number_of(file)
    if number is not None and folders[folder].fits(number):
        return f"{folder}{folders[folder].written(folders[folder].take(number))}{file.lstrip('0123456789')}"
    numbers = folders[""]
    if re.fullmatch(r"\d+[-_.]\S+\.(?:patch|diff)", subject):  # a mail of ours, of a patch that had no words
        subject = _stem(subject).lstrip("0123456789")
    stem = slug(subject) or slug(re.sub(r"^\d+[-_.]", "", _stem(file))) or "patch"
    if not numbers.numbered:
        return f"{stem[:_LONGEST]}.patch"
    return f"{f'{numbers.written(numbers.next())}-{stem}'[:_LONGEST]}.patch"


def slug(text: str) -> str:
    """Text as part of a file name, after the rules of git format-patch."""
    kept = re.sub(r"[^A-Za-z0-9._]+", "-", text)
    return re.sub(r"\.+", ".", kept).lstrip("-").rstrip(".-")


def plain(file: str) -> str:
    """A file's own name as a patch can have it: a patch's suffix, nothing that a series file cannot hold."""
    if not file:
        return ""
    stem = _stem(file)
    suffix = file[len(stem) :] if file.endswith(SUFFIXES) else ".patch"
    return (slug(stem).lstrip(".") or "patch") + suffix if re.search(r"[\s#'\"\\]|^\.", stem) else stem + suffix


def _stem(file: str) -> str:
    return next((file[: -len(s)] for s in (*SUFFIXES, *_MAIL_SUFFIXES) if file.endswith(s) and file != s), file)


def folder_of(name: str) -> str:
    """The folder in a patch's name, with its slash, or nothing."""
    return name[: len(name) - len(name.rsplit("/", 1)[-1])]


def _width(names: Sequence[str]) -> int:
    """How wide the nearest number is."""
    for name in names:
        m = re.match(r"(\d+)[-_.]", name.rsplit("/", 1)[-1])
        if m:
            return len(m[1])
    return _WIDTH
