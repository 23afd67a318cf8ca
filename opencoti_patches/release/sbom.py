"""The SBOM: CycloneDX 1.6 in JSON. Its serial number follows from the index, its time is the release's."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from opencoti_patches.core.config import Source
from opencoti_patches.release.component import Component
from opencoti_patches.release.extra import lacking, need
from opencoti_patches.release.index import Index
from opencoti_patches.release.licences import Licence
from opencoti_patches.release.rows import File

_SPACE = uuid.UUID("6f3b2f0e-6a52-5f0c-9d3a-2a4c1f7f2c11")  # ours, for serial numbers


class Facts(NamedTuple):
    """What the SBOM tells of: a release, its files, what it was made from, and the version of what made it."""

    whole: Index
    index_sha256: str
    sources: Sequence[Source]
    licences: Sequence[Licence]
    components: Mapping[str, tuple[Component, File]]
    tool: str


def make(facts: Facts) -> bytes:
    """The document. Errors: CouldNot ``no-tool``."""
    model = need("cyclonedx.model")
    parts = need("cyclonedx.model.component")
    boms = need("cyclonedx.model.bom")
    tools = need("cyclonedx.model.tool")
    output = need("cyclonedx.output.json")
    kinds = parts.ComponentType

    def sums(sha256: str) -> list[Any]:
        return [model.HashType(alg=model.HashAlgorithm.SHA_256, content=sha256)] if sha256 else []

    def properties(rows: Iterable[tuple[str, str]]) -> list[Any]:
        return [model.Property(name=f"opencoti:{name}", value=value) for name, value in rows]

    index = facts.whole
    base = [
        parts.Component(
            type=kinds.LIBRARY,
            name=s.package or s.into.rsplit("/", 1)[-1] or s.kind,
            version=s.version or s.rev or s.sha256 or index.base,
            bom_ref=f"base-{number}",
            hashes=sums(s.sha256),
            purl=_purl(s),
            properties=properties([("source", s.kind), *([("upstream", s.upstream)] if s.upstream else [])]),
        )
        for number, s in enumerate(facts.sources, 1)
    ]
    source = parts.Component(
        type=kinds.LIBRARY,
        name=f"{index.name}-source",
        version=index.tip,
        bom_ref="source",
        hashes=sums(index.source[0]),
        licenses=[_licence(model, licence) for licence in facts.licences],
        pedigree=parts.Pedigree(
            ancestors=base,
            patches=[
                parts.Patch(
                    type=parts.PatchClassification.UNOFFICIAL,
                    diff=parts.Diff(url=model.XsUri(f"patches/{name}#sha256={sha256}")),
                )
                for name, sha256 in index.patches
            ],
        ),
        properties=properties([("base", index.base), ("tip", index.tip), ("rev", index.rev)]),
    )
    made = []
    for name, (component, payload) in sorted(facts.components.items()):
        needed = sorted({n for f in component.facts.values() for n in f.needed})
        made.append(
            parts.Component(
                type=kinds.APPLICATION if name == "engine" else kinds.LIBRARY,
                name=f"{index.name}-{name}",
                version=index.version,
                bom_ref=f"component-{name}",
                hashes=sums(payload.sha256),
                components=[
                    parts.Component(
                        type=kinds.FILE, name=a.path, bom_ref=f"file-{name}-{a.sha256}", hashes=sums(a.sha256)
                    )
                    for a in component.artefacts
                ],
                properties=properties(
                    [("file", payload.name), ("platform", component.platform), *(("needs", n) for n in needed)]
                ),
            )
        )
    whole = parts.Component(
        type=kinds.APPLICATION,
        name=index.name,
        version=index.version,
        bom_ref="release",
        hashes=sums(facts.index_sha256),
    )
    bom = boms.Bom(
        serial_number=uuid.uuid5(_SPACE, facts.index_sha256),
        version=1,
        metadata=boms.BomMetaData(
            timestamp=datetime.fromtimestamp(index.date, UTC),
            component=whole,
            tools=tools.ToolRepository(
                components=[parts.Component(type=kinds.APPLICATION, name="opencoti-patches", version=facts.tool)]
            ),
        ),
        components=[source, *made],
    )
    bom.register_dependency(whole, [source, *made])
    for part in made:
        bom.register_dependency(part, [source])
    text = output.JsonV1Dot6(bom).output_as_string(indent=1)
    return json.dumps(json.loads(text), indent=1, sort_keys=True, ensure_ascii=False).encode("utf-8") + b"\n"


def invalid(raw: bytes) -> str:
    """In what a document is no CycloneDX 1.6; empty if it is. Errors: CouldNot ``no-tool``."""
    validation, schema = need("cyclonedx.validation.json"), need("cyclonedx.schema")
    missing = need("cyclonedx.exception").MissingOptionalDependencyException
    try:
        found = validation.JsonStrictValidator(schema.SchemaVersion.V1_6).validate_str(raw.decode("utf-8"))
    except missing:
        raise lacking("jsonschema") from None
    except (ValueError, RecursionError):
        return "it is no JSON"
    return " ".join(str(found.data.message if hasattr(found.data, "message") else found).split())[:200] if found else ""


def sums_of(raw: bytes) -> dict[str, str]:
    """The sum that a valid document states for each reference in it."""
    stated: dict[str, str] = {}

    def look(node: Any) -> None:
        if isinstance(node, dict):
            for entry in node.get("hashes") or ():
                if entry.get("alg") == "SHA-256" and isinstance(node.get("bom-ref"), str):
                    stated[node["bom-ref"]] = str(entry.get("content"))
            for key in ("components", "component", "metadata"):
                look(node.get(key))
        elif isinstance(node, list):
            for inner in node:
                look(inner)

    look(json.loads(raw))
    return stated


def _licence(model: Any, licence: Licence) -> Any:
    of = need("cyclonedx.model.license")
    return of.DisjunctiveLicense(name=licence.where, text=model.AttachedText(content=licence.text))


def _purl(source: Source) -> Any:
    purl = need("packageurl").PackageURL
    if source.kind == "pypi-sdist":
        return purl("pypi", name=source.package, version=source.version)
    return None
