"""Whether a hunk that moved landed where it was meant: the same function, the only such place."""

from __future__ import annotations

import re
from collections.abc import Sequence

from opencoti_patches.core.model import FilePatch, Hunk, Problem, printable
from opencoti_patches.plan.replay import Lines, position

_FUNCTION = re.compile(rb"[A-Za-z_$]")  # git's default: a line that begins a definition
_LABEL = re.compile(
    rb"\w+\s*:(?!:)\s*(?:/[/*].*)?$|(?:if|else|for|while|do|switch|case|default|return|goto|break)\b.*[^:]$"
)
_OPENS = re.compile(
    rb"(?:async\s+def|def|class|struct|union|enum|namespace|extern|impl|interface|trait|object|module|package)\b|.*[({]"
)
_NAME = re.compile(rb"([~A-Za-z_$][\w$:~]*)\s*\(")
_CODE = (
    *(".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx", ".inl", ".inc", ".m", ".mm", ".cu", ".cuh", ".cl"),
    *(".metal", ".comp", ".glsl", ".py", ".js", ".mjs", ".ts", ".tsx", ".go", ".rs", ".java", ".kt", ".swift", ".sh"),
)
_SECTION_LIMIT = 80  # bytes git keeps of a heading


def heading(lines: Sequence[bytes], at: int) -> bytes:
    """The line that git would show after ``@@`` for a hunk that begins at line ``at`` from 0."""
    for i in range(min(at, len(lines)) - 1, -1, -1):
        if _FUNCTION.match(lines[i]):
            return lines[i].rstrip()
    return b""


def enclosing(lines: Sequence[bytes], at: int) -> bytes:
    """The heading of the function that line ``at``, from 0, stands in; empty where none is open there: a brace
    in the first column has closed it, or the line itself begins in that column."""
    begin = _begin_of(lines, at)
    return b"" if begin is None else lines[begin].rstrip()


def _begin_of(lines: Sequence[bytes], at: int) -> int | None:
    if at < len(lines) and _FUNCTION.match(lines[at]):
        return None
    for i in range(min(at, len(lines)) - 1, -1, -1):
        line = lines[i].rstrip()
        if line.startswith(b"}"):
            return None
        if _FUNCTION.match(line) and not _LABEL.match(line):
            over = line.endswith(b":") and not _indented(lines, at)  # no brace closes it
            return i if _OPENS.match(line) and not line.endswith(b";") and not over else None
    return None


def _indented(lines: Sequence[bytes], at: int) -> bool:
    """Whether the next line from ``at`` on that is not blank is indented."""
    return next((x for x in lines[at:] if x.strip()), b"x")[:1].isspace()


def function_at(lines: Sequence[bytes], at: int) -> tuple[int, int] | None:
    """The function that line ``at``, from 0, stands in, behind its heading: from there to behind its closing brace in the
    first column. None outside of any."""
    begin = _begin_of(lines, at) if at < len(lines) else None
    return None if begin is None else (begin, _end_of(lines, at))


def functions_with(lines: Sequence[bytes], heading: bytes) -> list[tuple[int, int]]:
    """Where a function with this very heading stands."""
    return [(i, _end_of(lines, i + 1)) for i, line in enumerate(lines) if line.rstrip() == heading.rstrip()]


def _end_of(lines: Sequence[bytes], at: int) -> int:
    return next((i + 1 for i in range(at, len(lines)) if lines[i].startswith(b"}")), len(lines))


def has_functions(path: str) -> bool:
    """Whether headings of this file name functions; in a configuration file they are just lines."""
    return path.lower().endswith(_CODE)


def same_function(section: bytes, other: bytes) -> bool:
    """Whether two headings name one function; an unnamed one could be any."""
    a, b = section.rstrip()[:_SECTION_LIMIT], other.rstrip()[:_SECTION_LIMIT]
    if not a or a == b or b.startswith(a):
        return True
    name_a, name_b = _NAME.search(a), _NAME.search(b)
    return bool(name_a and name_b and name_a[1] == name_b[1])


def squeezed(line: bytes) -> bytes:
    """A line with white space aside."""
    return b" ".join(line.split())


def occurrences(lines: Sequence[bytes], wanted: Sequence[bytes]) -> list[int]:
    """Every line, from 0, at which ``wanted`` stands."""
    if not wanted:
        return []
    first, size = wanted[0], len(wanted)
    found: list[int] = []
    at = -1
    while True:
        try:
            at = lines.index(first, at + 1)
        except ValueError:
            return found
        if list(lines[at : at + size]) == list(wanted):
            found.append(at)


def warnings(f: FilePatch, hunk: Hunk, offset: int, lines: Lines) -> list[Problem]:
    """What is worth a look about one moved hunk, ``lines`` being the file just before it."""
    at = position(hunk, offset)
    path = printable(f.path)
    found: list[Problem] = []

    def warn(cause: str, message: str) -> None:
        found.append(
            Problem(
                cause=cause,
                message=message,
                level="warning",
                file=path,
                hunk=hunk.number,
                line=at + 1,
                at_line=hunk.at_line,
            )
        )

    if not any(x[:1] == b" " for x in hunk.lines):
        warn("zero-context", f"has no context, so git put it at the end of the file; it says line {hunk.new_start}")
        return found
    others = [i + 1 for i in occurrences(lines, hunk.old) if i != at]
    if others:
        shown = ", ".join(map(str, others[:3])) + (", …" if len(others) > 3 else "")
        warn("ambiguous", f"landed at line {at + 1}, but its context stands at line {shown} too")
    landed = heading(lines, at)
    if hunk.section and has_functions(f.path) and not same_function(hunk.section, landed):
        was, now = (printable(s.decode("utf-8", "replace").strip()) for s in (hunk.section, landed))
        warn("function-changed", f"was made in '{was}', landed in '{now or 'no function'}'")
    return found
