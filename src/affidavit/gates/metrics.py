"""The metrics of the gates, the default gates on them, and what to do when one fails."""

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Final

from affidavit.decision.gate import parse_default_gates
from affidavit.decision.metric import Metric, MetricKind, MetricTable, metric_table
from affidavit.decision.report import Advice

_ANSWERABLE: Final = "no answerable gold item could be measured"

_CLAIMS: Final = "no answer has claims and the texts of its contexts"

GROUNDEDNESS_METRICS: Final[MetricTable] = metric_table(
    [
        Metric("groundedness", MetricKind.SHARE, True, _CLAIMS),
        Metric("contradicted", MetricKind.SHARE, False, _CLAIMS),
        Metric("unsupported", MetricKind.SHARE, False, _CLAIMS),
        Metric("citation_precision", MetricKind.SHARE, True, "no answer cites a context"),
        Metric("citation_recall", MetricKind.SHARE, True, "no answer has citations"),
        Metric("context_precision", MetricKind.SHARE, True, "no answer has contexts"),
        Metric(
            "context_recall", MetricKind.SHARE, True, "no row has a reference answer and contexts"
        ),
        Metric("relevance", MetricKind.SHARE, True, "no row has a question and an answer"),
        Metric("refusals", MetricKind.SHARE, None, "no row has an answer"),
    ]
)
"""What is measured of answers with their contexts, without a gold set."""

RAG_METRICS: Final[MetricTable] = metric_table(
    [
        Metric(
            "precision",
            MetricKind.SHARE,
            True,
            "no shipped answer could be judged",
            selective=True,
        ),
        Metric(
            "chr",
            MetricKind.SHARE,
            True,
            "no shipped answer's citations could be judged",
            selective=True,
        ),
        Metric(
            "under_refusal",
            MetricKind.SHARE,
            False,
            "no unanswerable gold item has a run",
            ("under",),
        ),
        Metric(
            "over_refusal", MetricKind.SHARE, False, "no answerable gold item has a run", ("over",)
        ),
        Metric("scu", MetricKind.SHARE, True, "no shipped answer has constraints to keep"),
        Metric(
            "scu_violations", MetricKind.COUNT, False, "no shipped answer has constraints to keep"
        ),
        Metric(
            "recall_at_k",
            MetricKind.SHARE,
            True,
            _ANSWERABLE,
            ("recall", "recall@k"),
            selective=True,
        ),
        Metric("chr_at_k", MetricKind.SHARE, True, _ANSWERABLE, ("chr@k",), selective=True),
        Metric(
            "containment",
            MetricKind.SHARE,
            True,
            "no shipped answer has a gold text to hold",
            ("c",),
        ),
        *GROUNDEDNESS_METRICS.values(),
    ]
)


def _percentile(name: str) -> Metric:
    return Metric(
        f"{name}_ms",
        MetricKind.AMOUNT,
        False,
        "no latency was measured",
        (name,),
        has_interval=True,
    )


LATENCY_METRICS: Final[MetricTable] = metric_table(
    [
        _percentile("p50"),
        _percentile("p90"),
        _percentile("p95"),
        _percentile("p99"),
        Metric(
            "tail_amplification", MetricKind.AMOUNT, False, "there is no median above 0", ("tail",)
        ),
    ]
)

AGREEMENT_METRICS: Final[MetricTable] = metric_table(
    [
        Metric(
            "percent_agreement", MetricKind.SHARE, True, "there are no pairs of labels", ("pa",)
        ),
        Metric(
            "kappa",
            MetricKind.COEFFICIENT,
            True,
            "one label is the only one used, or there are none",
            has_interval=True,
        ),
        Metric("overruled", MetricKind.COUNT, False, "there are no pairs of labels"),
        Metric(
            "abstain_rate", MetricKind.SHARE, False, "there are no pairs of labels", ("abstain",)
        ),
    ]
)

