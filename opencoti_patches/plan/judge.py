"""Asking git about a series, in order, in as few processes as can be.

One call takes a whole run of patches on a scratch index. Where git says no, its own messages tell which
patch it was: those before it go in, it is put aside and explained, and the rest is judged without it, so
one bad patch hides none of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from opencoti_patches.base.store import Store
from opencoti_patches.core.model import Entry, PatchName, Place, Plan, Problem, TreeId, Verdict, printable
from opencoti_patches.core.progress import Progress
from opencoti_patches.doors.git import Landing, runs_of
from opencoti_patches.plan.chain import Known, Records
from opencoti_patches.plan.listing import Listing
from opencoti_patches.plan.scratch import Scratch, touched
from opencoti_patches.series.order import edited
from opencoti_patches.series.parse import Parsed, parse

_SEGMENT = 128  # patches between two records: what an edit in the middle costs at most


class Judge:
    """One judgement of the end of a series that no record covers."""

    def __init__(self, entries: Sequence[Entry], base: TreeId, store: Store, known: Known, folder: Path) -> None:
        self.entries = entries
        self.base = base
        self.store = store
        self.folder = folder
        self.verdicts = list(known.verdicts)
        self.refused = [v.name for v in self.verdicts if not v.applied]
        self.parsed: dict[PatchName, Parsed] = {}
        self.pending: list[Callable[[], None]] = []
        self.scratch = Scratch(store.repo, base, Listing.of(base, store.listings), folder, known.changes(), ())

    def run(self, records: Records, progress: Progress, tip: bool) -> Plan:
        """Judge to the end, a record a segment; with the tip's tree if that is wanted."""
        while len(self.verdicts) < len(self.entries):
            begin = len(self.verdicts)
            end = begin + _SEGMENT - begin % _SEGMENT
            segment = self.entries[begin:end]
            self._read(segment)
            self.scratch.ask(touched(self.parsed[e.name] for e in segment))
            self.pending.append(partial(self._read, self.entries[end : end + _SEGMENT]))
            self._segment(segment, progress)
            self._catch_up()
            if end < len(self.entries):
                self.pending.append(partial(self._record, records, begin, end))
        wanted = tip and not self.refused
        tree = self.store.repo.tree_with(self.base, self.scratch.changes()) if wanted else None
        self._record(records, begin, end, tree)
        return Plan(base=self.base, tip=tree, verdicts=tuple(self.verdicts))

    def _catch_up(self) -> None:
        """Do what is pending: called while git is at the next run of patches, before it has changed anything,
        and once more where git was not asked."""
        for task in self.pending:
            task()
        self.pending.clear()

    def _record(self, records: Records, begin: int, end: int, tree: TreeId | None = None) -> None:
        if not any(map(edited, self.entries[begin:end])):
            records.save(begin, self.verdicts[begin:end], self.scratch.changes(), tree)

    def _read(self, entries: Sequence[Entry]) -> None:
        for e in entries:
            if e.name not in self.parsed:
                self.parsed[e.name] = parse(e.raw, e.strip, e.reverse)

    def _segment(self, segment: Sequence[Entry], progress: Progress) -> None:
        start = dict(self.scratch.state())
        landings: list[tuple[Entry, tuple[Landing, ...]]] = []
        for run in runs_of(segment):
            rest = list(run)
            while rest:
                progress.update("checking patches", len(self.verdicts), len(self.entries), "patches")
                taken, refused = self.scratch.take(rest, meanwhile=self._catch_up)
                for entry, landed in zip(rest, taken, strict=False):
                    landings.append((entry, landed))
                    self.verdicts.append(self._passed(entry, landed))
                rest = rest[len(taken) :]
                if refused is not None and rest:
                    self._refuse(rest.pop(0), refused)
        if any(landed for _, landed in landings):
            self._warn(start, landings, len(self.verdicts) - len(segment))

    def _refuse(self, entry: Entry, errors: tuple[str, ...]) -> None:
        self.verdicts.append(self._failed(entry, errors))
        self.refused.append(entry.name)

    def _passed(self, entry: Entry, landed: tuple[Landing, ...]) -> Verdict:
        files = self.parsed[entry.name].files
        places = tuple(
            Place(
                file=printable(files[w.file].path) if w.file < len(files) else "?",
                hunk=w.hunk,
                line=w.line,
                offset=w.offset,
            )
            for w in landed
        )
        return Verdict(
            name=entry.name,
            status="offset" if places else "clean",
            cause="offset" if places else None,
            files=tuple(printable(f.path) for f in files),
            places=places,
            problems=tuple(
                Problem(cause=d.cause, message=d.message, level="warning", at_line=d.at_line)
                for d in self.parsed[entry.name].defects
            ),
            without=tuple(self.refused),
        )

    def _failed(self, entry: Entry, errors: tuple[str, ...]) -> Verdict:
        from opencoti_patches.plan.diagnose import diagnose

        names = set(self.refused)
        failed = [(e, self._parsed_of(e)) for e in self.entries[: len(self.verdicts)] if e.name in names]
        parsed = self.parsed[entry.name]
        return diagnose(entry, parsed, errors, self.scratch, failed, self.entries[: len(self.verdicts)])

    def _parsed_of(self, entry: Entry) -> Parsed:
        return self.parsed.get(entry.name) or parse(entry.raw, entry.strip, entry.reverse)

    def _warn(
        self, start: dict[str, tuple[str, str]], landings: Sequence[tuple[Entry, tuple[Landing, ...]]], begin: int
    ) -> None:
        """Look at every hunk that moved, in the file as it was just before it."""
        from opencoti_patches.plan.moved import moved_warnings

        patches = [(self.parsed[e.name], landed) for e, landed in landings]
        found = moved_warnings(patches, start, self.store.repo)
        warned = {entry.name: problems for (entry, _), problems in zip(landings, found, strict=True) if problems}
        for i in range(begin, len(self.verdicts)):
            if problems := warned.get(self.verdicts[i].name):
                self.verdicts[i] = self.verdicts[i]._replace(problems=self.verdicts[i].problems + problems)
