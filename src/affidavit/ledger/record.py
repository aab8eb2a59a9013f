"""A finished ledger and its JSON. It holds everything a verdict depends on, so it can be replayed.

The Structs are the JSON: evidence-ledger.md, section 9.2. The seed's fields come first in each
Struct, under the seed's names; the fields that we add change none of them. Unknown fields are
refused, so that no ledger is read in part.
Origin of the nouns: evidence-ledger.md, sections 3.1, 3.2 and 6.1.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import evidence as faults
from affidavit.base.notebook import coloured_text, result_table
from affidavit.base.strict_json import decode
from affidavit.base.validation import problem_and_field
from affidavit.decision.evaluation import DecisionSummary
from affidavit.decision.gate import Gate
from affidavit.ledger.gates import DEFAULT_GATES, DEFAULT_GATES_1, stored_gate
from affidavit.ledger.model import (
    UNBACKED,
    Claim,
    ClaimType,
    Count,
    Day,
    Document,
    Exemption,
    Importance,
    JudgeIdentity,
    LedgerFinding,
    LeftOut,
    Share,
    Span,
    SupportLevel,
    Verdict,
    is_within,
    section_of,
)
from affidavit.ledger.rules import LedgerRules, checked_rules


class LedgerEdition(Struct, frozen=True, kw_only=True):
    """What the ledgers of one schema version count, so that a stored ledger replays by its own."""

    default_gates: tuple[Gate, ...]
    unsupported: frozenset[Verdict]
    """The verdicts that `unsupported_rate` counts. The gates always count `UNBACKED`."""
    flagged: frozenset[Importance]
    """The importance of the claims whose missing evidence is a risk flag."""


FIRST_SCHEMA: Final = "affidavit.ledger/1"
SCHEMA: Final = "affidavit.ledger/2"
"""Written into every new ledger."""
EDITIONS: Final[Mapping[str, LedgerEdition]] = MappingProxyType(
    {
        FIRST_SCHEMA: LedgerEdition(
            default_gates=DEFAULT_GATES_1,
            unsupported=frozenset({Verdict.NOT_FOUND}),
            flagged=frozenset({Importance.CRITICAL, Importance.MATERIAL}),
        ),
        SCHEMA: LedgerEdition(
            default_gates=DEFAULT_GATES, unsupported=UNBACKED, flagged=frozenset(Importance)
        ),
    }
)
"""The schema versions that can be read and replayed."""

ClaimOrder = Literal["review", "answer"]
"""How a report orders claims: by what a reviewer gains from looking, or as the answer does."""
Time = Annotated[str, Meta(pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z$")]
Digest = Annotated[str, Meta(pattern="^sha256:[0-9a-f]{64}$")]


class RiskType(StrEnum):
    """What can mislead a reader of an answer."""

    MISSING_EVIDENCE = "missing_evidence"
    CONTRADICTION = "contradiction"
    OUTDATED_SOURCE = "outdated_source"
    AMBIGUOUS_EVIDENCE = "ambiguous_evidence"
    CONFLICTING_SOURCES = "conflicting_sources"
    LOW_CONFIDENCE = "low_confidence"


class RiskSeverity(StrEnum):
    """How bad a risk is."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class CitationStatus(StrEnum):
    """Whether a citation of the answer was found in the sources."""

    RESOLVED = "resolved"
    UNRESOLVED = "unresolved"
    AMBIGUOUS = "ambiguous"


