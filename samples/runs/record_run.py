"""Records a small run of a support assistant: what it was asked, called, found and decided.

    python samples/runs/record_run.py run.jsonl

The clock is fixed, so that the log is the same every time; leave `clock` out for the real one.
"""

import sys
from itertools import count

import affidavit

SECONDS = count()
QUESTION = "How many days of parental leave do I get?"
PASSAGE = "Parental leave is twelve days for each child."


def main(path: str) -> None:
    """Record the run."""
    with affidavit.record(
        path,
        run_id="support-1",
        input={"question": QUESTION},
        producer="support-desk",
        producer_version="1.4.0",
        clock=lambda: f"2026-01-31T14:30:{next(SECONDS):02}Z",
    ) as run:
        run.code_version("1.4.0", commit="5f1c0de")
        run.environment({"python": "3.11", "region": "eu-1"})
        run.retrieval("parental leave", [{"id": "policy-12", "text": PASSAGE}])
        run.tool_call("leave_days", input={"kind": "parental"}, output={"days": 12})
        run.prompt(f"Answer from this passage: {PASSAGE} {QUESTION}", template="answer-1")
        run.model_call(
            "small-1",
            provider="example",
            input=QUESTION,
            output="You get twelve days of parental leave for each child.",
            parameters={"temperature": 0.2},
        )
        run.policy_decision("answers-2", "allow", reason="every claim has a source")
        run.verdict("ship", reason="the tool and the passage agree")


if __name__ == "__main__":
    main(sys.argv[1])
