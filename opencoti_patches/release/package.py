"""A release folder from finished builds: everything is looked at first, then written beside, then put in place whole.

What is written depends on the inputs alone: the same commit, builds and options give the same bytes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from opencoti_patches import __version__
from opencoti_patches.base.store import Store
from opencoti_patches.build.gpu import NCCL_OFF
from opencoti_patches.core.config import FILE_NAME, Source
from opencoti_patches.core.errors import Refused
from opencoti_patches.core.model import Series, TreeId
from opencoti_patches.core.progress import Progress
from opencoti_patches.doors import fs
from opencoti_patches.doors.net import sha256_of
from opencoti_patches.plan.listing import Listing
from opencoti_patches.release import index, layout, licences, notes, pin, provenance, sbom, signing, tarball
from opencoti_patches.release.component import Component, guard_size, too_large
from opencoti_patches.release.index import Index
from opencoti_patches.release.licences import Licence
from opencoti_patches.release.rows import File, text
from opencoti_patches.release.tarball import Member
from opencoti_patches.series import order

ABI = "ggml"
PAYLOAD, LICENCES, BUILD_INFO = "payload", "licences", "build-info"
SOURCE_XZ, SOURCE_ZSTD, PATCHES, INTERFACE, NOTES = "source-xz", "source-zst", "patches", "abi", "notes"
_BATCH = 200  # files of a tree that are held at once


class Job(NamedTuple):
    """What is to be released. ``whole`` lacks ``source``, ``pins`` and ``files`` yet; ``ggml``: the tree has it; ``config``
    is the text of the project's configuration; ``changes`` are for the notes; ``key`` a minisign secret key."""

    whole: Index
    components: tuple[Component, ...]
    ggml: bool
    licences: tuple[Licence, ...]
    sources: tuple[Source, ...]
    series: Series
    config: bytes
    changes: tuple[notes.Change, ...] = ()
    key: Path | None = None


class Released(NamedTuple):
    """A release that was written. ``state`` is ``written``, or ``unchanged`` if the folder held the same already;
    ``warnings`` are sentences."""

    folder: Path
    whole: Index
    files: tuple[File, ...]
    signed: bool
    state: str = "written"
    warnings: tuple[str, ...] = ()


def package(job: Job, out: Path, store: Store, *, progress: Progress) -> Released:
    """Write the release to the folder ``out``, which must not be there, be empty, or hold the very same release.

    Errors: Refused ``dirty-build``, ``asset-too-large``, ``no-licence``, ``version-exists``, ``not-empty``; those of
    ``signing.sign``; CouldNot ``disk``, ``no-tool``. The folder is as it was then.
    """
    for c in job.components:
        if any(f.gpu and not any(n.startswith("libcudart") for n in f.needed) for f in c.facts.values()):
            licences.guard_runtime(job.licences, c.name)
    with fs.disk_errors(f"make {out.parent}"):
        out.parent.mkdir(parents=True, exist_ok=True)
    with fs.scratch(out.parent, "release-") as folder:
        made = _Writer(job, folder, store, progress).write()
        state = _place(folder, out, made.whole)
    return made._replace(folder=out, state=state)


