"""Tools, the facts that their sources state, and the confidence in a fact (fact-conf/2)."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, Final, Literal

import msgspec

from affidavit.base.canonical import sorted_compact, sorted_compact_decoded
from affidavit.base.digest import content_id, digest_of
from affidavit.base.errors import AffidavitError
from affidavit.base.json_values import JsonValue
from affidavit.base.timestamps import (
    MAX_CLOCK_SKEW_S,
    NANOSECONDS,
    find_nanoseconds,
    is_older,
    parse_nanoseconds,
    seconds_text,
)
from affidavit.checks.operators import ExpectationOutcome, abs_within, find_equal, pct_within
from affidavit.checks.values import display_value, exact_json, find_number, look_up_path

ToolName = Annotated[str, msgspec.Meta(min_length=1, max_length=128)]
UnitInterval = Annotated[float, msgspec.Meta(ge=0, le=1)]
NonNegativeNumber = Annotated[int, msgspec.Meta(ge=0)] | Annotated[float, msgspec.Meta(ge=0)]


class Tolerance(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How far two sources may differ and still agree.

    Either `abs`, in units, or `pct`, in per cent of the first.
    """

    abs: NonNegativeNumber | None = None
    pct: NonNegativeNumber | None = None

    def __post_init__(self) -> None:
        """Require exactly one of the two."""
        if (self.abs is None) is (self.pct is None):
            raise ValueError("a tolerance has either abs or pct")


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool as the checks see it; the package `tools` defines how it is queried.

    `value_path` leads to the primary value; None is the whole result.
    """

    name: str
    required_args: tuple[str, ...] = ()
    optional_args: tuple[str, ...] = ()
    value_path: str | None = None
    unit: str | None = None
    licence: str | None = None
    max_age_s: int | float | None = None
    """The age up to which evidence is fresh. Without one, no evidence is fresh."""
    tolerance: Tolerance | None = None
    description: str = ""


def missing_args(required: tuple[str, ...], args: Mapping[str, JsonValue]) -> tuple[str, ...]:
    """Return the required arguments that are absent, null or blank.

    Origin: answer-eval.md, section 1: silent defaults are banned. A feed that gets nothing, or a
    blank, would fill in its own default.
    """
    return tuple(name for name in required if _is_blank(args.get(name)))


def _is_blank(value: JsonValue) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


# Agreement, freshness and conflict of several sources, and the confidence rule fact-conf/1.
#
# Everything is computed from what the fact records, so that anyone can recompute it.
# The F rules of docs/checks.md.

FACT_RULE: Final = "fact-conf/2"
FIRST_FACT_RULE: Final = "fact-conf/1"
"""The rule of engine 1.0.0: sources of different origins are independent."""

# Of a source besides the primary one a larger result is not kept, only its digest.
MAX_KEPT_BYTES: Final = 64 * 1024

# In hundredths, so that sums are exact.
_SIGNED: Final = 20
_SOURCE_PRESENT: Final = 30
_FRESH: Final = 30
_CORROBORATED: Final = 15
_CONFLICT_CAP: Final = 40
_STALE_CAP: Final = 50


class SourceStatus(StrEnum):
    """The result of querying a source."""

    OK = "ok"
    NO_VALUE = "no_value"
    UNAVAILABLE = "unavailable"


class SourceRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One source of a fact, as the fact records it. `agrees` and `fresh` are derived."""

    name: str
    origin: str
    kind: str
    url: str | None
    licence: str | None
    status: SourceStatus
    reason: str | None
    value: Any = msgspec.UNSET
    """Only if the receipt does not have the result; fact-conf/1 repeats every value."""
    observed_at: str | None
    raw_sha256: str | None
    agrees: bool | None
    fresh: bool | None
    operator: str | msgspec.UnsetType | None = msgspec.UNSET
    """Who runs the source, if that is declared. Not in fact-conf/1, like the members below."""
    same_as: str | msgspec.UnsetType | None = msgspec.UNSET
    """The earlier source that is the same file, server or database."""
    raw: Any = msgspec.UNSET
    """The result, unless it is that of the primary source, or too large to be kept."""


