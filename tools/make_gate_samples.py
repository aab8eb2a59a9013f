"""Build the files of samples/gates with its tiny pipeline; the bytes are always the same.

    python -m tools.make_gate_samples [--check]

`--check` writes nothing and exits with 1 if a file differs.
"""

import json
import runpy
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from affidavit.gates.stability import apply_jitter, jitter_run_id

FOLDER = Path(__file__).resolve().parent.parent / "samples" / "gates"
QUESTIONS = {
    "annual": "How many days of annual leave are there?",
    "carry": "How many days can I carry over?",
    "sick": "When does sick leave need a certificate?",
    "parental": "How long is parental leave?",
    "notice": "How much notice does leave need?",
    "approve": "Explain who may approve leave",
    "half": "Can I take half days?",
    "unpaid": "Who consents to unpaid leave?",
}
HOPELESS = {
    "bonus": "How large is the bonus?",
    "car": "List the makes of company vans",
}
SEEDS = (0, 1, 2)
JITTERS = ("none", "ws", "syn")


def main(arguments: Sequence[str]) -> int:
    """Write the files, or compare them."""
    wrong = []
    for name, text in files().items():
        path = FOLDER / name
        if "--check" not in arguments:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        elif not path.exists() or path.read_text("utf-8") != text:
            wrong.append(name)
    for name in wrong:
        print(f"{name} differs from the generated file; run python -m tools.make_gate_samples")
    return 1 if wrong else 0


def files() -> dict[str, str]:
    """Return the files by name."""
    pipeline = runpy.run_path(str(FOLDER / "ask.py"))
    sentences, answer = pipeline["SENTENCES"], pipeline["answer"]
    everything = {**QUESTIONS, **HOPELESS}
    gold = [
        {
            "qid": qid,
            "question": question,
            "answerable": qid in QUESTIONS,
            "gold_claim_substr": [sentences[qid][0].rstrip(".")] if qid in QUESTIONS else [],
            "gold_citations": [sentences[qid][1]] if qid in QUESTIONS else [],
        }
        for qid, question in everything.items()
    ]
    traces = [
        {"qid": qid, "q": question, **answer(question, 0)} for qid, question in everything.items()
    ]
    runs = [
        {
            "qid": qid,
            "run_id": jitter_run_id(qid, seed, jitter),
            "seed": seed,
            "jitter": jitter,
            **answer(apply_jitter(question, jitter), seed),
        }
        for qid, question in everything.items()
        for seed in SEEDS
        for jitter in JITTERS
    ]
    return {
        "gold.jsonl": lines(gold),
        "trace.jsonl": lines(traces),
        "stability.jsonl": lines(runs),
        "latency.jsonl": lines(latencies()),
        "pairs.jsonl": lines(pairs()),
        "golden_queries.json": json.dumps(golden(), indent=2) + "\n",
        **outputs(),
    }


def latencies() -> Iterable[dict[str, Any]]:
    """Yield latencies at two loads; some answers are slow."""
    for rps in (1, 5):
        for number in range(40):
            llm = 400 + 13 * (number * 7 % 40) + 40 * rps
            slow = 900 if number == 39 else 0
            yield {
                "qid": f"q{number:02}",
                "rps": rps,
                "e2e_ms": llm + 120 + slow,
                "retrieval_ms": 90 + number % 5,
                "llm_ms": llm + slow,
            }


def pairs() -> Iterable[dict[str, Any]]:
    """Yield the labels of two agents, who differ once."""
    for number in range(30):
        label = ("VALID", "VALID", "NOT_IN_CONTEXT")[number % 3]
        other = "REJECT" if number == 10 else label
        yield {
            "qid": f"q{number:02}",
            "scholar": {"label": label, "reason": "read"},
            "auditor": {"label": other, "reason": "checked"},
        }


def golden() -> list[dict[str, Any]]:
    """Return two golden queries: one with evidence, one without any."""
    return [
        {
            "objective": "What changed in the leave policy of 2026?",
            "required_evidence_ids": ["ev-carry", "ev-parental"],
            "evidence_sufficient": True,
        },
        {
            "objective": "What will the policy of 2030 say?",
            "required_evidence_ids": [],
            "evidence_sufficient": False,
        },
    ]


def outputs() -> dict[str, str]:
    """Return the stored artifacts of one run for each golden query."""
    quotes = {
        "ev-carry": "At most 5 days are carried over to the next year.",
        "ev-parental": "Parental leave is 16 weeks.",
    }
    evidence = [
        {
            "evidence_id": name,
            "chunk_id": f"chunk-{name}",
            "source_id": "policy-2026",
            "quote": quote,
            "span": {"start": 0, "end": len(quote)},
        }
        for name, quote in quotes.items()
    ]
    claims = [
        {"claim_id": f"c{n}", "statement": quote, "status": "verified", "evidence_refs": [name]}
        for n, (name, quote) in enumerate(quotes.items(), 1)
    ]
    first, second = (query["objective"] for query in golden())
    found = stored("changes", first, "OBJECTIVE_ACHIEVED", claims, evidence)
    return {**found, **stored("future", second, "NO_EVIDENCE", [], [])}


def stored(
    run: str, objective: str, stop_reason: str, claims: list[Any], evidence: list[Any]
) -> dict[str, str]:
    """Return the files of a run of three steps."""
    output = {
        "schema_version": "1",
        "run_id": run,
        "objective": objective,
        "stop_reason": stop_reason,
        "claims": claims,
        "evidence": evidence,
    }
    steps = [{"run_id": run, "step_id": number} for number in (1, 2, 3)]
    events = [{**step, "event_type": kind} for step in steps for kind in ("PLAN", "ACT")]
    return {
        f"outputs/{run}/output.json": json.dumps(output, indent=2) + "\n",
        f"outputs/{run}/events.jsonl": lines(events),
        f"outputs/{run}/manifests.jsonl": lines(
            {**step, "selected_chunk_ids": ["chunk-ev-carry"]} for step in steps
        ),
    }


def lines(rows: Iterable[dict[str, Any]]) -> str:
    """Return rows as JSON lines."""
    return "".join(f"{json.dumps(row)}\n" for row in rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