class _Writer:
    def __init__(self, job: Job, folder: Path, store: Store, progress: Progress) -> None:
        self.job = job
        self.folder = folder
        self.store = store
        self.progress = progress
        self.name, self.version = job.whole.name, job.whole.version
        self.compressed = {ending: how for ending, (_, how) in tarball.compressors().items()}

    def write(self) -> Released:
        job = self.job
        payloads = {c.name: self._payload(c) for c in job.components}
        source, files = self._sources()
        files.append(self._patches())
        if rows := self._interface():
            files.append(self._put(INTERFACE, layout.interface(self.name, self.version), rows))
        whole = job.whole._replace(source=source)
        files.append(self._put(NOTES, layout.NOTES, notes.release_notes(whole, job.changes, job.components)))
        pins = [self._pin(c, payloads[c.name], whole) for c in job.components]
        whole = whole._replace(pins=tuple(f for f, _ in pins), files=tuple(files))
        listed = self._put("index", layout.index(self.name, self.version), text(whole.pairs()))
        everything = [*(f for _, pin_ in pins for f in pin_.files), *whole.pins, *files, listed]
        everything += self._statements(whole, payloads, everything, listed)
        signatures = self._sums(everything)
        return Released(
            folder=self.folder,
            whole=whole,
            files=(*everything, *signatures),
            signed=job.key is not None,
            warnings=tuple(_warnings(job, everything)),
        )

    def _put(self, kind: str, name: str, content: bytes) -> File:
        fs.put(self.folder, name, content, "100644")
        return self._file(kind, name)

    def _file(self, kind: str, name: str, platform: str = "any") -> File:
        path = self.folder / name
        count = path.stat().st_size
        guard_size(name, count)
        return File(kind, name, sha256_of(path), count, platform)

    def _payload(self, c: Component) -> File:
        """The artefact itself where there is one, else a tar of all, with the names by which they find one another."""
        self.progress.update(f"packing {c.name}")
        temporary = self.folder / f".{c.name}.tar.xz"
        if len(c.artefacts) == 1:
            like = c.artefacts[0].path
            temporary = self.folder / f".{c.name}"
            with fs.create(temporary) as out, fs.disk_errors(f"read {like}"), open(c.outputs / like, "rb") as f:
                while data := f.read(1 << 20):
                    out.write(data)
            if sha256_of(temporary) != c.artefacts[0].sha256:
                raise Refused("dirty-build", f"{c.name}: {like} changed since it was built", "build it again")
        else:
            like = temporary.name
            tarball.write([temporary], self._members(c), f"{self.name}-{c.name}", self.job.whole.date)
        name = layout.payload(self.name, c.name, c.platform, sha256_of(temporary), like)
        with fs.disk_errors(f"write {name}"):
            temporary.rename(self.folder / name)
            (self.folder / name).chmod(0o644)
        return self._file(PAYLOAD, name, c.platform)

    def _members(self, c: Component) -> list[Member]:
        found = {layout.licences(c.name): Member(layout.licences(c.name), "100644", self._licences(c))}
        for a in c.artefacts:
            mode = "100755" if os.access(c.outputs / a.path, os.X_OK) else "100644"
            found[a.path] = Member(a.path, mode, c.outputs / a.path, a.sha256)
        for path, f in c.facts.items():
            folder, _, name = path.rpartition("/")
            link = f"{folder}/{f.soname}" if folder else f.soname
            if f.soname and f.soname != name and "/" not in f.soname and link not in found:
                found[link] = Member(link, "120000", name.encode("utf-8", "surrogateescape"))
        return [found[p] for p in sorted(found)]

    def _licences(self, c: Component) -> bytes:
        return licences.page(self.job.licences, f"{self.name}, {c.name}")

    def _sources(self) -> tuple[tuple[str, int], list[File]]:
        name = layout.source(self.name, self.version)
        targets = [self.folder / f"{name}{ending}" for ending in self.compressed]
        top, date = layout.stem(self.name, self.version), self.job.whole.date
        packed = tarball.write(targets, self._tree(TreeId(self.job.whole.tip)), top, date)
        kinds = {".xz": SOURCE_XZ, ".zst": SOURCE_ZSTD}
        return (packed.sha256, packed.bytes), [self._file(kinds[t.suffix], t.name) for t in targets]

    def _tree(self, tree: TreeId) -> Iterator[Member]:
        listing = Listing(self.store.repo.list_tree(tree))
        paths = sorted(listing.paths(), key=lambda p: p.encode("utf-8", "surrogateescape"))
        for at in range(0, len(paths), _BATCH):
            self.progress.update("packing the source", at, len(paths), "files")
            part = {p: e for p in paths[at : at + _BATCH] if (e := listing.get(p))}
            contents = self.store.repo.blobs(oid for _, oid in part.values())
            yield from (Member(p, mode, contents[oid]) for p, (mode, oid) in part.items())

    def _patches(self) -> File:
        series = self.job.series
        found = {FILE_NAME: self.job.config, "PATCHES.md": notes.patches_page(series.entries)}
        for name in (order.SERIES_FILE, order.LOCK_FILE):
            if (file := series.dir / name).is_file():
                found[f"patches/{name}"] = order.read_file(file, name)[0]
        found |= {f"patches/{e.name}": e.raw for e in series.entries}
        members = [Member(p, "100644", found[p]) for p in sorted(found)]
        name = layout.patches(self.name, self.version)
        top = f"{layout.stem(self.name, self.version)}-patches"
        tarball.write([self.folder / name], members, top, self.job.whole.date)
        return self._file(PATCHES, name)

    def _interface(self) -> bytes:
        rows = next((c.abi_rows for c in self.job.components if c.abi), ())
        return "".join(f"{row}\n" for row in rows).encode("utf-8")

    def _pin(self, c: Component, payload: File, whole: Index) -> tuple[File, pin.Pin]:
        info = notes.build_info(c, whole, payload.name, payload.sha256)
        engine = next((o for o in self.job.components if o.name == "engine" and o is not c), None)
        together = engine is not None and c.name not in whole.unsmoked and c.smoke.host == engine.whole
        made = pin.Pin(
            component=c.name,
            version=self.version,
            repo=whole.repo,
            rev=whole.rev,
            abi=((ABI, c.abi),) if c.abi else (),
            abi_source=("tree", whole.tip) if c.abi else (),
            engine_min=self.version if engine else "",
            gated_with=self.version if together else "",
            sass=c.architectures("sass"),
            requires=((c.platform, "glibc", c.glibc),) if c.glibc else (),
            features=tuple((f"ptx-{a}", c.platform) for a in c.architectures("ptx")),
            files=(
                payload,
                self._put(LICENCES, layout.licences(c.name), self._licences(c)),
                self._put(BUILD_INFO, layout.build_info(c.name), info),
            ),
        )
        written = self._put("pin", layout.pin(self.name, self.version, c.name), text(made.pairs()))
        return index.pin_file(c.name, written.name, written.sha256, written.bytes), made

    def _statements(
        self, whole: Index, payloads: Mapping[str, File], files: Sequence[File], listed: File
    ) -> list[File]:
        """The SBOM, then the provenance, which is about that too."""
        job = self.job
        self.progress.update("describing the release")
        told = sbom.Facts(
            whole=whole,
            index_sha256=listed.sha256,
            sources=job.sources,
            licences=job.licences,
            components={c.name: (c, payloads[c.name]) for c in job.components},
            tool=__version__,
        )
        made = self._put("sbom", layout.sbom(self.name, self.version), sbom.make(told))
        signed = job.key is not None
        statement = provenance.make(
            provenance.Facts(
                whole=whole,
                subjects=sorted([*files, made], key=lambda f: f.name),
                sources=job.sources,
                components=job.components,
                compressors=self.compressed,
                tool=__version__,
                signed=signed,
            )
        )
        return [made, self._put("provenance", layout.provenance(self.name, self.version, signed), statement)]

    def _sums(self, files: Sequence[File]) -> list[File]:
        """``SHA256SUMS`` over every file, and with a key the signatures of the provenance and of the sums."""
        key, comment = self.job.key, f"{self.name} {self.version}"
        found = []
        if key:
            made = signing.sign(self.folder / files[-1].name, key, comment)
            found.append(self._file("signature", made.name))
        lines = [f"{f.sha256}  {f.name}\n" for f in sorted([*files, *found], key=lambda f: f.name)]
        found.append(self._put("sums", layout.SUMS, "".join(lines).encode()))
        if key:
            made = signing.sign(self.folder / layout.SUMS, key, comment)
            found.append(self._file("signature", made.name))
        return found


