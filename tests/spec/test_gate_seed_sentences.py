"""Every sentence of the two documents on gates, run through the command line.

The first table is the document on RAG quality gates, the second the one on research runs, the third
what their reference scorers do otherwise: each row there shows ours.
"""

from pathlib import Path
from typing import Any

import pytest
from tests.cli.running import run
from tests.spec.gate_cases import (
    GOLD,
    LOCK,
    LOCKED,
    TRACE,
    UNANSWERABLE,
    Case,
    case,
    gold,
    hold,
    rag,
    refused,
    trace,
    write,
)

WRONG = {"claim": "X allows them.", "citations": ["p2#1"]}
ECHOED = {"constraints_echo": LOCK}


def many(right: int, wrong: int) -> tuple[list[Any], list[Any]]:
    items = [gold(qid=f"q{n:02}") for n in range(right + wrong)]
    runs = [trace(None if n < right else WRONG, qid=f"q{n:02}") for n in range(right + wrong)]
    return items, runs


def refusing(answered: int, refusals: int, *, answerable: bool) -> tuple[list[Any], list[Any]]:
    total = answered + refusals
    items = [gold(qid=f"q{n:02}", answerable=answerable) for n in range(total)]
    runs = [trace(qid=f"q{n:02}") if n < answered else refused(f"q{n:02}") for n in range(total)]
    return items, runs


