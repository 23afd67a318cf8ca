"""The rows of ggml's interface: what changes them, and what does not."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from opencoti_patches.build import abi
from opencoti_patches.core.errors import CouldNot, UsageError

pytest.importorskip("clang.cindex")
pytestmark = pytest.mark.skipif(shutil.which("c++") is None, reason="needs a C++ compiler's headers")

GGML = """#pragma once
#include <stddef.h>
#include <stdint.h>
#define GGML_MAX_DIMS 4
#define GGML_MAGIC (0x67u << 24 | GGML_MAX_DIMS)
#define GGML_TEXT "no number"
#ifdef __cplusplus
extern "C" {
#endif
enum ggml_type { GGML_TYPE_F32 = 0, GGML_TYPE_F16, GGML_TYPE_COUNT };
struct ggml_context;
struct ggml_tensor {
    enum ggml_type type;
    int64_t ne[GGML_MAX_DIMS];
    union { float f; int32_t i; };
    struct { uint8_t low : 3; uint8_t high : 5; } flags;
    struct ggml_tensor * src[2];
};
typedef int (*ggml_compare_t)(const void * a, const void * b);
typedef struct { int64_t size; void * data; } ggml_span;
struct ggml_tensor * ggml_new(struct ggml_context * ctx, enum ggml_type type, size_t n);
static inline int ggml_twice(int x) { return 2 * x; }
#ifdef __cplusplus
}
#endif
"""


@pytest.fixture
def ggml(tmp_path: Path) -> Path:
    """A folder with one of the headers."""
    (tmp_path / "include").mkdir()
    (tmp_path / "include/ggml.h").write_text(GGML)
    return tmp_path


def test_the_rows(ggml: Path) -> None:
    rows = set(abi.rows(ggml))
    assert {
        "macro GGML_MAX_DIMS: 4",
        f"macro GGML_MAGIC: {0x67 << 24 | 4}",
        "enumerator GGML_TYPE_F16: 1",
        "record ggml_tensor: size 64, align 8",
        "field ggml_tensor.ne: at bit 64, long[4]",
        "field ggml_tensor.flags.high: at bit 3, 5 bits, unsigned char",
        "record ggml_span: size 16, align 8",
        "field ggml_span.data: at bit 64, void *",
        "function ggml_new: ggml_tensor *(ggml_context *, ggml_type, unsigned long) [C]",
        "typedef ggml_compare_t: int (*)(const void *, const void *)",
    } <= rows
    assert not any("GGML_TEXT" in row or "ggml_twice" in row for row in rows)
    assert not any(str(ggml) in row for row in rows)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("#define GGML_MAX_DIMS 4", "#define GGML_MAX_DIMS   4 /* of a tensor */"),
        ("size_t n);", "size_t count);"),
        ("return 2 * x;", "return x + x;"),
        ("struct ggml_tensor * ggml_new", "// makes one\nstruct ggml_tensor * ggml_new"),
    ],
)
def test_what_no_caller_notices_changes_nothing(ggml: Path, old: str, new: str) -> None:
    before = abi.rows(ggml)
    assert old in GGML
    (ggml / "include/ggml.h").write_text(GGML.replace(old, new))
    assert abi.rows(ggml) == before


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ("#define GGML_MAX_DIMS 4", "#define GGML_MAX_DIMS 5", "record ggml_tensor"),
        ("GGML_TYPE_F32 = 0,", "GGML_TYPE_F32 = 0, GGML_TYPE_BF16,", "enumerator GGML_TYPE_F16"),
        ("float f; int32_t i;", "float f; int64_t i;", "record ggml_tensor"),
        ("low : 3; uint8_t high : 5", "low : 4; uint8_t high : 4", "field ggml_tensor.flags.high"),
        ("int64_t size; void * data;", "void * data; int64_t size;", "field ggml_span.data"),
        ("(const void * a, const", "(void * a, const", "typedef ggml_compare_t"),
        ("size_t n);", "int n);", "function ggml_new"),
        ("size_t n);", "size_t n, ...);", "function ggml_new"),
        ("struct ggml_tensor * ggml_new", "__attribute__((ms_abi)) struct ggml_tensor * ggml_new", "function ggml_new"),
        ("enum ggml_type {", "enum ggml_type : unsigned char {", "enum ggml_type"),
    ],
)
def test_what_breaks_a_caller_changes_the_row_that_says_so(ggml: Path, old: str, new: str, key: str) -> None:
    before = abi.rows(ggml)
    assert old in GGML
    (ggml / "include/ggml.h").write_text(GGML.replace(old, new))
    after = abi.rows(ggml)
    assert abi.digest(after) != abi.digest(before)
    assert key in {d.key for d in abi.compare(before, after)}


def test_headers_that_cannot_be_read_are_said(ggml: Path, tmp_path: Path) -> None:
    (ggml / "include/ggml.h").write_text('#include "not-there.h"\n')
    with pytest.raises(CouldNot, match=r"cannot be read: 'not-there\.h' file not found"):
        abi.rows(ggml)
    with pytest.raises(UsageError):
        abi.rows(tmp_path / "elsewhere")


@pytest.mark.parametrize(
    ("text", "value"), [("1 << 4", 16), ("0x10 | 1", 17), ("010", 8), ("~ 0", -1), ("1 << 9999", None), ("1 +", None)]
)
def test_macros_that_are_integers(text: str, value: int | None) -> None:
    assert abi._value(text.split()) == value
