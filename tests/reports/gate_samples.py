"""Real reports of every kind of gate, made by the gates themselves; never written by hand."""

from collections.abc import Callable, Iterable
from typing import Any

from tests.gates.making import DROP, REFUSED, counts, gold, trace

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import gates as faults
from affidavit.decision.comparison import compare_outcomes
from affidavit.decision.report import ReportInput, system_error_report
from affidavit.gates.agreement import PAIR_READER, agreement_counts, agreement_report
from affidavit.gates.latency import LATENCY_READER as LATENCY_ROWS
from affidavit.gates.latency import Configuration, find_tradeoff, latency_counts, latency_report
from affidavit.gates.rag_report import RagPolicy, make_offender, rag_report
from affidavit.gates.rag_rows import qid_of
from affidavit.gates.rag_scoring import RagScorer
from affidavit.gates.report import parse_report
from affidavit.gates.research import (
    OUTPUT_READER,
    STEP_READER,
    ResearchRun,
    golden_queries,
    research_report,
)
from affidavit.gates.stability import STABILITY_READER as STABILITY_ROWS
from affidavit.gates.stability import StabilityCounts, stability_counts, stability_report
from affidavit.reports.gate_history import HistoryRun
from affidavit.reports.gate_html import gate_html
from affidavit.reports.gate_junit import gate_junit
from affidavit.reports.gate_markdown import gate_markdown
from affidavit.reports.sarif import gate_sarif

Wire = dict[str, Any]
DIGEST = "sha256:" + "5" * 64


def rag(right: int = 8, wrong: int = 2, *, missing: int = 0, changes: Wire | None = None) -> Wire:
    """Return a report: so many right answers, so many wrong ones, so many without a trace."""
    total = right + wrong
    items = [gold(qid=f"A{n:04}", constraints=DROP) for n in range(total + missing)]
    items += [
        gold(qid=f"U{n}", answerable=False, gold_claim_substr=[], gold_citations=[])
        for n in range(2)
    ]
    bad: Wire = {"claim": "It depends on the version.", "citations": ["p9"], **(changes or {})}
    runs = [trace(qid=f"A{n:04}") for n in range(right)]
    runs += [trace(bad, qid=f"A{n:04}") for n in range(right, total)]
    runs += [trace(REFUSED, qid=f"U{n}") for n in range(2)]
    made = counts(items, runs)
    by_qid = {qid_of(item): item for item in items}
    scorer = RagScorer()
    offenders = [
        make_offender(by_qid[name], found, scorer.score(by_qid[name], found), line=line)
        for line, found in enumerate(runs, start=1)
        if (name := str(found.qid)) >= f"A{right:04}" and name.startswith("A")
    ]
    inputs = {
        "gold": ReportInput(path="eval/gold.jsonl", digest=DIGEST, rows=len(items)),
        "trace": ReportInput(path="runs/trace one.jsonl", digest=DIGEST, rows=len(runs)),
    }
    compared = compare_outcomes(dict.fromkeys("abcdef", True), dict.fromkeys("abcdef", False))
    return rag_report(
        made, RagPolicy(), inputs, offenders=offenders[:10], comparison=compared
    ).to_builtins()


def latency(**settings: Any) -> Wire:
    rows = [
        LATENCY_ROWS.from_value(
            {
                "e2e_ms": 300 + 40 * n + 90 * rps + (1500 if n == 19 else 0),
                "rps": rps,
                "config": f"k{rps}",
                "llm_ms": 200 + 30 * n,
            }
        )
        for rps in (1, 5, 10, 20)
        for n in range(20)
    ]
    tradeoff = find_tradeoff(
        [
            Configuration("k1", 900, 0.71),
            Configuration("k5", 1300, 0.84, passes=True, passes_relaxed=True),
            Configuration("k10", 1500, 0.80, passes=True),
            Configuration("k20", 2600, 0.93, passes_relaxed=True),
            Configuration("k40", None, 0.95),
        ]
    )
    inputs = {"latency": ReportInput(path="runs/latency.jsonl", digest=DIGEST, rows=len(rows))}
    overrides = ["p95_ms=off", "p95_ms/5rps<=2000", "p95_ms/20rps<=2500", "p99_ms/1rps=9000"]
    given = {"overrides": overrides, "tradeoff": tradeoff, **settings}
    return latency_report(latency_counts(rows), inputs, **given).to_builtins()


