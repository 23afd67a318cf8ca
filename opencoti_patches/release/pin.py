"""Pin files ("pin format 2"): what one component of a release is, to the byte, for whoever fetches it."""

from __future__ import annotations

from typing import NamedTuple

from opencoti_patches.release import rows
from opencoti_patches.release.rows import ANY, ONE, File, Rule

RULES = {
    "format": Rule(1, ONE, (rows.FORMAT,)),
    "component": Rule(1, ONE, (rows.IS_COMPONENT,)),
    "version": Rule(1, ONE, (rows.VERSION,)),
    "repo": Rule(1, ONE, (rows.word,)),
    "rev": Rule(1, ONE, (rows.HEX40,)),
    "abi": Rule(0, ANY, (rows.word, rows.SHA256)),
    "abi-source": Rule(0, ONE, (rows.word,), rows.word),
    "engine-min": Rule(0, ONE, (rows.VERSION,)),
    "gated-with": Rule(0, ONE, (rows.VERSION,)),
    "sass": Rule(0, ONE, (rows.matches(r"[1-9][0-9]{1,2}[af]?"),), rows.matches(r"[1-9][0-9]{1,2}[af]?")),
    "requires": Rule(0, ANY, (rows.PLATFORM, rows.word, rows.matches(r"[0-9]{1,4}(?:\.[0-9]{1,6}){0,3}"))),
    "feature": Rule(0, ANY, (rows.word,), rows.PLATFORM),
    "file": Rule(1, ANY, (rows.PLATFORM, rows.KIND, rows.file_name, rows.SHA256, rows.size)),
}


class Pin(NamedTuple):
    """One component. ``abi`` is (name, sha256) rows; ``requires`` (platform, what, version); ``feature`` a name and
    the platforms that have it (none: all); ``gated_with`` the engine that it was tested with."""

    component: str
    version: str
    repo: str
    rev: str
    abi: tuple[tuple[str, str], ...] = ()
    abi_source: tuple[str, ...] = ()
    engine_min: str = ""
    gated_with: str = ""
    sass: tuple[str, ...] = ()
    requires: tuple[tuple[str, str, str], ...] = ()
    features: tuple[tuple[str, ...], ...] = ()
    files: tuple[File, ...] = ()

    def pairs(self) -> list[tuple[str, tuple[object, ...]]]:
        """Its rows, in the order of the file."""
        once: list[tuple[str, tuple[object, ...]]] = [
            ("abi-source", self.abi_source),
            ("engine-min", (self.engine_min,) if self.engine_min else ()),
            ("gated-with", (self.gated_with,) if self.gated_with else ()),
            ("sass", self.sass),
        ]
        return [
            ("format", (2,)),
            ("component", (self.component,)),
            ("version", (self.version,)),
            ("repo", (self.repo,)),
            ("rev", (self.rev,)),
            *(("abi", row) for row in self.abi),
            *((key, words) for key, words in once if words),
            *(("requires", row) for row in self.requires),
            *(("feature", row) for row in self.features),
            *(("file", (f.platform, f.kind, f.name, f.sha256, f.bytes)) for f in self.files),
        ]


def parse(raw: bytes, where: str) -> Pin:
    """The pin of a file's bytes; ``where`` names it in messages. Errors: UsageError ``bad-pin``."""
    found = rows.parse(raw, where, RULES)
    files = tuple(File(kind, name, sha, int(size), platform) for platform, kind, name, sha, size in found["file"])
    if len({f.name for f in files}) < len(files):
        raise rows.bad(where, 0, "it names a file twice")
    if len({name for name, _ in found["abi"]}) < len(found["abi"]):
        raise rows.bad(where, 0, "it has two digests of one interface")
    return Pin(
        component=rows.only(found, "component"),
        version=rows.only(found, "version"),
        repo=rows.only(found, "repo"),
        rev=rows.only(found, "rev"),
        abi=tuple((name, sha) for name, sha in found["abi"]),
        abi_source=found["abi-source"][0] if found["abi-source"] else (),
        engine_min=rows.only(found, "engine-min"),
        gated_with=rows.only(found, "gated-with"),
        sass=found["sass"][0] if found["sass"] else (),
        requires=tuple((platform, what, version) for platform, what, version in found["requires"]),
        features=tuple(found["feature"]),
        files=files,
    )
