"""The text form that pin files and indexes share: ``KEY VALUE…`` a line, every key known, nothing left out.

Such a file may come from anywhere. Whatever its bytes are, reading it gives rows or one UsageError ``bad-pin``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from opencoti_patches.core.errors import UsageError
from opencoti_patches.core.model import printable
from opencoti_patches.core.shipping import COMPONENT

LARGEST = 1 << 20  # bytes of such a file
LIMIT = 2 << 30  # bytes of an asset: one of exactly that many cannot be uploaded
WARNING = 1900 << 20

_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,199}")
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+:/-]{0,199}")


class File(NamedTuple):
    """One file of a release. ``name`` is a plain file name; ``platform`` is like ``linux-x86_64``, or ``any``."""

    kind: str
    name: str
    sha256: str
    bytes: int
    platform: str = "any"


class Rule(NamedTuple):
    """How often a key may stand in a file, and what its words have to be (``fullmatch``, each)."""

    least: int
    most: int
    words: tuple[Callable[[str], bool], ...]
    more: Callable[[str], bool] | None = None  # of words behind those, any number of them


def matches(pattern: str) -> Callable[[str], bool]:
    """A judge of one word."""
    compiled = re.compile(pattern, re.A)
    return lambda word: compiled.fullmatch(word) is not None


def size(word: str) -> bool:
    """Whether it is a count of bytes that an asset may have, as we write it."""
    return re.fullmatch(r"0|[1-9][0-9]{0,9}", word, re.A) is not None and int(word) < LIMIT


def file_name(word: str) -> bool:
    """Whether it is a plain name that any file system takes."""
    return _FILE_NAME.fullmatch(word) is not None and ".." not in word


def word(text: str) -> bool:
    """Whether it is one."""
    return _WORD.fullmatch(text) is not None


ONE = 1
ANY = 100_000
HEX40 = matches(r"[0-9a-f]{40}")
SHA256 = matches(r"[0-9a-f]{64}")
VERSION = matches(r"[0-9]{13}")
NUMBER = matches(r"0|[1-9][0-9]{0,11}")
IS_COMPONENT = matches(COMPONENT.pattern)
PLATFORM = matches(r"[a-z0-9][a-z0-9_.+-]{0,63}")
KIND = matches(r"[a-z][a-z0-9-]{0,31}")
FORMAT = matches(r"2")


def read(path: Path) -> bytes:
    """The bytes of a file that should be one of these.

    Errors: UsageError ``no-file``, ``bad-pin``.
    """
    try:
        with open(path, "rb") as f:
            raw = f.read(LARGEST + 1)
    except (OSError, ValueError) as e:
        why = e.strerror if isinstance(e, OSError) and e.strerror else "it cannot be opened"
        raise UsageError(
            "no-file", f"cannot read {printable(str(path))}: {why}", "name a pin file or an index"
        ) from None
    if len(raw) > LARGEST:
        raise bad(path.name, 0, f"it is larger than {LARGEST >> 20} MiB")
    return raw


def parse(raw: bytes, where: str, rules: Mapping[str, Rule]) -> dict[str, list[tuple[str, ...]]]:
    """The rows by key, each as its words, in order. Errors: UsageError ``bad-pin``."""
    try:
        text = raw.decode("ascii" if "component" in rules else "utf-8")
    except UnicodeDecodeError as e:
        raise bad(where, raw.count(b"\n", 0, e.start) + 1, "it is not plain text") from None
    if not text.endswith("\n"):
        raise bad(where, text.count("\n") + 1, "its last line has no end")
    found: dict[str, list[tuple[str, ...]]] = {key: [] for key in rules}
    for number, line in enumerate(text[:-1].split("\n"), 1):
        key, *words = line.split(" ")
        if key not in rules:
            raise bad(where, number, f"unknown key {printable(key[:40])!r}")
        rule = rules[key]
        if len(found[key]) == rule.most:
            raise bad(where, number, f"there is a {key} already" if rule.most == 1 else f"more than {rule.most} {key}")
        judges = rule.words + (rule.more,) * (len(words) - len(rule.words)) if rule.more else rule.words
        if len(words) != len(judges) or not all(judge(w) for judge, w in zip(judges, words, strict=True)):
            raise bad(where, number, f"{key} cannot be {printable(' '.join(words)[:80])!r}")
        if tuple(words) in found[key]:
            raise bad(where, number, "the same line stands there already")
        found[key].append(tuple(words))
    for key, rule in rules.items():
        if len(found[key]) < rule.least:
            raise bad(where, 0, f"it has no {key}")
    return found


def bad(where: str, line: int, what: str) -> UsageError:
    """The error of a file that is none of these."""
    at = f", line {line}" if line else ""
    return UsageError("bad-pin", f"{printable(where)}{at}: {what}", "get the file again, from where it was published")


def text(pairs: Iterable[tuple[str, Sequence[object]]]) -> bytes:
    """The file of these rows."""
    return "".join(" ".join([key, *map(str, words)]) + "\n" for key, words in pairs).encode("utf-8")


def only(found: Mapping[str, list[tuple[str, ...]]], key: str) -> str:
    """The first word of a key that stands there once; empty if it does not."""
    return found[key][0][0] if found[key] else ""