def agreement(pairs: str = "VV " * 30 + "NN " * 10 + "VN VR RV AV", **settings: Any) -> Wire:
    names = {"V": "VALID", "N": "NOT_IN_CONTEXT", "R": "REJECT", "A": "ABSTAIN"}
    rows = [
        PAIR_READER.from_value(
            {
                "qid": f"q{n:02}",
                "scholar": {"label": names[first]},
                "auditor": {"label": names[second]},
            }
        )
        for n, (first, second) in enumerate(map(tuple, pairs.split()))
    ]
    inputs = {"pairs": ReportInput(path="runs/pairs.jsonl", digest=DIGEST, rows=len(rows))}
    return agreement_report(
        agreement_counts(rows), inputs, unpaired=["q90"], **settings
    ).to_builtins()


def stability(questions: int = 6, **settings: Any) -> Wire:
    total, figures = StabilityCounts(), []
    for n in range(questions):
        item = gold(qid=f"q{n:03}", constraints=DROP)
        runs = [
            STABILITY_ROWS.from_value(
                {
                    "qid": item.qid,
                    "seed": seed,
                    "jitter": jitter,
                    "retrieved_ids": ["p1#1", "p1#2"],
                    "answer_json": {
                        "claim": "X rejects null keys." if (n + seed) % 3 else "It depends.",
                        "citations": ["p1#2"] if n % 2 else ["p1#2", f"p1#{seed}"],
                    },
                }
            )
            for seed in (1, 2, 3)
            for jitter in ("none", "punctuation", "case")
        ]
        figure, part = stability_counts(item, runs if n else [])
        figures.append(figure)
        total = total + part
    inputs = {
        "gold": ReportInput(path="eval/gold.jsonl", digest=DIGEST, rows=questions),
        "runs": ReportInput(path="runs/stability.jsonl", digest=DIGEST, rows=questions * 9),
    }
    return stability_report(total, figures, inputs, **settings).to_builtins()


def research(*, is_right: bool = False) -> Wire:
    evidence = {
        "evidence_id": "e1",
        "chunk_id": "c1",
        "source_id": "s1",
        "quote": "as it is written",
        "span": {"start": 0, "end": 16},
    }
    claim = {"claim_id": "k1", "status": "verified", "evidence_refs": ["e1"]}
    weak = {**claim, "claim_id": "k2", "evidence_refs": [] if not is_right else ["e1"]}
    base = {"schema_version": 1, "objective": "find x", "stop_reason": "OBJECTIVE_ACHIEVED"}
    outputs = [
        {**base, "run_id": "r1", "claims": [claim, weak], "evidence": [evidence]},
        {
            **base,
            "run_id": "r2",
            "objective": "find y",
            "stop_reason": "NO_EVIDENCE",
            "claims": [],
            "evidence": [],
        },
    ]
    steps = tuple(STEP_READER.from_value({"step_id": n}) for n in (1, 2))
    runs = [ResearchRun(OUTPUT_READER.from_value(output), steps, steps) for output in outputs]
    queries = golden_queries(
        [
            {"objective": "find x", "required_evidence_ids": ["e1"], "evidence_sufficient": True},
            {"objective": "find y", "required_evidence_ids": [], "evidence_sufficient": False},
        ]
    )
    inputs = {"golden": ReportInput(path="eval/golden.json", digest=DIGEST, rows=2)}
    return research_report(queries, runs, inputs).to_builtins()


def stopped() -> Wire:
    error = AffidavitError(faults.GOLDEN_MISSING, Where(file="eval/golden_queries.json"))
    return system_error_report("research", error).to_builtins()


KINDS: dict[str, Callable[[], Wire]] = {
    "rag": rag,
    "latency": latency,
    "agreement": agreement,
    "stability": stability,
    "research": research,
    "stopped": stopped,
}


def html_of(wire: dict[str, Any], past: Iterable[HistoryRun] = ()) -> str:
    return gate_html(parse_report(wire), past)


def junit_of(wire: dict[str, Any]) -> str:
    return gate_junit(parse_report(wire))


def sarif_of(wire: dict[str, Any]) -> str:
    return gate_sarif(parse_report(wire))


def markdown_of(wire: dict[str, Any]) -> str:
    return gate_markdown(parse_report(wire))
