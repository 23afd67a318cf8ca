"""The pages for people: release notes from the headers of patches, ``BUILD_INFO`` of a component, the list of patches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from opencoti_patches.core.model import Entry, PatchName, printable
from opencoti_patches.core.words import plural
from opencoti_patches.release.component import Component
from opencoti_patches.release.index import Index
from opencoti_patches.series.header import read_header
from opencoti_patches.series.parse import parse
from opencoti_patches.series.says import what_and_why


class About(NamedTuple):
    """What a patch's header says: its subject, the rest of it."""

    subject: str
    body: str


class Change(NamedTuple):
    """What became of a patch since the last release. ``about`` is None of one that is gone without a trace."""

    word: str  # new, changed, gone
    name: str
    about: About | None = None


def about(raw: bytes, strip: int = 1, reverse: bool = False) -> About:
    """What a patch file's header says."""
    header = parse(raw, strip, reverse).header
    subject, _ = what_and_why(header)
    read = read_header(header)
    return About(subject or read.subject, read.body)


def changes(
    entries: Sequence[Entry], before: Sequence[tuple[str, str]], headers: Mapping[str, About]
) -> tuple[Change, ...]:
    """The patches that are new, changed or gone against ``before``, rows of (name, sha256); ``headers`` are those of
    that release, as far as they are known. In the order of the series, those that are gone last."""
    old = dict(before)
    found = [
        Change("changed" if e.name in old else "new", e.name, about(e.raw, e.strip, e.reverse))
        for e in entries
        if old.get(e.name) != e.sha256
    ]
    now = {e.name for e in entries}
    return (*found, *(Change("gone", name, headers.get(name)) for name in old if PatchName(name) not in now))


def release_notes(index: Index, found: Sequence[Change], components: Iterable[Component]) -> bytes:
    """The notes of a release."""
    lines = [f"# {index.name} {index.version}", ""]
    lines += [f"Channel {index.channel}, tag `{index.tag}`, of `{index.repo}` at `{index.rev}`.", ""]
    for c in components:
        state = "not smoke-tested" if c.name in index.unsmoked else "smoke-tested"
        needs = f", needs glibc {c.glibc}" if c.glibc else ""
        gpus = f", GPUs {' '.join(c.architectures('sass'))}" if c.architectures("sass") else ""
        lines.append(f"- {c.name}: {c.platform}{needs}{gpus}, {state}")
    lines.append("")
    if index.since:
        lines += [f"Against {index.since[0]}:", ""] if found else [f"No patch changed since {index.since[0]}.", ""]
    for word, title in (("new", "New patches"), ("changed", "Changed patches"), ("gone", "Patches that are gone")):
        rows = [c for c in found if c.word == word]
        if rows:
            lines += [f"## {title}", ""]
        for change in rows:
            lines += _section(change.name, change.about)
    return _page(lines)


def patches_page(entries: Sequence[Entry]) -> bytes:
    """What every patch's header says, in order."""
    lines = ["# The patches, in order", ""]
    for e in entries:
        lines += _section(e.name, about(e.raw, e.strip, e.reverse))
    return _page(lines)


def _section(name: str, said: About | None) -> list[str]:
    lines = [f"### {_line(name)}", ""]
    if said is None:
        return lines
    if said.subject:
        lines += [_line(said.subject), ""]
    # four columns in: whatever the header holds, it is shown as it is
    body = [f"    {printable(line)}".rstrip() for line in said.body.split("\n")] if said.body else []
    return [*lines, *body, ""] if body else lines


def build_info(component: Component, index: Index, payload: str, sha256: str) -> bytes:
    """``BUILD_INFO.<component>.md``: what it is, what it was made of, what it holds."""
    c, what = component, component.manifest["inputs"]
    single = len(c.artefacts) == 1
    lines = [f"# {index.name} {index.version}, {c.name} for {c.platform}", ""]
    lines += [
        f"- file: `{payload}`",
        f"- sha256: `{sha256}`",
        f"- how to install it: {_install(c, single)}",
        f"- channel: {index.channel}, tag `{index.tag}`",
        f"- repository: `{index.repo}` at `{index.rev}`",
        f"- base tree: `{index.base}`",
        f"- patched tree: `{index.tip}`, after {plural(len(index.patches), 'patch')}",
        f"- interface of ggml: {f'`{c.abi}`' if c.abi else 'not known'}",
        f"- smoke test: {_smoked(c, index)}",
        "",
        "## What it needs and what it has code for",
        "",
        "Read from the files.",
        "",
    ]
    for path, f in sorted(c.facts.items()):
        lines += [f"- `{_line(path)}`: {f.platform}" + (f", glibc {f.glibc} or newer" if f.glibc else "")]
        lines += [f"  - called `{_line(f.soname)}` by those that need it"] if f.soname else []
        lines += [f"  - needs {', '.join(f'`{_line(n)}`' for n in f.needed)}"] if f.needed else []
        lines += [f"  - machine code for GPUs {' '.join(f.sass)}"] if f.sass else []
        lines += [f"  - PTX for GPUs from {' '.join(f.ptx)}"] if f.ptx else []
    lines += ["", "## How it was built", ""]
    lines += [f"- profile: {what['profile']}", f"- digest of all inputs: `{c.manifest['digest']}`"]
    if since := c.manifest.get("since"):
        lines.append(f"- built at tree `{_line(since)}`: nothing that it is made of changed since")
    lines += [f"- {_line(s)}" for s in what["settings"]]
    lines += [f"- {_line(tool)}: {_line(version)}" for tool, version in sorted(what["tools"].items())]
    lines += ["", "## What it holds", "", "| file | bytes | sha256 |", "|---|---|---|"]
    lines += [f"| `{_line(a.path)}` | {a.bytes} | `{a.sha256}` |" for a in c.artefacts]
    return _page(lines)


def _install(c: Component, single: bool) -> str:
    if single:
        return f"save it as `{_line(c.artefacts[0].path.rsplit('/', 1)[-1])}`"
    return "unpack it; its files find one another by their places"


def _smoked(c: Component, index: Index) -> str:
    if c.name in index.unsmoked:
        return f"none: {c.smoke.why}; released all the same"
    return f"passed, {plural(c.smoke.answers, 'answer')} of model `{_line(c.smoke.model) or 'unnamed'}`"


def _line(text: object) -> str:
    return printable(str(text)).replace("`", "'").replace("|", "\\|")


def _page(lines: Sequence[str]) -> bytes:
    return ("\n".join(lines).rstrip("\n") + "\n").encode("utf-8")
