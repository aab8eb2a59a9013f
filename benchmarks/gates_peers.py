"""Score rows with another tool, and print the CPU seconds; run by benchmarks/gates.py.

    python benchmarks/gates_peers.py ragas|deepeval ROWS.jsonl
    python benchmarks/gates_peers.py promptfoo ROWS.jsonl > promptfooconfig.json

Runs in an environment of its own. Four checks that ask no model: is the answer the reference, does
it hold it, were the right passages retrieved, and is what was retrieved right.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

# Neither tool may tell anybody that it runs.
os.environ.update(
    RAGAS_DO_NOT_TRACK="true", DEEPEVAL_TELEMETRY_OPT_OUT="YES", DEEPEVAL_UPDATE_WARNING_OPT_IN="0"
)

Row = dict[str, Any]


def ragas_seconds(rows: list[Row]) -> float:
    """Return the CPU seconds of ragas' `evaluate()` with four metrics."""
    from ragas import EvaluationDataset, evaluate
    from ragas.metrics import (
        ExactMatch,
        IDBasedContextPrecision,
        IDBasedContextRecall,
        StringPresence,
    )

    metrics = [ExactMatch(), StringPresence(), IDBasedContextRecall(), IDBasedContextPrecision()]
    dataset = EvaluationDataset.from_list(
        [
            {
                "user_input": row["question"],
                "response": row["claim"],
                "reference": row["reference"],
                "retrieved_context_ids": row["retrieved_ids"],
                "reference_context_ids": row["gold_citations"],
                **{name: row[name] for name in TEXTS if name in row},
            }
            for row in rows
        ]
    )
    start = time.process_time()
    result = evaluate(dataset, metrics=metrics, show_progress=False)
    seconds = time.process_time() - start
    assert len(result.scores) == len(rows)
    return seconds


def deepeval_seconds(rows: list[Row]) -> float:
    """Return the CPU seconds of deepeval's `evaluate()` with four metrics."""
    from deepeval import evaluate
    from deepeval.evaluate.configs import AsyncConfig, CacheConfig, DisplayConfig
    from deepeval.metrics import BaseMetric, ExactMatchMetric, PatternMatchMetric
    from deepeval.test_case import LLMTestCase

    class Retrieved(BaseMetric):
        """How many of some ids are among others; deepeval has no such check of its own."""

        def __init__(self, name: str, of: str, among: str) -> None:
            self.threshold = 0.5
            self.async_mode = False
            self._name, self._of, self._among = name, of, among

        def measure(self, test_case: Any, *_: Any, **__: Any) -> float:
            of, among = getattr(test_case, self._of), getattr(test_case, self._among)
            self.score = sum(each in among for each in of) / max(len(of), 1)
            self.success = self.score >= self.threshold
            return self.score

        async def a_measure(self, test_case: Any, *_: Any, **__: Any) -> float:
            return self.measure(test_case)

        def is_successful(self) -> bool:
            return bool(self.success)

        @property
        def __name__(self) -> str:
            return self._name

    cases = [
        LLMTestCase(
            input=row["question"],
            actual_output=row["claim"],
            expected_output=row["reference"],
            context=row.get("reference_contexts") or row["gold_citations"] or ["none"],
            retrieval_context=row.get("retrieved_contexts") or row["retrieved_ids"],
        )
        for row in rows
    ]
    metrics = [
        ExactMatchMetric(),
        PatternMatchMetric(pattern=r".*\bdoc.*"),
        Retrieved("recall", "context", "retrieval_context"),
        Retrieved("precision", "retrieval_context", "context"),
    ]
    start = time.process_time()
    result = evaluate(
        test_cases=cases,
        metrics=metrics,
        async_config=AsyncConfig(run_async=False),
        display_config=DisplayConfig(print_results=False, show_indicator=False),
        cache_config=CacheConfig(write_cache=False),
    )
    seconds = time.process_time() - start
    assert len(result.test_results) == len(rows)
    return seconds


def promptfoo_config(rows: list[Row]) -> Row:
    """Return the same four checks as a configuration of promptfoo; the echo provider answers."""
    recall = "JSON.parse(context.vars.gold).some((id) => context.vars.found.includes(id))"
    precision = "JSON.parse(context.vars.found).some((id) => context.vars.gold.includes(id))"
    tests = [
        {
            "vars": {
                "claim": row["claim"],
                "found": json.dumps(row.get("retrieved_contexts") or row["retrieved_ids"]),
                "gold": json.dumps(row.get("reference_contexts") or row["gold_citations"]),
            },
            "assert": [
                {"type": "equals", "value": row["reference"]},
                {"type": "contains", "value": row["reference"]},
                {"type": "javascript", "value": recall},
                {"type": "javascript", "value": precision},
            ],
        }
        for row in rows
    ]
    return {"prompts": ["{{claim}}"], "providers": ["echo"], "tests": tests}


TOOLS = {"ragas": ragas_seconds, "deepeval": deepeval_seconds}
TEXTS = ("retrieved_contexts", "reference_contexts")
OUR_NAMES = {
    "user_input": "question",
    "response": "claim",
    "retrieved_context_ids": "retrieved_ids",
    "reference_context_ids": "gold_citations",
}

if __name__ == "__main__":
    tool, file = sys.argv[1:]
    lines = map(json.loads, Path(file).read_bytes().splitlines())
    given = [{OUR_NAMES.get(name, name): value for name, value in row.items()} for row in lines]
    if tool == "promptfoo":
        print(json.dumps(promptfoo_config(given)))
    else:
        print(json.dumps({"seconds": TOOLS[tool](given)}))
