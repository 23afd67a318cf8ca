"""One build: the tree to the series' tip, configure once, build, look at what came of it.

The manifest is taken away before anything is built and comes back last; on a failure the artefacts go too. So
what has a manifest was built whole, from what the manifest says.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from opencoti_patches.base.store import Store
from opencoti_patches.build import gpu, interface, manifest, programs, script, stale, unreached
from opencoti_patches.build.artefacts import is_build_file
from opencoti_patches.build.blame import Failure, first_error, with_patch
from opencoti_patches.build.kinds import child_environment, toolchain
from opencoti_patches.build.manifest import Artefact
from opencoti_patches.build.toolchain import Place, Toolchain, configuration_digest, heeded, progress_of
from opencoti_patches.core.config import Config
from opencoti_patches.core.errors import UsageError
from opencoti_patches.core.model import Series, TreeId, printable
from opencoti_patches.core.profile import Profile
from opencoti_patches.core.progress import Progress
from opencoti_patches.doors import fs, proc
from opencoti_patches.plan.listing import Listing
from opencoti_patches.tree.worktree import At, WorkTree

_KEPT = 4000  # lines of output in which an error is looked for


class Built(NamedTuple):
    """What a build came to. ``failure`` is None if it succeeded; ``step`` is the last one that ran; ``steps`` how many
    pieces of work the tool counted, 0 if it counted none. ``since``: nothing ran, for nothing that the artefacts are made
    of changed since that tree."""

    tree: TreeId
    outputs: Path
    log: Path
    step: str = ""
    up_to_date: bool = False
    steps: int = 0
    artefacts: tuple[Artefact, ...] = ()
    failure: Failure | None = None
    since: str = ""


class Job(NamedTuple):
    """What is to be built."""

    profile: Profile
    series: Series
    base: TreeId
    tip: TreeId
    targets: tuple[str, ...] = ()
    jobs: int = 0
    version: tuple[str, str] = ("0", "unknown")
    clean: bool = False
    offline: bool = True
    folder: Path | None = None  # where to build, if not where the profile does


def build(config: Config, job: Job, store: Store, *, progress: Progress) -> Built:
    """Bring the project's tree to the tip and build it. Call with the store's lock held.

    Errors: those of ``WorkTree.move``, of the toolchain's ``check`` and of ``script.guard_file``; UsageError
    ``no-folder``; CouldNot ``no-tool``. A build that fails is data.
    """
    place = place_of(config, job.profile, store)
    place = place._replace(build=job.folder or place.build)
    making = _Build(job, place, store, config.tree, progress)
    making.tool.check(job.profile, place, making.env)
    programs.guard_there(job.profile, making.env)
    work = WorkTree(config.tree, store)
    last = job.series.entries[-1].name if job.series.entries else ""
    progress.update("writing files")
    work.move(At(tree=job.tip, patch=last), series=job.series)
    if not place.source.is_dir():
        raise UsageError(
            "no-folder",
            f"build.{job.profile.name}: the tree has no folder {job.profile.source}",
            f'name the folder with the build file: [build.{job.profile.name}] source = "…"',
        )
    if job.profile.kind == "script":
        script.guard_file(job.profile, place, config.tree)
    return making.run()


def folder_of(profile: str, store: Store) -> Path:
    """Where a profile builds, and its manifest lies: several projects may share a store."""
    home = store.root if store.inside else store.own
    return home / "build" / profile


def place_of(config: Config, profile: Profile, store: Store) -> Place:
    """Where a profile's source lies, and where it builds."""
    return Place(source=config.tree / profile.source, build=folder_of(profile.name, store), root=config.root)


