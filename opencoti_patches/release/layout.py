"""What the files of a release are called. A name is unique across components and, for payloads, across contents."""

from __future__ import annotations

import re

SUMS = "SHA256SUMS"
NOTES = "RELEASE_NOTES.md"
_DIGEST = 12  # hex digits of a payload's sum in its name
_SUFFIX = re.compile(r"\.(?:so|dll|dylib|exe|com|gguf|llamafile|tar\.xz)$")


def stem(name: str, version: str) -> str:
    """How the files of one release begin."""
    return f"{name}-{version}"


def payload(name: str, component: str, platform: str, sha256: str, like: str) -> str:
    """The name of a payload with this sum; ``like`` is a file name with the ending that it is to have."""
    suffix = m[0] if (m := _SUFFIX.search(like)) else ""
    return f"{name}-{component}-{platform}-{sha256[:_DIGEST]}{suffix}"


def names_its_content(file_name: str, sha256: str) -> bool:
    """Whether a payload's name has its sum in it."""
    return f"-{sha256[:_DIGEST]}" in file_name


def pin(name: str, version: str, component: str) -> str:
    """A component's pin file."""
    return f"{stem(name, version)}-{component}.pin"


def index(name: str, version: str) -> str:
    """The index."""
    return f"{stem(name, version)}.index"


def build_info(component: str) -> str:
    """The page about one component."""
    return f"BUILD_INFO.{component}.md"


def licences(component: str) -> str:
    """The licence texts of one component."""
    return f"LICENSES.{component}.txt"


def source(name: str, version: str) -> str:
    """The patched source's tar, but for the ending of its compressor."""
    return f"{stem(name, version)}-source.tar"


def patches(name: str, version: str) -> str:
    """The patches, the lock and what they stand on."""
    return f"{stem(name, version)}-patches.tar.xz"


def interface(name: str, version: str) -> str:
    """The rows of ggml's interface."""
    return f"{stem(name, version)}-abi.txt"


def sbom(name: str, version: str) -> str:
    """The SBOM."""
    return f"{stem(name, version)}.cdx.json"


def provenance(name: str, version: str, signed: bool) -> str:
    """The provenance, which says in its name whether it is signed."""
    return f"{stem(name, version)}.provenance{'' if signed else '.unsigned'}.intoto.json"
