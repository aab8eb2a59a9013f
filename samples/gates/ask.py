"""A tiny pipeline: reads a question, prints an answer with its citations as JSON.

    affidavit gate stability --mode run --gold gold.jsonl --runs new.jsonl \
        --command 'python ask.py {seed}'

It knows a few sentences by heart. With an odd seed it words one answer differently and cites
another passage, as a model at a high temperature would: `gate stability` finds that.
"""

import json
import sys

SENTENCES = {
    "annual": ("Employees have 20 days of annual leave.", "policy#1"),
    "carry": ("At most 5 days are carried over to the next year.", "policy#2"),
    "sick": ("A certificate is needed from the third day of sick leave.", "policy#3"),
    "parental": ("Parental leave is 16 weeks.", "policy#4"),
    "notice": ("Leave is requested 10 working days ahead.", "guide#1"),
    "approve": ("The line manager approves leave.", "guide#2"),
    "half": ("Half days can be taken.", "guide#3"),
    "unpaid": ("Unpaid leave needs the consent of the personnel office.", "guide#4"),
}
REFUSAL = {"claim": "not in context", "citations": []}


def answer(question: str, seed: int) -> dict[str, object]:
    """Return the answer to a question and the passages that were looked at."""
    words = question.lower()
    for word, (sentence, passage) in SENTENCES.items():
        if word in words:
            claim, cited = sentence, passage
            if word == "unpaid" and seed % 2:
                claim, cited = "Ask whoever is in charge of such things.", "guide#2"
            said = {"claim": claim, "citations": [cited]}
            return {"answer_json": said, "retrieved_ids": [passage, "guide#2", "policy#1"]}
    return {"answer_json": REFUSAL, "retrieved_ids": ["policy#1"]}


if __name__ == "__main__":
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    sys.stdout.write(json.dumps(answer(sys.stdin.read(), number)) + "\n")
