"""Two agents over the same questions: how often they agree, and how disagreements are resolved.

Origin: the consistency page of the RAG document, as corrected in decisions.md: a shared refusal is
agreement and accepted, kappa is not measured if only one label is used, and an abstention of either
agent counts.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import Final

import msgspec

from affidavit.base.faults import gates as faults
from affidavit.base.json_rows import RowReader
from affidavit.base.label_statistics import agreement_from_counts, kappa_interval
from affidavit.base.statistics import Rate, rounded, wilson
from affidavit.decision.comparison import Comparison, comparison_doubts, regression_reasons
from affidavit.decision.counts import listing_of
from affidavit.decision.evaluation import Correction, Measure, decide
from affidavit.decision.gate import override_gates
from affidavit.decision.report import Report, ReportInput, ReportItem, group_items
from affidavit.gates.metrics import (
    AGREEMENT_GATES,
    AGREEMENT_METRICS,
)
from affidavit.gates.rag_counts import MAX_OFFENDERS
from affidavit.gates.report import (
    AgentLabelCounts,
    AgreementDetails,
    Disagreement,
    LabelPairCount,
    counted_warning,
    make_report,
    skipped_rows,
)


class Label(StrEnum):
    """The label that an agent gives an answer."""

    VALID = "VALID"
    NOT_IN_CONTEXT = "NOT_IN_CONTEXT"
    REJECT = "REJECT"
    ABSTAIN = "ABSTAIN"


class CheckFlags(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The findings of deterministic checks; either one rejects.

    Another name is refused: a misspelt flag would let a rejected answer pass.
    """

    provenance_violation: bool = False
    constraints_mismatch: bool = False

    @property
    def rejects(self) -> bool:
        """Whether a check rejects."""
        return self.provenance_violation or self.constraints_mismatch


class AgentLabel(msgspec.Struct, frozen=True):
    """A label, its reason, and the checks that the agent's own record has."""

    label: Label
    reason: str | None = None
    flags: CheckFlags = CheckFlags()


class CitedAnswer(msgspec.Struct, frozen=True):
    """The part of an answer that arbitration reads, and its text."""

    citations: tuple[str, ...] | None = None
    claim: str | None = None


class LabelPair(msgspec.Struct, frozen=True):
    """A question that both agents labelled."""

    qid: str | int
    scholar: AgentLabel
    auditor: AgentLabel
    answer_json: CitedAnswer | None = None
    retrieved_ids: tuple[str, ...] | None = None
    flags: CheckFlags = CheckFlags()
    q: str = ""


class LabelRow(msgspec.Struct, frozen=True):
    """A line of one agent's labels; two such files are joined by qid."""

    qid: str | int
    label: Label
    reason: str | None = None
    flags: CheckFlags = CheckFlags()


PAIR_READER: Final = RowReader(
    LabelPair, faults.AGREEMENT_ROW, ("qid", "scholar", "auditor", "flags")
)
LABEL_READER: Final = RowReader(LabelRow, faults.AGREEMENT_ROW, ("qid", "label"))


def join_labels(
    scholar: Mapping[str, LabelRow], auditor: Mapping[str, LabelRow]
) -> tuple[tuple[LabelPair, ...], tuple[str, ...]]:
    """Return the pairs of two agents' labels, and the qids that only one of them labelled."""
    common = sorted(scholar.keys() & auditor.keys())
    pairs = tuple(
        LabelPair(qid, _agent_label(scholar[qid]), _agent_label(auditor[qid])) for qid in common
    )
    return pairs, tuple(sorted(scholar.keys() ^ auditor.keys()))


def _agent_label(row: LabelRow) -> AgentLabel:
    return AgentLabel(row.label, row.reason, row.flags)


def arbitrate(pair: LabelPair) -> tuple[Label, str]:
    """Return the final label of a pair, and why; the first rule that applies decides."""
    cited = (pair.answer_json.citations if pair.answer_json is not None else None) or ()
    first, second = pair.scholar.label, pair.auditor.label
    if any(found.flags.rejects for found in (pair, pair.scholar, pair.auditor)):
        return Label.REJECT, "hard_flag"
    if pair.retrieved_ids is not None and not set(cited) <= set(pair.retrieved_ids):
        return Label.REJECT, "citation_out_of_scope"
    if first is second is Label.NOT_IN_CONTEXT:
        return Label.NOT_IN_CONTEXT, "shared_refusal"
    if second is not Label.VALID:
        return Label.REJECT, "auditor_veto"
    if first in (Label.VALID, Label.NOT_IN_CONTEXT):
        return Label.VALID, "auditor_ok"
    return Label.REJECT, "incoherent_pair"


_CHECKED: Final = frozenset({"hard_flag", "citation_out_of_scope"})


def is_overruled(pair: LabelPair) -> bool:
    """Tell whether the agents agree and a deterministic check rejects what they agree on."""
    final, why = arbitrate(pair)
    return pair.scholar.label is pair.auditor.label is not final and why in _CHECKED


