"""``kind = "archive"``: a tar or zip file, by path or URL, and its sha256.

A top folder that every member shares (``llama.cpp-b9445/…``) is taken off; with anything beside it,
nothing is. Then ``subdir`` is looked up. Nothing is unpacked to the disk: members go into the store as
they are read. An archive is a stranger's file, so what could reach outside its tree is refused:

- a name that is absolute or has ``..``; a ``.git`` component in any letter case is left out, one in
  disguise (``git~1``, ignorable characters) refused;
- a symlink whose target leaves the tree, directly or through other symlinks;
- a device or pipe; a hard link to what the archive does not hold; two members of one path, a member
  below a file or symlink; more than ``MAX_MEMBER`` or ``MAX_TOTAL`` bytes;
- a path that could never be written (``limits``).
"""

from __future__ import annotations

import contextlib
import re
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal, NamedTuple

from opencoti_patches.base.limits import IGNORABLE, refusal
from opencoti_patches.base.store import Store
from opencoti_patches.core.config import Source
from opencoti_patches.core.errors import CouldNot, UsageError
from opencoti_patches.core.model import TreeId, decode, encode, printable
from opencoti_patches.core.progress import Progress
from opencoti_patches.doors import fs, net
from opencoti_patches.doors.git import NewFile

if TYPE_CHECKING:
    import tarfile
    import zipfile

MAX_MEMBER = 2 << 30
MAX_TOTAL = 16 << 30
MAX_MEMBERS = 2_000_000
_CHUNK = 1 << 18

# Names that Windows and macOS file systems take for .git.
_NTFS_GIT = re.compile(r"(\.git|git~1)[ .]*(:.*)?", re.IGNORECASE | re.DOTALL)


_LONGEST_TARGET = 4096

Kind = Literal["file", "folder", "symlink", "hardlink", "special"]


class Member(NamedTuple):
    """One member. ``target`` is that of a symlink, or the name of a hard link's other member."""

    name: str  # as it stands in the archive
    kind: Kind
    size: int = 0
    executable: bool = False
    target: str = ""
    number: int = 0  # its place in the archive
    path: str = ""  # in the tree, once known


class Opened(NamedTuple):
    """An archive whose members are known. ``read`` opens a file member; cheapest in archive order."""

    members: Sequence[Member]
    read: Callable[[Member], IO[bytes]]


def make_tree(source: Source, store: Store, *, progress: Progress) -> tuple[TreeId, dict[str, str]]:
    """Store the archive's tree. Returns (tree, {}).

    Errors: UsageError ``missing-sha256``, ``no-subdir``; CouldNot ``bad-archive``, ``unsafe-archive`` and
    those of ``net.download``.
    """
    file, sha256 = obtain(source, store, progress=progress)
    if not source.sha256:
        raise missing_sha256(source, sha256)
    return import_archive(file, source, store, progress=progress), {}


def obtain(source: Source, store: Store, *, progress: Progress) -> tuple[Path, str]:
    """The verified file and its sha256; a download is kept in the store by its sum, for its URL alone."""
    if source.path:
        file = Path(source.path)
        if not file.is_file():
            raise UsageError(
                "no-archive", f"the base archive {file} is not there", "a relative path is from opencoti.toml"
            )
        progress.update(f"reading {file.name}")
        got = net.sha256_of(file)
        if source.sha256 and got != source.sha256:
            raise CouldNot(
                "wrong-sha256",
                f"{file} has sha256 {got}, expected {source.sha256}",
                "if the file was meant to change, put the new sum into opencoti.toml; otherwise do not trust it",
            )
        return file, got
    if source.sha256 and (kept := store.kept(source.sha256, source.origin)):
        return kept, source.sha256
    return keep(store, source, lambda to: net.download(source.url, to, sha256=source.sha256, progress=progress))


