"""Golden queries and the stored artifacts of research runs.

Origin: the research document and the decisions on it. A run is what it stored: its output, the
manifests of its steps and its events. Fields that are not known are passed over.
"""

import re
from typing import Final, Literal

import msgspec

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import gates as faults
from affidavit.gates.rows import RowReader, placed_problem

_WHITE_SPACE: Final = re.compile(r"\s+")


class GoldenV1(msgspec.Struct, frozen=True):
    """A golden query."""

    objective: str
    required_evidence_ids: tuple[str, ...]
    evidence_sufficient: bool
    golden_id: str | None = None


class SpanV1(msgspec.Struct, frozen=True):
    """Where a quote stands in its chunk."""

    start: int
    end: int


class EvidenceV1(msgspec.Struct, frozen=True):
    """An evidence record; one without a quote, a span and a source does not count."""

    evidence_id: str
    chunk_id: str | None = None
    source_id: str | None = None
    quote: str | None = None
    span: SpanV1 | None = None

    @property
    def counts(self) -> bool:
        """Whether the record has a quote with a span, and its provenance."""
        span = self.span
        return (
            bool(self.quote and self.quote.strip() and self.source_id)
            and span is not None
            and 0 <= span.start < span.end
        )


class EvidenceRefV1(msgspec.Struct, frozen=True):
    """A reference to a record, where it is not only its id."""

    evidence_id: str


class ResearchClaimV1(msgspec.Struct, frozen=True):
    """A claim of a run."""

    claim_id: str
    status: Literal["verified", "candidate", "retracted"]
    statement: str = ""
    evidence_refs: tuple[str | EvidenceRefV1, ...] = ()

    @property
    def evidence_ids(self) -> frozenset[str]:
        """The ids of the records it rests on."""
        return frozenset(
            ref if isinstance(ref, str) else ref.evidence_id for ref in self.evidence_refs
        )


StopReason = Literal[
    "OBJECTIVE_ACHIEVED", "BUDGET_EXCEEDED", "NO_EVIDENCE", "HUMAN_REQUESTED", "SYSTEM_ERROR"
]


class ResearchOutputV1(msgspec.Struct, frozen=True):
    """`output.json` of a run."""

    run_id: str
    objective: str
    stop_reason: StopReason
    claims: tuple[ResearchClaimV1, ...]
    evidence: tuple[EvidenceV1, ...]
    golden_id: str | None = None
    schema_version: str | int | None = None


class StepV1(msgspec.Struct, frozen=True):
    """A line of `events.jsonl` or `manifests.jsonl`: all that counts is which step it is of."""

    step_id: int | str
    run_id: str | None = None


OUTPUT: Final = RowReader(
    ResearchOutputV1, faults.RESEARCH_OUTPUT, ("run_id", "stop_reason", "claims", "evidence")
)
STEP: Final = RowReader(StepV1, faults.RESEARCH_OUTPUT, ("step_id", "run_id"))


def golden_queries(value: object, file: str | None = None) -> tuple[GoldenV1, ...]:
    """Return the golden queries of a decoded file: a list of them, or a single one.

    Whatever is wrong stops the evaluation with SYSTEM_ERROR, as the document asks.
    """
    listed = [value] if isinstance(value, dict) else value
    try:
        queries = msgspec.convert(listed, tuple[GoldenV1, ...])
    except msgspec.ValidationError as error:
        problem, field = placed_problem(error)
        raise _malformed(problem, file, field) from None
    if not queries:
        raise _malformed("the list is empty", file, None)
    seen: set[str] = set()
    for index, query in enumerate(queries):
        for name in {query.golden_id or "", collapsed(query.objective)} - {""}:
            if name in seen:
                raise _malformed(f"two queries are called {name!r}", file, f"[{index}]")
            seen.add(name)
    return queries


def _malformed(problem: str, file: str | None, field: str | None) -> AffidavitError:
    where = Where(file=file, field=field)
    return AffidavitError(faults.GOLDEN_MALFORMED, where, problem=problem)


def collapsed(objective: str) -> str:
    """Return an objective as runs are matched by it: runs of white space are one space."""
    return _WHITE_SPACE.sub(" ", objective).strip()