RAG_SENTENCES: dict[str, Case] = {
    # Section 0: what we score.
    "Precision (answered): fraction of shipped answers that are correct and properly cited": rag(
        [GOLD, gold(qid="b"), gold(qid="c")],
        [TRACE, trace({"claim": "No."}, qid="b"), trace({"citations": ["p2#1"]}, qid="c")],
        metrics__precision__numerator=1,
        metrics__precision__denominator=3,
    ),
    "Under-refusal rate: fraction of should-refuse questions that were wrongly answered": rag(
        [UNANSWERABLE, gold(qid="U2", answerable=False)],
        [trace(qid="U0001"), refused("U2")],
        metrics__under_refusal__value=0.5,
    ),
    "Over-refusal rate: fraction of should-answer questions that were refused": rag(
        [GOLD, gold(qid="b")],
        [TRACE, refused("b")],
        metrics__over_refusal__value=0.5,
    ),
    "Citation Hit Rate: fraction of shipped answers whose citations contain the claim": rag(
        [GOLD, gold(qid="b")],
        [TRACE, trace({"citations": ["p2#1"]}, qid="b")],
        metrics__chr__value=0.5,
    ),
    "Constraint Integrity (SCU): fraction of shipped answers that preserve locked constraints": rag(
        [LOCKED, {**LOCKED, "qid": "b"}],
        [trace(ECHOED), trace(qid="b")],
        metrics__scu__value=0.5,
        metrics__scu_violations__value=1,
    ),
    "Recall@k: fraction of questions whose gold evidence appears in top-k retrieved ids": rag(
        [GOLD, gold(qid="b", gold_citations=["p2#1"])],
        [TRACE, trace({"citations": ["p2#1"]}, qid="b")],
        "--k 2",
        metrics__recall_at_k__value=0.5,
    ),
    "CHR@k (upper bound): best-case CHR if the model always picked the right ids": rag(
        [gold(gold_citations=["p1#2", "p9"]), gold(qid="b", gold_citations=["p9"])],
        [TRACE, trace(qid="b")],
        metrics__chr_at_k__value=0.5,
        metrics__recall_at_k__value=0,
    ),
    # Section 1.1: the gold set.
    "answerable = false: the only correct model output is the exact refusal token": rag(
        [UNANSWERABLE],
        [refused("U0001")],
        "--gates precision=off chr=off over=off",
        exit=0,
        items__0__outcome="pass",
    ),
    "gold_claim_substr: minimal substrings that must appear in the final claim": rag(
        [GOLD], [trace({"claim": "It depends."})], items__0__C="fail"
    ),
    "gold_citations: any non-empty intersection with shipped citations is a hit": rag(
        [gold(gold_citations=["p1#2", "p9"])],
        [trace({"citations": ["p1#1", "p1#2"]})],
        items__0__H="pass",
    ),
    "constraints: optional; enables SCU checks": rag(
        [GOLD],
        [TRACE],
        metrics__scu_violations__value=None,
        exit=3,
        gates__2__metric="under_refusal",
    ),
    # Section 1.2: traces.
    "answer_json.claim is either a sentence or the exact refusal token": rag(
        [UNANSWERABLE],
        [trace({"claim": "Not in context."}, qid="U0001")],
        "--refusal-mode exact",
        counts__shipped=1,
        listings__near_refusals__total=1,
    ),
    "citations must be a list of ids from retrieved_ids (scoped grounding)": rag(
        [GOLD], [trace({"citations": ["p1#2", "x"]})], items__0__H="fail"
    ),
    "citations that are no list are an error, with the place": rag(
        [GOLD],
        [trace({"citations": "p1#2"})],
        exit=2,
        error__code="AF407",
        error__field="answer_json.citations",
        error__line=1,
    ),
    "If SCU is enabled, constraints_echo must equal the locked set": rag(
        [LOCKED], [trace({"constraints_echo": [*LOCK, "more"]})], items__0__K="fail"
    ),
    # Section 2: definitions.
    "S = shipped answers, R = refused cases, A = answerable, U = unanswerable": rag(
        [GOLD, UNANSWERABLE, gold(qid="b")],
        [TRACE, refused("U0001"), refused("b")],
        counts__shipped=1,
        counts__refused=2,
        counts__answerable=2,
        counts__unanswerable=1,
    ),
    "C: any gold_claim_substr appears in the claim, case-insensitive": rag(
        [gold(gold_claim_substr=["no such", "REJECTS Null"])], [TRACE], items__0__C="pass"
    ),
    "C: of five characters or more": rag(
        [gold(gold_claim_substr=["null", "no such"])], [TRACE], items__0__C="fail"
    ),
    "H: citations and gold_citations share an id, and all cited ids were retrieved": rag(
        [GOLD], [trace(retrieved_ids=["p1#1"])], items__0__H="fail"
    ),
    "K: constraints_echo equals constraints, order-insensitive": rag(
        [gold(constraints=["a", "b"])],
        [trace({"constraints_echo": ["b", "a"]})],
        items__0__K="pass",
    ),
    "K: and no SCU contradiction detected": rag(
        [{**LOCKED, "gold_claim_substr": ["null keys"]}],
        [trace({**ECHOED, "claim": "X supports null keys."})],
        items__0__K="fail",
    ),
    "Precision counts x of S and A with C, H and K, over all of S": rag(
        [LOCKED, UNANSWERABLE],
        [trace(), trace(qid="U0001")],
        metrics__precision__numerator=0,
        metrics__precision__denominator=2,
    ),
    "Under-refusal = S and U, over U": rag(
        *refusing(1, 19, answerable=False),
        metrics__under_refusal__value=0.05,
        gates__2__status="pass",
    ),
    "Over-refusal = R and A, over A": rag(
        *refusing(9, 1, answerable=True), metrics__over_refusal__value=0.1, gates__3__status="pass"
    ),
    "CHR = x of S with H, over S": rag(
        [GOLD, {**UNANSWERABLE, "gold_citations": ["p1#2"]}],
        [TRACE, trace(qid="U0001")],
        metrics__chr__numerator=2,
        metrics__chr__denominator=2,
    ),
    "Recall@k: all gold citations among the top k, over A": rag(
        [gold(gold_citations=["p1#2", "p2#1"]), UNANSWERABLE],
        [TRACE, refused("U0001")],
        "--k 3",
        metrics__recall_at_k__numerator=1,
        metrics__recall_at_k__denominator=1,
    ),
    # Section 2: ship gates.
    "Precision at least 0.80": rag(
        *many(8, 2), gates__0__status="pass", metrics__precision__value=0.8
    ),
    "Precision below 0.80 does not ship": rag(*many(7, 3), exit=1, gates__0__status="fail"),
    "CHR at least 0.75": rag(*many(3, 1), gates__1__status="pass", exit=1),
    "Under-refusal at most 0.05": rag(
        *refusing(2, 18, answerable=False), gates__2__status="fail", exit=1
    ),
    "Over-refusal at most 0.10": rag(
        *refusing(8, 2, answerable=True), gates__3__status="fail", exit=1
    ),
    "If SCU used: SCU violations = 0": rag(
        [LOCKED], [TRACE], exit=1, gates__4__metric="scu_violations", gates__4__status="fail"
    ),
    "Tune gates per product": rag(
        *many(7, 3), "--gates precision=0.7 chr=0.7 under=off", exit=0, decision="ship"
    ),
    # Section 4: the scorer.
    "load gold by qid; load traces; group by qid, last run": rag(
        [GOLD], [trace(WRONG), TRACE], counts__duplicates=1, metrics__precision__value=1
    ),
    "a gold item that stands twice is no gold set": rag(
        [GOLD, GOLD], [TRACE], exit=2, error__code="AF408", error__line=2
    ),
    "aggregate metrics; print gates + PASS/FAIL": rag(
        [GOLD, UNANSWERABLE],
        [TRACE, refused("U0001")],
        exit=0,
        gates__0__status="pass",
        gates__3__status="pass",
    ),
    # Section 5: reading the score.
    "Failing Precision + CHR: start at the drift pattern": rag(
        *many(1, 9), next_steps__0__pattern="pattern_rag_semantic_drift"
    ),
    "High Under-refusal: inspect Recall@k": rag(
        *refusing(5, 5, answerable=False),
        "--gates precision=off chr=off",
        next_steps__0__metrics=["under_refusal"],
    ),
    "High Over-refusal: shrink chunks and re-rank": rag(
        *refusing(5, 5, answerable=True), next_steps__0__metrics=["over_refusal"]
    ),
    "SCU violations: lock and echo constraints": rag(
        [LOCKED],
        [TRACE],
        "--gates precision=off",
        next_steps__0__pattern="pattern_symbolic_constraint_unlock",
    ),
    "Weird flips across envs: check the fragmentation pattern": case(
        "gate stability --gold g.jsonl --runs s.jsonl",
        {"g.jsonl": [GOLD], "s.jsonl": [TRACE, {**trace(WRONG), "seed": 1}]},
        exit=1,
        next_steps__0__pattern="pattern_vectorstore_fragmentation",
    ),
    # Section 6: CI.
    "Break build if any gate fails": rag(*many(0, 3), exit=1, decision="no_ship"),
    "Freeze gold.jsonl per release; any change requires sign-off": rag(
        [GOLD], [TRACE], f"--expect-gold-digest sha256:{'0' * 64}", exit=4, error__code="AF409"
    ),
    "The example CI step, as it is written": case(
        "gate rag --gold ProblemMap/eval/gold.jsonl --trace runs/trace.jsonl"
        " --gates precision=0.80 chr=0.75 under_refusal=0.05 over_refusal=0.10 --scu_enforced",
        {
            "ProblemMap/eval/gold.jsonl": [LOCKED, UNANSWERABLE],
            "runs/trace.jsonl": [trace(ECHOED), refused("U0001")],
        },
        exit=0,
        settings__scu_enforced=True,
        gates__4__metric="scu_violations",
    ),
    "The top 10 offenders with their retrieved ids and citations": rag(
        *many(0, 12),
        offenders__0__citations=["p2#1"],
        offenders__0__retrieved_ids=["p1#1", "p1#2", "p2#1"],
        offenders__9__qid="q09",
        offenders__9__failed=["C", "H"],
    ),
    # Section 0: operational.
    "Latency vs accuracy: P95/P99 latency": case(
        "gate latency l.jsonl",
        {"l.jsonl": [{"e2e_ms": n} for n in range(101)]},
        exit=0,
        metrics__p95_ms__value=95,
        metrics__p99_ms__value=99,
    ),
    "Latency vs accuracy: against precision, the Pareto frontier": case(
        "gate latency l.jsonl --accuracy a=a.json --accuracy b=b.json",
        {
            "l.jsonl": [{"e2e_ms": 1, "config": "a"}, {"e2e_ms": 2, "config": "b"}],
            **{
                f"{name}.json": {
                    "schema_version": "affidavit-gate/1",
                    "kind": "rag",
                    "decision": "ship",
                    "metrics": {"precision": {"value": value}},
                }
                for name, value in (("a", 0.9), ("b", 0.8))
            },
        },
        details__tradeoff__dominated=["b"],
        details__tradeoff__interactive="a",
    ),
    "Cross-agent consistency: agreement on labels, kappa": case(
        "gate agreement --pairs p.jsonl",
        {
            "p.jsonl": [
                {"qid": n, "scholar": {"label": label}, "auditor": {"label": label}}
                for n, label in enumerate(["VALID", "REJECT"] * 5)
            ]
        },
        exit=0,
        metrics__percent_agreement__value=1,
        metrics__kappa__value=1,
    ),
    "Semantic stability: output variance across seeds and small prompt jitters": case(
        "gate stability --gold g.jsonl --stability s.jsonl",
        {
            "g.jsonl": [GOLD],
            "s.jsonl": [
                {**TRACE, "seed": seed, "jitter": jitter, "run_id": f"A0001#seed={seed};j={jitter}"}
                for seed in (0, 1)
                for jitter in ("none", "ws")
            ],
        },
        exit=0,
        details__questions__0__acr=1,
        details__questions__0__ned50=0,
    ),
}

