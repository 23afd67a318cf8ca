"""The store's bare repository: objects, indexes, trees."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from opencoti_patches.core.errors import CouldNot
from opencoti_patches.core.model import EMPTY_TREE, CommitId, IndexEntry, TreeId, decode, encode
from opencoti_patches.doors import fs, proc
from opencoti_patches.doors.git.apply import Applied, arguments, read_apply, without_crash
from opencoti_patches.doors.git.call import LOST, SAFE, batch, call, environment, must
from opencoti_patches.doors.git.changes import TreeChanges, read_changes

# Highest precedence in a repository, above any .gitattributes in a tree: bytes stay as they are.
RAW_ATTRIBUTES = "* -text -eol -ident -filter -working-tree-encoding -crlf\n"
_CONFIG = """[core]
	repositoryformatversion = 0
	bare = true
	fileMode = true
	symlinks = true
	ignoreCase = false
	precomposeUnicode = false
	autocrlf = false
	eol = lf
	looseCompression = 1
[pack]
	compression = 1
"""


_KEPT = 32 << 20  # bytes of blobs that are kept in memory


class NewFile(NamedTuple):
    """One file for ``import_tree``. ``chunks`` gives exactly ``size`` bytes; ``also`` are further paths
    with the same contents and mode (hard links)."""

    path: str
    mode: str  # "100644", "100755" or "120000"
    size: int
    chunks: Iterable[bytes]
    also: tuple[str, ...] = ()


class Repository:
    """The store's bare repository: objects, no branches anyone works on."""

    def __init__(self, path: Path, env: Mapping[str, str] | None = None) -> None:
        self.path = path
        self._listed = ("", b"")  # the last tree that was listed
        self._read: dict[str, bytes] = {}  # contents of blobs: the steps of a run ask for the same ones
        self._room = _KEPT
        self._env = env or environment(GIT_DIR=str(path), GIT_CEILING_DIRECTORIES=str(path.parent))

    def create(self) -> None:
        """Make it if it is not there. Safe to call twice, and after a kill in between."""
        if (self.path / "opencoti-ready").exists():
            self._own_settings()
            return
        self.path.mkdir(parents=True, exist_ok=True)
        env = environment(GIT_CEILING_DIRECTORIES=str(self.path.parent))
        must(
            call(["init", "-q", "--bare", "--object-format=sha1", "--template=", self.path], env=env, cwd=self.path),
            "make the store's repository",
        )
        self._own_settings()
        fs.write(self.path / "opencoti-ready", b"1\n", sync=False)

    def _own_settings(self) -> None:
        """The repository's own attributes and configuration, and no others: a store may come from anywhere, and
        git runs what its configuration names."""
        for file, content in (("info/attributes", RAW_ATTRIBUTES.encode()), ("config", _CONFIG.encode())):
            path = self.path / file
            if not path.is_file() or path.is_symlink() or path.read_bytes() != content:
                path.unlink(missing_ok=True)
                fs.write(path, content, sync=False)  # wrong after a power cut, it is written again
        if (self.path / "commondir").exists():  # it would name another place for them
            (self.path / "commondir").unlink()

    def _run(
        self,
        *args: str | os.PathLike[str],
        doing: str,
        input: bytes = b"",
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> bytes:
        return must(call(args, env={**self._env, **(env or {})}, cwd=cwd or self.path, input=input), doing)

    # -- indexes -----------------------------------------------------------------------------

    def add_to_index(self, index: Path, entries: Mapping[str, IndexEntry]) -> None:
        """Add or replace entries of ``index``; to git, one that is not there is an empty one."""
        lines = b"".join(
            b"%s %s\t%s\0" % (mode.encode(), oid.encode(), encode(path)) for path, (mode, oid) in entries.items()
        )
        self._run(
            "update-index",
            "-z",
            "--index-info",
            doing="write a scratch index",
            input=lines,
            env={"GIT_INDEX_FILE": str(index)},
        )

    def read_index(self, index: Path) -> dict[str, IndexEntry]:
        """All entries of ``index``."""
        out = self._run("ls-files", "-s", "-z", doing="read a scratch index", env={"GIT_INDEX_FILE": str(index)})
        entries = {}
        for row in out.split(b"\0")[:-1]:
            meta, _, path = row.partition(b"\t")
            mode, oid, _stage = meta.split(b" ")
            entries[decode(path)] = (mode.decode(), oid.decode())
        return entries

    def apply_cached(
        self,
        index: Path,
        patches: Sequence[Path],
        *,
        strip: int,
        reverse: bool,
        meanwhile: Callable[[], None] | None = None,
    ) -> Applied:
        """git's strict verdict on patches in order, one process. All go into ``index``, or none."""
        args = ["apply", "--cached", *arguments(patches, strip=strip, reverse=reverse)]
        done = call(
            args, env={**self._env, "GIT_INDEX_FILE": str(index)}, cwd=self.path, chatty=True, meanwhile=meanwhile
        )
        said = read_apply(done, reverse)
        if (crash := without_crash(done, said)) is not None:
            index.with_name(f"{index.name}.lock").unlink(missing_ok=True)  # it had no time to
            said = crash
        if (crash is None and done.code not in (0, 1, 128)) or said.ok != (len(said.landings) == len(patches)):
            raise CouldNot("git", f"git apply ended with {done.code}: {done.error_text.splitlines()[-1:]}", LOST)
        return said

    def apply_loosely(self, index: Path, patch: Path, *, strip: int, reverse: bool) -> bool:
        """Whether git takes a patch with one line of context and white space ignored. Never a verdict."""
        args = [
            "apply",
            "--cached",
            "-C1",
            "--ignore-whitespace",
            "--whitespace=nowarn",
            f"-p{strip}",
            *(["-R"] if reverse else []),
            "--",
            str(patch),
        ]
        return call(args, env={**self._env, "GIT_INDEX_FILE": str(index)}, cwd=self.path).code == 0

    def files_with(self, tree: TreeId, texts: Sequence[bytes], limit: int = 20) -> dict[bytes, list[str]]:
        """By each of these texts, of one line, the files of a tree that hold it somewhere, at most ``limit``."""
        found: dict[bytes, dict[bytes, None]] = {x: {} for x in texts}
        if found:
            args = ["grep", "-z", "-a", "-F", "--no-recurse-submodules", "-f", "-", tree]
            done = call(args, env=self._env, cwd=self.path, input=b"\n".join(found) + b"\n")
            for row in done.out.split(b"\n")[:-1] if done.code == 0 else ():
                name, _, line = row.partition(b"\0")
                for text, paths in found.items():
                    if text in line:
                        paths[name.split(b":", 1)[1]] = None
        return {x: [*map(decode, paths)][:limit] for x, paths in found.items()}

    # -- objects -----------------------------------------------------------------------------

    def list_tree(self, tree: TreeId) -> bytes:
        """``ls-tree -r -z`` of a tree: ``mode type id TAB path NUL`` rows, sorted by path."""
        if tree == EMPTY_TREE:
            return b""
        if self._listed[0] != tree:  # whoever stores a base asks twice
            self._listed = (tree, self._run("ls-tree", "-r", "-z", "--full-tree", tree, doing=f"list tree {tree[:12]}"))
        return self._listed[1]

    def count(self, tree: TreeId) -> int:
        """How many files a tree holds."""
        return self.list_tree(tree).count(b"\0")

    def has(self, oid: str) -> bool:
        """Whether the object is in the store."""
        return call(["cat-file", "-e", oid], env=self._env, cwd=self.path).code == 0

    def lacking(self, oids: Iterable[str]) -> list[str]:
        """Those of the objects that are not in the store, one process for all."""
        wanted = list(dict.fromkeys(oids))
        if not wanted:
            return []
        ids = "".join(f"{o}\n" for o in wanted).encode()
        rows = self._run("cat-file", "--batch-check=%(objectname)", doing="look for objects", input=ids).splitlines()
        return [o for o, row in zip(wanted, rows, strict=True) if row.endswith(b" missing")]

    def resolve(self, names: Iterable[str]) -> dict[str, str]:
        """The whole ids of blobs by names as index lines have them, often shortened; those that no blob, or more than
        one object, answers to are left out."""
        wanted = [n for n in dict.fromkeys(names) if len(n) >= 4 and set(n) != {"0"}]
        if not wanted:
            return {}
        rows = self._run(
            "cat-file", "--batch-check", doing="look for objects", input="\n".join(wanted).encode() + b"\n"
        )
        found = (row.split(" ") for row in rows.decode("ascii", "replace").splitlines())
        return {n: row[0] for n, row in zip(wanted, found, strict=False) if row[1:2] == ["blob"]}

    def blobs(self, oids: Iterable[str]) -> dict[str, bytes]:
        """Contents of blobs by id, one process for all that were not read before. A missing one is an error."""
        wanted = dict.fromkeys(oids)
        found = {oid: self._read[oid] for oid in wanted if oid in self._read}
        if not (asked := [oid for oid in wanted if oid not in found]):
            return found
        out = self._run("cat-file", "--batch", doing="read objects", input="".join(o + "\n" for o in asked).encode())
        for oid, content in zip(asked, batch(out), strict=True):
            if content is None:
                raise CouldNot("store", f"object {oid} is missing from the store", LOST)
            found[oid] = content
            if self._room > len(content):
                self._room -= len(content)
                self._read[oid] = content
        return found

    def fast_import(self, stream: bytes | Iterable[bytes]) -> bytes:
        """Feed ``git fast-import``; what it prints (answers to ``ls``) comes back. A stream in pieces is
        never held whole; an error while it is made stores nothing that anyone will find."""
        args = ["fast-import", "--quiet", "--done", "--force"]
        if isinstance(stream, bytes):
            return self._run(*args, doing="store a tree", input=stream + b"done\n")
        # Blobs of a source tree rarely resemble the one before: no time is spent on looking for deltas.
        argv = ["git", *SAFE, *args, "--depth=0"]
        return must(proc.feed(argv, _then_done(stream), cwd=self.path, env=self._env), "store a tree")

    def import_tree(self, files: Iterable[NewFile]) -> TreeId:
        """Store files, raw, and the tree that they make. A path is given once; a second one replaces it.

        What ``files`` raises ends the import and goes on up. Errors: CouldNot ``git``.
        """
        self._sweep()
        ref = f"refs/opencoti/scratch-{os.getpid()}".encode()

        def stream() -> Iterator[bytes]:
            yield b"reset %s\ncommit %s\ncommitter x <x@x.invalid> 0 +0000\ndata 0\n" % (ref, ref)
            for file in files:
                name = _quoted(file.path)
                yield b"M %s inline %s\ndata %d\n" % (file.mode.encode(), name, file.size)
                yield from file.chunks
                yield b"\n"
                for path in file.also:
                    yield b"C %s %s\n" % (name, _quoted(path))
            yield b'ls ""\n\nreset %s\n\n' % ref

        row = self.fast_import(stream())
        return TreeId(row.split(b" ")[2].split(b"\t")[0].decode()) if row.startswith(b"040000") else EMPTY_TREE

    def _sweep(self) -> None:
        """Remove what an import left that was killed an hour ago or more; a younger one may be at work."""
        for left in (*(self.path / "objects" / "pack").glob("tmp_*"), *self.path.glob("fast_import_crash_*")):
            with contextlib.suppress(OSError):
                if left.stat().st_mtime < time.time() - 3600:
                    left.unlink()

    def hash_blobs(self, contents: Sequence[bytes]) -> list[str]:
        """Store blobs, raw; their ids in order."""
        stream = b"".join(
            b"blob\nmark :%d\ndata %d\n%s\nget-mark :%d\n" % (i, len(c), c, i) for i, c in enumerate(contents, 1)
        )
        return self.fast_import(stream).decode().split()

    def tree_with(self, base: TreeId, changes: Mapping[str, IndexEntry | None]) -> TreeId:
        """The tree that differs from ``base`` by these paths; None removes one. Cost grows with the
        changed paths, not with the tree."""
        return self.chain(base, [("", changes)])[0][1]

    def chain(
        self, base: TreeId, steps: Sequence[tuple[str, Mapping[str, IndexEntry | None]]], first: str | None = None
    ) -> list[tuple[CommitId, TreeId]]:
        """Trees that follow one another, each a (message, changes to the one before), in one process:
        the commit and the tree after each step. ``first`` is the message of a commit of ``base`` itself
        that they stand on; without it the first step is a root. Author and date are fixed, so equal
        input has equal ids. The commits are kept by no branch."""
        ref = f"refs/opencoti/scratch-{os.getpid()}".encode()
        parts = [b"reset %s\n" % ref]
        mark = 1
        if first is not None:
            parts += [_commit(ref, mark, first), _root(base), b"\n"]
        for i, (message, changes) in enumerate(steps):
            mark += 1
            parts.append(_commit(ref, mark, message))
            if first is None and i == 0:
                parts.append(_root(base))
            parts += [b"D %s\n" % _quoted(p) for p, e in changes.items() if e is None]
            parts += [b"M %s %s %s\n" % (e[0].encode(), e[1].encode(), _quoted(p)) for p, e in changes.items() if e]
            parts.append(b'ls ""\n\nget-mark :%d\n' % mark)
        out = self.fast_import(b"".join(parts) + b"reset %s\n\n" % ref).decode("ascii", "replace").splitlines()
        rows = []
        for tree, commit in zip(out[::2], out[1::2], strict=True):
            rows.append((CommitId(commit), TreeId(tree.split()[2]) if tree.startswith("040000") else EMPTY_TREE))
        return rows

    def set_ref(self, ref: str, commit: CommitId) -> None:
        """Keep a commit under a name, so that it can be fetched."""
        self._run("update-ref", ref, commit, doing="name a commit")

    def diff_trees(self, a: TreeId, b: TreeId) -> TreeChanges:
        """Paths whose mode or content differ, with both sides; None where a side lacks the path."""
        return self.diffs_of_trees([(a, b)])[0]

    def diffs_of_trees(self, pairs: Sequence[tuple[TreeId, TreeId]]) -> list[TreeChanges]:
        """As ``diff_trees``, of many pairs in one process."""
        if not pairs:
            return []
        args = ("diff-tree", "--stdin", "-r", "-z", "--no-renames", "--raw")
        return read_changes(
            self._run(*args, doing="compare trees", input="".join(f"{a} {b}\n" for a, b in pairs).encode())
        )

    def diff_contents(
        self, a: bytes, b: bytes, folder: Path, how: Literal["histogram", "myers"] = "histogram"
    ) -> bytes:
        """The diff of two contents without context, white space aside: for aligning lines. ``folder`` takes
        two temporary files."""
        old, new = folder / "align-a", folder / "align-b"
        fs.scribble(old, a)
        fs.scribble(new, b)
        args = ("diff", "--no-index", f"--diff-algorithm={how}", *_ALIGNING, "--", str(old), str(new))
        return call(args, env=environment(GIT_CEILING_DIRECTORIES=str(folder)), cwd=folder).out

    def diff_blobs(self, pairs: Sequence[tuple[str, str]]) -> bytes:
        """As ``diff_contents``, of many pairs of blobs: one diff of files that are called by their place in ``pairs``."""
        sides = ("".join(f"100644 blob {pair[i]}\t{n}\n" for n, pair in enumerate(pairs)) for i in (0, 1))
        trees = self._run("mktree", "--batch", input="\n".join(sides).encode(), doing="compare files").decode().split()
        return self._run("diff-tree", "-p", "--histogram", *_ALIGNING, *trees, doing="compare files")

    def merge_file(self, theirs: bytes, old: bytes, ours: bytes, name: str, folder: Path) -> tuple[bytes, bool] | None:
        """git's three-way merge of one file, with diff3 markers: the text, and whether it is whole; None where a side
        is binary."""
        paths = []
        for label, content in (("theirs", theirs), ("old", old), ("ours", ours)):
            paths.append(folder / f"merge-{label}")
            fs.scribble(paths[-1], content)
        args = ["merge-file", "-p", "--diff3", "-L", "upstream", "-L", f"before {name}", "-L", name, *map(str, paths)]
        done = call(args, env=environment(GIT_CEILING_DIRECTORIES=str(folder)), cwd=folder)
        if done.code > 127 and "Cannot merge binary files" in done.error_text:
            return None
        if done.code > 127:
            raise CouldNot("git", f"git merge-file failed: {done.error_text}", LOST)
        return done.out, done.code == 0

    def renames(self, a: TreeId, b: TreeId, *, replaced: bool = False) -> dict[str, str]:
        """Files whose contents stand under another name in ``b``, and that are gone there or have given way to one that was
        renamed, too; with ``replaced`` also those that are any other files there."""
        how = ["-C", "-B", "--diff-filter=RC"] if replaced else ["-M", "-B", "--diff-filter=R"]
        out = self._run("diff-tree", "-r", "-z", *how, "--name-status", a, b, doing="look for renames")
        fields = [decode(x) for x in out.split(b"\0")[:-1]]
        return dict(zip(fields[1::3], fields[2::3], strict=True))

    def diff_text(
        self, a: TreeId, b: TreeId, *, context: int = 3, renames: bool = False, paths: Sequence[str] = ()
    ) -> bytes:
        """The patch from one tree to another, in git's format, the same bytes under any configuration."""
        return self._run(
            "-c", "diff.algorithm=myers", "-c", "diff.indentHeuristic=true", "-c", "diff.noprefix=false", "-c", "diff.mnemonicPrefix=false", "-c", "diff.suppressBlankEmpty=false", "-c", "diff.interHunkContext=0",
            "diff-tree", "-p", "-r", "--full-index", "--binary", "--no-ext-diff", "--no-textconv", "--no-color", f"-U{context}",
            "--src-prefix=a/", "--dst-prefix=b/", "-M" if renames else "--no-renames", a, b, "--", *(f":(literal){p}" for p in paths),
            doing="write a diff")  # fmt: skip


_ALIGNING = (
    "-U0", "-w", "-a", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames",
    "--src-prefix=a/", "--dst-prefix=b/",
)  # fmt: skip


def _commit(ref: bytes, mark: int, message: str) -> bytes:
    who = b"opencoti-patches <patches@opencoti.invalid> 0 +0000"
    text = encode(message)
    return b"commit %s\nmark :%d\nauthor %s\ncommitter %s\ndata %d\n%s\n" % (ref, mark, who, who, len(text), text)


def _root(tree: TreeId) -> bytes:
    return b"" if tree == EMPTY_TREE else b'M 040000 %s ""\n' % tree.encode()


def _quoted(path: str) -> bytes:
    raw = encode(path)
    return b'"' + raw.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n") + b'"'


def _then_done(stream: Iterable[bytes]) -> Iterator[bytes]:
    yield from stream
    yield b"done\n"
