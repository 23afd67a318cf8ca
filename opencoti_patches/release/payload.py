"""What a payload is, read from it once more and held to its pin."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from opencoti_patches.doors import fs
from opencoti_patches.release import tarball
from opencoti_patches.release.facts import Facts, architecture, facts_of, numbers, platform_of
from opencoti_patches.release.index import Index
from opencoti_patches.release.pin import Pin
from opencoti_patches.release.rows import File

_LARGEST = 16 << 30  # bytes that a payload may unpack to


def check_payload(path: Path, pin: Pin, row: File, whole: Index, scratch: Path) -> Iterator[str]:
    """In what a payload is not what its pin says. Errors: ValueError, and those of ``facts_of``, if it is damaged."""
    found = list(_facts(path, f"{whole.name}-{pin.component}", scratch))
    platform = platform_of(found)
    if platform != row.platform:
        yield f"it is for {platform}, its pin says {row.platform}"
    sass = tuple(sorted({a for f in found for a in f.sass}, key=architecture))
    if sass != pin.sass:
        yield f"it has machine code for GPUs {_words(sass)}, its pin says {_words(pin.sass)}"
    ptx = sorted(f"ptx-{a}" for f in found for a in f.ptx)
    said = sorted(words[0] for words in pin.features if words[0].startswith("ptx-"))
    if sorted(set(ptx)) != said:
        yield f"it has PTX {_words(ptx)}, its pin says {_words(said)}"
    glibc = max((f.glibc for f in found if f.glibc), key=numbers, default="")
    needs = next((version for _, what, version in pin.requires if what == "glibc"), "")
    if glibc != needs:
        yield f"it needs glibc {glibc or 'of no version'}, its pin says {needs or 'of no version'}"


def _facts(path: Path, top: str, scratch: Path) -> Iterator[Facts]:
    if not path.name.endswith(".tar.xz"):
        if (f := facts_of(path)) is not None:
            yield f
        return
    with fs.scratch(scratch, "payload-") as folder:
        for number, entry in enumerate(tarball.read_small(path, _LARGEST, folder, top)):
            if entry.mode == "120000":
                target = entry.content.decode("utf-8", "replace")
                if "/" in target or target == "..":
                    raise ValueError(f"its link {entry.path[:80]} leads out of its folder")
                continue
            file = folder / f"{number}"
            fs.put(folder, file.name, entry.content, "100644")
            if (f := facts_of(file)) is not None:
                yield f
            file.unlink()


def _words(found: tuple[str, ...] | list[str]) -> str:
    return " ".join(found) or "none"