QUERY = {"objective": "find x", "required_evidence_ids": ["e1", "e2"], "evidence_sufficient": True}
HOPELESS = {"objective": "find y", "required_evidence_ids": [], "evidence_sufficient": False}
RECORD = {"evidence_id": "e1", "source_id": "s", "quote": "q", "span": {"start": 0, "end": 1}}
FOUND: dict[str, Any] = {
    "run_id": "r1",
    "objective": "find x",
    "stop_reason": "OBJECTIVE_ACHIEVED",
    "claims": [{"claim_id": "k1", "status": "verified", "evidence_refs": ["e1"]}],
    "evidence": [RECORD, {**RECORD, "evidence_id": "e2"}],
}
ABSTAINED: dict[str, Any] = {
    "run_id": "r2",
    "objective": "find  y",
    "stop_reason": "NO_EVIDENCE",
    "claims": [],
    "evidence": [],
}
STEPS = [{"step_id": 1}, {"step_id": 2}]


def research(
    *outputs: dict[str, Any],
    golden: Any = (QUERY, HOPELESS),
    manifests: list[Any] | None = None,
    line: str = "",
    **wants: Any,
) -> Case:
    files: dict[str, Any] = {"eval/golden_queries.json": golden if golden != "missing" else "["}
    for output in outputs:
        folder = f"outputs/{output['run_id']}"
        files |= {
            f"{folder}/output.json": output,
            f"{folder}/events.jsonl": STEPS,
            f"{folder}/manifests.jsonl": STEPS if manifests is None else manifests,
        }
    # The command of the document, as it is written.
    command = f"gate research --golden eval/golden_queries.json --outputs ./outputs {line}"
    return case(command, files, **wants)