def keep(store: Store, source: Source, download: Callable[[Path], str]) -> tuple[Path, str]:
    """Run a download to where the store keeps it: under its sum, known beforehand or not, with a note of
    what it was fetched as. What a killed one left is carried on for that alone."""
    import hashlib

    its = hashlib.sha256(encode(source.origin)).hexdigest()[:16]
    arriving = store.downloads / f"{source.sha256 or 'unpinned'}-{its}"
    got = download(arriving)
    with fs.disk_errors(f"keep the download in {store.downloads}"):
        arriving.replace(store.downloads / got)
    store.note_origin(got, source.origin)
    return store.downloads / got, got


def missing_sha256(source: Source, sha256: str) -> UsageError:
    """What tells people which line to add."""
    return UsageError(
        "missing-sha256",
        f"the base source {source.label} has no sha256; it was computed: add the line below to it",
        f'sha256 = "{sha256}"',
    )


def import_archive(
    file: Path, source: Source, store: Store, *, progress: Progress, always_strip: bool = False
) -> TreeId:
    """Put the tree of an archive into the store. ``always_strip``: without one top folder it is refused."""
    label = source.label if source.package else file.name if source.path else net.shown(source.url)
    with _opened(file, label) as archive:
        wanted = choose(archive.members, source.subdir, label, always_strip=always_strip)
        return store.repo.import_tree(_files(archive, wanted, label, progress))


def top_folder(file: Path, label: str) -> str:
    """The first component of the first member's name. Errors: CouldNot ``bad-archive``."""
    with _opened(file, label) as archive:
        return next((p for m in archive.members for p in m.name.split("/") if p not in ("", ".")), "")


def texts(file: Path, label: str, names: Collection[str], *, largest: int = 4 << 20) -> dict[str, bytes]:
    """Files of an archive by their path below its top folder, for reading: those of ``names`` that it has, of
    at most ``largest`` bytes each. Errors: CouldNot ``bad-archive``, ``unsafe-archive``."""
    found = {}
    with _opened(file, label) as archive:
        for m in archive.members:
            path = "/".join(p for p in m.name.split("/") if p not in ("", ".")).partition("/")[2]
            if path in names and m.kind == "file" and m.size <= largest:
                found[path] = b"".join(_contents(archive, m, label))
    return found


def choose(members: Sequence[Member], subdir: str, label: str, *, always_strip: bool = False) -> list[Member]:
    """The members that make the tree, with their ``path``, after every check; symlinks and hard links
    follow the files. Errors: UsageError ``no-subdir``; CouldNot ``unsafe-archive``, ``bad-archive``."""
    placed = [(m, _parts(m.name, label)) for m in members]
    placed = [(m, parts) for m, parts in placed if parts]
    tops = {parts[0] for _, parts in placed}
    strip = len(tops) == 1 and all(len(parts) > 1 or m.kind == "folder" for m, parts in placed)
    if always_strip and not strip:
        raise CouldNot(
            "bad-archive",
            f"{label} is not a source distribution: it has no single top folder",
            "look at the file: an sdist holds one folder, NAME-VERSION",
        )
    below = subdir.split("/") if subdir else []
    found: list[Member] = []
    for m, parts in placed:
        parts = parts[1:] if strip else parts
        if parts[: len(below)] != below or any(p.lower() == ".git" for p in parts):
            continue
        inner = parts[len(below) :]
        if not inner and m.kind != "folder":
            raise UsageError("no-subdir", f"{subdir} is a file in {label}", "subdir names a folder")
        if inner:
            found.append(m._replace(path="/".join(inner)))
    if not found:
        seen = sorted({"/".join(p[1:2] if strip else p[:1]) for _, p in placed} - {""})
        raise UsageError(
            "no-subdir",
            f"{label} has no folder {subdir}" if subdir else f"{label} holds no files",
            f"at its top: {', '.join(map(printable, seen[:8]))}{', …' if len(seen) > 8 else ''}" if seen else "",
        )
    return _checked(_linked(found, {"/".join(parts): m for m, parts in placed}, label), label)


def _parts(name: str, label: str) -> list[str]:
    if why := refusal(name):
        raise _unsafe(label, why)
    if name.startswith("/") or ".." in name.split("/") or "\0" in name:
        raise _unsafe(label, f"the name {printable(name)} leaves the tree")
    return [p for p in name.split("/") if p not in ("", ".")]