class FactVerification(msgspec.Struct, frozen=True, kw_only=True):
    """The assessment of all sources together.

    `sources` counts the independent sources that gave a value. `note` says what keeps the fact from
    being verified, or that nothing does.
    """

    rule: Literal["fact-conf/1", "fact-conf/2"]
    confidence: UnitInterval
    sources: int
    verified: bool
    signals: "FactSignals"
    note: str


class AgreementPolicy(msgspec.Struct, frozen=True):
    """The time and the rule of the assessment, and the maximum age and tolerance of the tool."""

    at: int
    max_age_s: int | float | None
    tolerance: Tolerance | None
    rule: Literal["fact-conf/1", "fact-conf/2"] = FACT_RULE


class FactSignals(msgspec.Struct, frozen=True, kw_only=True):
    """The five signals of fact-conf/1."""

    signed: bool
    source_present: bool
    fresh: bool
    corroborated: bool
    conflict: bool

    @property
    def confidence(self) -> float:
        """The confidence by fact-conf/1, at most 0.95."""
        total = (
            _SIGNED * self.signed
            + _SOURCE_PRESENT * self.source_present
            + _FRESH * self.fresh
            + _CORROBORATED * self.corroborated
        )
        if not self.fresh:
            total = min(total, _STALE_CAP)
        return (min(total, _CONFLICT_CAP) if self.conflict else total) / 100

    @property
    def verified(self) -> bool:
        """Two or more independent sources agree, all are fresh, none is in conflict."""
        return self.corroborated and self.fresh and not self.conflict


def primary_source(sources: Sequence[SourceRecord]) -> SourceRecord | None:
    """Return the source of the fact's value: the first with a value, else with a result."""
    for status in (SourceStatus.OK, SourceStatus.NO_VALUE):
        for source in sources:
            if source.status is status:
                return source
    return None


def values_agree(value: JsonValue, primary: JsonValue, tolerance: Tolerance | None) -> bool:
    """Say whether a value agrees with the primary one: equal as by `eq`, or within the tolerance.

    Lists and objects agree if they are equal JSON.
    """
    same = find_equal(value, primary)
    if same is None:
        return exact_json(value) == exact_json(primary)
    if same or tolerance is None or find_number(primary) is None:
        return same
    if tolerance.pct is not None:
        result = pct_within(value, primary, tolerance.pct)
    else:
        result = abs_within(value, primary, tolerance.abs)
    return result.outcome is ExpectationOutcome.HELD


def find_staleness(observed_at: str | None, policy: AgreementPolicy) -> str | None:
    """Return why a source is not fresh, or None if it is."""
    moment = find_nanoseconds(observed_at)
    if moment is None:
        return "states no time of observation"
    age = policy.at - moment
    if age < -MAX_CLOCK_SKEW_S * NANOSECONDS:
        return f"is dated {seconds_text(age)} s in the future"
    if policy.max_age_s is None:
        return "is of a tool that declares no age up to which it is fresh"
    if is_older(age, policy.max_age_s):
        return f"is {seconds_text(age)} s old, and {policy.max_age_s} s are allowed"
    return None


def count_independent(sources: Sequence[SourceRecord], rule: str) -> int:
    """Return how many sources are independent of each other; one source is one.

    Each needs a declared operator and an origin of its own, and must not be an earlier one again.
    """
    if rule == FIRST_FACT_RULE:
        return len({source.origin for source in sources})
    operators: set[str] = set()
    taken: set[str] = set()
    for source in sources:
        places = {f"origin {source.origin}", f"source {source.same_as or source.name}"}
        if source.operator and not places & taken:
            taken |= places
            operators.add(source.operator.strip().casefold())
    return max(len(operators), min(len(sources), 1))


