"""The readers of a release's files: what they take and refuse, and that no bytes at all get past them."""

from __future__ import annotations

import io
import lzma
import shutil
import struct
import subprocess
import tarfile
from pathlib import Path

import lz4.block
import pytest
import zstandard
from conftest import examples
from hypothesis import given
from hypothesis import strategies as st

from opencoti_patches.core.errors import OpencotiError, UsageError
from opencoti_patches.release import fatbin, index, licences, pin, provenance, sbom, tarball
from opencoti_patches.release.facts import facts_of, numbers, platform_of
from opencoti_patches.release.index import Index
from opencoti_patches.release.pin import Pin
from opencoti_patches.release.rows import File, text

SHA = "a" * 64
REV = "b" * 40
PIN = Pin(
    component="cuda",
    version="1780000000000",
    repo="owner/name",
    rev=REV,
    abi=(("ggml", SHA),),
    abi_source=("tree", REV),
    engine_min="1780000000000",
    gated_with="1780000000000",
    sass=("75", "90a", "120f"),
    requires=(("linux-x86_64", "glibc", "2.34"),),
    features=(("ptx-90", "linux-x86_64"), ("flash",)),
    files=(File("payload", "x-1.so", SHA, 7, "linux-x86_64"), File("licences", "L.txt", SHA, 0)),
)
INDEX = Index(
    name="fork",
    version="1780000000000",
    channel="release",
    tag="v1",
    repo="owner/name",
    rev=REV,
    date=1780000000,
    base=REV,
    tip=REV,
    source=(SHA, 10240),
    patches=(("0001-é.patch", SHA), ("core/0002-b.patch", SHA)),
    since=("1770000000000", SHA),
    unsmoked=("cuda",),
    pins=(index.pin_file("cuda", "x.pin", SHA, 9),),
    files=(File("notes", "NOTES.md", SHA, 3),),
)
GOOD = {"pin": text(PIN.pairs()), "index": text(INDEX.pairs())}


def read(raw: bytes) -> object:
    return (pin.parse if b"\ncomponent " in raw else index.parse)(raw, "file")


def test_what_is_written_is_read_back() -> None:
    assert read(GOOD["pin"]) == PIN
    assert read(GOOD["index"]) == INDEX
    assert GOOD["pin"].isascii()


@pytest.mark.parametrize(
    ("kind", "old", "new", "says"),
    [
        ("pin", b"sass ", b"glass ", "line 10: unknown key 'glass'"),
        ("pin", b"format 2", b"format 3", "line 1: format cannot be '3'"),
        ("pin", b"rev " + REV.encode(), b"rev main", "rev cannot be 'main'"),
        ("pin", b"version 1780000000000", b"version 1.0", "version cannot be '1.0'"),
        ("pin", b"x-1.so", b"../x.so", "file cannot be"),
        ("pin", b"x-1.so", b"/x.so", "file cannot be"),
        ("pin", b"x-1.so", b"-x.so", "file cannot be"),
        ("pin", b"x-1.so", b"L.txt", "names a file twice"),
        ("pin", b" 7\n", b" 07\n", "file cannot be"),
        ("pin", b" 7\n", b" 2147483648\n", "file cannot be"),
        ("pin", b"sass 75", b"sass  75", "sass cannot be"),
        ("pin", b"sass 75", "sass 75\u0660".encode(), "it is not plain text"),
        ("pin", b"engine-min", b"gated-with", "there is a gated-with already"),
        ("pin", b"feature flash\n", b"feature flash\nfeature flash\n", "the same line"),
        ("pin", b"repo owner/name\n", b"", "it has no repo"),
        ("pin", b" 0\n", b" 0", "its last line has no end"),
        ("pin", b"\n", b"\r\n", "cannot be"),
        ("index", b"channel release", b"channel nightly", "channel cannot be"),
        ("index", b"unsmoked cuda\n", b"unsmoked cuda\nsmoked engine\n", "unknown key 'smoked'"),
        ("index", b"core/0002-b.patch", "0001-é.patch".encode(), "the same line"),
        ("index", b"file notes NOTES.md", b"file notes x.pin", "names a file twice"),
    ],
)
def test_what_is_not_of_the_format_is_refused_with_its_line(kind: str, old: bytes, new: bytes, says: str) -> None:
    raw = GOOD[kind]
    assert old in raw
    with pytest.raises(UsageError) as error:
        read(raw.replace(old, new, 1))
    assert error.value.code == "bad-pin"
    assert says in error.value.message