def _unsafe(label: str, why: str) -> CouldNot:
    return CouldNot("unsafe-archive", f"{label} is refused: {why}", "nothing of it was unpacked")


def _linked(found: list[Member], everything: dict[str, Member], label: str) -> list[Member]:
    """Hard links become what they link to, under their own path."""
    resolved: list[Member] = []
    for m in found:
        at, hops = m, 0
        while at.kind == "hardlink":
            other = everything.get("/".join(_parts(at.target, label)))
            hops += 1
            if other is None or hops > 40:
                raise _unsafe(label, f"the hard link {printable(m.path)} points at nothing in it")
            at = other
        if m.kind == "hardlink" and at.kind == "folder":
            raise _unsafe(label, f"the hard link {printable(m.path)} points at a folder")
        resolved.append(at._replace(path=m.path))
    return resolved


def _checked(found: list[Member], label: str) -> list[Member]:
    """The files and symlinks among them, proven to make a tree that stays within itself."""
    contents: dict[str, Member] = {}
    folders: set[str] = set()
    for m in found:
        for part in m.path.split("/"):
            if part != ".git" and _NTFS_GIT.fullmatch(IGNORABLE.sub("", part)):
                raise _unsafe(label, f"{printable(m.path)} is .git in disguise")
        parents = m.path.split("/")
        folders.update("/".join(parents[:i]) for i in range(1, len(parents)))
        if m.kind == "folder":
            folders.add(m.path)
            continue
        if m.kind == "special":
            raise _unsafe(label, f"{printable(m.path)} is a device or a pipe")
        if why := refusal(m.path, link=m.kind == "symlink"):
            raise _unsafe(label, why)
        if m.path in contents:
            raise _unsafe(label, f"it holds {printable(m.path)} twice")
        contents[m.path] = m
    if both := sorted(folders & contents.keys()):
        raise _unsafe(label, f"{printable(both[0])} is both a folder and a {contents[both[0]].kind}")
    links = {path: m.target for path, m in contents.items() if m.kind == "symlink"}
    for path, target in links.items():
        if not target or "\0" in target or len(target) > _LONGEST_TARGET:
            raise _unsafe(label, f"the symbolic link {printable(path)} has no sane target")
        if not _stays(path, target, links):
            raise _unsafe(label, f"the symbolic link {printable(path)} -> {printable(target)} leaves the tree")
    if not contents:
        raise UsageError("no-subdir", f"{label} holds no files there", "look at 'subdir' of the base source")
    return list(contents.values())


def _stays(path: str, target: str, links: dict[str, str]) -> bool:
    """Whether following a symlink, and every link on the way, never leaves the tree."""
    if target.startswith("/"):
        return False
    at = path.split("/")[:-1]
    todo = target.split("/")[::-1]
    hops = 0
    while todo:
        part = todo.pop()
        if part == "..":
            if not at:
                return False
            at.pop()
        elif part not in ("", "."):
            at.append(part)
            further = links.get("/".join(at))
            if further is None:
                continue
            hops += 1
            if hops > 40:  # the kernel gives up here too: it leads nowhere
                return True
            if further.startswith("/"):
                return False
            at.pop()
            todo.extend(further.split("/")[::-1])
    return True


def _files(archive: Opened, wanted: Iterable[Member], label: str, progress: Progress) -> Iterator[NewFile]:
    by_member: dict[int, list[Member]] = {}
    for m in wanted:
        by_member.setdefault(m.number, []).append(m)
    total = len(by_member)
    for done, (_, same) in enumerate(sorted(by_member.items())):
        progress.update(f"unpacking {label}", done, total, "files")
        first, also = same[0], tuple(m.path for m in same[1:])
        if first.kind == "symlink":
            target = encode(first.target)
            yield NewFile(path=first.path, mode="120000", size=len(target), chunks=(target,), also=also)
        else:
            mode = "100755" if first.executable else "100644"
            yield NewFile(
                path=first.path, mode=mode, size=first.size, chunks=_contents(archive, first, label), also=also
            )
    progress.update(f"unpacking {label}", total, total, "files")


