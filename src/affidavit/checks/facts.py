"""fact/v1: the answers of a tool's sources, with provenance, signals and a digest.

The digest covers the object without `attestation` and `raw` (answer-eval.md, section 5.4). The raw
result is covered by its own digest inside the object. The F rules of docs/checks.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import msgspec

from affidavit.base.canonical import sorted_compact, sorted_compact_decoded
from affidavit.base.digest import content_id, digest_of
from affidavit.base.errors import AffidavitError
from affidavit.base.json_values import JsonValue
from affidavit.base.timestamps import parse_nanoseconds
from affidavit.checks.fact_confidence import (
    FACT_RULE,
    AgreementPolicy,
    SourceRecord,
    SourceStatus,
    assess_sources,
    primary_source,
)
from affidavit.checks.tool import Tool
from affidavit.checks.values import look_up_path

FACT_SCHEMA: Final = "fact/v1"
UNDIGESTED_FIELDS: Final = ("attestation", "raw")

FactObject: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class EvidenceSource:
    """A source of evidence. Sources of one `origin` are not independent of each other."""

    name: str
    origin: str
    kind: str
    url: str | None = None
    licence: str | None = None


@dataclass(frozen=True, slots=True)
class SourceAnswer:
    """The result of a source, and the time of observation (RFC 3339 with Z) if it states one."""

    source: EvidenceSource
    raw: JsonValue
    observed_at: str | None = None


@dataclass(frozen=True, slots=True)
class SourceFailure:
    """A source that failed, or did not answer by the deadline."""

    source: EvidenceSource
    reason: str


@dataclass(frozen=True, slots=True)
class EvidenceUnavailable:
    """Why there is no evidence, for the explanation of the check."""

    reason: str


class Fact(msgspec.Struct, frozen=True):
    """A fact/v1 object and its digest. The object is plain JSON and is never changed."""

    digest: str
    object: FactObject


def fact_from_answers(
    tool: Tool,
    args: dict[str, JsonValue],
    answers: Sequence[SourceAnswer | SourceFailure],
    at: str,
    *,
    signed: bool,
    attestation: JsonValue = None,
) -> Fact | EvidenceUnavailable:
    """Return the fact from the answers of a tool's sources, or that there is none.

    `answers` are in the order in which the tool declares its sources; the first with a value gives
    the primary value. `at` is the time of the answer; `signed` says that the receipt will be
    signed. A result without a canonical form (such as an integer beyond 2^53) is no answer.
    """
    sources = tuple(_source_record(answer, tool.value_path) for answer in answers)
    primary = primary_source(sources)
    if primary is None:
        reasons = "; ".join(f"{source.name}: {source.reason}" for source in sources)
        return EvidenceUnavailable(reasons or "the tool has no sources")
    raw = next(
        answer.raw
        for answer, source in zip(answers, sources, strict=True)
        if source is primary and isinstance(answer, SourceAnswer)
    )
    fact = fact_object(
        tool, args, sources=sources, raw=raw, at=at, signed=signed, attestation=attestation
    )
    return Fact(fact_digest(fact), fact)


def fact_object(
    tool: Tool,
    args: dict[str, JsonValue],
    *,
    sources: Sequence[SourceRecord],
    raw: JsonValue,
    at: str,
    signed: bool,
    attestation: JsonValue,
) -> FactObject:
    """Return the object of a fact. A replay rebuilds it with the same function.

    All arguments have been decoded from JSON, or encoded once, before.
    """
    policy = AgreementPolicy(parse_nanoseconds(at), tool.max_age_s, tool.tolerance)
    value = look_up_path(raw, tool.value_path).value
    bound, primary = _bind_raw_result(sources, value, raw)
    assessed = assess_sources(bound, primary, policy, signed=signed)
    signals = assessed.signals
    observed_at = primary.observed_at if primary else None
    identity: FactObject = {"args": args, "observed_at": observed_at, "tool": tool.name}
    return {
        "schema": FACT_SCHEMA,
        "id": content_id("fact", sorted_compact_decoded(identity)),
        "tool": tool.name,
        "args": args,
        "value_path": tool.value_path,
        "value": value,
        "unit": tool.unit,
        "licence": tool.licence,
        "observed_at": observed_at,
        "assessed_at": at,
        "max_age_s": tool.max_age_s,
        "tolerance": msgspec.to_builtins(tool.tolerance),
        "sources": msgspec.to_builtins(assessed.sources),
        "verification": {
            "rule": FACT_RULE,
            "confidence": signals.confidence,
            "sources": assessed.independent,
            "verified": signals.verified,
            "signals": msgspec.to_builtins(signals),
            "note": assessed.note,
        },
        "attestation": attestation,
        "raw": raw,
    }


def fact_digest(fact: FactObject) -> str:
    """Return the evidence digest: canonical SHA-256 of the object minus `attestation` and `raw`."""
    covered = fact.copy()
    for name in UNDIGESTED_FIELDS:
        covered.pop(name, None)
    return digest_of(sorted_compact_decoded(covered))


def _bind_raw_result(
    sources: Sequence[SourceRecord], value: JsonValue, raw: JsonValue
) -> tuple[list[SourceRecord], SourceRecord | None]:
    """Return the sources and the primary one, with value and digest taken from the raw result."""
    found = primary_source(sources)
    if found is None:
        return list(sources), None
    digest = digest_of(sorted_compact_decoded(raw))
    primary = msgspec.structs.replace(found, value=value, raw_sha256=digest)
    return [primary if source is found else source for source in sources], primary


def _source_record(answer: SourceAnswer | SourceFailure, value_path: str | None) -> SourceRecord:
    if isinstance(answer, SourceFailure):
        return _failed_source_record(answer.source, answer.reason)
    try:
        digest = digest_of(sorted_compact(answer.raw))
    except AffidavitError as error:
        return _failed_source_record(answer.source, error.message)
    lookup = look_up_path(answer.raw, value_path)
    has_value = lookup.value is not None
    return msgspec.structs.replace(
        _failed_source_record(answer.source, None),
        status=SourceStatus.OK if has_value else SourceStatus.NO_VALUE,
        reason=None if has_value else lookup.reason or "the value is null",
        value=lookup.value,
        observed_at=answer.observed_at,
        raw_sha256=digest,
    )


def _failed_source_record(source: EvidenceSource, reason: str | None) -> SourceRecord:
    return SourceRecord(
        name=source.name,
        origin=source.origin,
        kind=source.kind,
        url=source.url,
        licence=source.licence,
        status=SourceStatus.UNAVAILABLE,
        reason=reason,
        value=None,
        observed_at=None,
        raw_sha256=None,
        agrees=None,
        fresh=None,
    )
