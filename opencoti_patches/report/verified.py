"""The answer of ``verify``."""

from __future__ import annotations

from pathlib import Path

from opencoti_patches.core.model import Finding, Report, printable
from opencoti_patches.core.words import plural
from opencoti_patches.release.findings import Verified
from opencoti_patches.report.wrapping import from_here, wrapped


def report(found: Verified, start: Path, *, verbose: bool = False) -> Report:
    """What was checked and what is wrong. Paths are shown from ``start``."""
    whole = found.whole
    where = from_here(found.folder, start)
    text: list[str] = []
    for w in found.wrong:
        text += wrapped(f"{w.check}: {f'{printable(w.file)}: ' if w.file else ''}{printable(w.message)}", 0, 4)
    for c in found.checks:
        if c.state == "skipped":
            text += wrapped(f"{c.name}: not checked: {printable(c.why)}", 0, 4)
        elif verbose:
            text.append(f"{c.name}: {c.state}")
    called = f"{where}: {whole.name} {whole.version}" if whole else where
    done = sum(c.state == "ok" for c in found.checks)
    if found.ok:
        ending = f"{plural(done, 'check')}, nothing wrong; signature: {found.signature}"
    else:
        ending = f"{plural(len(found.wrong), 'thing')} wrong: this is not the release that was made"
    text += wrapped(f"{called}: {ending}", 0, 4)
    if not found.ok:
        text += wrapped("next: get the files again, from where they were published", 4, 2)
    elif found.signature == "not verified":
        text += wrapped("next: give the public key of its makers with --key", 4, 2)
    data = {
        "dir": printable(str(found.folder)),
        "name": whole.name if whole else None,
        "version": whole.version if whole else None,
        "signature": found.signature,
        "unsmoked": list(whole.unsmoked) if whole else [],
        "checks": [
            {"check": c.name, "state": c.state, **({"why": printable(c.why)} if c.why else {})} for c in found.checks
        ],
        "wrong": [{"check": w.check, "file": printable(w.file), "message": printable(w.message)} for w in found.wrong],
    }
    findings = tuple(Finding("error", "verify", printable(w.message), printable(w.file)) for w in found.wrong)
    return Report(command="verify", ok=found.ok, data=data, text=tuple(text), findings=findings)