def _contents(archive: Opened, member: Member, label: str) -> Iterator[bytes]:
    left = member.size
    with archive.read(member) as f:
        while left and (chunk := f.read(min(_CHUNK, left))):
            left -= len(chunk)
            yield chunk
    if left:
        raise CouldNot(
            "bad-archive", f"{label} is damaged: {printable(member.name)} is cut short", "get the archive again"
        )


@contextlib.contextmanager
def _opened(file: Path, label: str) -> Iterator[Opened]:
    """Errors: CouldNot ``bad-archive`` for what is neither tar nor zip, or damaged anywhere on the way."""
    import lzma
    import tarfile
    import zipfile
    import zlib

    try:
        if zipfile.is_zipfile(file) and not _is_tar(file):
            with zipfile.ZipFile(file) as z:
                infos = z.infolist()
                members = (_zip_member(z, info, i, label) for i, info in enumerate(infos))
                yield Opened(_bounded(members, label), lambda m: z.open(infos[m.number]))
        else:
            with tarfile.open(file, "r:*", encoding="utf-8", errors="surrogateescape") as t:
                heads: list[tarfile.TarInfo] = []

                def read(member: Member) -> IO[bytes]:
                    opened = t.extractfile(heads[member.number])
                    assert opened is not None  # only asked of files
                    return opened

                def look() -> Iterator[Member]:
                    for info in t:
                        heads.append(info)
                        yield _tar_member(info, len(heads) - 1)

                yield Opened(_bounded(look(), label), read)
    except (tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, NotImplementedError) as e:
        why = (str(e).splitlines() or [type(e).__name__])[0]
        raise CouldNot("bad-archive", f"{label} cannot be read: {why}", "tar (gz, bz2, xz) and zip are known") from None
    except OSError as e:
        if e.errno is not None:
            raise CouldNot("disk", f"cannot read {file}: {e.strerror}", fs.hint_of(e)) from None
        raise CouldNot(
            "bad-archive", f"{label} is damaged: {e}", "get the archive again"
        ) from None  # gzip and bz2 say it so


def _is_tar(file: Path) -> bool:
    """A tar that holds a zip near its end passes for one; the header settles it."""
    with open(file, "rb") as f:
        head = f.read(512)
    return head[257:262] == b"ustar"


def _bounded(members: Iterable[Member], label: str) -> list[Member]:
    found: list[Member] = []
    total = 0
    for m in members:
        total += m.size
        if m.size > MAX_MEMBER or total > MAX_TOTAL or len(found) >= MAX_MEMBERS:
            raise _unsafe(label, f"it is too large at {printable(m.name)}")
        found.append(m)
    return found


def _tar_member(info: tarfile.TarInfo, index: int) -> Member:
    kind: Kind = (
        "file" if info.isreg() else "folder" if info.isdir() else "symlink" if info.issym()
        else "hardlink" if info.islnk() else "special"
    )  # fmt: skip
    size = info.size if kind == "file" else 0
    target = info.linkname if kind in ("symlink", "hardlink") else ""
    return Member(name=info.name, kind=kind, size=size, executable=bool(info.mode & 0o100), target=target, number=index)


def _zip_member(z: zipfile.ZipFile, info: zipfile.ZipInfo, index: int, label: str) -> Member:
    if info.flag_bits & 0x1:
        raise CouldNot("bad-archive", f"{label} is encrypted", "name an archive without a password")
    # Without the UTF-8 flag zipfile reads names as cp437; undo that, for Unix tools wrote plain bytes.
    name = info.filename if info.flag_bits & 0x800 else decode(info.filename.encode("cp437"))
    mode = info.external_attr >> 16
    kind: Kind = "file"
    if info.is_dir():
        kind = "folder"
    elif stat.S_ISLNK(mode):
        kind = "symlink"
    elif stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        kind = "special"
    target = ""
    if kind == "symlink":
        with z.open(info) as f:
            target = decode(f.read(_LONGEST_TARGET + 1))
    size = info.file_size if kind == "file" else 0
    return Member(name=name, kind=kind, size=size, executable=bool(mode & 0o100), target=target, number=index)
