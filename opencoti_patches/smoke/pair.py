"""A host and a backend library that was built apart from it: whether they fit, before either is started.

Nothing that loads such a library compares anything; see ``build/abi.py`` for what is compared here.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from opencoti_patches.build import abi, manifest
from opencoti_patches.build.manifest import Artefact
from opencoti_patches.core.errors import Refused, UsageError
from opencoti_patches.smoke.server import Failure
from opencoti_patches.smoke.standing import Standing

_LIBRARY = re.compile(r"(?:lib)?ggml-(?!base\b|cpu)[\w-]+\.(?:so|dll|dylib)")
_SHOWN = 12  # rows


class Library(NamedTuple):
    """The library of a build, and what people call that: a profile, or the folder that was named."""

    profile: str
    build: Standing
    artefact: Artefact

    @property
    def path(self) -> Path:
        """Its file."""
        return self.build.outputs / self.artefact.path


def library_of(profile: str, build: Standing) -> Library:
    """The backend library among the artefacts of a build. Errors: UsageError ``no-library``."""
    found = [a for a in build.artefacts if _LIBRARY.fullmatch(a.path.rsplit("/", 1)[-1])]
    if len(found) != 1:
        what = f"{len(found)} backend libraries" if found else "no backend library (libggml-NAME)"
        raise UsageError("no-library", f"{profile} made {what}", "name its one artefact in the profile")
    return Library(profile, build, found[0])


def misfit(host: str, build: Standing, library: Library) -> tuple[Failure, tuple[str, ...]] | None:
    """Why a host must not load a library, and the rows of the interface that they see otherwise; None if they fit.

    Errors: Refused ``no-abi`` where a build does not know its interface.
    """
    for name, one in ((host, build), (library.profile, library.build)):
        if not one.abi:
            raise Refused(
                "no-abi",
                f"the build of {name} does not know ggml's interface, so nothing says that the two fit",
                f"pip install 'opencoti-patches[abi]', then: opencoti-patches build {name} --clean",
            )
    if build.abi == library.build.abi:
        return None
    found = abi.compare(manifest.rows_of(build.folder), manifest.rows_of(library.build.folder))
    lines = [f"{d.key}: {d.old or 'not there'} in {host}, {d.new or 'not there'} in {library.profile}" for d in found]
    more = [f"{len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
    message = f"{host} and {library.profile} do not agree on ggml's interface: they were built from other headers"
    return Failure("pair", "abi", message), (*lines[:_SHOWN], *more)
