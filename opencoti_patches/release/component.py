"""One component: the finished build that it is made from, held to the series and to the lock before it is packed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from opencoti_patches.build import abi, manifest
from opencoti_patches.build.toolchain import for_cuda
from opencoti_patches.core.errors import Refused
from opencoti_patches.core.model import Series, TreeId, printable
from opencoti_patches.core.profile import Profile, inputs
from opencoti_patches.doors import fs
from opencoti_patches.doors.net import sha256_of
from opencoti_patches.release.facts import Facts, facts_of, platform_of
from opencoti_patches.release.rows import LIMIT, WARNING

SMOKE = "smoke.json"
_GPUS = "-DCMAKE_CUDA_ARCHITECTURES"


class Smoke(NamedTuple):
    """What a smoke run of the build found. ``why`` says in what it is not good, empty if it is."""

    why: str = ""
    model: str = ""
    answers: int = 0
    host: str = ""  # sha256 of the manifest of the host that it was run with, for a library


class Component(NamedTuple):
    """A build that may be shipped. ``outputs`` is the folder of its artefacts; ``facts`` are by the artefact's
    path, of ELF files alone; ``abi`` is "" where it is not known."""

    name: str
    profile: str
    outputs: Path
    manifest: Mapping[str, Any]
    artefacts: tuple[manifest.Artefact, ...]
    facts: Mapping[str, Facts]
    platform: str
    abi: str
    abi_rows: tuple[str, ...]
    smoke: Smoke
    whole: str  # sha256 of the manifest's file

    @property
    def glibc(self) -> str:
        """The newest glibc that any file of it needs."""
        from opencoti_patches.release.facts import numbers

        return max((f.glibc for f in self.facts.values() if f.glibc), key=numbers, default="")

    def architectures(self, kind: str) -> tuple[str, ...]:
        """The GPU architectures of all its files; ``kind`` is ``sass`` or ``ptx``."""
        from opencoti_patches.release.facts import architecture

        found = {a for f in self.facts.values() for a in getattr(f, kind)}
        return tuple(sorted(found, key=architecture))


class Tip(NamedTuple):
    """What the lock says, which a build must be of."""

    base: TreeId
    tip: TreeId
    series: Series


def load(name: str, profile: Profile, folder: Path, outputs: Path, tip: Tip) -> Component:
    """A component from the build in ``folder``.

    Errors: Refused ``no-build``, ``stale-build``, ``dirty-build``, ``asset-too-large``, ``mixed-platforms``,
    ``bad-binary``.
    """
    again = f"opencoti-patches build {profile.name}"
    doc = manifest.read(folder)
    if doc is None:
        raise Refused("no-build", f"{name}: there is no finished build of profile {profile.name}", f"run '{again}'")
    if why := _stale(doc, profile, tip):
        raise Refused("stale-build", f"{name}: the build of {profile.name} {why}", f"run '{again}'")
    artefacts = manifest.artefacts_of(doc)
    if not artefacts:
        raise Refused(
            "no-build", f"{name}: the build made nothing that its profile calls an artefact", "name it: artefacts = […]"
        )
    _guard_sizes(name, artefacts)
    _guard_clean(name, profile, outputs, artefacts, again)
    facts = {a.path: f for a in artefacts if (f := facts_of(outputs / a.path)) is not None}
    digest, rows = _interface(doc, folder, name, again)
    whole = sha256_of(folder / manifest.NAME)
    return Component(
        name=name,
        profile=profile.name,
        outputs=outputs,
        manifest=doc,
        artefacts=artefacts,
        facts=facts,
        platform=platform_of(facts.values()),
        abi=digest,
        abi_rows=rows,
        smoke=_smoke(folder, whole),
        whole=whole,
    )


def _stale(doc: Mapping[str, Any], profile: Profile, tip: Tip) -> str:
    """In what the build is not of the lock's tip; empty if it is."""
    what = doc.get("inputs")
    if not isinstance(what, dict) or doc.get("digest") != manifest.digest(what):
        return "has a damaged manifest"
    if what.get("base") != tip.base:
        return "is of another base than the lock"
    if what.get("patches") != [[e.name, e.sha256] for e in tip.series.entries]:
        return "is of other patches than the lock"
    if what.get("tree") != tip.tip:
        return f"is of tree {str(what.get('tree'))[:12]}, the lock's tip is {tip.tip[:12]}"
    if what.get("settings") != list(inputs(_for_its_gpus(profile, what.get("settings")))):
        return "was made with other settings than opencoti.toml has now"
    if what.get("targets") != list(profile.targets):
        return "was made with --target, not with the targets of its profile"
    return ""