RESEARCH_SENTENCES: dict[str, Case] = {
    "The eval command, as it is written": research(FOUND, ABSTAINED, exit=0, decision="ship"),
    "Golden queries artifact: a JSON file of objectives and expected evidence": research(
        FOUND, ABSTAINED, inputs__golden__rows=2
    ),
    "Run outputs: ResearchOutput JSON and associated manifests/events": research(
        FOUND, ABSTAINED, inputs__outputs__rows=2
    ),
    "Eval must not depend on model self-reporting": research(
        {**FOUND, "summary": "all verified", "evidence": []}, ABSTAINED, exit=1
    ),
    "If the golden queries artifact is malformed, evaluation stops with SYSTEM_ERROR": research(
        FOUND, golden="missing", exit=2, stop_reason="SYSTEM_ERROR", decision="inconclusive"
    ),
    "and reports the missing requirement": research(
        FOUND,
        golden=[{"objective": "find x", "evidence_sufficient": True}],
        exit=2,
        error__field="[0].required_evidence_ids",
    ),
    "Eval must compute and report all metrics": research(
        FOUND,
        ABSTAINED,
        metrics__evidence_coverage_rate__value=1,
        metrics__golden_recall__value=1,
        metrics__abstention_accuracy__value=1,
        metrics__manifest_integrity__value=1,
    ),
    "Pass/fail status must be explicit for each gate": research(
        FOUND,
        ABSTAINED,
        gates__0__status="pass",
        gates__1__status="pass",
        gates__2__status="pass",
        gates__3__status="pass",
    ),
    "Gate thresholds are defaults and may change": research(
        {**FOUND, "evidence": [RECORD]}, ABSTAINED, line="--gates golden_recall=0.5", exit=0
    ),
    "Evidence Coverage Rate: verified claims with a record with quote, span, source": research(
        {**FOUND, "evidence": [{**RECORD, "span": None}]},
        ABSTAINED,
        metrics__evidence_coverage_rate__value=0,
    ),
    "Golden Recall: required golden evidence IDs present in the output evidence ledger": research(
        {**FOUND, "evidence": [RECORD]}, ABSTAINED, metrics__golden_recall__value=0.5, exit=1
    ),
    "Abstention Accuracy: stop_reason NO_EVIDENCE": research(
        FOUND,
        {**ABSTAINED, "stop_reason": "OBJECTIVE_ACHIEVED"},
        metrics__abstention_accuracy__value=0,
        exit=1,
    ),
    "Abstention Accuracy: and no verified claims": research(
        FOUND,
        {**ABSTAINED, "claims": FOUND["claims"], "evidence": FOUND["evidence"]},
        metrics__abstention_accuracy__value=0,
        exit=1,
    ),
    "Manifest Integrity: steps with a recorded context manifest, over all steps": research(
        FOUND, ABSTAINED, manifests=STEPS[:1], metrics__manifest_integrity__value=0.5, exit=1
    ),
    "Schema: objective, required_evidence_ids, evidence_sufficient": research(
        FOUND, golden=[{**QUERY, "evidence_sufficient": "yes"}], exit=2, error__code="AF414"
    ),
    "Evidence Coverage Rate at least 0.95": research(
        FOUND, ABSTAINED, gates__0__threshold=0.95, gates__0__op=">="
    ),
    "Golden Recall at least 0.80": research(FOUND, ABSTAINED, gates__1__threshold=0.8),
    "Abstention Accuracy at least 0.90": research(FOUND, ABSTAINED, gates__2__threshold=0.9),
    "Manifest Integrity = 1.00": research(FOUND, ABSTAINED, gates__3__threshold=1),
}