STABILITY_METRICS: Final[MetricTable] = metric_table(
    [
        Metric("stable", MetricKind.SHARE, True, "no gold item has runs that could be judged"),
    ]
)
QUESTION_METRICS: Final[MetricTable] = metric_table(
    [
        Metric("acr", MetricKind.SCORE, True),
        Metric("cghc", MetricKind.SCORE, True),
        Metric("css", MetricKind.SCORE, True),
        Metric("ned50", MetricKind.SCORE, False),
    ]
)
"""The figures of one question over its runs; a gate on one is the limit for every question."""

RESEARCH_METRICS: Final[MetricTable] = metric_table(
    [
        Metric("evidence_coverage_rate", MetricKind.SHARE, True, "no run has a verified claim"),
        Metric(
            "golden_recall", MetricKind.SHARE, True, "no run answers a query with required evidence"
        ),
        Metric(
            "abstention_accuracy", MetricKind.SHARE, True, "no run answers a query without evidence"
        ),
        Metric("manifest_integrity", MetricKind.SHARE, True, "no run has a recorded step"),
    ]
)

METRICS_BY_KIND: Final[Mapping[str, MetricTable]] = MappingProxyType(
    {
        "rag": RAG_METRICS,
        "latency": LATENCY_METRICS,
        "agreement": AGREEMENT_METRICS,
        "stability": STABILITY_METRICS,
        "research": RESEARCH_METRICS,
    }
)
GATE_NAMES_BY_KIND: Final[Mapping[str, MetricTable]] = MappingProxyType(
    {
        **METRICS_BY_KIND,
        "stability": MappingProxyType({**STABILITY_METRICS, **QUESTION_METRICS}),
    }
)
"""What a gate may name: the metrics, and the figures of a question."""

RAG_GATES: Final = parse_default_gates(
    RAG_METRICS, "precision=0.80 chr=0.75 under_refusal=0.05 over_refusal=0.10"
)
"""Origin: the RAG document, section 2, "Ship gates (default)"."""
GROUNDEDNESS_GATES: Final = parse_default_gates(RAG_METRICS, "groundedness=0.80 contradicted=0.02")
"""Added if answers have the texts of their contexts. Origin: docs/adr/0033."""
SCU_GATE: Final = parse_default_gates(RAG_METRICS, "scu_violations=0")
"""Added if SCU is used."""
LATENCY_GATES: Final = parse_default_gates(LATENCY_METRICS, "p95_ms=2000")
AGREEMENT_GATES: Final = parse_default_gates(
    AGREEMENT_METRICS, "percent_agreement=0.90 kappa=0.75 abstain_rate=0.02 overruled=0"
)
STABILITY_GATES: Final = parse_default_gates(STABILITY_METRICS, "stable=1")
QUESTION_LIMITS: Final = parse_default_gates(
    QUESTION_METRICS, "acr=0.95 cghc=0.95 css=0.70 ned50=0.20"
)
"""Origin: the stability page of the RAG document."""
RESEARCH_GATES: Final = parse_default_gates(
    RESEARCH_METRICS,
    "evidence_coverage_rate=0.95 golden_recall=0.80 abstention_accuracy=0.90 "
    "manifest_integrity=1.00",
)
"""Origin: the research document, "Pass/fail gates"."""


