"""Why git refused a patch: every file and hunk of it, and whether an earlier failed patch is behind it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from opencoti_patches.core.model import Entry, PatchName, Problem, Verdict, printable
from opencoti_patches.doors import fs
from opencoti_patches.doors.git import apply_reject
from opencoti_patches.doors.git.apply import GIVES_UP
from opencoti_patches.plan.explain import Explainer
from opencoti_patches.plan.scratch import Scratch, touched
from opencoti_patches.series.parse import Parsed

_TELLING = 6  # characters of a line that make it evidence: "}" proves nothing


class Said(NamedTuple):
    """git's own word on one file of a patch: what is wrong with the file as a whole, the hunks it
    refused. Neither: git takes this file."""

    errors: tuple[str, ...] = ()
    rejected: tuple[int, ...] = ()


def diagnose(
    entry: Entry,
    parsed: Parsed,
    errors: Sequence[str],
    scratch: Scratch,
    failed: Sequence[tuple[Entry, Parsed]],
    earlier: Sequence[Entry],
) -> Verdict:
    """Explain a refused patch. ``scratch`` stands just before it, ``failed`` are the patches before it
    that were refused too, ``earlier`` all patches before it."""
    files = tuple(printable(f.path) for f in parsed.files)
    before = tuple(e.name for e, _ in failed)
    crash = next((e for e in errors if e.startswith(GIVES_UP)), "")
    if not parsed.files and not crash and not any(d.fatal for d in parsed.defects):
        nothing = Problem(cause="empty", message="the file holds no change that git can read")
        return Verdict(name=entry.name, status="empty", cause="empty", problems=(nothing,), without=before)
    explainer = Explainer(entry, parsed, scratch, earlier)
    problems = explainer.defects()
    if not problems and crash:
        problems = [Problem(cause="corrupt", message=crash)]
    if not problems:
        said = _ask(entry, parsed, scratch)
        for f, word in zip(parsed.files, said, strict=True):
            problems += explainer.file(f, word.errors, word.rejected)
    if not problems:
        problems = explainer.in_the_way()
    if not problems:  # git refused it for a reason that no file shows: its own words then
        text = printable("; ".join(errors[:2])) or "git refused it without a word"
        problems = [Problem(cause=_cause_of(text), message=text)]
    verdict = Verdict(
        name=entry.name,
        status="failed",
        cause=problems[0].cause,
        files=files,
        problems=tuple(problems),
        without=before,
    )
    if parsed.by_chance:
        return verdict
    behind, evidence = _cascade(entry, parsed, explainer, scratch, failed)
    if not behind:
        return verdict
    return verdict._replace(
        status="blocked",
        blocked_by=behind,
        evidence=evidence,
        without=tuple(n for n in before if n not in behind),
    )


def _cause_of(text: str) -> str:
    words = {
        "invalid path": "unsafe-path",
        "beyond a symbolic link": "unsafe-path",
        "corrupt": "corrupt",
        "binary": "binary",
        "wrong type": "mode",
        "already exists": "exists",
        "does not exist": "missing-file",
        "No such file": "missing-file",
        "lacks filename": "wrong-strip",
        "leading pathname": "wrong-strip",
    }
    return next((cause for word, cause in words.items() if word in text), "corrupt")


def _ask(entry: Entry, parsed: Parsed, scratch: Scratch) -> list[Said]:
    """Let git try every hunk in a folder that holds the patch's files as they are before it."""
    state = {p: e for p, e in scratch.state().items() if e[0] != "160000"}
    with fs.scratch(scratch.index.parent, "reject-") as folder:
        left_out = scratch.lay_out(folder, touched([parsed]), state)
        said = _read_reject(
            apply_reject(folder, entry.path, strip=entry.strip, reverse=entry.reverse), len(parsed.files)
        )
        said = said[::-1] if entry.reverse else said  # git goes through them from the last to the first
        for i, f in enumerate(parsed.files):
            if (
                f.old in left_out
            ):  # then git could not look; a symlink is one line, so a hunk that is not all of it fails
                content = scratch.repo.blobs([state[f.old][1]])[state[f.old][1]]
                said[i] = Said(rejected=tuple(h.number for h in f.hunks if b"".join(h.old) != content))
        return said