edits = st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 3), st.binary(max_size=6)), min_size=1, max_size=4)


def edited(raw: bytes, changes: list[tuple[int, int, bytes]]) -> bytes:
    for at, count, new in changes:
        at %= len(raw) + 1
        raw = raw[:at] + new + raw[at + count :]
    return raw


@given(st.sampled_from(sorted(GOOD)), edits)
@examples(300)
def test_any_bytes_are_a_pin_or_one_clear_error(kind: str, changes: list[tuple[int, int, bytes]]) -> None:
    raw = edited(GOOD[kind], changes)
    try:
        found = read(raw)
    except UsageError as e:
        assert e.code == "bad-pin"
        assert "\n" not in e.message
    else:
        assert isinstance(found, Pin | Index)
        files = found.files if isinstance(found, Pin) else (*found.files, *found.pins)
        assert all("/" not in f.name and not f.name.startswith(".") for f in files)
        assert sorted(text(found.pairs()).split(b"\n")) == sorted(raw.split(b"\n"))


ELF = Path("/bin/true").read_bytes()[:20000]


@given(st.one_of(st.binary(max_size=300), edits.map(lambda e: edited(ELF, e))))
@examples(60)
def test_any_bytes_have_facts_or_one_clear_error(raw: bytes) -> None:
    import tempfile

    with tempfile.NamedTemporaryFile() as f:
        f.write(raw)
        f.flush()
        try:
            facts_of(Path(f.name))
        except OpencotiError as e:
            assert e.code == "bad-binary"


@given(st.binary(max_size=400))
@examples(60)
def test_any_bytes_are_gpu_code_or_an_error(raw: bytes) -> None:
    head = b"\x50\xed\x55\xba\x01\x00\x10\x00" + len(raw).to_bytes(8, "little")
    try:
        fatbin.read(io.BytesIO(head + raw), 0, len(head + raw))
    except Exception as e:  # facts_of tells each of them as one clear error
        assert not isinstance(e, OpencotiError)


@given(
    st.one_of(
        st.binary(max_size=200), st.recursive(st.none() | st.text(max_size=3), st.lists).map(repr).map(str.encode)
    )
)
@examples(12)
def test_any_bytes_are_a_statement_and_an_sbom_or_an_error(raw: bytes) -> None:
    with pytest.raises(ValueError, match="it"):
        provenance.subjects_of(raw)
    assert sbom.invalid(raw)


def test_a_deep_document_is_no_statement() -> None:
    for raw in (b"[" * 100_000, b'{"a":' * 100_000):
        with pytest.raises(ValueError, match="no JSON"):
            provenance.subjects_of(raw)
        assert sbom.invalid(raw) == "it is no JSON"


