"""Which artefacts each patch reaches: the includes of the base and of all patches together, what the compilers of a
build saw, and where the two disagree.

The graph of includes is that of every state between the base and the tip at once: an include stands in the base or in a
line of some patch. So nothing has to be applied, and what is found holds for the patch wherever it stands.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from opencoti_patches.base.store import Store
from opencoti_patches.build.artefacts import (
    HOST_SIDE,
    Artefact,
    artefacts,
    governs,
    inputs,
    is_build_file,
    is_prose,
    sources,
)
from opencoti_patches.build.depfiles import Known
from opencoti_patches.build.includes import READ, Graph, Include, includes_of
from opencoti_patches.core.model import Entry, FilePatch, PatchName, Series, TreeId, decode
from opencoti_patches.doors import fs
from opencoti_patches.plan.listing import Listing
from opencoti_patches.series import says
from opencoti_patches.series.parse import parse

_READER = "1"  # raise it with what includes_of finds


class Row(NamedTuple):
    """What is known of one patch and one artefact. ``closure``: the includes lead there, by ``via``, from the file of
    the patch to a source of the artefact. ``depfiles``: what the builds say; None where none could tell."""

    artefact: str
    closure: bool
    depfiles: bool | None
    via: tuple[str, ...] = ()

    @property
    def reached(self) -> bool:
        """Whether it may be reached: too much rather than too little."""
        return self.closure or self.depfiles is True

    @property
    def disputed(self) -> bool:
        """Whether the two ways to know disagree."""
        return self.depfiles is not None and self.depfiles != self.closure


class Claimed(NamedTuple):
    """What a header says of the reach, and what is wrong with it: empty if it holds."""

    line: int
    text: str
    wrong: str = ""


class Reach(NamedTuple):
    """One patch: a row an artefact, in the order of the table."""

    name: PatchName
    rows: tuple[Row, ...]
    claims: tuple[Claimed, ...] = ()

    @property
    def reached(self) -> tuple[str, ...]:
        """The artefacts that it reaches."""
        return tuple(r.artefact for r in self.rows if r.reached)

    @property
    def host_only(self) -> bool:
        """Whether it reaches something, and no library of a device."""
        return bool(self.reached) and HOST_SIDE.issuperset(self.reached)


class Impact(NamedTuple):
    """The reach of patches. ``unread`` are includes that could not be followed, (artefact, file, what it includes): a
    macro, or a file that the tree does not have, such as one that a build makes. ``binary`` are sources that a patch
    changes in binary form."""

    artefacts: tuple[Artefact, ...]
    patches: tuple[Reach, ...]
    builds: tuple[Known, ...]
    unread: tuple[tuple[str, str, Include], ...]
    binary: tuple[str, ...]


class _Reached(NamedTuple):
    """An artefact's files: what its sources include, and what its built objects were made of (``read``), beside what
    the includes say of those alone (``built``)."""

    closure: Mapping[str, str]
    sources: Sequence[str]
    built: Mapping[str, str]
    read: frozenset[str]


def impact(
    series: Series,
    wanted: Sequence[PatchName],
    base: TreeId,
    given: Mapping[str, Sequence[str]],
    builds: Sequence[Known],
    store: Store,
) -> Impact:
    """The reach of the ``wanted`` patches. ``given`` is the configuration's table of artefacts.

    Errors: UsageError ``no-artefact``.
    """
    parsed = {e.name: parse(e.raw, e.strip, e.reverse).files for e in series.entries}
    graph, paths = _graph(base, [f for files in parsed.values() for f in files], store)
    table = artefacts(paths, given)
    reached = {a.name: r for a, r in zip(table, _reached(table, graph, paths, builds), strict=True)}
    found = []
    for entry in series.entries:
        if entry.name in wanted:
            touched = {p for f in parsed[entry.name] for p in (f.old if f.operation != "copy" else None, f.new) if p}
            rows = tuple(_row(name, sorted(touched), r) for name, r in reached.items())
            reach = Reach(entry.name, rows)
            found.append(reach._replace(claims=tuple(_claims(entry, reach, list(reached)))))
    first = {path: name for name, r in reversed(reached.items()) for path in r.closure}
    binary = sorted({f.path for files in parsed.values() for f in files if f.binary and f.path.endswith(READ)})
    unread = tuple((first[path], path, include) for path in sorted(first) for include in graph.unanswered(path))
    return Impact(table, tuple(found), tuple(builds), unread, tuple(binary))


def _graph(base: TreeId, files: Sequence[FilePatch], store: Store) -> tuple[Graph, list[str]]:
    """The includes of all states, and all paths of all states."""
    listing = Listing.of(base, store.listings)
    said = {path: list(found) for path, found in _includes_of_base(base, listing, store).items()}
    paths, here = dict.fromkeys(listing.paths()), set(listing.paths())
    come_and_go = set()
    for f in files:
        for path in (f.old, f.new):
            if path and (path not in here or (f.operation in ("delete", "rename") and path == f.old)):
                come_and_go.add(path)
                paths[path] = None
        lines = includes_of(b"".join(line[1:] for hunk in f.hunks for line in hunk.lines))
        if f.new and f.new_mode == "120000":
            said[f.new] = [Include('"', decode(line[1:].rstrip(b"\n"))) for hunk in f.hunks for line in hunk.lines]
        moved = said.get(f.old, []) if f.old and f.operation in ("rename", "copy") else []
        if f.path.endswith(READ):
            said[f.path] = list(dict.fromkeys((*said.get(f.path, ()), *moved, *lines)))
    return Graph(said, paths, come_and_go, near=True), list(paths)


def _includes_of_base(base: TreeId, listing: Listing, store: Store) -> dict[str, tuple[Include, ...]]:
    """What every file of the base includes; read once a base."""
    file = store.listings / f"{base}.includes-{_READER}.json"
    known = fs.read_json(file)
    if isinstance(known, dict):
        return {path: tuple(Include(*row) for row in rows) for path, rows in known.items()}
    entries = {p: e for p in listing.paths() if (e := listing.get(p)) and e[0] != "160000"}
    wanted = {p: e for p, e in entries.items() if p.endswith(READ) or e[0] == "120000"}
    contents = store.repo.blobs(oid for _, oid in wanted.values())
    said = {}
    for path, (mode, oid) in wanted.items():
        link = (Include('"', decode(contents[oid])),) if mode == "120000" else ()  # a link includes what it points to
        said[path] = link or includes_of(contents[oid])
    fs.write(file, fs.json_bytes(said), sync=False)
    return said


def _reached(
    table: Sequence[Artefact], graph: Graph, paths: Sequence[str], builds: Sequence[Known]
) -> Iterator[_Reached]:
    """An object counts for the first artefact that has its source: of a later one it is compiled in another way."""
    left = [made for build in builds for made in build.objects]
    candidates = inputs(paths)
    for artefact in table:
        own = dict.fromkeys(sources(artefact, candidates))
        built = [made for made in left if made.source in own]
        left = [made for made in left if made.source not in own]
        read = frozenset(file for made in built for file in made.files)
        yield _Reached(graph.closure(own), tuple(own), graph.closure(made.source for made in built), read)


def _row(artefact: str, paths: Sequence[str], reached: _Reached) -> Row:
    ways = [way for path in paths if (way := _way(path, reached))]
    via = min(ways, key=len, default=())
    if any(path in reached.read for path in paths):
        depfiles: bool | None = True
    elif not reached.built or any(way[0] not in reached.built or not _compiled(way[0]) for way in ways):
        depfiles = None
    else:
        depfiles = False
    return Row(artefact, bool(ways), depfiles, via)


def _compiled(path: str) -> bool:
    """Whether depfiles tell of such a file: not of build files, nor of what generators read."""
    return path.endswith(READ) and not is_build_file(path)


def _way(path: str, reached: _Reached) -> tuple[str, ...]:
    """From a file of a patch by those that include it to a source of the artefact; empty if there is no way."""
    if is_build_file(path):
        first = next((s for s in reached.sources if s.startswith(governs(path))), "")
        return (path, first) if first else ()
    if path not in reached.closure or is_prose(path):
        return ()
    way = [path]
    while by := reached.closure[way[-1]]:
        way.append(by)
    return tuple(way)


def _claims(entry: Entry, reach: Reach, known: Sequence[str]) -> Iterator[Claimed]:
    """The claims of a header about the reach, each with what is wrong with it."""
    for claim in says.reach_claims(parse(entry.raw, entry.strip, entry.reverse).header):
        named = (claim.only or frozenset()) | ({claim.never} if claim.never else frozenset())
        if strange := sorted(named.difference(known)):
            if claim.never:  # a word before "library" that is no artefact of ours
                continue
            wrong = f"no artefact is called {', '.join(strange)}; there are {', '.join(known)}"
        else:
            wrong = "; ".join(_said(r) for r in reach.rows if r.reached and _forbidden(r.artefact, claim))
        yield Claimed(claim.line, claim.text, wrong)


def _forbidden(artefact: str, claim: says.ReachClaim) -> bool:
    if claim.never:
        return artefact == claim.never
    return artefact not in (HOST_SIDE if claim.host_only else claim.only or ())


def _said(row: Row) -> str:
    if not row.via:
        return f"it reaches {row.artefact}: the depfiles say so"
    path, source = row.via[0], row.via[-1]
    if is_build_file(path):
        return f"it reaches {row.artefact}: {path} says how {source} is built"
    return f"it reaches {row.artefact}: {path} is {'a source of it' if path == source else f'read for {source}'}"
