"""The binary interface of ggml, as rows of text and one digest: what the host and a library built apart must agree on.

Rows are read from the headers by libclang: sizes and offsets of records, types of functions with their calling
convention, enumerators, typedefs, integer macros. What no method sees: a changed meaning of the same bytes, and
the bodies of inline functions.
"""

from __future__ import annotations

import ast
import hashlib
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from opencoti_patches.core.errors import CouldNot, UsageError
from opencoti_patches.doors import proc

# the headers that the host and a backend library of llama.cpp share, in the order in which they build on each other
HEADERS = (
    "ggml.h",
    "ggml-alloc.h",
    "ggml-backend.h",
    "ggml-cuda.h",
    "gguf.h",
    "ggml-backend-impl.h",
    "ggml-common.h",
    "ggml-impl.h",
)
_BEFORE = "#define GGML_COMMON_DECL_CPP\n"  # which of its forms ggml-common.h is to have
_NUMBER = re.compile(r"(?:0[xX][0-9a-fA-F]+|\d+)[uUlL]*")
_OPERATORS = {"(", ")", "+", "-", "*", "<<", ">>", "|", "&", "~"}
_UNARY: Mapping[type, Callable[[int], int]] = {ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.inv}
_BINARY: Mapping[type, Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
}


class Difference(NamedTuple):
    """What became of one row; None where a side has no such row."""

    key: str
    old: str | None
    new: str | None


def rows(ggml: Path) -> tuple[str, ...]:
    """The rows of a ``ggml`` folder (with ``include`` and ``src``), sorted: ``KIND NAME: WHAT``.

    Errors: CouldNot ``no-tool`` without libclang or a C++ compiler's headers, ``abi`` if they cannot be read;
    UsageError ``no-folder`` if none of the headers is there.
    """
    there = [h for h in HEADERS if (ggml / "include" / h).is_file() or (ggml / "src" / h).is_file()]
    if not there:
        raise UsageError("no-folder", f"{ggml} has none of ggml's headers", "name the folder with ggml in it")
    clang = _clang()
    includes = [f"-I{ggml}/include", f"-I{ggml}/src", *(f"-isystem{p}" for p in _system_headers())]
    code = _BEFORE + "".join(f'#include "{h}"\n' for h in there)
    unit = clang.Index.create().parse(
        "abi.cpp",
        args=["-x", "c++", "-std=c++17", *includes],
        unsaved_files=[("abi.cpp", code)],
        options=clang.TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD
        | clang.TranslationUnit.PARSE_SKIP_FUNCTION_BODIES,
    )
    wrong = [d for d in unit.diagnostics if d.severity >= clang.Diagnostic.Error]
    if wrong:
        raise CouldNot(
            "abi",
            f"ggml's headers cannot be read: {wrong[0].spelling}",
            "a patch may have broken them: opencoti-patches build names it",
        )
    return tuple(sorted(set(_Reader(clang, str(ggml)).rows(unit.cursor))))


def digest(lines: Sequence[str]) -> str:
    """One sha256 for all rows."""
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def compare(old: Iterable[str], new: Iterable[str]) -> list[Difference]:
    """The rows that differ, by their names."""
    a, b = _by_key(old), _by_key(new)
    return [Difference(k, a.get(k), b.get(k)) for k in sorted(a.keys() | b.keys()) if a.get(k) != b.get(k)]


def _by_key(lines: Iterable[str]) -> Mapping[str, str]:
    return {key: what for key, _, what in (line.partition(": ") for line in lines)}