class _LedgerStruct(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A part of the ledger's JSON."""


class LocatedReading(_LedgerStruct, frozen=True):
    """A judge's reading of one chunk, with its place. `Reading` explains the scores."""

    chunk_id: str
    chunk_hash: str
    document_id: str
    filename: str
    page_number: int | None
    """The page of the snippet."""
    heading_path: tuple[str, ...]
    chunk_span: Span
    """The chunk's place in its document's text."""
    support_level: SupportLevel
    contradicts: bool
    similarity: Share
    contradiction: Share
    directness: Share
    snippet: str
    snippet_span: Span
    notes: str
    scores: dict[str, float]
    passage: str | None
    """The chunk's text, kept where the reading supports or contradicts the claim."""

    @property
    def supports(self) -> bool:
        """Whether the chunk supports the claim at least in part. A contradiction never does."""
        return self.support_level is not SupportLevel.NONE and not self.contradicts


class Citation(_LedgerStruct, frozen=True, omit_defaults=True):
    """Where one citation of a claim leads. Defaults are left out of the JSON."""

    reference: str
    status: CitationStatus
    chunk_hashes: tuple[str, ...]
    document_ids: tuple[str, ...]
    page_number: int | None
    last_page: int | None = None
    """The end of a range of pages, "pp. 3-4"."""
    section: str | None = None
    """The number of a section: "2.5"."""

    def covers(self, reading: LocatedReading) -> bool:
        """Tell whether a reading is of the place that is cited."""
        if self.chunk_hashes:
            return reading.chunk_hash in self.chunk_hashes
        return (
            reading.document_id in self.document_ids
            and self._is_on_page(reading.page_number)
            and self._is_in_section(reading.heading_path)
        )

    def _is_on_page(self, page: int | None) -> bool:
        if self.page_number is None:
            return True
        return page is not None and self.page_number <= page <= (self.last_page or self.page_number)

    def _is_in_section(self, heading_path: tuple[str, ...]) -> bool:
        # A source whose headings have no numbers cannot show that the section is another one.
        found = section_of(heading_path)
        return self.section is None or found is None or is_within(found, self.section)


class ConfidenceComponents(Struct, frozen=True, forbid_unknown_fields=True):
    """The inputs of a confidence score (section 6.1), stored so that anyone can recompute it."""

    semantic_similarity: Share
    evidence_count: Count
    directness: Share
    source_quality: Share


class EvidencePlace(_LedgerStruct, frozen=True):
    """Where the strongest deciding passage is."""

    document_id: str
    filename: str
    page_number: int | None
    heading_path: tuple[str, ...]


class EntryEvidence(Struct, frozen=True, forbid_unknown_fields=True):
    """What a verdict is based on, as the seed writes it: repeated from the deciding readings."""

    chunk_ids: tuple[str, ...]
    """The hashes by which an answer cites."""
    snippet: str | None
    source: EvidencePlace | None


def evidence_from_readings(readings: Sequence[LocatedReading]) -> EntryEvidence:
    """Return the evidence of a verdict from its deciding readings, the strongest first."""
    if not readings:
        return EntryEvidence((), None, None)
    best = readings[0]
    place = EvidencePlace(
        document_id=best.document_id,
        filename=best.filename,
        page_number=best.page_number,
        heading_path=best.heading_path,
    )
    hashes = tuple(dict.fromkeys(reading.chunk_hash for reading in readings))
    return EntryEvidence(hashes, best.snippet, place)


class LedgerEntry(_LedgerStruct, frozen=True, omit_defaults=True):
    """A claim, its verdict, and what the verdict is based on. Defaults are left out of the JSON."""

    claim_id: str
    claim_text: str
    claim_type: ClaimType
    importance: Importance
    verdict: Verdict
    confidence_score: Share
    evidence: EntryEvidence
    notes: str
    claim_span: Span
    cites: tuple[str, ...]
    citations: tuple[Citation, ...]
    confidence_components: ConfidenceComponents | None
    """None where the formula is not used: contradicted and not_found."""
    rests_on: tuple[str, ...]
    """Ids of the chunks that decided, the strongest first; empty for not_found."""
    readings: tuple[LocatedReading, ...]
    claim_read_as: str = ""
    """What the judge read, where that is not `claim_text`."""
    sentence_span: Span | None = None
    """The whole sentence, where the claim is a part of one."""
    unread_language: str = ""
    """The language of a claim that was not judged, because the judge does not read it."""

    @property
    def statement(self) -> str:
        """What the judge read: the claim with the subject that its own words leave out."""
        return self.claim_read_as or self.claim_text

    @property
    def shown_text(self) -> str:
        """The claim as reports show it: its own words, and what the judge read instead."""
        return (
            f"{self.claim_text} [{self.claim_read_as}]" if self.claim_read_as else self.claim_text
        )

    @property
    def deciding_readings(self) -> tuple[LocatedReading, ...]:
        """The readings that decided, the strongest first."""
        by_chunk = {reading.chunk_id: reading for reading in self.readings}
        return tuple(by_chunk[chunk_id] for chunk_id in self.rests_on)

    @property
    def nearest_reading(self) -> LocatedReading | None:
        """The reading that decided, or else the one that is most like the claim."""
        most = max(self.readings, key=lambda reading: reading.similarity, default=None)
        return next(iter(self.deciding_readings), most)

    @property
    def is_material(self) -> bool:
        """Whether the claim is critical or material (decisions.md): not minor."""
        return self.importance is not Importance.MINOR

    @property
    def is_unsupported(self) -> bool:
        """Whether the claim is contradicted or not found: the one meaning of "unsupported"."""
        return self.verdict in UNBACKED


class RiskFlag(_LedgerStruct, frozen=True):
    """A risk, in words, with the claims that it affects."""

    type: RiskType
    severity: RiskSeverity
    description: str
    affected_claims: tuple[str, ...]
    id: str
    mitigation: str


class VerdictCounts(Struct, frozen=True, forbid_unknown_fields=True):
    """How many claims got each verdict."""

    supported: Count
    weak: Count
    contradicted: Count
    not_found: Count


class ImportanceCounts(Struct, frozen=True, forbid_unknown_fields=True):
    """How many claims have each importance."""

    critical: Count
    material: Count
    minor: Count


class LedgerSummary(_LedgerStruct, frozen=True):
    """The ledger in numbers. The rates are over critical and material claims, None without any."""

    total_claims: Count
    evidence_coverage: Share | None
    by_verdict: VerdictCounts
    by_importance: ImportanceCounts
    unsupported_rate: Share | None


class Remark(_LedgerStruct, frozen=True):
    """A sentence that needs no evidence, and why."""

    claim_id: str
    claim_text: str
    claim_type: ClaimType
    exemption: Exemption
    claim_span: Span
    cites: tuple[str, ...]


def remark_from_claim(claim: Claim) -> Remark:
    """Return an exempt claim as the ledger lists it."""
    return Remark(
        claim_id=claim.id,
        claim_text=claim.text,
        claim_type=claim.type,
        exemption=Exemption(claim.exemption or ""),
        claim_span=claim.span,
        cites=claim.cites,
    )


class Ledger(_LedgerStruct, frozen=True):
    """The whole record of one check."""

    ledger_id: str
    session_id: str
    generated_at: Time
    summary: LedgerSummary
    entries: tuple[LedgerEntry, ...]
    risk_flags: tuple[RiskFlag, ...]
    schema_version: str
    follow_up_questions: tuple[str, ...]
    recommended_actions: tuple[str, ...]
    gates: DecisionSummary
    findings: tuple[LedgerFinding, ...]
    title: str
    query: str | None
    answer: str
    answer_digest: Digest
    answer_date: Day
    judge: JudgeIdentity
    rules_digest: Digest
    rules: LedgerRules
    documents: tuple[Document, ...]
    remarks: tuple[Remark, ...]
    left_out: tuple[LeftOut, ...]

    @property
    def edition(self) -> LedgerEdition:
        """What a ledger of this schema version counts."""
        return EDITIONS[self.schema_version]

    def claims_in(self, order: ClaimOrder) -> "tuple[NumberedEntry, ...]":
        """Return the claims in an order, each with its number in the answer."""
        numbered = enumerate(self.entries, 1)
        return tuple(sorted(numbered, key=_review_key) if order == "review" else numbered)

    def _repr_html_(self) -> str:
        rows = (_html_row(entry) for _, entry in self.claims_in("review"))
        columns = ("Verdict", "Claim", "Nearest passage", "Source", "Why")
        marks = (
            (
                entry.claim_span.start,
                entry.claim_span.end,
                entry.verdict.value,
                f"{entry.verdict.value.replace('_', ' ')}: {entry.notes}",
            )
            for entry in self.entries
        )
        table = result_table(self.title, self.gates.decision.value, columns, rows)
        return coloured_text(self.answer, marks) + table


def _html_row(entry: LedgerEntry) -> tuple[str, ...]:
    nearest = entry.nearest_reading
    if nearest is None:
        return entry.verdict.value, entry.shown_text, "", "", entry.notes
    # "Evidence does not support the claim" explains nothing; the judge says what is missing.
    why = nearest.notes if entry.verdict is Verdict.NOT_FOUND else entry.notes
    return entry.verdict.value, entry.shown_text, nearest.snippet, nearest.filename, why


NumberedEntry = tuple[int, LedgerEntry]
"""A claim with its number in the order of the answer, from 1."""


def _review_key(numbered: NumberedEntry) -> tuple[int, int, bool, float, int]:
    """Return a key that sorts first the claims from which a reviewer gains most.

    Unsupported claims come before weak ones, and those before supported ones. In each group the
    more important come first, then contradicted before not found, then those whose verdict is less
    certain. Other claims keep the order of the answer. Rules O1 to O5 of docs/ledger.md.
    """
    number, entry = numbered
    group = 0 if entry.is_unsupported else 1 if entry.verdict is Verdict.WEAK else 2
    rank = tuple(Importance).index(entry.importance)
    missing = entry.verdict is Verdict.NOT_FOUND
    return group, rank, missing, entry.confidence_score, number


def ledger_to_json(ledger: Ledger) -> bytes:
    """Return the JSON export, indented and ending in a line break."""
    return msgspec.json.format(msgspec.json.encode(ledger), indent=2) + b"\n"


def ledger_content(ledger: Ledger) -> dict[str, Any]:
    """Return everything in a ledger but its own id and the time when it was made."""
    content: dict[str, Any] = msgspec.to_builtins(ledger)
    del content["ledger_id"], content["generated_at"]
    return content


def ledger_from_json(data: bytes) -> Ledger:
    """Return the ledger of a JSON export, if it is valid and agrees with itself."""
    value = decode(data)
    found = value.get("schema_version") if isinstance(value, dict) else None
    if isinstance(found, str) and found not in EDITIONS:
        raise AffidavitError(faults.LEDGER_SCHEMA, found=found, known=", ".join(EDITIONS))
    try:
        ledger = msgspec.convert(value, Ledger)
    except msgspec.ValidationError as error:
        raise _malformed(*problem_and_field(error)) from None
    entries, documents = ledger.entries, {document.id for document in ledger.documents}
    for number, entry in enumerate(entries):
        _require_known_places(f"entries[{number}]", entry, documents)
    # The evidence repeats parts of the readings, and gates have one spelling.
    if (
        any(each.evidence != evidence_from_readings(each.deciding_readings) for each in entries)
        or any(str(stored_gate(each.gate)) != each.gate for each in ledger.gates.results)
        or checked_rules(ledger.rules, ledger.edition.default_gates) != ledger.rules
    ):
        raise _malformed("its parts do not agree with one another")
    return ledger


def _malformed(problem: str, field: str | None = None) -> AffidavitError:
    return AffidavitError(faults.LEDGER_MALFORMED, Where(field=field), problem=problem)


def _require_known_places(field: str, entry: LedgerEntry, documents: set[str]) -> None:
    read = {reading.chunk_id for reading in entry.readings}
    if not read.issuperset(entry.rests_on):
        raise _malformed("it rests on a chunk that was not read", f"{field}.rests_on")
    if not documents.issuperset(reading.document_id for reading in entry.readings):
        raise _malformed("it has a reading of an unlisted document", f"{field}.readings")
