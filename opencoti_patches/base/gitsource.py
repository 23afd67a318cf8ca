"""``kind = "git"``: one commit of a repository, local or remote, submodules flattened into its tree.

No history is fetched, and nothing is asked twice: what was recorded for a source is its base from then
on, even if a branch has moved since.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from opencoti_patches.base.limits import refusal
from opencoti_patches.base.store import Store
from opencoti_patches.core.config import Source
from opencoti_patches.core.errors import CouldNot, UsageError
from opencoti_patches.core.model import EMPTY_TREE, CommitId, IndexEntry, TreeId, decode, is_full_id, printable
from opencoti_patches.core.progress import Progress
from opencoti_patches.doors import net
from opencoti_patches.doors.git import Repository
from opencoti_patches.doors.git.commits import History, Way
from opencoti_patches.doors.git.fetch import Access, Remote

_PLAIN = ("100644", "100755", "120000")


def make_tree(source: Source, store: Store, *, progress: Progress) -> tuple[TreeId, dict[str, str]]:
    """Fetch and store the commit's tree. Returns (tree, {"commit"}).

    Errors: UsageError ``no-subdir``, ``bad-rev``; CouldNot ``no-rev``, ``no-repository``, ``submodule``,
    ``unsafe-path`` and those of ``Remote.fetch``.
    """
    remote = store.remote
    progress.update(f"fetching {printable(net.shown(source.url))} {source.rev}")
    commit = _fetched(remote, source.url, source.rev)
    tree = _Flattening(source, remote, progress).flatten(commit, [source.url], source.subdir)
    if source.subdir:
        below = remote.subtree(tree, source.subdir)
        if below is None:
            where = f"{net.shown(source.url)} at {source.rev}"
            raise UsageError(
                "no-subdir", f"{where} has no folder {source.subdir}", "look at 'subdir' of the base source"
            )
        tree = below
    return tree, {"commit": commit}


def full_rev(url: str, rev: str, store: Store) -> CommitId:
    """The commit that a revision names, fetched. Errors: as ``make_tree``."""
    return _fetched(store.remote, url, rev)


def fetch_together(url: str, revs: Sequence[str], store: Store, meanwhile: Callable[[], None] | None) -> None:
    """Fetch several commits at once, as far as their ids are known; what is not had so is fetched when it is needed.
    ``meanwhile`` is called while git is at it.

    Errors: those of ``Remote.resolve``.
    """
    remote, local = store.remote, _local(url)
    if local and local.is_dir():
        remote.seek(local, revs)
    ids = [remote.resolve(local, rev) for rev in revs] if local else [r for r in revs if is_full_id(r)]
    remote.fetch_ids(str(local or url), ids, meanwhile)


def _fetched(remote: Remote, url: str, rev: str) -> CommitId:
    if remote.has(rev):
        return CommitId(rev)
    local = _local(url)
    return remote.fetch(str(local) if local else url, remote.resolve(local, rev) if local else rev)


def _local(url: str) -> Path | None:
    """The folder that a URL of this machine names; None for ``host:path`` and other schemes."""
    path = Path(unquote(urlsplit(url).path)) if url.startswith("file://") else Path(url)
    return path if url.startswith(("file://", "/")) or ("://" not in url and path.exists()) else None


def ahead(source: Source, pinned: str, rev: str, store: Store, *, progress: Progress) -> tuple[History, Way]:
    """The way from commit ``pinned`` of a source to ``rev``, with the history that knows its contents.

    Errors: as ``make_tree``, and UsageError ``not-ahead``.
    """
    home = Repository(
        store.root / "history" / hashlib.sha256(source.url.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    )
    home.create()
    local = _local(source.url)
    history = History(home, store.fetching / "gitconfig", local or source.url)
    progress.update(f"fetching the history of {printable(net.shown(source.url))}")
    last = history.reach(rev)
    return history, history.way(CommitId(pinned), last)


class _Flattening:
    """Gitlinks become what they point at, at any depth."""

    def __init__(self, source: Source, remote: Remote, progress: Progress) -> None:
        self.source = source
        self.remote = remote
        self.repo = remote.repo
        self.progress = progress

    def flatten(self, commit: CommitId, urls: list[str], subdir: str) -> TreeId:
        """The tree of a commit without gitlinks. ``urls`` are where it may have come from, the first one
        is certain; only what ``subdir`` needs is fetched."""
        tree = self.remote.tree_of(commit)
        changes: dict[str, IndexEntry | None] = {}
        links: dict[str, str] = {}
        modules = ""
        for row in self.repo.list_tree(tree).split(b"\0")[:-1]:
            head, _, raw = row.partition(b"\t")
            mode, _, oid = head.decode().split(" ")
            path = decode(raw)
            self._refuse_unsafe(path, mode)
            if mode == "160000":
                links[path] = oid
            elif mode not in _PLAIN:  # group-writable, of git's first days: no index holds it
                changes[path] = ("100755" if int(mode, 8) & 0o100 else "100644", oid)
            elif path == ".gitmodules":
                modules = oid
        known = self.remote.gitmodules(modules) if modules and links and self.source.submodules else {}
        for path, oid in links.items():
            changes[path] = None
            needed = not subdir or f"{path}/".startswith(f"{subdir}/") or f"{subdir}/".startswith(f"{path}/")
            if self.source.submodules and needed:
                inner = subdir[len(path) + 1 :] if f"{subdir}/".startswith(f"{path}/") else ""
                below = self._submodule(path, oid, known.get(path), urls, inner)
                changes[path] = ("040000", below) if below != EMPTY_TREE else None
        return self.repo.tree_with(tree, changes) if changes else tree

    def _submodule(self, path: str, oid: str, url: str | None, parents: list[str], subdir: str) -> TreeId:
        self.progress.update(f"fetching submodule {printable(path)}")
        if url is None:
            raise self._missing(path, "the repository's .gitmodules does not name it")
        failure: CouldNot | UsageError | None = None
        candidates = list(self._candidates(path, url, parents))
        for candidate, access in candidates:
            try:
                commit = self.remote.fetch(candidate, oid, access=access)
                break
            except (CouldNot, UsageError) as e:
                failure = failure or e
        else:
            hint = failure.hint if failure and failure.code == "denied" else ""
            raise self._missing(path, failure.message if failure else "it has no usable URL", hint)
        return self.flatten(commit, [c for c, _ in candidates], subdir)

    def _candidates(self, path: str, url: str, parents: list[str]) -> list[tuple[str, Access]]:
        """Where a submodule may be had: beside or at its stated URL, else in the parent's own checkout."""
        found: list[tuple[str, Access]] = []
        for parent in parents:
            local = _local(parent)
            access: Access = "near" if local else "far"
            if local is not None and (clone := local / path).joinpath(".git").exists():
                found.append((str(clone), "own"))
            if not url.startswith(("./", "../")) and url not in (".", ".."):
                found.append((url, access))
                continue
            found.append((relative_url(parent, url), access))
            if local is not None and local.is_dir() and (origin := self.remote.origin(local)):
                found.append((relative_url(origin, url), "near" if _local(origin) else "far"))
        return list(dict.fromkeys(found))

    def _missing(self, path: str, why: str, hint: str = "") -> CouldNot:
        return CouldNot(
            "submodule",
            f"the submodule {printable(path)} of {net.shown(self.source.url)} cannot be had: {why}",
            "; ".join(filter(None, (hint, "'submodules = false' leaves submodules out"))),
        )

    def _refuse_unsafe(self, path: str, mode: str) -> None:
        if why := refusal(path, link=mode == "120000"):
            raise CouldNot(
                "unsafe-path", f"{net.shown(self.source.url)} is refused: {why}", "'subdir' takes a part of it alone"
            )
        for part in path.split("/"):
            if part in ("", ".", "..") or part.lower() == ".git":
                raise CouldNot(
                    "unsafe-path",
                    f"{net.shown(self.source.url)} is refused: it holds the path {printable(path)}",
                    "name another repository: git itself checks no such tree out",
                )


def relative_url(parent: str, url: str) -> str:
    """``../other.git`` against the parent repository's URL, by git's rule; ``host:path`` is known too."""
    base = parent.rstrip("/")
    rest = url
    while rest.startswith(("./", "../")) or rest in (".", ".."):
        if rest.startswith(".."):
            cut = max(base.rfind("/"), base.rfind(":") if "://" not in base else -1)
            colon = cut >= 0 and base[cut] == ":"
            base = base[: cut + 1] if colon else base[:cut] if cut > 0 else ""
        rest = rest.partition("/")[2]
    if not rest:
        return base
    return base + rest if base.endswith(":") else f"{base}/{rest}"