class _Reader:
    def __init__(self, clang: Any, root: str) -> None:
        self.kinds = clang.CursorKind
        self.root = root
        self.macros: dict[str, int] = {}

    def rows(self, top: Any) -> Iterator[str]:
        kinds = self.kinds
        readers: Mapping[Any, Callable[[Any], Iterator[str]]] = {
            kinds.FUNCTION_DECL: self._function,
            kinds.STRUCT_DECL: self._record,
            kinds.UNION_DECL: self._record,
            kinds.CLASS_DECL: self._record,
            kinds.ENUM_DECL: self._enum,
            kinds.TYPEDEF_DECL: self._typedef,
            kinds.TYPE_ALIAS_DECL: self._typedef,
            kinds.MACRO_DEFINITION: self._macro,
        }
        for cursor in top.get_children():
            file = cursor.location.file
            if file is None or not file.name.startswith(self.root):
                continue
            if cursor.kind in (kinds.LINKAGE_SPEC, kinds.NAMESPACE, kinds.UNEXPOSED_DECL):
                yield from self.rows(cursor)
            elif cursor.kind in readers:
                yield from readers[cursor.kind](cursor)

    def _function(self, cursor: Any) -> Iterator[str]:
        if cursor.storage_class.name == "STATIC":
            return  # compiled into each side
        kind = cursor.type.get_canonical()
        yield f"function {cursor.spelling}: {kind.spelling} [{_convention(kind)}]"

    def _record(self, cursor: Any) -> Iterator[str]:
        if not cursor.is_definition() or not cursor.spelling or "(unnamed" in cursor.spelling:
            return
        size, align = cursor.type.get_size(), cursor.type.get_align()
        if size < 0:
            return  # a template: each side has its own
        yield f"record {cursor.spelling}: size {size}, align {align}"
        yield from self._fields(cursor, cursor.spelling)

    def _fields(self, cursor: Any, name: str) -> Iterator[str]:
        children = list(cursor.get_children())
        named = set()  # unnamed records that are the type of a field
        for number, field in enumerate(f for f in children if f.kind == self.kinds.FIELD_DECL):
            kind = field.type.get_canonical()
            bits = f", {field.get_bitfield_width()} bits" if field.is_bitfield() else ""
            own = f"{name}.{field.spelling or number}"
            yield f"field {own}: at bit {field.get_field_offsetof()}{bits}, {_unplaced(kind.spelling)}"
            record = kind.get_declaration()
            if "(unnamed" in kind.spelling and record.is_definition():
                named.add(record.hash)
                yield from self._fields(record, own)
        for inner in children:
            record = inner.kind in (self.kinds.STRUCT_DECL, self.kinds.UNION_DECL)
            if record and inner.is_anonymous() and inner.hash not in named:
                yield from self._fields(inner, name)

    def _enum(self, cursor: Any) -> Iterator[str]:
        if not cursor.is_definition():
            return
        name = "" if "(unnamed" in cursor.spelling else cursor.spelling
        if name:
            yield f"enum {name}: {cursor.enum_type.spelling}"
        for value in cursor.get_children():
            if value.kind == self.kinds.ENUM_CONSTANT_DECL:
                yield f"enumerator {value.spelling}: {value.enum_value}"

    def _typedef(self, cursor: Any) -> Iterator[str]:
        kind = cursor.underlying_typedef_type.get_canonical()
        yield f"typedef {cursor.spelling}: {_unplaced(kind.spelling)}"
        record = kind.get_declaration()
        if "(unnamed" in kind.spelling and record.is_definition():
            yield f"record {cursor.spelling}: size {kind.get_size()}, align {kind.get_align()}"
            yield from self._fields(record, cursor.spelling)

    def _macro(self, cursor: Any) -> Iterator[str]:
        """An object-like macro that is an integer, by its value."""
        name, *body = (t.spelling for t in cursor.get_tokens())
        if not body:
            return
        words = [str(self.macros[w]) if w in self.macros else re.sub(r"[uUlL]+$", "", w) for w in body]
        if not all(_NUMBER.fullmatch(w) or w in _OPERATORS for w in words):
            return
        value = _value(words)
        if value is not None:
            self.macros[name] = value
            yield f"macro {name}: {value}"


def _convention(kind: Any) -> str:
    """The calling convention of a function's type, by libclang's number for it."""
    from clang.cindex import conf

    number = int(conf.lib.clang_getFunctionTypeCallingConv(kind))
    return {1: "C", 2: "stdcall", 3: "fastcall", 10: "win64", 11: "sysv64"}.get(number, f"convention {number}")


def _unplaced(spelling: str) -> str:
    """A type without the place where it was written, which an unnamed one is known by."""
    return re.sub(r"\((unnamed|anonymous)[^()]*\)", r"(\1)", spelling)


def _value(words: Sequence[str]) -> int | None:
    """The value of a C expression of integers; None if it is none."""
    text = " ".join(re.sub(r"^0+(?=\d)", "0o", w) if re.fullmatch(r"0\d+", w) else w for w in words)
    try:
        return _evaluated(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError):
        return None


def _evaluated(node: ast.expr) -> int:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.UnaryOp) and type(node.op) in _UNARY:
        return _UNARY[type(node.op)](_evaluated(node.operand))
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        a, b = _evaluated(node.left), _evaluated(node.right)
        if max(abs(a), abs(b)) < 2**64 and (not isinstance(node.op, ast.LShift | ast.RShift) or 0 <= b <= 64):
            return _BINARY[type(node.op)](a, b)
    raise ValueError("no expression of integers")


def _clang() -> Any:
    try:
        from clang import cindex
    except ImportError:
        raise CouldNot(
            "no-tool", "libclang is not installed", "pip install 'opencoti-patches[abi]' (or libclang itself)"
        ) from None
    return cindex


def _system_headers() -> list[str]:
    """Where the C++ compiler looks for headers; the package of libclang brings none."""
    done = proc.run(["c++", "-E", "-x", "c++", "-", "-v"])
    m = re.search(r"#include <\.\.\.> search starts here:\n(.*?)End of search list", done.error_text, re.S)
    if m is None:
        raise CouldNot("no-tool", "the C++ compiler does not say where its headers are", "install g++ or clang++")
    return [line.strip().removesuffix(" (framework directory)") for line in m[1].splitlines()]
