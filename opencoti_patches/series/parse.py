"""A patch file as a view of its bytes: header, files, hunks, each with its place in the file.

It reads what ``git apply`` reads, in the same order of attempts (a "diff --git" block, else a pair of
``---`` and ``+++`` lines before an ``@@``), and never judges: where the two should differ, git is right
and the verdict says so. Why not unidiff for this: see docs/design.md.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from opencoti_patches.core.model import Binary, FilePatch, Hunk, Operation, decode
from opencoti_patches.series.at_at import numbers
from opencoti_patches.series.names import is_epoch, named, names_of, preferred, stripped, unquote
from opencoti_patches.series.turned import turned

_INDEX = re.compile(rb"index ([0-9a-f]+)\.\.([0-9a-f]+)(?: (\d{6}))?")
_MOVES = (b"rename from ", b"rename to ", b"rename old ", b"rename new ", b"copy from ", b"copy to ")
_HEADER = (*_MOVES, b"old mode ", b"new mode ", b"deleted file mode ", b"new file mode ")
_DASHED = (b"--- ", b"+++ ")
_LEAD_INS = (b"Index: ", b"=====", b"RCS file: ", b"retrieving revision ", b"diff ")


class Defect(NamedTuple):
    """Something wrong with the patch file itself: ``cause`` is a problem code. ``fatal``: git will not
    read it; otherwise it reads on, and does not do what was meant. ``unsaid``: it is fatal, and git may take it."""

    cause: str
    at_line: int
    message: str
    fatal: bool = True
    unsaid: bool = False


class Parsed(NamedTuple):
    """A patch file's parts. ``header`` is every byte before the first file, ``trailer`` every byte
    after the last hunk."""

    header: bytes
    files: tuple[FilePatch, ...]
    trailer: bytes
    defects: tuple[Defect, ...]

    @property
    def made(self) -> set[str]:
        """The paths at which it makes a file."""
        return {f.new for f in self.files if f.new and f.operation in ("create", "rename", "copy")}

    @property
    def damage(self) -> str:
        """Why nobody can tell what it does, in words; empty where it can be read."""
        if self.defects:
            return f"damaged at line {self.defects[0].at_line}: {self.defects[0].message}"
        unsaid = any(f.binary == "names-only" for f in self.files)
        return "it only says that binary files differ; their contents are not in the patch" if unsaid else ""

    @property
    def by_chance(self) -> bool:
        """Whether git takes it by chance, if it does, so that strict does not: it only says that binary files differ, and
        some machine has their contents among its objects; or a number in it is none that git can count to."""
        return any(d.unsaid for d in self.defects) or any(f.binary == "names-only" for f in self.files)

    @property
    def alone(self) -> bool:
        """Whether git has to be asked about it alone: of binary contents that it has among its objects it never looks at
        the patch's."""
        return self.by_chance or any(f.binary for f in self.files)


def parse(raw: bytes, strip: int = 1, reverse: bool = False) -> Parsed:
    """Read a patch. ``reverse`` swaps old and new, so that both always mean before and after. What was read is
    kept: a bump reads each patch in several steps that know nothing of each other."""
    return _parse(raw, strip, reverse)


@lru_cache(maxsize=2048)
def _parse(raw: bytes, strip: int, reverse: bool) -> Parsed:
    parsed = _Reader(raw, strip).read()
    if not reverse:
        return parsed
    return Parsed(
        header=parsed.header,
        files=tuple(map(turned, parsed.files)),
        trailer=parsed.trailer,
        defects=parsed.defects,
    )


