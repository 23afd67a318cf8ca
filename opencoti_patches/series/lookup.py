"""The patch that a word of a command line means, disabled ones known."""

from __future__ import annotations

from opencoti_patches.core.errors import UsageError
from opencoti_patches.core.model import PatchName, Series, printable
from opencoti_patches.series.disabled import Out, left_out
from opencoti_patches.series.naming import meant


def find(series: Series, wanted: str) -> PatchName:
    """The one patch that ``wanted`` means: its number (``0034``, ``34``), its file name, or a unique
    part of it. Errors: UsageError ``unknown-patch``, ``ambiguous-patch`` or ``disabled-patch``."""
    names, outs = [e.name for e in series.entries], left_out(series)
    hit, out = meant(names, outs, wanted)
    if hit:
        return hit
    if out:
        from opencoti_patches.core.shell import word

        why = f" ({printable(outs[out].why)})" if outs[out].why else ""
        raise UsageError("disabled-patch", f"{printable(out)} is disabled{why}", f"opencoti-patches enable {word(out)}")
    from difflib import get_close_matches

    close = get_close_matches(wanted.strip(), names, n=1, cutoff=0.4)
    hint = f"did you mean {close[0]}?" if close else "see 'opencoti-patches list'"
    raise UsageError("unknown-patch", f"no patch '{wanted}' in the series", hint)


def find_any(series: Series, wanted: str) -> tuple[PatchName, Out | None]:
    """The patch that ``wanted`` means, and its comment if it is disabled. Errors: those of ``find``, without
    ``disabled-patch``."""
    outs = left_out(series)
    name, out = meant([e.name for e in series.entries], outs, wanted)
    return (out, outs[out]) if out else (name or find(series, wanted), None)
