"""Tars that are the same bytes whenever and wherever they are made: sorted names, pax, one time, nobody's ids,
fixed modes; compressed by one thread. What was packed is known by the tar's own sum, whatever compressed it.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import lzma
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple, Protocol

from opencoti_patches.core.errors import Refused
from opencoti_patches.core.model import printable
from opencoti_patches.doors import fs
from opencoti_patches.release.extra import need

XZ_LEVEL = 4
ZSTD_LEVEL = 9
_PIECE = 1 << 20
_MODES = {"100644": 0o644, "100755": 0o755, "120000": 0o777}


class Member(NamedTuple):
    """A file of a tar. ``content`` is its bytes, or a file to copy that must have the sum ``sha256``; of a symlink
    (mode 120000) its target."""

    path: str
    mode: str
    content: bytes | Path
    sha256: str = ""


class Packed(NamedTuple):
    """The sum and the size of a tar before compression."""

    sha256: str
    bytes: int


class _Compressor(Protocol):
    def compress(self, data: bytes, /) -> bytes: ...
    def flush(self) -> bytes: ...


def compressors() -> Mapping[str, tuple[Callable[[], _Compressor], str]]:
    """By the ending of a file's name: what compresses it, and how people are told so."""
    zstd = need("zstandard")
    version = ".".join(map(str, zstd.ZSTD_VERSION))
    return {
        ".xz": (lambda: lzma.LZMACompressor(preset=XZ_LEVEL), f"xz -{XZ_LEVEL}, one thread"),
        ".zst": (
            lambda: zstd.ZstdCompressor(level=ZSTD_LEVEL, threads=0, write_checksum=True).compressobj(),
            f"zstd {version} -{ZSTD_LEVEL}, one thread",
        ),
    }


def write(targets: Iterable[Path], members: Iterable[Member], top: str, date: int) -> Packed:
    """Write one tar to every target, each compressed as its name ends; ``members`` come sorted by path, and lie
    below the folder ``top``. All have the time ``date``.

    Errors: Refused ``dirty-build`` for a copied file of another sum; CouldNot ``disk``, ``no-tool``.
    """
    known = compressors()
    with contextlib.ExitStack() as stack:
        sinks = [(stack.enter_context(fs.create(t)), known[t.suffix][0]()) for t in targets]
        tee = _Tee(sinks)
        with tarfile.open(fileobj=tee, mode="w|", format=tarfile.PAX_FORMAT, errors="surrogateescape") as tar:  # type: ignore[call-overload]
            for member in members:
                _add(tar, member, top, date)
        for file, packer in sinks:
            file.write(packer.flush())
        return Packed(tee.sum.hexdigest(), tee.count)


def _add(tar: tarfile.TarFile, member: Member, top: str, date: int) -> None:
    info = tarfile.TarInfo(f"{top}/{member.path}")
    info.mtime = date
    info.mode = _MODES[member.mode]
    if member.mode == "120000":
        assert isinstance(member.content, bytes)
        info.type = tarfile.SYMTYPE
        info.linkname = member.content.decode("utf-8", "surrogateescape")
        tar.addfile(info)
    elif isinstance(member.content, bytes):
        info.size = len(member.content)
        tar.addfile(info, io.BytesIO(member.content))
    else:
        with fs.disk_errors(f"read {member.content}"), open(member.content, "rb") as f:
            info.size = f.seek(0, io.SEEK_END)
            f.seek(0)
            read = _Summed(f)
            tar.addfile(info, read)  # type: ignore[arg-type]
        if read.sum.hexdigest() != member.sha256:
            raise Refused(
                "dirty-build",
                f"{printable(member.path)} is not what the build made",
                "build it again: opencoti-patches build",
            )


class _Tee:
    """What tarfile writes, summed, and given to every compressor."""

    def __init__(self, sinks: list[tuple[IO[bytes], _Compressor]]) -> None:
        self.sinks = sinks
        self.sum = hashlib.sha256()
        self.count = 0

    def write(self, data: bytes) -> int:
        self.sum.update(data)
        self.count += len(data)
        for file, packer in self.sinks:
            file.write(packer.compress(data))
        return len(data)


class _Summed:
    """A file that is read once, and summed on the way."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.sum = hashlib.sha256()

    def read(self, count: int) -> bytes:
        data = self.file.read(count)
        self.sum.update(data)
        return data


def unpack(packed: Path, target: Path, most: int) -> Packed:
    """Write the tar inside a compressed file to ``target``, no more than ``most`` bytes of it.

    Errors: ValueError for what cannot be unpacked, or is larger; CouldNot ``disk``, ``no-tool``.
    """
    summed, count = hashlib.sha256(), 0
    with fs.create(target, sync=False) as out:
        for data in _pieces(packed):
            count += len(data)
            if count > most:
                raise ValueError(f"it unpacks to more than the {most} bytes that the index says")
            summed.update(data)
            out.write(data)
    return Packed(summed.hexdigest(), count)


def _pieces(packed: Path) -> Iterator[bytes]:
    zstd: Any = need("zstandard")
    with fs.disk_errors(f"read {packed}"), open(packed, "rb") as f:
        try:
            if packed.suffix == ".zst":
                yield from zstd.ZstdDecompressor().read_to_iter(f, write_size=_PIECE)
            else:
                with lzma.open(f) as inner:
                    while data := inner.read(_PIECE):
                        yield data
        except (lzma.LZMAError, zstd.ZstdError, EOFError) as e:
            raise ValueError(f"it cannot be unpacked: {(str(e).splitlines() or [''])[0][:80]}") from None


class Entry(NamedTuple):
    """A member that was read: its path below the tar's top folder, its mode as git has it, its content or target."""

    path: str
    mode: str
    content: bytes


def read_small(packed: Path, most: int, scratch: Path, top: str = "") -> Iterator[Entry]:
    """The files and links of one of our tars, of at most ``most`` bytes, by its compressed file; all of it lies in
    one folder, ``top`` if that is given.

    Errors: ValueError for what is not one of ours; CouldNot ``disk``, ``no-tool``.
    """
    with fs.scratch(scratch, "tar-") as folder:
        unpack(packed, folder / "tar", most)
        yield from _entries(folder / "tar", top)


def _entries(tar: Path, top: str) -> Iterator[Entry]:
    try:
        seen = set()
        with tarfile.open(tar, "r:", encoding="utf-8", errors="surrogateescape") as t:
            for info in t:
                first, _, path = info.name.partition("/")
                top = top or first
                if not first or first != top or not path:
                    raise ValueError(f"{printable(info.name)[:80]} does not lie in {printable(top)[:80]}")
                if any(part in ("", ".", "..") for part in path.split("/")):
                    raise ValueError(f"{printable(info.name)[:80]} is no name of a file in a folder")
                if path in seen:
                    raise ValueError(f"{printable(info.name)[:80]} is in it twice")
                seen.add(path)
                if not info.issym() and info.mode not in _MODES.values():
                    raise ValueError(f"{printable(info.name)[:80]} has the mode {info.mode:o}")
                if info.issym():
                    yield Entry(path, "120000", info.linkname.encode("utf-8", "surrogateescape"))
                elif info.isreg() and not info.issparse():
                    file = t.extractfile(info)
                    yield Entry(path, "100755" if info.mode & 0o100 else "100644", file.read() if file else b"")
                else:
                    raise ValueError(f"{printable(info.name)[:80]} is neither a file nor a link")
    except (tarfile.TarError, EOFError, OSError, UnicodeError, OverflowError) as e:
        raise ValueError(f"it is no tar: {(str(e).splitlines() or [''])[0][:80]}") from None
