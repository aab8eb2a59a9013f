"""Groundedness: which claims of the answers rest on the contexts that the pipeline retrieved.

A row is an answer with its contexts; no gold set is needed. The judge's verdicts come from the
caller. Here a row is a few counts, and every figure is a sum over rows, so the order of rows and
the number of processes do not matter. The items of most figures are claims. Claims of one question
are alike, so the intervals are clustered by question.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from heapq import nsmallest
from types import MappingProxyType
from typing import Final, NamedTuple

from msgspec import Struct

from affidavit.decision.counts import Tally
from affidavit.decision.evaluation import Measure, measure_from_tally
from affidavit.gates.metrics import GROUNDEDNESS_METRICS
from affidavit.gates.rag_counts import MAX_OFFENDERS, AnswerState
from affidavit.gates.report import ClaimVerdict, PlacedOffender


class RetrievedContext(Struct, frozen=True):
    """A text that a pipeline retrieved, and its id, if the pipeline gave it one."""

    text: str
    id: str | None = None


class ContextRow(Struct, frozen=True, kw_only=True):
    """An answer and the contexts that it was given, of one row of a file.

    What a file does not record is None, which is not the same as empty.
    """

    name: str
    """Its name in the report: the qid, with `#2` where a question is asked again."""
    question_id: str
    """The qid of its question."""
    question: str = ""
    answer: str | None = None
    contexts: tuple[RetrievedContext, ...] | None = None
    references: tuple[str, ...] = ()
    citations: tuple[int, ...] | None = None
    """The numbers of the contexts that the answer cites as a whole; 0 is none of them."""
    expected: tuple[str, ...] = ()
    file: str = ""
    line: int = 1


class RowCounts(NamedTuple):
    """The counts of one row. Where a figure does not apply or was not recorded, they are 0.

    `is_grounded` is the decision of the ledger's gates on the answer; None could not be told.
    """

    state: AnswerState
    has_contexts: bool = False
    """Whether the row has the texts of its contexts; without them no claim is measured."""
    is_grounded: bool | None = None
    supported: int = 0
    weak: int = 0
    contradicted: int = 0
    not_found: int = 0
    unread: int = 0
    """Claims that were not judged."""
    citations: int = 0
    right_citations: int = 0
    """Citations of a context that supports the claim."""
    has_citations: bool = False
    """Whether citations were recorded; without them a claim cannot be called uncited."""
    cited_claims: int = 0
    """Supported claims with a right citation."""
    contexts: int = 0
    used_contexts: int = 0
    """Contexts that a supported claim rests on."""
    reference_claims: int = 0
    found_reference_claims: int = 0
    """Claims of the reference answer that the contexts support."""
    is_relevant: bool | None = None
    """Whether the answer is about the question."""

    @property
    def claims(self) -> int:
        """How many claims were judged."""
        return self.supported + self.weak + self.contradicted + self.not_found

    @property
    def lacks_claims(self) -> bool:
        """Whether something was answered in which no claim was found."""
        return self.state is AnswerState.SHIPPED and not self.claims + self.unread


def _share_of_claims(count: Callable[[RowCounts], int]) -> Callable[[RowCounts], Tally]:
    """Return the tally of a share of claims.

    An answer that refuses has none to judge. In any other answer without claims ("Yes.", "99", a
    block of code) something may have been said that was not judged.
    """

    def tally(row: RowCounts) -> Tally:
        if row.state is AnswerState.SILENT:
            return Tally(absent=1)
        if row.lacks_claims:
            return Tally(unknown=1)
        hits = count(row)
        return Tally(hits, row.claims - hits, row.unread)

    return tally


def _share(
    hits: Callable[[RowCounts], int], of: Callable[[RowCounts], int]
) -> Callable[..., Tally]:
    def tally(row: RowCounts) -> Tally:
        return Tally(hits(row), of(row) - hits(row))

    return tally


def _refusals(row: RowCounts) -> Tally:
    if row.state is AnswerState.SILENT:
        return Tally(absent=1)
    return Tally(hits=1) if row.state is AnswerState.REFUSED else Tally(misses=1)


def _relevance(row: RowCounts) -> Tally:
    if row.state is AnswerState.SILENT:
        return Tally(absent=1)
    if row.state is AnswerState.REFUSED:
        return Tally()
    known = {None: Tally(unknown=1), True: Tally(hits=1), False: Tally(misses=1)}
    return known[row.is_relevant]


_TALLY_BY_METRIC: Final[Mapping[str, Callable[[RowCounts], Tally]]] = MappingProxyType(
    {
        "groundedness": _share_of_claims(lambda row: row.supported),
        "contradicted": _share_of_claims(lambda row: row.contradicted),
        "unsupported": _share_of_claims(lambda row: row.contradicted + row.not_found),
        "citation_precision": _share(lambda row: row.right_citations, lambda row: row.citations),
        "citation_recall": _share(
            lambda row: row.cited_claims, lambda row: row.supported * row.has_citations
        ),
        "context_precision": _share(lambda row: row.used_contexts, lambda row: row.contexts),
        "context_recall": _share(
            lambda row: row.found_reference_claims, lambda row: row.reference_claims
        ),
        "relevance": _relevance,
        "refusals": _refusals,
    }
)


class GroundedRow(NamedTuple):
    """A row that was judged, with what a report names of it."""

    name: str
    question_id: str
    counts: RowCounts
    claims: tuple[ClaimVerdict, ...] = ()
    """In the order of the answer; passages and reasons only where a claim is not supported."""


@dataclass(slots=True)
class Groundedness:
    """The judged rows of a run by name; a later row of one name replaces an earlier one."""

    rows: dict[str, GroundedRow] = field(default_factory=dict)
    offenders: dict[str, PlacedOffender] = field(default_factory=dict)
    left_out: int = 0
    """Rows that a sample leaves out."""
    keeps_claims: bool = False
    """Whether the claims of every row are kept, for later comparisons."""
    settings: Mapping[str, object] = field(default_factory=dict)
    """What the verdicts depend on, as the report states it."""
    _same_counts: dict[RowCounts, RowCounts] = field(default_factory=dict)
    """Most rows have the counts of another row, and share them: they are most of the memory."""

    def add(self, row: GroundedRow, placed: PlacedOffender | None) -> None:
        """Add a row; the offender that it is, if any, is kept while it is among the worst."""
        self.rows[row.name] = row._replace(
            counts=self._same_counts.setdefault(row.counts, row.counts),
            claims=row.claims if self.keeps_claims else (),
        )
        self.offenders.pop(row.name, None)
        if placed is not None:
            self.offenders[row.name] = placed
            if len(self.offenders) > 2 * MAX_OFFENDERS:
                self.offenders = {name: self.offenders[name] for name in self._worst()}

    @property
    def worst(self) -> tuple[PlacedOffender, ...]:
        """The offenders that a report has, the worst first."""
        return tuple(self.offenders[name] for name in self._worst())

    def _worst(self) -> list[str]:
        def rank(name: str) -> tuple[int, int, int, str]:
            row = self.rows[name].counts
            return -row.contradicted, -row.not_found, -row.weak, name

        return nsmallest(MAX_OFFENDERS, self.offenders, key=rank)

    def measures(self, *, allow_missing: bool = False) -> dict[str, Measure]:
        """Return every figure by its name."""
        questions: dict[str, list[RowCounts]] = {}
        for row in self.rows.values():
            questions.setdefault(row.question_id, []).append(row.counts)
        return {
            name: _measure(name, questions.values(), allow_missing=allow_missing)
            for name in _TALLY_BY_METRIC
        }

    def counts(self) -> dict[str, int]:
        """Return the counts of the report."""
        rows = [row.counts for row in self.rows.values()]
        return {
            "judged_rows": sum(row.claims > 0 for row in rows),
            "rows_without_contexts": sum(
                not row.has_contexts and row.state is AnswerState.SHIPPED for row in rows
            ),
            "rows_without_claims": sum(row.lacks_claims for row in rows),
            "rows_left_out": self.left_out,
            "ungrounded": sum(row.is_grounded is False for row in rows),
            "claims": sum(row.claims for row in rows),
            "claims_supported": sum(row.supported for row in rows),
            "claims_weak": sum(row.weak for row in rows),
            "claims_contradicted": sum(row.contradicted for row in rows),
            "claims_not_found": sum(row.not_found for row in rows),
            "claims_not_judged": sum(row.unread for row in rows),
        }

    def outcomes(self) -> dict[str, bool | None]:
        """Return whether each row is grounded, by its name."""
        return {name: row.counts.is_grounded for name, row in self.rows.items()}

    def claims(self) -> dict[str, tuple[ClaimVerdict, ...]]:
        """Return the claims of every row that has some, in the order of their names."""
        return {name: row.claims for name, row in sorted(self.rows.items()) if row.claims}


def _measure(
    name: str, questions: Iterable[Iterable[RowCounts]], *, allow_missing: bool
) -> Measure:
    by_question = [sum(map(_TALLY_BY_METRIC[name], rows), start=Tally()) for rows in questions]
    return measure_from_tally(
        GROUNDEDNESS_METRICS[name],
        sum(by_question, start=Tally()),
        allow_missing=allow_missing,
        clusters=(tally.rate for tally in by_question if tally.rate.denominator > 1),
    )