def pairs(*labels: tuple[str, str]) -> dict[str, Any]:
    rows = [
        {"qid": f"q{n}", "scholar": {"label": first}, "auditor": {"label": second}}
        for n, (first, second) in enumerate(labels)
    ]
    return {"p.jsonl": rows}


def runs(item: dict[str, Any], *answers: dict[str, Any]) -> dict[str, Any]:
    rows = [
        {**TRACE, "qid": item["qid"], "seed": seed, "answer_json": answer}
        for seed, answer in enumerate(answers)
    ]
    return {"g.jsonl": [item], "s.jsonl": rows}


STABILITY = "gate stability --gold g.jsonl --runs s.jsonl"
AGREEMENT = "gate agreement --pairs p.jsonl"
RIGHT = TRACE["answer_json"]
NOT_THERE = {"claim": "not in context"}

REFERENCE_DEFECTS: dict[str, Case] = {
    "the one-string form with under and over": rag(
        [GOLD, UNANSWERABLE],
        [TRACE, refused("U0001")],
        "--gates precision=0.80,chr=0.75,under=0.05,over=0.10",
        exit=0,
    ),
    "q_id is another spelling of qid": rag(
        [GOLD],
        [{**{k: v for k, v in TRACE.items() if k != "qid"}, "q_id": "A0001"}],
        counts__shipped=1,
    ),
    "a missing trace is not an answer: it is not measured": rag(
        [GOLD, gold(qid="b")],
        [TRACE],
        exit=3,
        counts__missing=1,
        metrics__precision__denominator=1,
        metrics__precision__not_measured=1,
        listings__missing_traces__first=["b"],
    ),
    "in the strict reading a refusal in another case is an answer": rag(
        [UNANSWERABLE],
        [trace({"claim": "Not In Context"}, qid="U0001")],
        "--refusal-mode exact",
        metrics__under_refusal__value=1,
    ),
    "an empty list of substrings is not measured, never true": rag(
        [gold(gold_claim_substr=[])],
        [TRACE],
        metrics__precision__value=None,
        items__0__C="not_measured",
    ),
    "absent substrings are not measured, never false": rag(
        [{k: v for k, v in GOLD.items() if k != "gold_claim_substr"}],
        [TRACE],
        items__0__C="not_measured",
    ),
    "empty gold citations are not measured, not a hit for citing nothing": rag(
        [gold(gold_citations=[])],
        [trace({"citations": []})],
        items__0__H="not_measured",
        metrics__recall_at_k__value=None,
    ),
    "nothing shipped (|S| = 0): precision and CHR are not measured, never 1": rag(
        [GOLD],
        [refused("A0001")],
        metrics__precision__value=None,
        metrics__chr__value=None,
    ),
    "no unanswerable item: under-refusal is not measured, never 0": rag(
        [GOLD], [TRACE], metrics__under_refusal__value=None, exit=3
    ),
    "no answerable item: over-refusal and recall are not measured": rag(
        [UNANSWERABLE],
        [refused("U0001")],
        metrics__over_refusal__value=None,
        metrics__recall_at_k__value=None,
        exit=3,
    ),
    "CHR counts every shipped answer with a hit, also of unanswerable items": rag(
        [{**UNANSWERABLE, "gold_citations": ["p1#2"]}], [trace(qid="U0001")], metrics__chr__value=1
    ),
    "K is part of precision": rag([LOCKED], [TRACE], metrics__precision__value=0),
    "a trace without gold is listed": rag(
        [GOLD], [TRACE, trace(qid="z")], listings__traces_without_gold__total=1
    ),
    "a gate that fails ends with 1, not 0": rag(*many(0, 1), exit=1),
    "gates compare unrounded values": rag(
        *many(799, 201),
        "--gates precision=0.8 chr=off under=off over=off",
        metrics__precision__value=0.799,
        exit=1,
    ),
    "a malformed line is named, not a traceback": rag(
        [GOLD], [TRACE, '{"qid": "b", '], exit=2, error__line=2, error__file="trace.jsonl"
    ),
    "or skipped, counted and said": rag(
        [GOLD, UNANSWERABLE],
        [TRACE, "{", refused("U0001")],
        "--skip-bad",
        exit=3,
        inputs__trace__skipped=1,
    ),
    "an empty gold set decides nothing": rag([], [TRACE], exit=3),
    "no traces decide nothing": rag([GOLD], [], exit=3),
    "qids without overlap decide nothing": rag([GOLD], [trace(qid="z")], exit=3),
    "runs over again are not counted twice, so no rate exceeds 1": rag(
        [UNANSWERABLE],
        [trace(qid="U0001")] * 5,
        metrics__under_refusal__value=1,
        counts__duplicates=4,
    ),
    "percentiles are not truncated": case(
        "gate latency l.jsonl",
        {"l.jsonl": [{"e2e_ms": 1}, {"e2e_ms": 2}]},
        metrics__p50_ms__value=1.5,
    ),
    "no latency is not 0 ms": case(
        "gate latency l.jsonl", {"l.jsonl": []}, metrics__p95_ms__value=None, exit=3
    ),
    "the tail's amplification is measured": case(
        "gate latency l.jsonl",
        {"l.jsonl": [{"e2e_ms": 1}, {"e2e_ms": 1}, {"e2e_ms": 51}]},
        metrics__tail_amplification__value=50.0,
    ),
    "a head that is repeated in the CSV is no row": case(
        "gate latency l.csv", {"l.csv": "qid,e2e_ms\na,1\nqid,e2e_ms\nb,3\n"}, counts__answers=2
    ),
    "a report without the figure is refused, where jq takes null for small": case(
        "gate latency l.jsonl --accuracy a.json",
        {
            "l.jsonl": [{"e2e_ms": 1}],
            "a.json": {
                "schema_version": "affidavit-gate/1",
                "kind": "rag",
                "decision": "ship",
                "metrics": {"under": {"value": 0}},
            },
        },
        exit=2,
        error__code="AF417",
        error__field="metrics.precision",
    ),
    "a gate on a name that no metric has is refused": rag(
        [GOLD], [TRACE], "--gates undr=0.05", exit=2, error__code="AF401"
    ),
    "perfect agreement on one label has no kappa, and does not fail": case(
        AGREEMENT, pairs(*[("VALID", "VALID")] * 9), metrics__kappa__value=None, exit=3
    ),
    "an unknown label is an error, not skipped": case(
        AGREEMENT, pairs(("VALID", "FINE")), exit=2, error__field="auditor.label"
    ),
    "an abstention of the auditor counts": case(
        AGREEMENT, pairs(("VALID", "ABSTAIN")), metrics__abstain_rate__value=1
    ),
    "a refusal that both share is agreement": case(
        AGREEMENT, pairs(*[("NOT_IN_CONTEXT",) * 2, ("VALID",) * 2] * 5), exit=0
    ),
    "an unanswerable item that is answered in every run is not stable": case(
        STABILITY, runs(UNANSWERABLE, RIGHT, RIGHT), exit=1, details__questions__0__rcr=1
    ),
    "no citation at all is not a stable set of citations": case(
        STABILITY, runs(GOLD, NOT_THERE, NOT_THERE), details__questions__0__css=None
    ),
    "no two answers have no distance, not the distance 0": case(
        STABILITY, runs(GOLD, RIGHT), details__questions__0__ned50=None, exit=3
    ),
    "a gold item without runs is not measured": case(
        STABILITY,
        {"g.jsonl": [GOLD, UNANSWERABLE], "s.jsonl": runs(GOLD, RIGHT, RIGHT)["s.jsonl"]},
        exit=3,
        listings__without_runs__first=["U0001"],
    ),
    "a qid that is not in the gold set is a stranger, not unanswerable": case(
        STABILITY,
        {"g.jsonl": [GOLD], "s.jsonl": runs({"qid": "z"}, RIGHT)["s.jsonl"]},
        exit=3,
        listings__runs_without_gold__first=["z"],
    ),
    "research: no verified claim is not a coverage of 1": research(
        {**FOUND, "claims": []}, ABSTAINED, metrics__evidence_coverage_rate__value=None, exit=3
    ),
    "research: no query without evidence is no abstention accuracy of 1": research(
        FOUND, golden=[QUERY], metrics__abstention_accuracy__value=None, exit=3
    ),
    "research: a run is matched by golden_id first": research(
        {**FOUND, "objective": "other words", "golden_id": "g"},
        golden=[{**QUERY, "golden_id": "g"}],
        details__runs__0__query="g",
    ),
    "research: recall is micro over ids": research(
        {**FOUND, "evidence": [RECORD]},
        {**ABSTAINED, "evidence": [{**RECORD, "evidence_id": "e9"}]},
        golden=[QUERY, {**HOPELESS, "required_evidence_ids": ["e9"], "evidence_sufficient": True}],
        metrics__golden_recall__numerator=2,
        metrics__golden_recall__denominator=3,
    ),
    "research: steps are the distinct step_id of the events": research(
        FOUND, ABSTAINED, manifests=[*STEPS, *STEPS], metrics__manifest_integrity__denominator=4
    ),
    "research: a single golden query need not be a list": research(
        FOUND, golden=QUERY, counts__golden=1
    ),
}