def _warnings(job: Job, files: Sequence[File]) -> Iterator[str]:
    for f in files:
        if too_large(f.bytes) is None:
            yield f"{f.name} has {f.bytes >> 20} MiB: an asset must stay under 2 GiB"
    for c in job.components:
        if c.name in job.whole.unsmoked:
            yield f"{c.name} is released unsmoked: {c.smoke.why}"
        if job.ggml and not c.abi:
            yield f"{c.name} has no digest of ggml's interface: its build knew none (pip install 'opencoti-patches[abi]')"
    inside = {name for c in job.components for path, f in c.facts.items() for name in (f.soname, path.split("/")[-1])}
    for c in job.components:
        needed = {name for f in c.facts.values() for name in f.needed if name.startswith("libnccl.")}
        for name in sorted(needed - inside):
            what = f"{c.name} needs {name}, which is not in the release, and no driver brings it"
            yield f"{what}: {NCCL_OFF} in the options of its build spares it"


def _place(made: Path, out: Path, whole: Index) -> str:
    """Put the release in place, or find it there. Errors: Refused ``version-exists``, ``not-empty``."""
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        fs.publish_folder(made, out)
        return "written"
    if not out.is_dir() or not (out / layout.index(whole.name, whole.version)).is_file():
        raise Refused("not-empty", f"{out} holds something else", "name a folder that is not there yet")
    differ = sorted(
        name
        for name in {p.name for p in (*made.iterdir(), *out.iterdir())}
        if not (made / name).is_file() or not (out / name).is_file() or sha256_of(made / name) != sha256_of(out / name)
    )
    if differ:
        more = f" and {len(differ) - 3} more" if len(differ) > 3 else ""
        raise Refused(
            "version-exists",
            f"{out} holds version {whole.version} with other bytes: {', '.join(differ[:3])}{more}",
            "a version is cut once: commit what changed, and release that; or name another folder",
        )
    return "unchanged"
