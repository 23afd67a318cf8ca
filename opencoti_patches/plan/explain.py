"""The cause of a refusal, file by file and hunk by hunk, in the words of design.md."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from opencoti_patches.core.model import Entry, FilePatch, Hunk, Problem, TreeId, printable
from opencoti_patches.plan.nearest import Text, difference, nearest
from opencoti_patches.plan.replay import lines_of
from opencoti_patches.plan.scratch import Scratch
from opencoti_patches.series.names import stripped
from opencoti_patches.series.parse import Parsed, parse

_LIKE = 0.5  # share of a hunk's lines below which a place is not worth showing
_SEARCHES = 3  # hunks of a patch that are looked for all over the tree


class Explainer:
    """Explains one patch against the tree just before it. Collects what the patch expects and the tree
    lacks, for telling cascades."""

    def __init__(self, entry: Entry, parsed: Parsed, scratch: Scratch, earlier: Sequence[Entry]) -> None:
        self.entry = entry
        self.parsed = parsed
        self.scratch = scratch
        self.earlier = earlier
        self.missing_files: set[str] = set()
        self.missing_lines: dict[str, list[bytes]] = {}
        self._searches = 0
        self._texts: dict[str, Text] = {}

    @cached_property
    def tree(self) -> TreeId:
        """The tree before the patch, whole."""
        return self.scratch.repo.tree_with(self.scratch.base, self.scratch.changes())

    def defects(self) -> list[Problem]:
        """What is wrong with the patch file itself, before any tree is looked at."""
        found = [Problem(cause=d.cause, message=d.message, at_line=d.at_line) for d in self.parsed.defects if d.fatal]
        # a missing newline makes the count look wrong too: one word about it is enough
        newline = [p for p in found if p.cause == "missing-newline"]
        for f in self.parsed.files:
            if bad := _unsafe(f, self.entry.strip):
                found.append(Problem(cause="unsafe-path", message=bad, at_line=f.at_line))
            if f.binary == "names-only":
                found.append(
                    Problem(
                        cause="binary",
                        message="it only says that binary files differ; their contents are not in the patch",
                        file=printable(f.path),
                        at_line=f.at_line,
                    )
                )
            if "" in (f.old, f.new) or f.old is f.new is None:
                name = printable(next((n for n in f.raw_paths if n), "its name"))
                fits = self._other_level(f)
                found.append(
                    Problem(
                        cause="wrong-strip",
                        message=f"nothing is left of {name} with -p{self.entry.strip}"
                        + (f"; with -p{fits[0]} instead it is {printable(fits[1])}, which is there" if fits else ""),
                        at_line=f.at_line,
                    )
                )
        return newline or found or [self._nothing(f) for f in self.parsed.files if _changes_nothing(f)]

    def _nothing(self, f: FilePatch) -> Problem:
        if self.entry.raw[slice(*f.span)].endswith(b"\r\n"):
            words = "the patch has CRLF line ends, and git finds no change below the file's header"
            return self._problem(f, "eol", words)
        return self._problem(f, "corrupt", "no change follows the file's header")

    def file(self, f: FilePatch, errors: Sequence[str], rejected: Sequence[int]) -> list[Problem]:
        """The problems of one file, given git's own words on it and the hunks it refused."""
        said = " ".join(errors)
        if not said and not rejected:
            return []
        if "beyond a symbolic link" in said or "invalid path" in said:
            return [self._problem(f, "unsafe-path", printable(errors[0]))]
        if f.new in self.scratch.state() and (f.operation == "create" or _makes_unsaid(f)):
            return [self._exists(f)]
        if f.old and said and f.old not in self.scratch.state():
            return [self._missing(f)]
        if "wrong type" in said or "has type" in said:
            return [self._problem(f, "mode", self._kinds(f))]
        if "does not match the current contents" in said:
            return [self._other_binary(f)]
        if "binary" in said:
            return [self._problem(f, "binary", f"git cannot change this binary file: {printable(errors[0])}")]
        if f.operation in ("rename", "copy") and f.new in self.scratch.state() and f.new != f.old:
            return [self._problem(f, "exists", f"{printable(f.new or '')} is there already")]
        hunks = [h for h in f.hunks if h.number in rejected]
        if "removal patch leaves" in said:
            hunks = [h for h in f.hunks if h.old != self._text(f.old or "").lines]
            if not hunks:
                return [
                    self._problem(f, "context-changed", "it deletes the file as an empty one, but the file has lines")
                ]
        if hunks:
            return [self._hunk(f, h) for h in hunks]
        return [self._problem(f, "corrupt", printable(errors[0]))] if errors else []

    def _kinds(self, f: FilePatch) -> str:
        mode, oid = self.scratch.state().get(f.old or "", ("", ""))
        if mode != "120000":
            return f"{printable(f.old or '')} is a file, and the patch changes a symbolic link"
        target = printable(self.scratch.repo.blobs([oid])[oid].decode("utf-8", "surrogateescape"))
        return f"{printable(f.old or '')} is a symbolic link to {target}, and the patch changes a file"

    def _other_binary(self, f: FilePatch) -> Problem:
        if f.new_blob and self.scratch.state()[f.old or ""][1].startswith(f.new_blob):
            return self._problem(f, "already-applied", "the binary file has the new contents already")
        words = "the binary file is not the one that the patch was made on, and binary contents are not merged"
        return self._problem(f, "binary", words)

    def in_the_way(self) -> list[Problem]:
        """Files that the patch makes where the tree has a folder, or below what is a file there."""
        state = self.scratch.state()
        gone = {f.old for f in self.parsed.files if f.operation in ("delete", "rename")}
        here = state.keys() - gone | {f.new for f in self.parsed.files if f.new}
        found = []
        for f in self.parsed.files:
            parts = (f.new or "").split("/")
            above = next((p for i in range(1, len(parts)) if (p := "/".join(parts[:i])) in here), None)
            below = next((p for p in here if p and f.new and p.startswith(f.new + "/")), None)
            if above is not None:
                found.append(self._problem(f, "exists", f"{printable(above)} is a file, so nothing can be below it"))
            elif below is not None:
                found.append(
                    self._problem(f, "exists", f"{printable(f.new or '')} is a folder: it has {printable(below)}")
                )
        return found

    # -- files -------------------------------------------------------------------------------

    def _problem(self, f: FilePatch, cause: str, message: str) -> Problem:
        return Problem(cause=cause, message=message, file=printable(f.path), at_line=f.at_line)

    def _exists(self, f: FilePatch) -> Problem:
        path = f.new or ""
        oid = self.scratch.state()[path][1]
        if not f.binary and self.scratch.repo.blobs([oid])[oid] == b"".join(x for h in f.hunks for x in h.added):
            return self._problem(
                f, "already-applied", "it creates a file that is there already, with the same contents"
            )
        return self._problem(f, "exists", "it creates a file that is there already, with other contents")

    def _missing(self, f: FilePatch) -> Problem:
        path = f.old or ""
        self.missing_files.add(path)
        if gone := self._taken_away(path):
            words, now = gone
            cause = "renamed-file" if now else "missing-file"
            return self._problem(f, cause, f"{printable(path)} is gone: {words}")._replace(other=now)
        if fits := self._other_level(f):
            words = f"with -p{fits[0]} instead of -p{self.entry.strip} it is {printable(fits[1])}, which is there"
            return self._problem(f, "wrong-strip", words)
        alike = self._alike(f)
        if alike and alike.endswith("/" + path):
            words = f"the file is at {printable(alike)}: its paths lack '{printable(alike.removesuffix(path))}'"
            return self._problem(f, "wrong-strip", words)._replace(other=alike)
        if alike:
            words = f"{printable(path)} is not there; its lines stand in {printable(alike)}"
            return self._problem(f, "renamed-file", words)._replace(other=alike)
        if f.new and f.new != f.old:
            verb = "copies" if f.operation == "copy" else "renames"
            return self._problem(f, "missing-file", f"{printable(path)}, which it {verb}, is not in the tree")
        return self._problem(f, "missing-file", "the file is not in the tree")

    def _other_level(self, f: FilePatch) -> tuple[int, str] | None:
        """Another strip level at which a name of the file is one that is there, and that name."""
        raws = [raw.encode("utf-8", "surrogateescape") for raw in f.raw_paths]
        levels = (n for n in range(4) if n != self.entry.strip)
        return next(((n, s) for n in levels for raw in raws if (s := stripped(raw, n)) and self._there(s)), None)

    def _there(self, path: str) -> bool:
        return path in self.scratch.state() or self.scratch.listing.get(path) is not None

    def _taken_away(self, path: str) -> tuple[str, str] | None:
        """Which earlier patch deletes or renames the file, in words, and its new name."""
        if self.scratch.listing.get(path) is None:
            return None
        for e in reversed(self.earlier):
            for f in parse(e.raw, e.strip, e.reverse).files:
                if f.old == path and f.operation == "delete":
                    return f"{e.name} deletes it", ""
                if f.old == path and f.operation == "rename":
                    return f"{e.name} renames it to {printable(f.new or '')}", f.new or ""
        return None

    def _alike(self, f: FilePatch) -> str:
        """Another file that holds the lines this one expects: a rename, or another folder."""
        wanted = _telling_lines(f.hunks)
        name = (f.old or "").rsplit("/", 1)[-1]
        same_name = [p for p in self.scratch.listing.named(name) if p != f.old][:50]
        if not wanted:
            return same_name[0] if len(same_name) == 1 else ""
        holders: list[str] = []
        for found in self.scratch.repo.files_with(self.tree, wanted[:_SEARCHES]).values():
            holders = [h for h in holders if h in found] or found if holders else found
        first = [h for h in holders if h in same_name]
        return (first or holders)[0] if len(first) == 1 or (not first and len(holders) == 1) else ""

    # -- hunks -------------------------------------------------------------------------------

    def _hunk(self, f: FilePatch, hunk: Hunk) -> Problem:
        text = self._text(f.old or "")
        if self.scratch.state().get(f.old or "", ("",))[0] == "120000":
            return self._target(f, hunk, text.lines)
        cause, words, line = difference(text, hunk)
        near = nearest(text, hunk)
        if cause == "context-changed":
            self.missing_lines.setdefault(f.old or "", []).extend(x for x in hunk.old if x not in text.held)
            if near.share < _LIKE and (elsewhere := self._moved(f, hunk)):
                cause, words = "moved", f"its lines stand in {printable(elsewhere)} now"
            elif near.share < _LIKE:
                words = "nothing like the lines it expects is in the file"
            if f.operation == "delete":  # all of its lines must be those of the patch; no place is to be found
                words, near = "the file that it deletes has other lines", near._replace(line=0)
        line = line or (near.line if near.share >= _LIKE else 0)
        return Problem(
            cause=cause,
            message=words,
            file=printable(f.path),
            hunk=hunk.number,
            line=line,
            at_line=hunk.at_line,
            diff=near.diff if near.share >= _LIKE and cause != "already-applied" else (),
        )

    def _target(self, f: FilePatch, hunk: Hunk, lines: Sequence[bytes]) -> Problem:
        """A symlink's one line is where it points."""
        points, wanted = (printable(b"".join(x).decode("utf-8", "surrogateescape")) for x in (lines, hunk.old))
        done = b"".join(lines) == b"".join(hunk.new)
        return Problem(
            cause="already-applied" if done else "context-changed",
            message=f"the symbolic link points to {points}" + (" already" if done else f", the patch expects {wanted}"),
            file=printable(f.path),
            hunk=hunk.number,
            line=1,
            at_line=hunk.at_line,
        )

    def _text(self, path: str) -> Text:
        """A file's lines before the patch, or as an earlier part of the same patch makes them."""
        if path not in self._texts:
            made = next((f for f in self.parsed.files if f.new == path and f.operation == "create"), None)
            lines = [x for h in made.hunks for x in h.added] if made else []
            if path in self.scratch.state():
                oid = self.scratch.state()[path][1]
                lines = lines_of(self.scratch.repo.blobs([oid])[oid])
            self._texts[path] = Text(lines)
        return self._texts[path]

    def _moved(self, f: FilePatch, hunk: Hunk) -> str:
        """Another file in which the hunk's lines stand now."""
        if self._searches >= _SEARCHES:
            return ""
        self._searches += 1
        for found in self.scratch.repo.files_with(self.tree, _telling_lines((hunk,))[:2]).values():
            others = [p for p in found if p != f.old]
            if len(others) == 1:
                return others[0]
        return ""