# What to do next, by the metric that failed or could not be measured. Origin: section 5 of the RAG
# document, "Reading the score", with the names of its patterns. The documents give no advice for
# latency, agreement and research; that part is ours.

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
                "answers are not right, though their citations do not fail: look which of C, H and"
                " K fails among the offenders",
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
                ("groundedness",),
                "claims are not in the contexts that were retrieved: read the claims that are"
                " listed; if the nearest passage lacks the fact, mend retrieval, or else tell the"
                " model to answer from its contexts alone",
            ),
            Advice(
                ("contradicted",),
                "answers say otherwise than their contexts: read each claim beside its passage",
            ),
            Advice(
                ("unsupported",),
                "claims have no support in their contexts: read the claims that are listed",
            ),
            Advice(
                ("citation_precision",),
                "answers cite contexts that do not support the claim: have the model cite the"
                " sentence that it used",
            ),
            Advice(
                ("citation_recall",),
                "supported claims have no citation: have the model cite every claim",
            ),
            Advice(
                ("context_precision",),
                "most contexts are not used: retrieve fewer, or rerank them",
            ),
            Advice(
                ("context_recall",),
                "contexts lack what the reference answer says: mend retrieval before the prompt",
            ),
            Advice(
                ("relevance",),
                "answers do not speak of what was asked: read the questions beside the answers",
            ),
            Advice(
                ("refusals",),
                "answers refuse too often or too seldom: read which do, since without a gold set it"
                " is not known which questions have an answer",
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
                ("containment",),
                "answers do not hold the gold text letter for letter: read the offenders; where"
                " other words are right too, add them to the item's gold_claim_substr",
            ),
            Advice(
                ("stable",),
                "answers flip between runs or environments: compare the index manifests, and"
                " normalise text and vectors in one way",
                "pattern_vectorstore_fragmentation",
            ),
            *(
                Advice(
                    (name,),
                    "answers take too long: see which stage takes the time, and whether it grows"
                    " with the load",
                )
                for name in ("p50_ms", "p90_ms", "p95_ms", "p99_ms")
            ),
            Advice(
                ("tail_amplification",),
                "the slowest answers take many times what the usual one does: look for queues,"
                " retries and cold starts under the highest load",
            ),
            Advice(
                ("percent_agreement",),
                "the agents differ: read where they do, and give both the same rules and sources",
            ),
            Advice(
                ("kappa",),
                "the agents agree little beyond chance: read where they differ, and mind the base"
                " rate, since with one label almost alone kappa is low",
            ),
            Advice(
                ("overruled",),
                "both agents accept what a deterministic check rejects: cited passages that were"
                " not retrieved, or constraints that were lost; mend the pipeline, not the agents",
            ),
            Advice(
                ("abstain_rate",),
                "an agent abstains too often: see whether it gets the passages and the question",
            ),
            Advice(
                ("evidence_coverage_rate",),
                "claims are called verified without an evidence record that has a quote, a span"
                " and a source: record it, or leave the claim a candidate",
            ),
            Advice(
                ("golden_recall",),
                "required evidence was not found, as is listed: see whether the index holds it, and"
                " mend retrieval",
            ),
            Advice(
                ("abstention_accuracy",),
                "runs without evidence went on: have them stop with NO_EVIDENCE and verify nothing",
            ),
            Advice(
                ("manifest_integrity",),
                "steps have no context manifest: write a line of manifests.jsonl for each step_id"
                " of events.jsonl",
            ),
        )
    }
)
_BY_LISTING: Final[Mapping[str, Advice]] = MappingProxyType(
    {
        "citations_not_measured": Advice(
            ("precision", "chr"),
            "what these answers cite cannot be judged: have the pipeline record the ids that it"
            " cites and retrieves, or write marks such as [2] into its answers, and give gold items"
            " their citations; without them decide by the gold texts alone, with"
            " --gates precision=off chr=off containment=0.80",
        ),
        "containment_not_measured": Advice(
            ("precision",),
            "gold items have no text of five letters or more that a right answer holds: add it to"
            " their gold_claim_substr",
        ),
        "recall_not_measured": Advice(
            ("recall_at_k", "chr_at_k"),
            "retrieval cannot be judged: record retrieved_ids, and give gold items their citations",
        ),
    }
)


def advice_for(
    failed: Collection[str], not_measured: Collection[str] = (), listed: Collection[str] = ()
) -> tuple[Advice, ...]:
    """Return what to do about the metrics that failed, in the order of the document.

    Then what to do about gates that were not measured, by the listings that are not empty.
    """
    drifts = {"precision", "chr"} <= set(failed)
    singles = (
        advice
        for name, advice in _BY_METRIC.items()
        if name in failed and not (drifts and name in _BOTH.metrics)
    )
    missing = (
        advice
        for name, advice in _BY_LISTING.items()
        if name in listed and not set(not_measured).isdisjoint(advice.metrics)
    )
    return (*((_BOTH,) if drifts else ()), *singles, *missing)
