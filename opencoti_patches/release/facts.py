"""What a built file says of itself: its platform, what it needs, which GPUs it has code for. Read from the file,
never from what the build was told."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any, NamedTuple

from opencoti_patches.core.errors import Refused
from opencoti_patches.doors import fs
from opencoti_patches.release import fatbin
from opencoti_patches.release.extra import need

_MACHINES = {
    "EM_X86_64": "x86_64",
    "EM_AARCH64": "aarch64",
    "EM_386": "i386",
    "EM_PPC64": "ppc64",
    "EM_RISCV": "riscv64",
}
_GLIBC = re.compile(r"GLIBC_(\d+(?:\.\d+)*)")


class Facts(NamedTuple):
    """Of one ELF file. ``glibc`` is the newest version that it needs, empty without any; ``sass`` the architectures
    that it has machine code for, ``ptx`` those that it has intermediate code for; ``gpu`` whether it has either."""

    platform: str
    soname: str = ""
    needed: tuple[str, ...] = ()
    glibc: str = ""
    sass: tuple[str, ...] = ()
    ptx: tuple[str, ...] = ()

    @property
    def gpu(self) -> bool:
        """Whether it holds code for a GPU."""
        return bool(self.sass or self.ptx)


def facts_of(path: Path) -> Facts | None:
    """The facts of a file; None if it is no ELF file.

    Errors: Refused ``bad-binary`` if it begins like one and cannot be read; CouldNot ``no-tool``, ``disk``.
    """
    with fs.disk_errors(f"read {path}"), open(path, "rb") as f:
        if f.read(4) != b"\x7fELF":
            return None
        elffile = need("elftools.elf.elffile")
        try:
            return _read(elffile.ELFFile(f), f)
        except OSError:
            raise
        except Exception as e:  # of the library's own making, and whatever a damaged file makes it raise
            what = (str(e).splitlines() or [""])[0] or type(e).__name__
            raise Refused("bad-binary", f"{path.name} is a damaged ELF file: {what[:120]}", "build it again") from None


def _read(elf: Any, file: IO[bytes]) -> Facts:
    soname, needed, glibc = "", [], []
    dynamic = elf.get_section_by_name(".dynamic")
    if dynamic is not None:
        for tag in dynamic.iter_tags():
            if tag.entry.d_tag == "DT_SONAME":
                soname = tag.soname
            elif tag.entry.d_tag == "DT_NEEDED":
                needed.append(tag.needed)
    versions = elf.get_section_by_name(".gnu.version_r")
    if versions is not None:
        for _, entries in versions.iter_versions():
            glibc += [m[1] for entry in entries if (m := _GLIBC.fullmatch(entry.name))]
    sass, ptx = set(), set()
    section = elf.get_section_by_name(".nv_fatbin")
    if section is not None:
        found = fatbin.read(file, section["sh_offset"], section["sh_size"])
        sass, ptx = set(found.sass), set(found.ptx)
    machine = _MACHINES.get(elf["e_machine"], str(elf["e_machine"]).removeprefix("EM_").lower())
    return Facts(
        platform=f"linux-{machine}",
        soname=soname,
        needed=tuple(needed),
        glibc=max(glibc, key=numbers, default=""),
        sass=tuple(sorted(sass, key=architecture)),
        ptx=tuple(sorted(ptx, key=architecture)),
    )


def numbers(version: str) -> tuple[int, ...]:
    """A version in an order in which 2.9 comes before 2.38."""
    return tuple(int(part) for part in version.split("."))


def architecture(name: str) -> tuple[int, str]:
    """A GPU's architecture in its order: 90, 90a, 100."""
    digits = re.match(r"\d+", name)
    return (int(digits[0]) if digits else 0, name)


def platform_of(found: Iterable[Facts | None]) -> str:
    """The platform that all files share; ``any`` if none of them says one.

    Errors: Refused ``mixed-platforms``.
    """
    platforms = sorted({f.platform for f in found if f is not None})
    if len(platforms) > 1:
        raise Refused(
            "mixed-platforms",
            f"one component holds files for {' and '.join(platforms)}",
            "make a component of its own for each platform",
        )
    return platforms[0] if platforms else "any"