def assess_sources(
    sources: Sequence[SourceRecord],
    primary: SourceRecord | None,
    policy: AgreementPolicy,
    *,
    signed: bool,
) -> tuple[list[SourceRecord], FactVerification]:
    """Return the assessed sources and the assessment."""
    assessed: list[SourceRecord] = []
    agreeing: list[SourceRecord] = []
    valued: list[SourceRecord] = []
    conflicting: list[str] = []
    stale: list[str] = []
    missing: list[str] = []
    answered = 0
    for source in sources:
        agreed = fresh = None
        if source.status is not SourceStatus.UNAVAILABLE:
            answered += 1
            reason = find_staleness(source.observed_at, policy)
            fresh = reason is None
            if reason is not None:
                stale.append(f"{source.name} {reason}")
        if source.status is SourceStatus.OK and primary is not None:
            valued.append(source)
            agreed = source is primary or values_agree(
                source.value, primary.value, policy.tolerance
            )
            if agreed:
                agreeing.append(source)
            else:
                conflicting.append(
                    f"{source.name} disagrees and says {display_value(source.value)}"
                )
        if source.status is not SourceStatus.OK:
            missing.append(f"{source.name} has no value: {source.reason}")
        # A replay finds most records as they have to be.
        is_same = source.agrees is agreed and source.fresh is fresh
        assessed.append(
            source if is_same else msgspec.structs.replace(source, agrees=agreed, fresh=fresh)
        )
    signals = FactSignals(
        signed=signed,
        source_present=answered > 0,
        fresh=answered > 0 and not stale,
        corroborated=count_independent(agreeing, policy.rule) > 1,
        conflict=bool(conflicting),
    )
    few = [] if signals.corroborated else [_few_sources(agreeing, policy.rule)]
    note = "; ".join((*conflicting, *stale, *few, *missing))
    return assessed, FactVerification(
        rule=policy.rule,
        confidence=signals.confidence,
        sources=count_independent(valued, policy.rule),
        verified=signals.verified,
        signals=signals,
        note=note or "independent sources agree, and all are fresh",
    )


def _few_sources(agreeing: Sequence[SourceRecord], rule: str) -> str:
    """Say why the sources that agree do not corroborate each other."""
    few = "no second independent source agrees"
    if rule == FIRST_FACT_RULE or len(agreeing) < 2:
        return few
    same = [f"{each.name} is the same as {each.same_as}" for each in agreeing if each.same_as]
    silent = [each.name for each in agreeing if not each.operator]
    declared = [f"no operator is declared for {', '.join(silent)}"] if silent else []
    return f"{few}: {'; '.join(same or declared) or 'they have one operator or origin'}"


def assess_field(
    fact: "Fact", path: str | None, *, presence: bool, is_time: bool
) -> tuple[float, tuple[str, ...]]:
    """Return the confidence in what a fact says at a path, and who says something else there.

    Sources that agree on the primary value may differ in another field. `presence` is for operators
    that ask only whether there is a value. The time of observation is each source's own.
    """
    block, primary = fact.verification, primary_source(fact.sources)
    if block.rule == FIRST_FACT_RULE or primary is None or len(fact.sources) < 2:
        return block.confidence, ()
    path = fact.value_path if path is None else path
    if path == fact.value_path and not presence and not is_time:
        others = (each for each in fact.sources if each.agrees is False)
        return block.confidence, tuple(
            f"{each.name} says {display_value(_value_of(fact, each, primary))}" for each in others
        )
    agreeing, conflicts = [primary], []
    wanted = look_up_path(fact.raw, path)
    for source in fact.sources if not is_time else ():
        known, raw = _kept_result(fact, source, primary)
        if source is primary or not known:
            continue
        found = look_up_path(raw, path)
        if presence:
            same, said = found.found is wanted.found, "a value" if found.found else "nothing"
        elif found.value is None or wanted.value is None:
            continue
        else:
            same, said = values_agree(found.value, wanted.value, None), ""
        if same:
            agreeing.append(source)
        else:
            conflicts.append(f"{source.name} says {said or display_value(found.value)}")
    signals = msgspec.structs.replace(
        block.signals,
        corroborated=count_independent(agreeing, block.rule) > 1,
        conflict=bool(conflicts),
    )
    return min(block.confidence, signals.confidence), tuple(conflicts)


def _kept_result(
    fact: "Fact", source: SourceRecord, primary: SourceRecord
) -> tuple[bool, JsonValue]:
    """Return whether the result of a source is known, and the result."""
    if source.raw is not msgspec.UNSET:
        return True, source.raw
    return source.raw_sha256 == primary.raw_sha256, fact.raw


