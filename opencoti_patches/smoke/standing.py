"""A profile's build as it stands: whole, of the series' tip, and as its manifest says."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from opencoti_patches.base.store import Store
from opencoti_patches.build import manifest
from opencoti_patches.build.kinds import toolchain
from opencoti_patches.build.manifest import Artefact
from opencoti_patches.build.run import place_of
from opencoti_patches.core.config import Config
from opencoti_patches.core.errors import Refused, UsageError
from opencoti_patches.core.model import TreeId
from opencoti_patches.core.profile import Profile
from opencoti_patches.doors.net import sha256_of

_SERVERS = ("llama-server", "llamafile", "server")  # the likeliest first


class Standing(NamedTuple):
    """``folder`` has the manifest, ``outputs`` the artefacts; ``manifest`` is the sha256 of the manifest's file, and so of
    all that went in and came out; ``abi`` is the digest of ggml's interface, empty if it is not known."""

    folder: Path
    outputs: Path
    manifest: str
    artefacts: tuple[Artefact, ...]
    abi: str = ""


def standing(config: Config, profile: Profile, tip: TreeId, store: Store) -> Standing:
    """The build of a profile, proven to be of ``tip``. Errors: Refused ``not-built``."""
    place = place_of(config, profile, store)
    outputs = toolchain(profile).outputs(profile, place)
    known = manifest.read(place.build)
    build = f"opencoti-patches build {profile.name}"
    if known is None:
        raise Refused("not-built", f"{profile.name} is not built", build)
    if known["inputs"]["tree"] != tip:
        raise Refused("not-built", f"{profile.name} was built from another tree than the tip of the series", build)
    made = manifest.collect(outputs, profile.artefacts)
    if [a._asdict() for a in made] != known["artefacts"]:
        raise Refused("not-built", f"the artefacts of {profile.name} are not as its manifest says", build)
    whole = sha256_of(place.build / manifest.NAME)
    return Standing(place.build, outputs, whole, tuple(made), known.get("abi") or "")


def brought(folder: Path) -> Standing:
    """A build that was brought here: a folder with its manifest, and its artefacts below. Of which tree it is matters
    to nobody, as long as it fits. Errors: Refused ``not-built``."""
    known = manifest.read(folder)
    if known is None:
        raise Refused(
            "not-built", f"{folder} has no {manifest.NAME} of a build", "copy it whole from where it was built"
        )
    found = manifest.artefacts_of(known)
    for a in found:
        path = folder / a.path
        if not path.is_file() or sha256_of(path) != a.sha256:
            raise Refused("not-built", f"{path} is not as the manifest beside it says", "copy it again")
    return Standing(folder, folder, sha256_of(folder / manifest.NAME), found, known.get("abi") or "")


def server_of(artefacts: Sequence[Artefact], wanted: str) -> Artefact:
    """The artefact to start: the one called ``wanted``, or else the likeliest. Errors: UsageError ``no-server``."""
    names = (wanted,) if wanted else _SERVERS
    for name in names:
        for a in artefacts:
            if name in (a.path, a.path.rsplit("/", 1)[-1]):
                return a
    shown = ", ".join(a.path for a in artefacts[:8]) or "none"
    what = f"no artefact is called {wanted}" if wanted else "no artefact is called as a server is"
    raise UsageError("no-server", f"{what}; there are: {shown}", "name one with --server, or build its target")
