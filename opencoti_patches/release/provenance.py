"""Where a release comes from: an in-toto Statement (v1) with SLSA provenance (v1). It is called unsigned unless
somebody signs it: whoever can write a file can write this one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from opencoti_patches.core.config import Source
from opencoti_patches.core.model import printable
from opencoti_patches.doors import net
from opencoti_patches.release.component import Component
from opencoti_patches.release.extra import need
from opencoti_patches.release.index import Index
from opencoti_patches.release.rows import File

PREDICATE = "https://slsa.dev/provenance/v1"
_BUILD_TYPE = "urn:opencoti-patches:package:1"
_BUILDER = "urn:opencoti-patches:whoever-ran-package"


class Facts(NamedTuple):
    """What the statement tells of."""

    whole: Index
    subjects: Sequence[File]
    sources: Sequence[Source]
    components: Sequence[Component]
    compressors: Mapping[str, str]
    tool: str
    signed: bool


def make(facts: Facts) -> bytes:
    """The statement. Errors: CouldNot ``no-tool``."""
    index = facts.whole
    predicate = {
        "buildDefinition": {
            "buildType": _BUILD_TYPE,
            "externalParameters": {
                "repo": index.repo,
                "rev": index.rev,
                "channel": index.channel,
                "tag": index.tag,
                "version": index.version,
                "components": [c.name for c in facts.components],
            },
            "internalParameters": {
                "sourceDateEpoch": str(index.date),
                "signed": "minisign" if facts.signed else "unsigned",
                "unsmoked": list(index.unsmoked),
                "compressors": dict(facts.compressors),
                "builds": {c.name: _build(c) for c in facts.components},
            },
            "resolvedDependencies": [
                *({"name": "base", "digest": {"gitTree": index.base}} for _ in (0,)),
                *(_source(s) for s in facts.sources),
                *({"name": f"patches/{name}", "digest": {"sha256": sha}} for name, sha in index.patches),
            ],
        },
        "runDetails": {
            "builder": {"id": _BUILDER, "version": {"opencoti-patches": facts.tool}},
            "byproducts": [{"name": "patched tree", "digest": {"gitTree": index.tip}}],
        },
    }
    statement = _statement(
        {
            "_type": need("in_toto_attestation.v1.statement").STATEMENT_TYPE_URI,
            "subject": [{"name": f.name, "digest": {"sha256": f.sha256}} for f in facts.subjects],
            "predicateType": PREDICATE,
            "predicate": predicate,
        }
    )
    doc = need("google.protobuf.json_format").MessageToDict(statement.pb)
    return json.dumps(doc, indent=1, sort_keys=True).encode() + b"\n"


def _build(c: Component) -> dict[str, Any]:
    what = c.manifest["inputs"]
    return {
        "manifest": c.manifest["digest"],
        **({"since": str(c.manifest["since"])} if c.manifest.get("since") else {}),
        "profile": what["profile"],
        "settings": list(what["settings"]),
        "targets": list(what["targets"]),
        "tools": dict(what["tools"]),
    }


def _source(s: Source) -> dict[str, Any]:
    where = net.shown(s.url) if "://" in s.url else ""
    found: dict[str, Any] = {"name": printable(s.package or s.into or s.kind)}
    if s.package:
        found["uri"] = f"pkg:pypi/{s.package}@{s.version}"
    elif where:
        found["uri"] = where
    if s.sha256:
        found["digest"] = {"sha256": s.sha256}
    if s.rev or s.upstream:
        found["annotations"] = {k: v for k, v in (("rev", s.rev), ("upstream", s.upstream)) if v}
    return found


def _statement(doc: Mapping[str, Any]) -> Any:
    """The statement of a document, by in-toto's own reader, validated. Errors: ValueError."""
    statements = need("in_toto_attestation.v1.statement")
    predicates = need("in_toto_attestation.predicates.provenance.v1.provenance_pb2")
    read = need("google.protobuf.json_format")
    try:
        statement = statements.Statement.copy_from_pb(
            read.ParseDict(dict(doc), need("in_toto_attestation.v1.statement_pb2").Statement())
        )
        statement.validate()
        if statement.pb.predicate_type != PREDICATE:
            raise ValueError(f"its predicate is {printable(statement.pb.predicate_type)[:80]}, not {PREDICATE}")
        predicate = read.ParseDict(read.MessageToDict(statement.pb.predicate), predicates.Provenance())
    except (read.ParseError, RecursionError) as e:
        raise ValueError(" ".join(str(e).split())[:160] or "it nests too deeply") from None
    build = predicate.build_definition
    if not build.build_type or not len(build.external_parameters) or not predicate.run_details.builder.id:
        raise ValueError("its predicate lacks buildType, externalParameters or builder.id")
    return statement


def subjects_of(raw: bytes) -> dict[str, str]:
    """The files that a statement is about, with their sums. Errors: ValueError for what is no such statement."""
    try:
        doc = json.loads(raw)
    except (ValueError, RecursionError):
        raise ValueError("it is no JSON") from None
    if not isinstance(doc, dict):
        raise ValueError("it is no statement")
    return _named(_statement(doc).pb.subject)


def _named(subjects: Iterable[Any]) -> dict[str, str]:
    return {s.name: s.digest["sha256"] for s in subjects if "sha256" in s.digest}