def _value_of(fact: "Fact", source: SourceRecord, primary: SourceRecord) -> JsonValue:
    known, raw = _kept_result(fact, source, primary)
    value: JsonValue = look_up_path(raw, fact.value_path).value if known else source.value
    return value


class EvidenceSource(msgspec.Struct, frozen=True):
    """A source of evidence. Sources of one `origin` or `operator` are not independent."""

    name: str
    origin: str
    kind: str
    url: str | None = None
    licence: str | None = None
    operator: str | None = None


class SourceAnswer(msgspec.Struct, frozen=True):
    """The result of a source, and the time of observation (RFC 3339 with Z) if it states one.

    `identities` say which file, server or database it was, whatever name led there. Two answers
    that share one come from the same source. They are compared here, and not published.
    """

    source: EvidenceSource
    raw: JsonValue
    observed_at: str | None = None
    identities: tuple[str, ...] = ()


class SourceFailure(msgspec.Struct, frozen=True):
    """A source that failed, or did not answer by the deadline."""

    source: EvidenceSource
    reason: str


class EvidenceUnavailable(msgspec.Struct, frozen=True):
    """Why there is no evidence, for the explanation of the check."""

    reason: str


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """fact/v1: what the sources of a tool said, with provenance and confidence."""

    schema: Literal["fact/v1"]
    id: str
    tool: ToolName
    args: dict[str, Any]
    value_path: str | None
    value: Any = msgspec.UNSET
    """Only in fact-conf/1: otherwise it is read from `raw`, at `value_path`."""
    unit: str | None
    licence: str | None
    observed_at: str | None
    assessed_at: str
    max_age_s: NonNegativeNumber | None
    tolerance: Tolerance | None
    sources: list[SourceRecord]
    verification: FactVerification
    attestation: Any
    raw: Any


class Evidence(msgspec.Struct, frozen=True):
    """A fact, and the digest by which a check cites it."""

    digest: str
    fact: Fact


def fact_from_answers(
    tool: Tool,
    args: dict[str, JsonValue],
    answers: Sequence[SourceAnswer | SourceFailure],
    at: str,
    *,
    signed: bool,
    attestation: JsonValue = None,
) -> Evidence | EvidenceUnavailable:
    """Return the fact from the answers of a tool's sources, or why there is none.

    `answers` are in the order in which the tool declares its sources; the first with a value gives
    the primary value. `at` is the time of the answer; `signed` says that the receipt will be
    signed. A result without a canonical form (such as an integer beyond 2^53) is no answer.
    """
    same = _same_sources(answers)
    sources = tuple(
        _source_record(answer, tool.value_path, same.get(answer.source.name)) for answer in answers
    )
    primary = primary_source(sources)
    if primary is None:
        reasons = "; ".join(f"{source.name}: {source.reason}" for source in sources)
        return EvidenceUnavailable(reasons or "the tool has no sources")
    raw = next(
        answer.raw
        for answer, source in zip(answers, sources, strict=True)
        if source is primary and isinstance(answer, SourceAnswer)
    )
    fact = make_fact(
        tool, args, sources=sources, raw=raw, at=at, signed=signed, attestation=attestation
    )
    return Evidence(fact_digest(msgspec.to_builtins(fact)), fact)


def make_fact(
    tool: Tool,
    args: dict[str, JsonValue],
    *,
    sources: Sequence[SourceRecord],
    raw: JsonValue,
    at: str,
    signed: bool,
    attestation: JsonValue,
    rule: Literal["fact-conf/1", "fact-conf/2"] = FACT_RULE,
) -> Fact:
    """Return a fact. A replay rebuilds it with the same function.

    All arguments have been decoded from JSON, or encoded once, before.
    """
    policy = AgreementPolicy(parse_nanoseconds(at), tool.max_age_s, tool.tolerance, rule)
    value = look_up_path(raw, tool.value_path).value
    bound, primary = _bind_raw_results(sources, value, raw, tool.value_path)
    assessed, verification = assess_sources(bound, primary, policy, signed=signed)
    if rule != FIRST_FACT_RULE:
        digest, value = primary.raw_sha256 if primary else None, msgspec.UNSET
        assessed = [_without_kept_value(source, digest) for source in assessed]
    observed_at = primary.observed_at if primary else None
    identity: dict[str, JsonValue] = {"args": args, "observed_at": observed_at, "tool": tool.name}
    return Fact(
        schema="fact/v1",
        id=content_id("fact", sorted_compact_decoded(identity)),
        tool=tool.name,
        args=args,
        value_path=tool.value_path,
        value=value,
        unit=tool.unit,
        licence=tool.licence,
        observed_at=observed_at,
        assessed_at=at,
        max_age_s=tool.max_age_s,
        tolerance=tool.tolerance,
        sources=assessed,
        verification=verification,
        attestation=attestation,
        raw=raw,
    )


