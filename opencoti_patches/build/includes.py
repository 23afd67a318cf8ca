"""What the files of a tree include, read from their text: who may include whom, however deep.

Every ``#include`` counts, also one under a condition that a build does not meet. Which file it means is what the
compiler would say where that is certain: a name in quotes is looked for beside the including file first. Else every
file of the tree whose path ends so is taken for it: too much rather than too little. ``near`` adds what is likely, but not
certain: of several such files those in a folder above the including one, as a library means its own ``common.h``; and
``<string.h>`` is the C library's, whatever the tree has.
"""

from __future__ import annotations

import posixpath
import re
from collections import deque
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from opencoti_patches.core.model import decode

SOURCES = (".c", ".cc", ".cpp", ".cxx", ".cu", ".m", ".mm", ".S", ".s")
HEADERS = (".h", ".hh", ".hpp", ".hxx", ".cuh", ".inc", ".inl", ".def", ".glsl")
READ = (*SOURCES, *HEADERS, ".metal", ".comp", ".cl", ".wgsl")
"""The files that can include others."""

_DIRECTIVE = re.compile(
    rb'^[ \t]*#[ \t]*(?:include(?:_next)?|import)[ \t]*(?:([<"])([^>"\n]+)[>"]|([A-Za-z_]\w*))', re.M
)
_OF_C = re.compile(
    r"(?:assert|complex|ctype|errno|fenv|float|inttypes|iso646|limits|locale|math|setjmp|signal|string|tgmath|threads|time"
    r"|uchar|wchar|wctype|std(?:align|arg|atomic|bool|def|int|io|lib|noreturn))\.h"
)


class Include(NamedTuple):
    """One ``#include``. ``how`` is ``"`` or ``<``, or empty where ``name`` is a macro."""

    how: str
    name: str


def includes_of(content: bytes) -> tuple[Include, ...]:
    """The includes in a file's text, or in any lines of it; each once."""
    found = (Include(decode(how), decode(name or macro)) for how, name, macro in _DIRECTIVE.findall(content))
    return tuple(dict.fromkeys(found))


class Graph:
    """Who includes whom. ``said`` has what each file that was read includes; ``others`` are further files that can be
    included; ``uncertain`` files that are there in some state of the tree only, so that they hide no other."""

    def __init__(
        self,
        said: Mapping[str, Iterable[Include]],
        others: Iterable[str] = (),
        uncertain: Collection[str] = (),
        *,
        near: bool = False,
    ) -> None:
        self.said = said
        self._near = near
        self._uncertain = uncertain
        self._files = {*said, *others, *uncertain}
        self._named: dict[str, list[str]] = {}
        for path in sorted(self._files):
            self._named.setdefault(path.rsplit("/", 1)[-1], []).append(path)
        self._known: dict[str, tuple[str, ...]] = {}

    def includes(self, path: str) -> tuple[str, ...]:
        """The files that a file may include."""
        if path not in self._known:
            meant = (p for include in self.said.get(path, ()) for p in self._meant(path, include))
            self._known[path] = tuple(dict.fromkeys(meant))
        return self._known[path]

    def unanswered(self, path: str) -> list[Include]:
        """The includes of a file that no file of the tree answers to, those in <> aside: of macros, and of files that
        a build makes."""
        return [i for i in self.said.get(path, ()) if i.how != "<" and not self._meant(path, i)]

    def closure(self, roots: Iterable[str]) -> dict[str, str]:
        """The roots and all that they include, however deep, each with the file that includes it on a shortest way
        from a root; a root with "" ."""
        reached = dict.fromkeys(roots, "")
        todo = deque(reached)
        while todo:
            path = todo.popleft()
            for other in self.includes(path):
                if other not in reached:
                    reached[other] = path
                    todo.append(other)
        return reached

    def including(self, paths: Iterable[str]) -> set[str]:
        """Those paths, and all files that include one of them, however deep."""
        by: dict[str, list[str]] = {}
        for path in self.said:
            for other in self.includes(path):
                by.setdefault(other, []).append(path)
        reached = set(paths)
        todo = list(reached)
        while todo:
            for path in by.get(todo.pop(), ()):
                if path not in reached:
                    reached.add(path)
                    todo.append(path)
        return reached

    def _meant(self, path: str, include: Include) -> list[str]:
        if not include.how or (self._near and include.how == "<" and _OF_C.fullmatch(include.name)):
            return []
        beside = posixpath.normpath(posixpath.join(posixpath.dirname(path), include.name))
        own = [beside] if include.how == '"' and beside in self._files else []
        if own and beside not in self._uncertain:
            return own
        plain = re.sub(r"^(?:\.{1,2}/)+", "", posixpath.normpath(include.name))
        named = self._named.get(plain.rsplit("/", 1)[-1], ())
        found = [p for p in named if p not in own and (p == plain or p.endswith(f"/{plain}"))]
        if self._near and len(found) > 1:
            above = [p for p in found if path.startswith(p.removesuffix(plain)) and p not in self._uncertain]
            found = [p for p in found if p in above or p in self._uncertain] if above else found
        return [*own, *found]