def _read_reject(err: bytes, count: int) -> list[Said]:
    """Read ``git apply --reject -v``: first every file is checked, then those that passed are written,
    in the same order, each with its refused hunks."""
    checking, writing = _parted(err.decode("utf-8", "surrogateescape").split("\n"))
    errors: list[list[str]] = [[] for _ in range(count)]
    seen = sum(line.startswith("Checking patch ") for line in checking)
    if seen > count or (seen < count and writing):
        return [Said()] * count  # git sees other files in the patch than we do
    at = -1
    for line in checking:
        if line.startswith("Checking patch "):
            at += 1
        elif (
            line.startswith("error: ")
            and not line.startswith(("error: while searching for", "error: patch failed"))
            and 0 <= at < count
        ):
            errors[at].append(line.removeprefix("error: "))
    rejected: list[list[int]] = [[] for _ in range(count)]
    passed = iter([i for i in range(count) if not errors[i]])
    current = -1
    for line in writing:
        if line.startswith(("Applied patch ", "Applying patch ")):
            current = next(passed, -1)
        elif (m := re.fullmatch(r"Rejected hunk #(\d+)\.", line)) and current >= 0:
            rejected[current].append(int(m[1]))
    return [Said(tuple(e), tuple(r)) for e, r in zip(errors, rejected, strict=True)]


def _parted(lines: list[str]) -> tuple[list[str], list[str]]:
    """What git says while checking, and while writing: the last part begins after the last check."""
    last = max((i for i, line in enumerate(lines) if line.startswith("Checking patch ")), default=-1)
    begin = next(
        (i for i in range(last + 1, len(lines)) if lines[i].startswith(("Applied patch ", "Applying patch "))),
        len(lines),
    )
    return lines[:begin], lines[begin:]


def _cascade(
    entry: Entry, parsed: Parsed, explainer: Explainer, scratch: Scratch, failed: Sequence[tuple[Entry, Parsed]]
) -> tuple[tuple[PatchName, ...], str]:
    """The failed patches that this one stands on, with the evidence; empty if it fails by itself."""
    missing_files = explainer.missing_files
    missing_lines = {
        line.strip() for lines in explainer.missing_lines.values() for line in lines if len(line.strip()) >= _TELLING
    }
    for other, theirs in reversed(failed):
        if wanted := sorted(missing_files & theirs.made):
            return (other.name,), f"changes {printable(wanted[0])}, which {other.name} makes"
        for f in theirs.files:
            for line in (x for h in f.hunks for x in h.added):
                if line.strip() in missing_lines and _touches(parsed, f.path):
                    text = printable(line.strip().decode("utf-8", "surrogateescape"))
                    return (other.name,), f"expects the line '{text}', which {other.name} adds"
    return _carried(entry, parsed, scratch, failed)


def _touches(parsed: Parsed, path: str) -> bool:
    return any(path in (f.old, f.new) for f in parsed.files)


def _carried(
    entry: Entry, parsed: Parsed, scratch: Scratch, failed: Sequence[tuple[Entry, Parsed]]
) -> tuple[tuple[PatchName, ...], str]:
    """Try it once the failed patches on the same files are in, as far as they go in loosely."""
    index = scratch.copy("tentative")
    went_in: list[PatchName] = []
    for other, theirs in failed:
        if any(_touches(parsed, f.path) for f in theirs.files) and scratch.loosely(other, index):
            went_in.append(other.name)
    if went_in and scratch.apply([entry], index).ok:
        return tuple(went_in), f"applies once {' and '.join(went_in)} is carried"
    return (), ""
