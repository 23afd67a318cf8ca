"""What a patch's header says to people: what it does, why, and after which patches it belongs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from opencoti_patches.core.model import decode
from opencoti_patches.series.header import read_header
from opencoti_patches.series.naming import number_of

_TITLE = re.compile(r"(?:Subject|Description):[ \t]*(.*)", re.I)
# Lines about a patch that give no reason for it: git's trailers, DEP-3's fields, our own notes.
_ABOUT = re.compile(
    r"(?:[\w-]+-by|Cc|From|To|Date|Author|Origin|Bug|Bug-[\w-]+|Link|Fixes|Closes|Forwarded|Applied-Upstream"
    r"|Last-Update|Change-Id|Message-Id|In-Reply-To|References|MIME-Version|Content-[\w-]+|Patch order|Reach):"
    r"|From [0-9a-f]{40} |.* note \(\d{4}-\d\d-\d\d[,)]",
    re.I,
)
_TOKEN = r"#?\d+(?:[-_.][\w.+-]*\w)?"
_CLAIM = re.compile(
    rf"^[ \t]*Patch order:\s*applies\s+after\s+(?P<all>{_TOKEN}(?:(?:\s*,\s*(?:and\s+)?|\s+and\s+){_TOKEN})*)",
    re.I | re.M,
)
_REACH = re.compile(r"^Reach:[ \t]*(?P<names>.*\S)", re.I | re.M)
# as a clause of its own: "Cosmocc-only edit;", not "copies the host only"
_HOST_ONLY = re.compile(
    r"(?:^|[.;:]\s|\()[ \t]*(?P<all>(?:host|cosmocc)[-\s]only)(?:\s(?:edit|change|patch))?(?=\s*(?:[.;,)]|$))",
    re.I | re.M,
)
_UNCHANGED = re.compile(
    r"\b(?P<all>(?P<name>\w+)\s(?:DSO|library)\s(?:(?:is|stays|remains)\s)?(?:unchanged|untouched|byte[-\s]identical))\b",
    re.I,
)


class ReachClaim(NamedTuple):
    """What a header says of the artefacts that the patch reaches. ``only``: no others than these; None where it says
    that of none. ``host_only``: none but those of the host's side. ``never``: not this one."""

    line: int
    text: str
    only: frozenset[str] | None = None
    host_only: bool = False
    never: str = ""


def what_and_why(header: bytes) -> tuple[str, str]:
    """The subject and the first line that gives a reason; each empty if there is none."""
    read = read_header(header)
    lines = [line.strip() for line in read.body.split("\n")]
    subject = read.subject
    if not read.mail:
        lines = [subject, *lines]
        titled = next((m for m in map(_TITLE.match, lines) if m), None)
        if titled:
            subject = titled[1].strip()
            lines.remove(titled.string)
        else:
            at = next((i for i, line in enumerate(lines) if line and not _ABOUT.match(line)), len(lines))
            subject = "".join(lines[at : at + 1])
            lines = lines[at + 1 :]
        if "---" in lines:  # below it stands a diffstat
            lines = lines[: lines.index("---")]
    why = next((line for line in lines if line.strip(".-=*# ") and not _ABOUT.match(line)), "")
    return subject, why


def claims(header: bytes) -> Iterator[tuple[int, str]]:
    """The patches after which a header says that it applies ("Patch order: applies after 0033-cpy"),
    each with its line."""
    text = decode(header)
    for m in _CLAIM.finditer(text):
        for token in re.finditer(_TOKEN, m["all"]):
            at = m.start("all") + token.start()
            yield text.count("\n", 0, at) + 1, token[0].lstrip("#")


def reach_claims(header: bytes) -> Iterator[ReachClaim]:
    """What a header says of the reach of its patch: a trailer "Reach: host, cuda" ("Reach: none"), or the words "host
    only", "cosmocc-only", "CUDA DSO unchanged", "Vulkan library is byte-identical"."""
    text = decode(header).replace("\r\n", "\n")
    found = []
    for m in _REACH.finditer(text):
        names = frozenset(re.split(r"[\s,]+", m["names"].strip(" ,.").lower())) - {"none"}
        found.append((m.start(), ReachClaim(line=0, text=m[0], only=names)))
    for m in _HOST_ONLY.finditer(text):
        found.append((m.start("all"), ReachClaim(line=0, text=m["all"], host_only=True)))
    for m in _UNCHANGED.finditer(text):
        found.append((m.start("all"), ReachClaim(line=0, text=m["all"], never=m["name"].lower())))
    for at, claim in sorted(found, key=lambda row: row[0]):
        yield claim._replace(line=text.count("\n", 0, at) + 1, text=" ".join(claim.text.split()))


def refute(claimed: str, before: Sequence[str], names: Sequence[str]) -> str:
    """Why "applies after CLAIMED" does not hold in a series of ``names``, of which ``before`` come
    earlier; empty if it holds."""
    number, slug = _parts(claimed)
    same = [n for n in names if number_of(n) == number]
    earlier = [n for n in same if n in before]
    if not same:
        return f"it says that it applies after {claimed}, which the series does not have"
    if not earlier:
        return f"it says that it applies after {claimed}, but {same[0]} comes later"
    if slug and all(_parts(n)[1] != slug for n in earlier):
        return f"it says that it applies after {claimed}, but that number is {earlier[0]}"
    return ""


def _parts(name: str) -> tuple[int, str]:
    """(34, "pinned-kv") of ``0034-pinned-kv.patch``."""
    stem = re.sub(r"\.(?:patch|diff)$", "", name.rsplit("/", 1)[-1])
    digits = re.match(r"\d*", stem)
    number = digits[0] if digits else ""
    return int(number[:18] or -1), stem[len(number) :].lstrip("-_.")