def tar_of(*members: tuple[str, bytes, str]) -> bytes:
    """A tar of (name, kind, target) members, by the standard library."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, kind, target in members:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, target
            tar.addfile(info)
    return out.getvalue()


@pytest.mark.parametrize(
    "raw",
    [
        tar_of(("top/a", tarfile.REGTYPE, ""), ("other/b", tarfile.REGTYPE, "")),
        tar_of(("/etc/a", tarfile.REGTYPE, "")),
        tar_of(("top/a", tarfile.LNKTYPE, "/etc/passwd")),
        tar_of(("top/a", tarfile.CHRTYPE, "")),
        tar_of(("top/a", tarfile.REGTYPE, ""))[:100],
        b"x" * 2000,
    ],
)
def test_a_tar_that_is_none_of_ours_is_refused(raw: bytes, tmp_path: Path) -> None:
    packed = tmp_path / "a.tar.xz"
    packed.write_bytes(lzma.compress(raw))
    with pytest.raises(ValueError, match=r"it is no tar|does not lie in|neither a file"):
        list(tarball.read_small(packed, 1 << 20, tmp_path))


TAR = tar_of(("top/a", tarfile.REGTYPE, ""), ("top/b", tarfile.SYMTYPE, "a"))


@given(edits)
@examples(100)
def test_any_tar_is_read_or_refused(changes: list[tuple[int, int, bytes]]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        packed = Path(folder) / "a.tar.xz"
        packed.write_bytes(lzma.compress(edited(TAR, changes), preset=0))
        try:
            found = list(tarball.read_small(packed, 1 << 20, Path(folder)))
        except ValueError as e:
            assert "\n" not in str(e)
        else:
            assert all(not entry.path.startswith("/") for entry in found)
        assert [p.name for p in Path(folder).iterdir()] == ["a.tar.xz"]


def test_nothing_unpacks_to_more_than_it_says(tmp_path: Path) -> None:
    packed = tmp_path / "a.tar.xz"
    packed.write_bytes(lzma.compress(bytes(50 << 20)))
    with pytest.raises(ValueError, match="more than the 1024 bytes"):
        tarball.unpack(packed, tmp_path / "tar", 1024)
    assert (tmp_path / "tar").stat().st_size <= 1024


def packed_cubin(arch: int, flags: int, body: bytes, unpacked: int) -> bytes:
    """A container with one cubin, as the linker of CUDA lays it out."""
    entry = struct.pack("<HHIQIIHHIIIQQQ", 2, 0x101, 64, len(body), len(body), 0, 8, 1, arch, 0, 0, flags, 0, unpacked)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entry + body)) + entry + body


def test_packed_gpu_code_is_unpacked() -> None:
    """CUDA 12 packs cubins with LZ4; any ELF file with code will do for one."""
    elf = Path("/bin/true").read_bytes()
    raw = b"".join(
        (
            packed_cubin(75, 0x2011, lz4.block.compress(elf, store_size=False), len(elf)),
            bytes(8),  # padding
            packed_cubin(80, 0x8011, zstandard.ZstdCompressor().compress(elf), len(elf)),
            packed_cubin(90, 0x100011, elf, 0),
        )
    )
    assert fatbin.read(io.BytesIO(raw), 0, len(raw)) == fatbin.Found(frozenset({"75", "80", "90a"}), frozenset())
    cut = raw[:-1]
    with pytest.raises(ValueError, match="cut short"):
        fatbin.read(io.BytesIO(cut), 0, len(cut))


NVCC = shutil.which("nvcc", path="/usr/local/cuda-13.0/bin") or shutil.which("nvcc")
KERNEL = '__global__ void k(float *x) { x[threadIdx.x] *= 2.0f; }\nextern "C" void go(float *x) { k<<<1, 32>>>(x); }\n'


@pytest.mark.skipif(NVCC is None, reason="needs nvcc")
@pytest.mark.parametrize(
    ("options", "sass", "ptx"),
    [
        (["-gencode=arch=compute_90a,code=sm_90a", "-gencode=arch=compute_120f,code=sm_120f"], ("90a", "120f"), ()),
        (["-gencode=arch=compute_90,code=[sm_90,compute_90]", "-compress-mode=size"], ("90",), ("90",)),
        (["-gencode=arch=compute_86,code=compute_86", "-compress-mode=speed"], (), ("86",)),
    ],
)
def test_gpu_code_is_read_from_the_library(
    options: list[str], sass: tuple[str, ...], ptx: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "a.cu").write_text(KERNEL)
    library = tmp_path / "a.so"
    words = [str(NVCC), "-Xcompiler", "-fPIC", "-o"]
    # linked in a step of its own, without -gencode: that adds a cubin without code
    subprocess.run([*words, tmp_path / "a.o", "-c", *options, tmp_path / "a.cu"], check=True, capture_output=True)
    subprocess.run([*words, library, "-shared", tmp_path / "a.o"], check=True, capture_output=True)
    found = facts_of(library)
    assert found is not None
    assert (found.sass, found.ptx, found.gpu) == (sass, ptx, True)
    assert found.glibc
    assert not any(n.startswith("libcudart") for n in found.needed)  # it is inside
    with pytest.raises(OpencotiError) as error:
        licences.guard_runtime([licences.Licence("LICENSE", "x")], "cuda")
    assert error.value.code == "no-licence"
    licences.guard_runtime([licences.Licence("licences/cuda.txt", "x")], "cuda")


def test_versions_are_compared_as_numbers() -> None:
    assert max(["2.9", "2.38", "2.4"], key=numbers) == "2.38"
    found = facts_of(Path("/bin/true"))
    assert found is not None
    with pytest.raises(OpencotiError) as error:
        platform_of([found, found._replace(platform="linux-other")])
    assert error.value.code == "mixed-platforms"