def fact_digest(fact: Mapping[str, JsonValue]) -> str:
    """Return the digest of a decoded fact/v1 object (answer-eval.md, section 5.4).

    It leaves out `attestation` and `raw`; the raw result has its own digest inside the fact.
    """
    covered = {key: part for key, part in fact.items() if key not in ("attestation", "raw")}
    return digest_of(sorted_compact_decoded(covered))


def _bind_raw_results(
    sources: Sequence[SourceRecord], value: JsonValue, raw: JsonValue, value_path: str | None
) -> tuple[list[SourceRecord], SourceRecord | None]:
    """Return the sources and the primary one, with values and digests taken from their results.

    The result of the primary source is that of the fact, and is not repeated.
    """
    found = primary_source(sources)
    if found is None:
        return list(sources), None
    digest = digest_of(sorted_compact_decoded(raw))
    primary = msgspec.structs.replace(found, value=value, raw_sha256=digest, raw=msgspec.UNSET)
    return [
        primary if source is found else _bind_own_result(source, primary, value_path)
        for source in sources
    ], primary


def _bind_own_result(source: SourceRecord, primary: SourceRecord, path: str | None) -> SourceRecord:
    if source.raw is msgspec.UNSET:
        if source.value is not msgspec.UNSET:
            return source
        is_same = source.raw_sha256 == primary.raw_sha256
        return msgspec.structs.replace(source, value=primary.value if is_same else None)
    digest = digest_of(sorted_compact_decoded(source.raw))
    return msgspec.structs.replace(
        source,
        value=look_up_path(source.raw, path).value,
        raw_sha256=digest,
        raw=msgspec.UNSET if digest == primary.raw_sha256 else source.raw,
    )


def _without_kept_value(source: SourceRecord, primary: str | None) -> SourceRecord:
    """Return the record without a value that is in a result, so that the receipt has it once."""
    is_kept = source.raw is not msgspec.UNSET or source.raw_sha256 in (primary, None)
    return msgspec.structs.replace(source, value=msgspec.UNSET) if is_kept else source


def _same_sources(answers: Sequence[SourceAnswer | SourceFailure]) -> dict[str, str]:
    """Return the sources that are an earlier one under another name, with the name of that one."""
    first: dict[str, str] = {}
    same: dict[str, str] = {}
    for answer in answers:
        identities = answer.identities if isinstance(answer, SourceAnswer) else ()
        name = answer.source.name
        known = next((first[each] for each in identities if each in first), name)
        if known != name:
            same[name] = known
        for identity in identities:
            first.setdefault(identity, known)
    return same


def _source_record(
    answer: SourceAnswer | SourceFailure, value_path: str | None, same_as: str | None
) -> SourceRecord:
    if isinstance(answer, SourceFailure):
        return _failed_source_record(answer.source, answer.reason)
    try:
        text = sorted_compact(answer.raw)
    except AffidavitError as error:
        place = f" at {error.where.field}" if error.where.field else ""
        return _failed_source_record(answer.source, f"{error.message}{place}")
    lookup = look_up_path(answer.raw, value_path)
    has_value = lookup.value is not None
    return msgspec.structs.replace(
        _failed_source_record(answer.source, None),
        status=SourceStatus.OK if has_value else SourceStatus.NO_VALUE,
        reason=None if has_value else lookup.reason or "the value is null",
        value=lookup.value,
        observed_at=answer.observed_at,
        raw_sha256=digest_of(text),
        same_as=same_as,
        raw=answer.raw if len(text) <= MAX_KEPT_BYTES else msgspec.UNSET,
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
        operator=source.operator,
        same_as=None,
    )