def run_table(table: dict[str, Case]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("given", table.values(), ids=table.keys())


@run_table(RAG_SENTENCES)
def test_rag_document(given: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    hold(given, tmp_path)


@run_table(RESEARCH_SENTENCES)
def test_research_document(given: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    hold(given, tmp_path)


@run_table(REFERENCE_DEFECTS)
def test_where_the_reference_is_wrong(
    given: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    hold(given, tmp_path)


DETERMINISTIC = {
    "given the same inputs, the same scores and the same decision": RAG_SENTENCES[
        "The example CI step, as it is written"
    ],
    "Eval must be deterministic for a fixed set of outputs and golden queries": RESEARCH_SENTENCES[
        "The eval command, as it is written"
    ],
}


@run_table(DETERMINISTIC)
def test_twice_the_same_bytes(given: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, given.files)
    first, second = (run(*given.line.split(), "--json") for _ in range(2))
    assert first.stdout_bytes == second.stdout_bytes
    assert first.exit_code == second.exit_code


def test_a_missing_golden_file_stops_with_system_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    given = research(FOUND, exit=2, stop_reason="SYSTEM_ERROR", error__code="AF415")
    files = {name: text for name, text in given.files.items() if not name.startswith("eval/")}
    hold(Case(given.line, files, given.wants), tmp_path)


def test_store_historical_scores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    given = RAG_SENTENCES["Precision at least 0.80"]
    write(tmp_path, given.files)
    (tmp_path / "eval").mkdir()
    for _ in range(2):
        run(*given.line.split(), "--history", "eval/history.jsonl", "--markdown", "eval/report.md")
    assert len((tmp_path / "eval/history.jsonl").read_text().splitlines()) == 2
    assert (tmp_path / "eval/report.md").read_text()


def test_the_disagreements_file_is_written_also_without_any(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, {**pairs(("VALID", "VALID")), "d.tsv": "old"})
    run(*AGREEMENT.split(), "--disagreements", "d.tsv")
    assert (tmp_path / "d.tsv").read_text() == "qid\tscholar\tauditor\tfinal\twhy\n"