def _for_its_gpus(profile: Profile, settings: object) -> Profile:
    """The profile with the GPUs that a build was for: where nothing names them, those of the machine that built it."""
    stated = re.search(rf"'({_GPUS}=[^']*)'", str(settings) if for_cuda(profile) else "")
    if stated is None or any(o.startswith(_GPUS) for o in profile.options):
        return profile
    return profile._replace(options=(*profile.options, stated[1]))


def too_large(count: int) -> bool | None:
    """Whether an asset of so many bytes cannot be uploaded; None if it can, and is near that."""
    return True if count >= LIMIT else None if count >= WARNING else False


def guard_size(name: str, count: int) -> None:
    """Errors: Refused ``asset-too-large``."""
    if too_large(count):
        raise Refused(
            "asset-too-large",
            f"{printable(name)} has {count} bytes; an asset must have less than {LIMIT} (2 GiB)",
            "build for fewer architectures, or strip it, or make two components of it",
        )


def _guard_sizes(name: str, artefacts: Sequence[manifest.Artefact]) -> None:
    for a in artefacts:
        guard_size(f"{name}: {a.path}", a.bytes)


def _guard_clean(
    name: str, profile: Profile, outputs: Path, artefacts: Sequence[manifest.Artefact], again: str
) -> None:
    """Every artefact is as the build left it, and none came since."""
    globs = profile.artefacts
    found = manifest.named(outputs, globs)
    there = {str(p.relative_to(outputs)) for p in found if p.is_file() and not p.is_symlink()}
    said = {a.path for a in artefacts}
    for path in sorted(said ^ there):
        why = "is gone" if path in said else "was not there when it ended"
        raise Refused("dirty-build", f"{name}: {printable(path)} {why}", f"run '{again} --clean'")
    for a in artefacts:
        file = fs.inside(outputs, a.path)
        if file.stat().st_size != a.bytes or sha256_of(file) != a.sha256:
            raise Refused("dirty-build", f"{name}: {printable(a.path)} changed since it was built", f"run '{again}'")


def _interface(doc: Mapping[str, Any], folder: Path, name: str, again: str) -> tuple[str, tuple[str, ...]]:
    digest = doc.get("abi")
    if not isinstance(digest, str) or not digest:
        return "", ()
    try:
        rows = manifest.rows_of(folder)
    except UnicodeDecodeError:
        rows = ()
    if abi.digest(rows) != digest:
        raise Refused("stale-build", f"{name}: {manifest.ROWS} is not what the manifest says", f"run '{again} --clean'")
    return digest, rows


def _smoke(folder: Path, whole: str) -> Smoke:
    ran = fs.read_json(folder / SMOKE)
    if not isinstance(ran, dict) or ran.get("schema") != 1:
        return Smoke(why="there is no smoke result")
    if ran.get("manifest") != whole:  # which has the sum of every artefact
        return Smoke(why="the smoke result is of another build")
    answers = ran.get("prompts")
    count = len(answers) if isinstance(answers, list) else 0
    why = "" if ran.get("ok") is True else "the smoke run failed"
    return Smoke(why, str(ran.get("model", "")), count, str(ran.get("host", "")))


def guard_pairs(components: Sequence[Component], ggml: bool) -> None:
    """All components share one interface of ggml, if they are of a tree that has it. Errors: Refused ``abi-differs``, row
    by row."""
    first = components[0]
    for other in components[1:]:
        if first.abi == other.abi and (first.abi or not ggml):
            continue
        pair = f"{first.name} and {other.name}"
        unknown = [c for c in (first, other) if not c.abi]
        if unknown:
            raise Refused(
                "abi-differs",
                f"whether {pair} share one interface of ggml is not known: {unknown[0].name} has no digest of it",
                f"pip install 'opencoti-patches[abi]', then 'opencoti-patches build {unknown[0].profile} --clean'",
            )
        found = abi.compare(first.abi_rows, other.abi_rows)
        shown = "; ".join(f"{d.key} ({d.old or 'not there'}, {d.new or 'not there'})" for d in found[:3])
        more = f"; {len(found) - 3} more" if len(found) > 3 else ""
        raise Refused(
            "abi-differs",
            f"{pair} differ in the interface of ggml: {printable(shown)}{more}",
            "build both from the same series, on the same platform",
        )