@dataclass(frozen=True, slots=True)
class AgreementCounts:
    """How often each pair of labels was given; counts can be added."""

    pairs: Mapping[tuple[str, str], int] = field(default_factory=dict)
    disagreements: tuple[Disagreement, ...] = ()
    """The pairs that differ, and those that agree on what a check rejects."""

    def __add__(self, other: "AgreementCounts") -> "AgreementCounts":
        return AgreementCounts(
            dict(Counter(self.pairs) + Counter(other.pairs)),
            tuple(sorted((*self.disagreements, *other.disagreements), key=_by_qid)),
        )

    def measures(self) -> dict[str, Measure]:
        """Return percent agreement, kappa and the abstain rate."""
        found = agreement_from_counts(self.pairs)
        abstained = Rate(
            sum(n for pair, n in self.pairs.items() if Label.ABSTAIN in pair),
            found.observed.denominator,
        )
        shares = {"percent_agreement": found.observed, "abstain_rate": abstained}
        made = {
            name: Measure(
                metric=AGREEMENT_METRICS[name], value=rate.value, rate=rate, ci95=wilson(rate)
            )
            for name, rate in shares.items()
        }
        overruled = sum(each.scholar == each.auditor for each in self.disagreements)
        rate = Rate(overruled, found.observed.denominator)
        made["overruled"] = Measure(
            metric=AGREEMENT_METRICS["overruled"],
            value=float(overruled) if rate.denominator else None,
            rate=rate,
        )
        kappa = Measure(
            metric=AGREEMENT_METRICS["kappa"],
            value=found.kappa,
            ci95=kappa_interval(self.pairs),
            interval_at=partial(kappa_interval, self.pairs),
            count=found.observed.denominator,
        )
        return {"percent_agreement": made["percent_agreement"], "kappa": kappa, **made}

    def details(self) -> AgreementDetails:
        """Return the confusion of labels, and the base rate that puts a kappa in context."""
        found = agreement_from_counts(self.pairs)
        return AgreementDetails(
            confusion=tuple(
                LabelPairCount(first, second, self.pairs[first, second])
                for first, second in sorted(self.pairs)
            ),
            base_rate=rounded(found.base_rate.value),
            expected_agreement=rounded(found.expected),
            labels={
                use.label: AgentLabelCounts(use.first.numerator, use.second.numerator)
                for use in found.labels
            },
            disagreements=len(self.disagreements),
        )


def _by_qid(disagreement: Disagreement) -> tuple[str, ...]:
    return disagreement.qid, disagreement.scholar, disagreement.auditor


def agreement_counts(pairs: Iterable[LabelPair]) -> AgreementCounts:
    """Return the counts of some pairs, in one pass."""
    counts: Counter[tuple[str, str]] = Counter()
    differing = []
    for pair in pairs:
        first, second = pair.scholar.label.value, pair.auditor.label.value
        counts[first, second] += 1
        if first != second or is_overruled(pair):
            final, why = arbitrate(pair)
            answer = pair.answer_json or CitedAnswer()
            differing.append(
                Disagreement(
                    qid=str(pair.qid),
                    scholar=first,
                    auditor=second,
                    final=final.value,
                    why=why,
                    question=pair.q,
                    scholar_reason=pair.scholar.reason,
                    auditor_reason=pair.auditor.reason,
                    claim=answer.claim,
                    citations=answer.citations,
                    retrieved_ids=pair.retrieved_ids,
                )
            )
    return AgreementCounts(dict(counts), tuple(sorted(differing, key=_by_qid)))


def agreement_items(pairs: Iterable[LabelPair]) -> tuple[ReportItem, ...]:
    """Return whether the agents agree on what no check rejects; kept for later comparisons."""
    return tuple(
        ReportItem(
            str(pair.qid),
            pair.scholar.label is pair.auditor.label and not is_overruled(pair),
        )
        for pair in pairs
    )


def agreement_report(
    counts: AgreementCounts,
    inputs: Mapping[str, ReportInput],
    *,
    overrides: Iterable[str] = (),
    correction: Correction | None = None,
    unpaired: Iterable[str] = (),
    duplicates: int = 0,
    allow_missing: bool = False,
    items: tuple[ReportItem, ...] | None = None,
    comparison: Comparison | None = None,
) -> Report:
    """Return the report of two agents; `unpaired` are the qids that only one of them labelled."""
    single = listing_of(unpaired)
    measures = counts.measures()
    gaps = counted_warning("questions that only one agent labelled", single.total)
    decision = decide(
        override_gates(overrides, AGREEMENT_GATES, AGREEMENT_METRICS),
        measures,
        doubts=(
            *skipped_rows(inputs),
            *(() if allow_missing else gaps),
            *comparison_doubts(comparison),
        ),
        refusals=regression_reasons(comparison),
        correction=correction,
    )
    return make_report(
        "agreement",
        decision,
        measures,
        inputs=dict(inputs),
        offenders=counts.disagreements[:MAX_OFFENDERS],
        warnings=(
            *counted_warning("pairs that gave way to a later one of the same qid", duplicates),
            *(gaps if allow_missing else ()),
        ),
        listings={"labelled_once": single},
        counts={"pairs": sum(counts.pairs.values()), "duplicates": duplicates},
        settings={"allow_missing": allow_missing},
        details=counts.details(),
        items=None if items is None else group_items(item.group for item in items),
        comparison=comparison,
    )