class _Reader:
    def __init__(self, raw: bytes, strip: int) -> None:
        self.lines = raw.splitlines(keepends=True) if b"\r" not in raw else _split_at_newlines(raw)
        self.strip = strip
        self.at = 0
        self.offsets = list(accumulate(map(len, self.lines), initial=0))
        self.raw = raw
        self.files: list[FilePatch] = []
        self.defects: list[Defect] = []
        self.stray: tuple[int, str | None] | None = None  # a lone "diff --git": its line, the file that it names

    def read(self) -> Parsed:
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if line.startswith(b"diff --git "):
                self._git_file()
            elif line.startswith(b"--- ") and self._next(1).startswith(b"+++ ") and self._next(2).startswith(b"@@ -"):
                self._plain_file()
            elif line.startswith(b"@@ -") and numbers(line):
                self._defect("corrupt", "a hunk stands here with no file named before it")
                self.at += 1
            else:
                self.at += 1
        first = self.files[0].span[0] if self.files else len(self.raw)
        last = self.files[-1].span[1] if self.files else len(self.raw)
        return Parsed(
            header=self._header(first),
            files=tuple(self.files),
            trailer=self.raw[last:],
            defects=tuple(self.defects),
        )

    def _header(self, end: int) -> bytes:
        """Bytes before the first file, less the lines that only lead it in ("Index: x", "diff -u …", what CVS says)."""
        at = self.offsets.index(end)
        while at and self.lines[at - 1].startswith(_LEAD_INS):
            at -= 1
        return self.raw[: self.offsets[at]]

    def _next(self, ahead: int) -> bytes:
        return self.lines[self.at + ahead] if self.at + ahead < len(self.lines) else b""

    def _defect(
        self, cause: str, message: str, at: int | None = None, fatal: bool = True, unsaid: bool = False
    ) -> None:
        line = (self.at if at is None else at) + 1
        self.defects.append(Defect(cause=cause, at_line=line, message=message, fatal=fatal, unsaid=unsaid))

    def _git_file(self) -> None:
        begin = self.at
        names = self.lines[self.at][len(b"diff --git ") :].rstrip(b"\n")
        old_raw, new_raw, same = names_of(names.rstrip(b"\r"), self.strip)
        same = same and not names.endswith(b"\r")  # a CR would be part of the second name alone
        old, new = stripped(old_raw, self.strip), stripped(new_raw, self.strip)
        operation: Operation = "modify"
        said = False  # whether a line of the header, rather than a name /dev/null, says what is done
        modes: dict[str, str] = {}
        blobs: tuple[str, str] | None = None
        self.at += 1
        while self._next(0).endswith(b"\n"):
            line = self.lines[self.at].rstrip(b"\r\n")
            if line.startswith(b"--- "):
                name = named(line[4:], dated=False)
                if name != b"/dev/null":
                    self._same(operation, old, stripped(name, self.strip))
                    old, old_raw = stripped(name, self.strip) or old, name
                elif operation == "modify":
                    operation = "create"
            elif line.startswith(b"+++ "):
                name = named(line[4:], dated=False)
                if name != b"/dev/null":
                    self._same(operation, new, stripped(name, self.strip))
                    new, new_raw = stripped(name, self.strip) or new, name
                elif operation == "modify":
                    operation = "delete"
            elif line.startswith((b"old mode ", b"new mode ")):
                modes[line[:3].decode()] = _mode(line[9:])
            elif line.startswith(b"deleted file mode "):
                operation, modes["old"], said = "delete", _mode(line[18:]), True
            elif line.startswith(b"new file mode "):
                operation, modes["new"], said = "create", _mode(line[14:]), True
            elif line.startswith(_MOVES):
                word = line.split(b" ", 2)
                operation, said = "rename" if word[0] == b"rename" else "copy", True
                # here git takes the name to be without its a/ or b/
                moved = stripped(unquote(word[2]) if len(word) > 2 else b"", max(self.strip - 1, 0)) or ""
                if word[1] in (b"from", b"old"):
                    old = moved
                else:
                    new = moved
            elif m := _INDEX.match(line):
                blobs = (m[1].decode(), m[2].decode())
                if m[3]:
                    modes.setdefault("old", m[3].decode())
                    modes.setdefault("new", m[3].decode())
            elif not line.startswith((b"similarity index ", b"dissimilarity index ")):
                break
            self.at += 1
        if self._next(0).startswith((*_HEADER, *_DASHED)) and not self._next(0).endswith(b"\n"):
            self._defect("missing-newline", "the patch file lacks the newline at its end")
        if self.at == begin + 1:  # git takes it for text
            if same:
                self.stray = begin, new
            else:
                self._defect("corrupt", "a line begins with 'diff --git' and names no file", begin)
            return
        dashed = any(x.startswith(_DASHED) for x in self.lines[begin : self.at])
        self._mind_stray(operation, old, new, dashed)
        if not same and not dashed and operation not in ("rename", "copy"):
            words = f"with -p{self.strip} the names after 'diff --git' are not one name, and no other line has one"
            if names.endswith(b"\r"):
                words = "the 'diff --git' line ends with CR LF, so git reads no name there, and no other line has one"
            self._defect("eol" if names.endswith(b"\r") else "wrong-strip", words, begin)
        if operation in ("create", "delete") and not said:
            what, line_ = ("creates", "new") if operation == "create" else ("deletes", "deleted")
            words = (
                f"it {what} a file, but the header has no '{line_} file mode' line, so git takes dev/null for a file"
            )
            self._defect("corrupt", words, begin, fatal=operation == "create")
        if operation == "modify" and old and new and old != new:
            operation = "rename"  # git does as if it said so
        self._finish(begin, operation, old, new, (old_raw, new_raw), modes=modes, blobs=blobs, git_style=True)

    def _same(self, operation: Operation, moved: str | None, name: str | None) -> None:
        """Where a file is renamed or copied, the ``---`` and ``+++`` lines must agree."""
        if operation in ("rename", "copy") and moved != name:
            self._defect("corrupt", f"this line and the '{operation} from' and 'to' above it name different files")

    def _mind_stray(self, operation: Operation, old: str | None, new: str | None, dashed: bool) -> None:
        """git keeps the name of a lone "diff --git" line for the next file that has such a header."""
        if self.stray is None:
            return
        line, name = self.stray
        self.stray = None
        if operation in ("create", "delete") or (operation == "modify" and (old, new) != (name, name)):
            words = "a line of the text begins with 'diff --git', and git takes its name for the next file"
            self._defect("corrupt", words, line, fatal=dashed)

    def _plain_file(self) -> None:
        begin = self.at
        self.stray = None
        first, second = self.lines[self.at][4:], self.lines[self.at + 1][4:]
        old_raw, new_raw = named(first, dated=True), named(second, dated=True)
        self.at += 2
        name = preferred(stripped(old_raw, self.strip), stripped(new_raw, self.strip))
        if old_raw == b"/dev/null":
            self._finish(begin, "create", None, stripped(new_raw, self.strip), (old_raw, new_raw))
        elif new_raw == b"/dev/null":
            self._finish(begin, "delete", stripped(old_raw, self.strip), None, (old_raw, new_raw))
        elif is_epoch(first):
            self._finish(begin, "create", None, name, (old_raw, new_raw))
        elif is_epoch(second):
            self._finish(begin, "delete", name, None, (old_raw, new_raw))
        else:
            self._finish(begin, "modify", name, name, (old_raw, new_raw))

    def _finish(
        self,
        begin: int,
        operation: Operation,
        old: str | None,
        new: str | None,
        raw_names: tuple[bytes, bytes],
        *,
        modes: dict[str, str] | None = None,
        blobs: tuple[str, str] | None = None,
        git_style: bool = False,
    ) -> None:
        modes = modes or {}
        hunks: list[Hunk] = []
        while self.at < len(self.lines) and self.lines[self.at].startswith(b"@@ -"):
            hunk = self._hunk(len(hunks) + 1)
            if hunk is None:
                break
            hunks.append(hunk)
        if (
            hunks
            and self._next(0)[:1] in (b" ", b"+", b"-")
            and not self._next(0).startswith((b"-- ", b"---", b"--\n"))
        ):
            words = "the @@ line above counts fewer lines than follow: git drops the rest, from here on, unsaid"
            self._defect("corrupt", words, fatal=False)
        binary: Binary = "" if hunks else self._binary()
        end = self.offsets[self.at]
        self.files.append(
            FilePatch(
                operation=operation,
                old=None if operation == "create" else old,
                new=None if operation == "delete" else new,
                old_mode=modes.get("old"),
                new_mode=modes.get("new"),
                old_blob=blobs[0] if blobs else None,
                new_blob=blobs[1] if blobs else None,
                binary=binary,
                git_style=git_style,
                hunks=tuple(hunks),
                span=(self.offsets[begin], end),
                at_line=begin + 1,
                raw_paths=tuple(decode(n) for n in raw_names),
            )
        )

    def _binary(self) -> Binary:
        line = self.lines[self.at] if self.at < len(self.lines) else b""
        if line.startswith((b"Binary files ", b"Files ")) and line.endswith(b" differ\n"):
            self.at += 1
            return "names-only"
        if line != b"GIT binary patch\n":
            return ""
        self.at += 1
        while self.at < len(self.lines) and self.lines[self.at].startswith((b"literal ", b"delta ")):
            while self.at < len(self.lines) and self.lines[self.at].strip(b"\r\n"):
                self.at += 1
            if self.at == len(self.lines):
                words = "the binary data lacks the blank line at its end: git drops the file, and takes those before it"
                self._defect("missing-newline", words, self.at - 1)
            self.at += 1
        self.at = min(self.at, len(self.lines))
        return "git"

    def _hunk(self, number: int) -> Hunk | None:
        begin = self.at
        said = numbers(self.lines[begin])
        if said is None:
            self._defect("corrupt", "this @@ line cannot be read: it wants '@@ -LINE,COUNT +LINE,COUNT @@'")
            return None
        if said.excess:
            self._defect("corrupt", f"the @@ line says {said.excess}, and no file has so many lines", unsaid=True)
        left_old, left_new = said.old_count, said.new_count
        lines: list[bytes] = []
        at = begin + 1
        for at in range(begin + 1, len(self.lines) + 1):
            if (left_old <= 0 and left_new <= 0) or at == len(self.lines):
                break
            line = self.lines[at]
            kind = line[:1]
            if kind == b" ":
                left_old -= 1
                left_new -= 1
            elif kind == b"+":
                left_new -= 1
            elif kind == b"-":
                left_old -= 1
            elif line in (b"\n", b"\r\n"):
                if line == b"\r\n":
                    self._defect("corrupt", "an empty line has a CR and lacks the space of a context line", at)
                line = b" " + line  # a context line whose one space an editor ate
                left_old -= 1
                left_new -= 1
            elif kind == b"\\":
                lines[-1:] = [_without_newline(x) for x in lines[-1:]]
                continue
            else:
                break
            lines.append(line)
        self.at = at
        if self.at < len(self.lines) and self.lines[self.at].startswith(b"\\ "):
            lines[-1:] = [_without_newline(x) for x in lines[-1:]]
            self.at += 1
        elif self.at == len(self.lines) and lines and not lines[-1].endswith(b"\n"):
            self._defect("missing-newline", "the patch file lacks the newline at its end", self.at - 1)
        if (left_old or left_new) and not said.excess:
            short = (
                f"{max(left_old, 0)} old and {max(left_new, 0)} new lines are missing"
                if left_old >= 0 <= left_new
                else "it has more lines than it says"
            )
            self._defect("corrupt", f"the hunk's @@ line does not match its lines: {short}", begin)
        return Hunk(
            number=number,
            old_start=said.old_start,
            old_count=said.old_count,
            new_start=said.new_start,
            new_count=said.new_count,
            section=said.section,
            lines=tuple(lines),
            span=(self.offsets[begin], self.offsets[self.at]),
            at_line=begin + 1,
        )


def _split_at_newlines(raw: bytes) -> list[bytes]:
    """Lines at ``\\n`` alone: a lone CR inside a line is a byte like any other."""
    lines = [line + b"\n" for line in raw.split(b"\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def _without_newline(line: bytes) -> bytes:
    return line[:-1] if line.endswith(b"\n") else line


def _mode(text: bytes) -> str:
    return text.decode("ascii", "replace").strip()
