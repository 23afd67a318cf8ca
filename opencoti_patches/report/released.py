"""The answer of ``package``."""

from __future__ import annotations

from pathlib import Path

from opencoti_patches.core.model import Report, printable
from opencoti_patches.core.shell import word as word_of
from opencoti_patches.core.words import plural
from opencoti_patches.release.index import component_of
from opencoti_patches.release.package import Released
from opencoti_patches.report.wrapping import from_here, steps, wrapped


def report(made: Released, start: Path, *, verbose: bool = False) -> Report:
    """What was packed. Paths are shown from ``start``."""
    index = made.whole
    where = from_here(made.folder, start)
    components = [component_of(p) for p in index.pins]
    total = sum(f.bytes for f in made.files)
    word = "wrote" if made.state == "written" else "nothing to do: there is"
    head = f"{word} {where}: {index.name} {index.version}, {index.channel}, {' and '.join(components)}"
    text = wrapped(f"{head}; {plural(len(made.files), 'file')}, {total / 2**20:.1f} MiB", 0, 4)
    shown = made.files if verbose else [f for f in made.files if f.kind in ("payload", "index")]
    text += [f"    {printable(f.name)}  sha256 {f.sha256[:12]}" for f in shown]
    text += [line for w in made.warnings for line in wrapped(f"warning: {printable(w)}", 4, 2)]
    text.append(f"    {'signed by minisign' if made.signed else 'the provenance is unsigned'}")
    text += steps([f"opencoti-patches verify {word_of(where)}"])
    data = {
        "dir": printable(str(made.folder)),
        "state": made.state,
        "name": index.name,
        "version": index.version,
        "channel": index.channel,
        "tag": index.tag,
        "repo": index.repo,
        "rev": index.rev,
        "date": index.date,
        "base": {"tree": index.base},
        "tip": {"tree": index.tip},
        "components": components,
        "unsmoked": list(index.unsmoked),
        "signed": made.signed,
        "files": [{"kind": f.kind, "name": f.name, "bytes": f.bytes, "sha256": f.sha256} for f in made.files],
        "warnings": [printable(w) for w in made.warnings],
    }
    return Report(command="package", ok=True, data=data, text=tuple(text))
