"""What to do next, by the metric that failed.

Origin: section 5 of the RAG document, "Reading the score", with the names of its patterns.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True, slots=True)
class Advice:
    """What to do about some metrics, and the pattern of the problem map that treats it."""

    metrics: tuple[str, ...]
    text: str
    pattern: str | None = None

    def as_wire(self) -> dict[str, object]:
        """Return the advice as a report shows it."""
        return {"metrics": list(self.metrics), "do": self.text, "pattern": self.pattern}


_DRIFT: Final = "pattern_rag_semantic_drift"
_BOTH: Final = Advice(
    ("precision", "chr"),
    "answers drift from their sources: guard the prompt, intersect the lexical and the semantic"
    " pool, and rerank what is left",
    _DRIFT,
)
_BY_METRIC: Final[Mapping[str, Advice]] = MappingProxyType(
    {
        advice.metrics[0]: advice
        for advice in (
            Advice(
                ("precision",),
                "the right passages are cited, but the claim or its constraints are not right:"
                " look which of C, H and K fails among the offenders",
                _DRIFT,
            ),
            Advice(
                ("chr",),
                "answers cite what does not hold them, or what was not retrieved: compare chr_at_k"
                " with chr; if both are low, mend retrieval first",
                _DRIFT,
            ),
            Advice(
                ("under_refusal",),
                "questions without an answer were answered: look at recall_at_k, since retrieval"
                " may be poor, and at the auditor's rules",
            ),
            Advice(
                ("over_refusal",),
                "questions with an answer were refused: the guard is too strict, or chunks split"
                " the facts; make the chunks smaller and rerank",
            ),
            Advice(
                ("scu_violations",),
                "locked constraints were lost or contradicted: lock them and have them echoed",
                "pattern_symbolic_constraint_unlock",
            ),
            Advice(
                ("scu",),
                "locked constraints were lost or contradicted: lock them and have them echoed",
                "pattern_symbolic_constraint_unlock",
            ),
            Advice(
                ("recall_at_k",),
                "gold evidence is not among the first k: raise k, rerank, or mend the chunks",
            ),
            Advice(
                ("chr_at_k",),
                "for many questions no gold evidence is retrieved at all, so no prompt can help:"
                " mend the index first",
            ),
            Advice(
                ("stable",),
                "answers flip between runs or environments: compare the index manifests, and"
                " normalise text and vectors in one way",
                "pattern_vectorstore_fragmentation",
            ),
        )
    }
)


def advice_for(failed: Collection[str]) -> tuple[Advice, ...]:
    """Return what to do about the metrics that failed, in the order of the document."""
    drifts = {"precision", "chr"} <= set(failed)
    singles = (
        advice
        for name, advice in _BY_METRIC.items()
        if name in failed and not (drifts and name in _BOTH.metrics)
    )
    return (_BOTH, *singles) if drifts else tuple(singles)
