"""fact/v1: what a tool's sources said, with provenance, every signal, and a digest that binds it.

The digest covers the object without `attestation` and `raw` (answer-eval.md, section 5.4); the raw
result is bound by its own digest, which is inside. The F rules of docs/checks.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import msgspec

from affidavit.base.canonical import sorted_compact, sorted_compact_decoded
from affidavit.base.digest import content_id, digest_of
from affidavit.base.errors import AffidavitError
from affidavit.base.json_values import JsonValue
from affidavit.checks.fact_confidence import (
    FACT_RULE,
    AgreementPolicy,
    SourceRecord,
    SourceStatus,
    assess_sources,
    primary_source,
)
from affidavit.checks.timestamps import parse_timestamp
from affidavit.checks.tool import Tolerance, Tool
from affidavit.checks.values import look_up_path

FACT_SCHEMA: Final = "fact/v1"
UNDIGESTED_FIELDS: Final = ("attestation", "raw")

FactObject: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class EvidenceSource:
    """Where evidence comes from. Sources of one `origin` are not independent of each other."""

    name: str
    origin: str
    kind: str
    url: str | None = None
    licence: str | None = None


@dataclass(frozen=True, slots=True)
class SourceAnswer:
    """What a source returned, and when that was observed (RFC 3339 with Z) if it says so."""

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
    """No evidence: why, for the check's explanation."""

    reason: str


class Fact(msgspec.Struct, frozen=True):
    """A fact/v1 object and its digest. The object is plain JSON; nobody changes it."""

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
    """Return the fact that the sources of a tool make, or that there is none.

    `answers` stand in the order in which the tool declares its sources: the first with a value
    gives the primary value. `at` is the time of the answer; `signed` says that the receipt will
    be. A result that has no form in JSON (such as an integer beyond 2^53) is no answer.
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
    made = fact_object(tool, args, sources, raw, at, signed=signed, attestation=attestation)
    return Fact(fact_digest(made), made)


def fact_object(
    tool: Tool,
    args: dict[str, JsonValue],
    sources: Sequence[SourceRecord],
    raw: JsonValue,
    at: str,
    *,
    signed: bool,
    attestation: JsonValue,
) -> FactObject:
    """Return a fact's object from what it records; replay builds it a second time this way.

    Everything in it has been decoded, or written as JSON, before.
    """
    standard = AgreementPolicy(parse_timestamp(at), tool.max_age_s, tool.tolerance)
    value = look_up_path(raw, tool.value_path).value
    bound, primary = _bind_raw_result(sources, value, raw)
    made = assess_sources(bound, primary, standard, signed=signed)
    signals = made.signals
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
        "tolerance": _tolerance_to_wire(tool.tolerance),
        "sources": msgspec.to_builtins(made.sources),
        "verification": {
            "rule": FACT_RULE,
            "confidence": signals.confidence,
            "sources": made.independent,
            "verified": signals.verified,
            "signals": {
                "signed": signals.signed,
                "source_present": signals.source_present,
                "fresh": signals.fresh,
                "corroborated": signals.corroborated,
                "conflict": signals.conflict,
            },
            "note": made.note,
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
    """Return the sources and the primary one, its value and digest taken from the raw result."""
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
    look = look_up_path(answer.raw, value_path)
    has_value = look.value is not None
    return msgspec.structs.replace(
        _failed_source_record(answer.source, None),
        status=SourceStatus.OK if has_value else SourceStatus.NO_VALUE,
        reason=None if has_value else look.why or "the value is null",
        value=look.value,
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


def _tolerance_to_wire(tolerance: Tolerance | None) -> dict[str, JsonValue] | None:
    if tolerance is None:
        return None
    return {"pct" if tolerance.is_percentage else "abs": tolerance.size}