def _changes_nothing(f: FilePatch) -> bool:
    return f.operation == "modify" and not (f.hunks or f.binary) and (f.old_mode == f.new_mode or not f.new_mode)


def _makes_unsaid(f: FilePatch) -> bool:
    """Whether it is a lone "@@ -0,0" with no word of creation."""
    return not f.git_style and [h.old_count for h in f.hunks] == [0] and f.hunks[0].old_start == 0


def _telling_lines(hunks: Sequence[Hunk]) -> list[bytes]:
    """Expected lines worth a search, the longest first."""
    lines = {x.strip() for h in hunks for x in h.old if len(x.strip()) > 12}
    return sorted(lines, key=lambda x: (-len(x), x))


def _unsafe(f: FilePatch, strip: int) -> str:
    """Why a path must not be followed; empty if it may."""
    for raw in f.raw_paths:
        name = printable(raw)
        if raw == "/dev/null" or not raw:
            continue
        parts = raw.split("/")
        if raw.startswith("/") and strip == 0:
            return f"{name} is an absolute path"
        if ".." in parts[strip:]:
            return f"{name} leads out of the tree"
        if any(p.lower() == ".git" for p in parts[strip:]):
            return f"{name} is inside a .git folder"
    for path in (f.old, f.new):
        if path and (".." in path.split("/") or path.startswith("/")):
            return f"{printable(path)} leads out of the tree"
    return ""