class _Build:
    def __init__(self, job: Job, place: Place, store: Store, tree: Path, progress: Progress) -> None:
        self.job = job = job._replace(profile=gpu.settled(job.profile))
        self.place = place
        self.store = store
        self.tree = tree
        self.progress = progress
        self.tool: Toolchain = toolchain(job.profile)
        self.env = child_environment(job.profile, place, job.offline)
        self.outputs = self.tool.outputs(job.profile, place)
        self.log = place.build / "build.log"
        self.lines: list[str] = []
        self.steps = 0
        self.restructured = False

    def run(self) -> Built:
        job, place = self.job, self.place
        tools = manifest.versions(self.tool.tools(job.profile), self.env)
        targets = job.targets or job.profile.targets
        what = manifest.inputs_of(job.profile, targets, job.base, job.tip, job.series, tools, heeded(job.profile))
        proc.guard_alone(place.build)
        self._guard_sources()
        if not job.clean and (made := self._up_to_date(what)) is not None:
            return Built(job.tip, self.outputs, self.log, up_to_date=True, artefacts=tuple(made))
        if not job.clean and (untouched := self._untouched(what, targets)) is not None:
            return untouched
        known = manifest.read(place.build)
        with fs.disk_errors("write the build folder"):
            (place.build / manifest.NAME).unlink(missing_ok=True)
            other = job.profile.kind == "cmake" and not _holds(*self._made_with(what))
            if other or (job.clean and job.profile.kind in ("cmake", "script")):
                shutil.rmtree(place.build, ignore_errors=True)
            place.build.mkdir(parents=True, exist_ok=True)
            if other:
                fs.write(*self._made_with(what))
            self.log.unlink(missing_ok=True)
        trees = stale.Trees(place.build)
        before = trees.begin(job.tip)
        self.restructured = unreached.restructured(before, job.tip, self.store)
        if not self._makes_the_same(known, what, before):
            manifest.remove(self.outputs, job.profile.artefacts)
        anew = self._leave_nothing_stale(before, what)
        self.tool.begin(place, self.outputs, anew)
        try:
            step = self._steps(targets)
        except BaseException:
            self.tool.end(place, self.outputs, "interrupted")
            manifest.remove(self.outputs, job.profile.artefacts)
            raise
        self.tool.end(place, self.outputs, "failed" if step else "whole")
        if step:
            manifest.remove(self.outputs, job.profile.artefacts)
            start = place.build if job.profile.kind == "cmake" else place.source
            failure = first_error(self.lines, self.tree, start) or Failure(message="it says nothing of why")
            failure = with_patch(failure, job.series, job.base, self.store)
            return Built(job.tip, self.outputs, self.log, step=step, steps=self.steps, failure=failure)
        made = manifest.collect(self.outputs, job.profile.artefacts)
        trees.whole(job.tip)
        manifest.write(place.build, what, made, interface.rows_if_known(job.tip, self.store))
        return Built(job.tip, self.outputs, self.log, step="build", steps=self.steps, artefacts=tuple(made))

    def _guard_sources(self) -> None:
        """What the tree has is no artefact: a failure would remove it. Errors: UsageError ``bad-value``."""
        if not self.outputs.is_relative_to(self.tree):
            return
        listing = Listing(self.store.repo.list_tree(self.job.tip))
        for path in sorted(manifest.named(self.outputs, self.job.profile.artefacts)):
            name = str(path.relative_to(self.tree))
            if listing.get(name):
                raise UsageError(
                    "bad-value",
                    f"build.{self.job.profile.name}.artefacts names {printable(name)}, which is a file of the tree",
                    "name only what the build makes",
                )

    def _makes_the_same(self, known: Mapping[str, Any] | None, what: dict[str, Any], before: Sequence[TreeId]) -> bool:
        """Whether this build makes the very files that the last one did. Else one that it does not make any more, of a
        target that was not named or is gone, would lie there and be taken for a result of it."""
        if known is None or self.restructured:
            return False
        same = all(known["inputs"].get(key) == what[key] for key in ("targets", "settings"))
        return same and not any(map(is_build_file, stale.changed(before, self.job.tip, self.store)))

    def _leave_nothing_stale(self, before: Sequence[TreeId], what: dict[str, Any]) -> bool:
        """See to it that no object of other inputs is taken for new; True if none at all may be used."""
        kind = self.job.profile.kind
        if kind == "cmake":
            return False  # it knows its headers, and its flags
        last, now = self._last(what)
        paths = stale.changed(before, self.job.tip, self.store)
        other = (bool(before) or last.exists()) and not _holds(last, now)
        anew = other or stale.all_stale(self.tree, paths, kind)
        stale.refresh(self.tree, paths, anew=anew)
        fs.write(last, now)
        return anew

    def _made_with(self, what: dict[str, Any]) -> tuple[Path, bytes]:
        """The file of CMake's folder that says which compilers and variables its objects are of, and what it holds for
        this build. CMake keeps the compiler that it found first, and ninja does not ask for its version."""
        profile = self.job.profile
        return self.place.build / "made-with", fs.json_bytes([profile.generator, list(profile.env), what["tools"]])

    def _last(self, what: dict[str, Any]) -> tuple[Path, bytes]:
        """The file that says what the objects in the outputs' folder are of, and what it holds after this build: profiles
        may share the folder that they build in."""
        name = hashlib.sha256(os.fsencode(self.outputs)).hexdigest()[:12]
        now = fs.json_bytes([what[key] for key in ("profile", "settings", "tools", "variables")])
        return self.place.build.parent / f".last-{name}", now

    def _up_to_date(self, what: dict[str, object]) -> list[Artefact] | None:
        """The artefacts, if they are what the last build of the same inputs made."""
        known = manifest.read(self.place.build)
        if known is None:
            return None
        made = manifest.collect(self.outputs, self.job.profile.artefacts)
        if [a._asdict() for a in made] != known["artefacts"]:
            # somebody was here: no build tool looks into what it made, so it has to make it again
            manifest.remove(self.outputs, self.job.profile.artefacts)
            (self.place.build / manifest.NAME).unlink(missing_ok=True)
            return None
        return made if known["digest"] == manifest.digest(what) else None

    def _untouched(self, what: dict[str, Any], targets: Sequence[str]) -> Built | None:
        """The last whole build brought up to the tip, if nothing that it is made of changed; None if in doubt."""
        job, place, known = self.job, self.place, manifest.read(self.place.build)
        if known is None or not unreached.same_but_tree(known["inputs"], what):
            return None
        old = TreeId(known["inputs"]["tree"])
        command = self.tool.configure(job.profile, place, job.version)
        if (command and not self._configured(command)) or unreached.restructured([old], job.tip, self.store):
            return None
        changed, kind = stale.changed([old], job.tip, self.store), job.profile.kind
        if kind != "cmake" and (not _holds(*self._last(what)) or stale.all_stale(self.tree, changed, kind)):
            return None
        if not unreached.nothing_to_do(job.profile, place, targets, changed, self.tree, self.env):
            return None
        made = manifest.artefacts_of(known)  # which are as they were left
        first = known.get("since", old)
        since = "" if first == job.tip else first  # back where it was built
        stale.Trees(place.build).whole(job.tip)
        manifest.write(place.build, what, made, interface.rows_if_known(job.tip, self.store), since)
        return Built(job.tip, self.outputs, self.log, up_to_date=True, artefacts=made, since=since)

    def _steps(self, targets: Sequence[str]) -> str:
        """The name of the step that failed; empty if none did."""
        job, place = self.job, self.place
        if job.clean and (command := self.tool.clean(job.profile, place)) and self._run("clean", command):
            return "clean"
        command = self.tool.configure(job.profile, place, job.version)
        if command and (self.restructured or not self._configured(command)):
            if not self._configured(command):  # the cache keeps every option that it was told once
                with fs.disk_errors("write the build folder"):
                    (place.build / "CMakeCache.txt").unlink(missing_ok=True)
                    shutil.rmtree(place.build / "CMakeFiles", ignore_errors=True)
            if self._run("configure", command):
                return "configure"
            fs.write(place.build / "configured", configuration_digest(command, self.env).encode())
        jobs = job.jobs or job.profile.jobs or os.cpu_count() or 1
        code = self._run("build", self.tool.build(job.profile, place, targets, jobs))
        if job.profile.kind == "script" and (error := first_error(self.lines, self.tree, place.source)) and error.line:
            return "build"  # it did not look at how its compiler ended
        return "build" if code else ""

    def _configured(self, command: Sequence[str]) -> bool:
        """Whether the folder was configured with this very command."""
        return _holds(self.place.build / "configured", configuration_digest(command, self.env).encode())

    def _run(self, step: str, command: Sequence[str]) -> int:
        self.progress.update(f"{step}: {self.job.profile.name}")

        def heard(line: str) -> None:
            if len(self.lines) < _KEPT or "error" in line:
                self.lines.append(line)
            if (far := progress_of(line)) is not None:
                self.steps = far[0]
                self.progress.update(f"building {self.job.profile.name}", *far, "steps" if far[1] != 100 else "percent")

        return proc.stream(command, cwd=self.place.source, env=self.env, log=self.log, heard=heard)


def _holds(path: Path, content: bytes) -> bool:
    try:
        return path.read_bytes() == content
    except OSError:
        return False


def version_of(config: Config, base: TreeId) -> tuple[str, str]:
    """The build number and the commit that llama.cpp shows as its version: those of the base, from its label
    ("af6528e6… (b9445)"), so that an edit of a patch rebuilds nothing that only carries them."""
    label = " ".join(s.upstream for s in config.sources)
    number, commit = re.search(r"\bb(\d+)\b", label), re.search(r"\b[0-9a-f]{9,40}\b", label)
    return (number[1] if number else "0", commit[0][:9] if commit else base[:9])
