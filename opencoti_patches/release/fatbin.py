"""The GPU code in a library that nvcc linked, read from its section ``.nv_fatbin``.

The section holds containers, each a header and entries; an entry is PTX (text) or a cubin (an ELF file), plain or
compressed (LZ4 or zstd). A cubin counts only if it has code: a link for no architecture in particular adds an
empty one of its own.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from typing import IO, NamedTuple

from opencoti_patches.release.extra import need

_CONTAINER = struct.Struct("<IHHQ")  # magic, version, bytes of this header, bytes of what follows
_MAGIC = 0xBA55ED50
# kind, version, bytes of this header, bytes of the body with padding, bytes compressed, …, architecture, …, flags,
# …, bytes once unpacked
_ENTRY = struct.Struct("<HHIQIIHHIIIQQQ")
_PTX, _CUBIN = 1, 2
_LZ4, _ZSTD = 0x2000, 0x8000
_ONLY, _FAMILY = 0x100000, 0x200000  # code for this architecture alone (90a), for its family (120f)
_LARGEST = 1 << 30  # bytes of one cubin


class Found(NamedTuple):
    """Architectures as nvcc names them (``90``, ``90a``, ``120f``), with machine code and with PTX."""

    sass: frozenset[str]
    ptx: frozenset[str]


class _Entry(NamedTuple):
    kind: int
    architecture: str
    body: int  # where it begins in the file
    size: int
    unpacked: int
    flags: int


def read(file: IO[bytes], start: int, size: int) -> Found:
    """What a section at ``start`` of ``file`` holds. Errors: ValueError if it is damaged."""
    sass: set[str] = set()
    ptx: set[str] = set()
    for entry in _entries(file, start, start + size):
        if entry.kind == _PTX:
            ptx.add(entry.architecture)
        elif entry.kind == _CUBIN and entry.architecture not in sass and _has_code(file, entry):
            sass.add(entry.architecture)
    return Found(frozenset(sass), frozenset(ptx))


def _entries(file: IO[bytes], at: int, end: int) -> Iterator[_Entry]:
    while at + _CONTAINER.size <= end:
        magic, _, head, length = _CONTAINER.unpack(_bytes(file, at, _CONTAINER.size))
        if magic != _MAGIC:  # padding between containers
            at += 8
            continue
        inner, at = at + head, at + head + length
        if head < _CONTAINER.size or at > end:
            raise ValueError("a container of GPU code is cut short")
        while inner + _ENTRY.size <= at:
            kind, _, header, length, packed, _, _, _, arch, _, _, flags, _, unpacked = _ENTRY.unpack(
                _bytes(file, inner, _ENTRY.size)
            )
            if header < _ENTRY.size or inner + header + length > at:
                raise ValueError("an entry of GPU code is cut short")
            suffix = "a" if flags & _ONLY else "f" if flags & _FAMILY else ""
            yield _Entry(kind, f"{arch}{suffix}", inner + header, min(packed or length, length), unpacked, flags)
            inner += header + length


def _has_code(file: IO[bytes], entry: _Entry) -> bool:
    if entry.unpacked > _LARGEST:
        raise ValueError("an entry of GPU code is too large")
    body = _bytes(file, entry.body, entry.size)
    if entry.flags & _ZSTD:
        body = need("zstandard").ZstdDecompressor().decompress(body, max_output_size=entry.unpacked)
    elif entry.flags & _LZ4:
        body = need("lz4.block").decompress(body, uncompressed_size=entry.unpacked)
    cubin = need("elftools.elf.elffile").ELFFile(io.BytesIO(body))
    return any(s.name.startswith(".text") and s["sh_size"] for s in cubin.iter_sections())


def _bytes(file: IO[bytes], at: int, count: int) -> bytes:
    file.seek(at)
    read = file.read(count)
    if len(read) < count:
        raise ValueError("GPU code is cut short")
    return read
