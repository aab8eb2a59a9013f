"""Rows for the gates' benchmark: always the same ones, as each tool reads them."""

import json
import zlib
from dataclasses import dataclass
from pathlib import Path

WORDS = (
    *("annual", "notice", "period", "employee", "manager", "approves", "written", "request"),
    *("carry", "over", "unused", "balance", "month", "probation", "holiday", "sick", "overtime"),
)


@dataclass(frozen=True, slots=True)
class Files:
    """The same rows as each tool reads them."""

    gold: str
    trace: str
    peers: str
    texts: str = ""
    """Gold and traces in one file with the texts of the contexts, in the columns of Ragas."""


def write_rows(folder: Path, name: str, traces: int, questions: int) -> Files:
    """Write a gold set, traces, and the same rows for the peers; always the same ones."""
    gold, trace, peers, texts = (
        folder / f"{name}-{part}.jsonl" for part in ("gold", "trace", "peers", "texts")
    )
    corpus = [words(150, "passage", number) for number in range(500)]
    with (
        gold.open("w") as golds,
        trace.open("w") as runs,
        peers.open("w") as both,
        texts.open("w") as long,
    ):
        for number in range(questions):
            golds.write(json.dumps(_gold(number)) + "\n")
        for number in range(traces):
            item = _gold(number % questions)
            run = _trace(number, item)
            runs.write(json.dumps(run) + "\n")
            if traces == questions:
                row = _for_peers(item, run)
                both.write(json.dumps(row) + "\n")
                long.write(json.dumps(_with_texts(row, corpus)) + "\n")
    return Files(str(gold), str(trace), str(peers), str(texts))


def chance(*seed: object) -> int:
    """Return a number that depends on the seed only."""
    return zlib.crc32(repr(seed).encode())


def words(count: int, *seed: object) -> str:
    """Return some words, always the same for a seed."""
    return " ".join(WORDS[chance(*seed, n) % len(WORDS)] for n in range(count))


def _gold(number: int) -> dict[str, object]:
    answerable = number % 5 != 0
    item: dict[str, object] = {
        "qid": f"Q{number:07d}",
        "question": words(10, "question", number) + "?",
        "answerable": answerable,
        "gold_claim_substr": [words(3, "claim", number)] if answerable else [],
        "gold_citations": [f"doc{chance('doc', number) % 500}#{number % 40}"] if answerable else [],
    }
    if number % 7 == 0:
        item["constraints"] = [f"Employees must {words(4, 'lock', number)}."]
    return item


def _trace(number: int, item: dict[str, object]) -> dict[str, object]:
    luck = chance("luck", number) % 100
    ids = [f"doc{chance(number, n) % 500}#{n}" for n in range(5)]
    wanted = item["gold_citations"]
    right = bool(wanted) and luck < 92
    if right:
        assert isinstance(wanted, list)
        ids[luck % 5] = wanted[0]
    refuses = (luck < 97) if not wanted else 92 <= luck < 96
    claim = f"{words(5, number)} {' '.join(item['gold_claim_substr'])} {words(4, luck)}."
    answer: dict[str, object] = {
        "claim": "not in context" if refuses else claim,
        "citations": [] if refuses else wanted if right else ids[:1],
    }
    if "constraints" in item:
        answer["constraints_echo"] = item["constraints"]
    return {
        "ts": 1723430400 + number,
        "qid": item["qid"],
        "q": item["question"],
        "retrieved_ids": ids,
        "answer_json": answer,
        "ok": True,
        "reason": "ok",
    }


def _for_peers(item: dict[str, object], run: dict[str, object]) -> dict[str, object]:
    answer = run["answer_json"]
    assert isinstance(answer, dict)
    substrings = item["gold_claim_substr"]
    assert isinstance(substrings, list)
    return {
        "question": item["question"],
        "claim": answer["claim"],
        "reference": substrings[0] if substrings else "not in context",
        "retrieved_ids": run["retrieved_ids"],
        "gold_citations": item["gold_citations"] or ["none"],
    }


def _with_texts(row: dict[str, object], corpus: list[str]) -> dict[str, object]:
    def found(ids: object) -> list[str]:
        assert isinstance(ids, list)
        return [corpus[chance("text", name) % len(corpus)] for name in ids]

    return {
        "user_input": row["question"],
        "response": row["claim"],
        "reference": row["reference"],
        "retrieved_contexts": found(row["retrieved_ids"]),
        "reference_contexts": found(row["gold_citations"]),
        "retrieved_context_ids": row["retrieved_ids"],
        "reference_context_ids": row["gold_citations"],
    }
