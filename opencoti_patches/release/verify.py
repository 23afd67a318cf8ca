"""Whether a release is what was verified, from its files alone; then from the base, where that can be had."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from opencoti_patches.build.abi import digest
from opencoti_patches.core.model import printable
from opencoti_patches.core.progress import Progress
from opencoti_patches.doors import fs
from opencoti_patches.doors.net import sha256_of
from opencoti_patches.release import index as indexes
from opencoti_patches.release import layout, pin, provenance, rows, sbom, signing
from opencoti_patches.release.findings import Findings, Verified
from opencoti_patches.release.index import Index
from opencoti_patches.release.origin import Known, check_origin
from opencoti_patches.release.package import BUILD_INFO, INTERFACE, LICENCES, PAYLOAD
from opencoti_patches.release.payload import check_payload
from opencoti_patches.release.pin import Pin

_LINE = re.compile(r"([0-9a-f]{64})  (.+)")
_LARGEST_TEXT = 64 << 20


def verify(
    place: Path, *, key: Path | None = None, offline: bool = False, known: Known | None = None, progress: Progress
) -> Verified:
    """Judge the release in a folder, or beside an index. ``known`` is a project whose base may serve to rebuild the
    tree; without one it is fetched, and with ``offline`` that check is skipped.

    Errors: UsageError ``no-file``, ``no-folder``; CouldNot ``no-tool``, ``no-base-here``, and what fetching a base
    raises. What is wrong with the release is data.
    """
    folder, listed = _place(place)
    with fs.scratch(Path(tempfile.gettempdir()), "verify-") as scratch:
        return _Verifying(folder, listed, scratch, key, progress).run(known, offline)


def _place(place: Path) -> tuple[Path, Path | None]:
    """The folder and the index; None where a folder with sums has none, for then the sums tell which is missing."""
    if place.is_dir() and (place / layout.SUMS).is_file():
        found = [p for p in place.iterdir() if p.name.endswith(indexes.SUFFIX) and p.is_file()]
        return place, found[0] if len(found) == 1 else None
    listed = indexes.find(place)
    return listed.parent, listed


class _Verifying:
    def __init__(self, folder: Path, listed: Path | None, scratch: Path, key: Path | None, progress: Progress) -> None:
        self.folder = folder
        self.listed = listed
        self.scratch = scratch
        self.key = key
        self.progress = progress
        self.found = Findings(scratch)
        self.there: dict[str, str] = {}  # sums of the files, by name
        self.off: set[str] = set()  # files that are not what the sums say
        self.whole: Index | None = None
        self.pins: dict[str, tuple[str, Pin]] = {}  # by component: the pin file's name, the pin

    def run(self, known: Known | None, offline: bool) -> Verified:
        found = self.found
        self._sums()
        signature = self._signature()
        with found.check("index", self.listed.name if self.listed else layout.SUMS):
            self._index()
        if self.whole is None:
            for name in ("pins", "abi", "payloads", "sbom", "provenance", "source", "patches", "rebuild"):
                found.skip(name, "there is no index to hold it to")
            return Verified(self.folder, None, tuple(found.checks), tuple(found.wrong), signature)
        with found.check("pins"):
            self._pins(self.whole)
        with found.check("abi"):
            self._abi(self.whole)
        with found.check("payloads"):
            for name, made in self.pins.values():
                for f in made.files:
                    if f.kind == PAYLOAD and not found.bad(f.name) and not found.bad(name):
                        self.progress.update(f"reading {f.name}")
                        for message in check_payload(self.folder / f.name, made, f, self.whole, self.scratch):
                            found.add(f.name, message)
        self._documents(self.whole)
        check_origin(self.folder, self.whole, found, self.scratch, known, offline, progress=self.progress)
        return Verified(self.folder, self.whole, tuple(found.checks), tuple(found.wrong), signature)

    # -- what is there -----------------------------------------------------------------------

    def _sums(self) -> None:
        found = self.found
        with found.check("files"):
            for path in sorted(self.folder.iterdir()):
                if path.is_symlink() or not path.is_file():
                    found.add(printable(path.name), "it is no plain file")
                else:
                    self.progress.update(f"reading {path.name}")
                    self.there[path.name] = sha256_of(path)
        with found.check("sums", layout.SUMS):
            said = self._stated()
            extra = set(self.there) - set(said) - {layout.SUMS, layout.SUMS + signing.SUFFIX}
            for name, sha256 in said.items():
                if name not in self.there:
                    now = next((x for x in sorted(extra) if self.there[x] == sha256), "")
                    extra.discard(now)
                    self.there.pop(now, None)  # said once
                    found.add(name, f"it is called {printable(now)} here" if now else "it is missing")
                elif self.there[name] != sha256:
                    self.off.add(name)
                    found.add(name, f"it is not what {layout.SUMS} says: it has sha256 {self.there[name]}")
            for name in sorted(extra):
                del self.there[name]
                found.add(printable(name), f"it was added: {layout.SUMS} does not name it")

    def _stated(self) -> Mapping[str, str]:
        if layout.SUMS not in self.there:
            raise ValueError("it is missing")
        said: dict[str, str] = {}
        text = _read(self.folder / layout.SUMS).decode("utf-8", "surrogateescape")
        lines = text.split("\n")
        if lines.pop() != "":
            raise ValueError("its last line has no end")
        for number, line in enumerate(lines, 1):
            m = _LINE.fullmatch(line)
            if m is None or not rows.file_name(m[2]) or m[2] in said:
                raise ValueError(f"line {number} is not a sum and a file's name: {printable(line)[:60]!r}")
            said[m[2]] = m[1]
        return said

    def _signature(self) -> str:
        """Signatures stand beside what they sign: the sums, and the provenance, which calls itself unsigned else."""
        found, name = self.found, layout.SUMS + signing.SUFFIX
        statements = [n for n in self.there if n.endswith(".intoto.json")]
        signed = [n for n in statements if not n.endswith(".unsigned.intoto.json")]
        if not signed and name not in self.there:
            if self.key:
                with found.check("signature", layout.SUMS):
                    raise ValueError("the release is unsigned")
            else:
                found.skip("signature", "the release is unsigned")
            return "unsigned"
        with found.check("signature"):
            for of in (layout.SUMS, *signed):
                if of + signing.SUFFIX not in self.there:
                    found.add(of, "it has no signature, and is not called unsigned")
                elif self.key and (
                    why := signing.verify(self.folder / of, self.folder / (of + signing.SUFFIX), self.key)
                ):
                    found.add(of, f"its signature is not that of the key: {why}")
            if not signed:
                found.add(name, "the sums are signed, the provenance calls itself unsigned")
        return "verified" if self.key else "not verified"

    # -- what it says ------------------------------------------------------------------------

    def _index(self) -> None:
        if self.listed is None:
            if not any(w.file.endswith(indexes.SUFFIX) for w in self.found.wrong):
                raise ValueError("it names no index, or the folder has more than one")
            return
        whole = indexes.load(self.listed)
        self.whole = whole
        if self.listed.name in self.there and self.listed.name != layout.index(whole.name, whole.version):
            self.found.add(self.listed.name, f"it is that of {whole.name} {whole.version}")
        for f in (*whole.pins, *whole.files):
            self._hold(f, self.listed.name)

    def _hold(self, f: rows.File, by: str) -> None:
        """Hold a file to the row of an index or a pin. Where that is right and the sums are not, it is they."""
        if f.name in self.off and self.there.get(f.name) == f.sha256:
            self.off.discard(f.name)
            self.found.reword(f.name, layout.SUMS, f"its line of {f.name} is not that file's sum, which {by} has right")
        if self.found.bad(f.name):
            return
        if f.name not in self.there:
            self.found.add(f.name, f"it is missing: {by} names it")
        elif self.there[f.name] != f.sha256:
            self.found.add(f.name, f"it is not what {by} says: it has sha256 {self.there[f.name]}")
        elif (self.folder / f.name).stat().st_size != f.bytes:
            self.found.add(by, f"{f.name} has another size than the {f.bytes} bytes that it says")

    def _pins(self, whole: Index) -> None:
        found = self.found
        for f in whole.pins:
            if found.bad(f.name):
                continue
            with found.about(f.name):
                made = pin.parse(_read(self.folder / f.name), f.name)
                component = indexes.component_of(f)
                for what, mine, theirs in (
                    ("component", made.component, component),
                    ("version", made.version, whole.version),
                    ("repo", made.repo, whole.repo),
                    ("rev", made.rev, whole.rev),
                ):
                    if mine != theirs:
                        found.add(f.name, f"it is of {what} {mine}, the index says {theirs}")
                self.pins[component] = (f.name, made)
                for kind in (PAYLOAD, LICENCES, BUILD_INFO):
                    if not any(row.kind == kind for row in made.files):
                        found.add(f.name, f"it has no file of kind {kind}")
                for row in made.files:
                    self._hold(row, f.name)
                    if row.kind == PAYLOAD and not layout.names_its_content(row.name, row.sha256):
                        found.add(row.name, "its name has not its sum in it")
        counts = Counter(row.name for _, made in self.pins.values() for row in made.files)
        for name, count in counts.items():
            if count > 1:
                found.add(name, "more than one component has a file of this name")
        signed = [n for n in self.there if n.endswith(signing.SUFFIX)]
        own = {layout.SUMS, layout.index(whole.name, whole.version), layout.sbom(whole.name, whole.version), *signed}
        own |= {layout.provenance(whole.name, whole.version, s) for s in (True, False)}
        named = own | set(counts) | {f.name for f in (*whole.pins, *whole.files)}
        if len(self.pins) == len(whole.pins):
            for name in sorted(set(self.there) - named):
                if not found.bad(name):
                    found.add(printable(name), "it was added: neither the index nor a pin names it")

    def _abi(self, whole: Index) -> None:
        digests = {c: dict(made.abi) for c, (_, made) in self.pins.items()}
        for component, mine in digests.items():
            name, made = self.pins[component]
            for other, theirs in digests.items():
                for what in sorted(mine.keys() | theirs.keys()):
                    if mine.get(what) != theirs.get(what) and component > other:
                        self.found.add(name, f"its interface of {what} is not that of {other}")
            if made.abi and made.abi_source != ("tree", whole.tip):
                self.found.add(name, "its abi-source is not the tree of the release")
        file = whole.file(INTERFACE)
        if file and not self.found.bad(file.name):
            text = _read(self.folder / file.name).decode("utf-8", "surrogateescape")
            if any(sha != digest(text.removesuffix("\n").split("\n")) for d in digests.values() for sha in d.values()):
                self.found.add(file.name, "its rows are not those of the pins' digest")

    def _documents(self, whole: Index) -> None:
        found, name = self.found, layout.sbom(whole.name, whole.version)
        with found.check("sbom", name):
            if name not in self.there:
                raise ValueError("it is missing")
            raw = _read(self.folder / name)
            if why := sbom.invalid(raw):
                raise ValueError(f"it is no CycloneDX 1.6: {why}")
            stated = sbom.sums_of(raw)
            for reference, sha256 in self._expected(whole).items():
                if stated.get(reference) != sha256:
                    found.add(name, f"it does not have the sum of {reference}")
        names = [layout.provenance(whole.name, whole.version, s) for s in (True, False)]
        statements = [n for n in names if n in self.there]
        with found.check("provenance", statements[0] if statements else names[1]):
            if len(statements) != 1:
                raise ValueError(
                    "it is missing" if not statements else "there is one that is signed and one that is not"
                )
            subjects = provenance.subjects_of(_read(self.folder / statements[0]))
            about = {n: sha for n, sha in self.there.items() if n not in (layout.SUMS, statements[0])}
            about = {n: sha for n, sha in about.items() if not n.endswith(signing.SUFFIX)}
            for other in sorted(about.keys() | subjects.keys()):
                if about.get(other) != subjects.get(other) and not found.bad(other):
                    found.add(statements[0], f"it is not about {printable(other)} as it is here")

    def _expected(self, whole: Index) -> dict[str, str]:
        wanted = {"source": whole.source[0]}
        if self.listed:
            wanted["release"] = sha256_of(self.listed)
        for component, (_, made) in self.pins.items():
            wanted |= {f"component-{component}": f.sha256 for f in made.files if f.kind == PAYLOAD}
        return wanted


def _read(path: Path) -> bytes:
    """A text file of the release. Errors: ValueError for one that is too large to be one."""
    with fs.disk_errors(f"read {path}"), open(path, "rb") as f:
        raw = f.read(_LARGEST_TEXT + 1)
    if len(raw) > _LARGEST_TEXT:
        raise ValueError("it is larger than any such file")
    return raw
