"""Strict JSON and the canonical forms, beside the libraries that they stand on or stand in for."""

import json
from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import Any, Literal

import orjson
import rfc8785

from affidavit.base.canonical import jcs, sorted_compact
from affidavit.base.strict_json import decode
from benchmarks.figure import Figure, best_cpu_seconds
from benchmarks.receipts import sealed

WORDS = (
    *("the", "employee", "shall", "receive", "fifteen", "days", "of", "paid", "annual", "leave"),
    *("per", "calendar", "year", "unless", "a", "written", "agreement", "between", "both"),
    *("parties", "says", "otherwise", "and", "the", "manager", "has", "confirmed", "it"),
)


def measure(quick: bool = False) -> list[Figure]:
    """Measure the decoder on lines of about 300 bytes, and both forms on what is signed."""
    # Once a large block was freed, glibc keeps memory instead of asking for it again in every call;
    # else the figures of both sides are those of page faults, by luck or not.
    bytes(8_000_000)
    chance = Random(300)
    rounds = 40 if quick else 150
    small, large = ledger(chance, 4), ledger(chance, 190)
    with_floats = ledger(chance, 190, with_floats=True)
    return [
        *decoding(chance, 10_000 if quick else 100_000, 15 if quick else 9),
        writing("sorted_compact, a receipt", sorted_compact, by_json, sealed(2), 5, rounds),
        writing("sorted_compact, 4 KB", sorted_compact, by_json, small, 5, rounds),
        writing("sorted_compact, 200 KB", sorted_compact, by_json, large, 5, rounds),
        writing("jcs, an event", jcs, rfc8785.dumps, event(chance), 8, rounds),
        writing("jcs, without floats", jcs, rfc8785.dumps, large, 8, rounds),
        writing("jcs, with floats", jcs, rfc8785.dumps, with_floats, 1, rounds),
    ]


def decoding(chance: Random, count: int, rounds: int) -> list[Figure]:
    """Compare the strict decoder with a bare orjson.loads, line by line."""
    records = [record(chance, number) for number in range(count)]
    kinds = {
        "compact": [orjson.dumps(each) for each in records],
        "spaced": [json.dumps(each).encode() for each in records],
    }
    return [
        compared(
            f"strict decode, {count // 1000}k {kind} lines",
            partial(run_through, decode, lines),
            partial(run_through, orjson.loads, lines),
            ("lower", 3, "at most 3x bare orjson.loads"),
            rounds,
            f"{sum(map(len, lines)) // count} bytes each",
        )
        for kind, lines in kinds.items()
    ]


def writing(
    name: str,
    ours: Callable[[Any], bytes],
    theirs: Callable[[Any], bytes],
    value: object,
    limit: float,
    rounds: int,
) -> Figure:
    """Compare two writers of the same bytes."""
    written = ours(value)
    assert written == theirs(value)
    values = [value] * max(1, 200_000 // len(written))
    target = f"at least {limit}x faster" if limit > 1 else "not slower"
    return compared(
        name,
        partial(run_through, ours, values),
        partial(run_through, theirs, values),
        ("higher", limit, f"{target} than {theirs.__module__.partition('.')[0]}"),
        rounds,
        f"{len(written)} bytes",
    )


def run_through(work: Callable[[Any], object], items: Sequence[object]) -> None:
    """Do the work on each; what comes of it is let go at once, as in a pass over a file."""
    for item in items:
        work(item)


def compared(
    name: str,
    ours: Callable[[], object],
    theirs: Callable[[], object],
    target: tuple[Literal["lower", "higher"], float, str],
    rounds: int,
    about: str,
) -> Figure:
    """Return the figure of two works that are done in turns."""
    better, limit, words = target
    mine, other = best_cpu_seconds(rounds, ours, theirs)
    return Figure(
        name=name,
        target=words,
        ratio=mine / other if better == "lower" else other / mine,
        better=better,
        limit=limit,
        detail=f"{mine * 1000:.3f} ms, the other {other * 1000:.3f} ms, {about}",
    )


def by_json(value: object) -> bytes:
    """Write the sorted compact form as it is defined."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


by_json.__module__ = "json.dumps"


def record(chance: Random, number: int) -> dict[str, object]:
    """Return a line of a trace: about 300 bytes."""
    return {
        "qid": f"q-{number:06d}",
        "question": "How many days of paid annual leave does an employee get?",
        "answer": "Fifteen days, see the employees' handbook.",
        "citations": [f"chunk-{chance.randrange(999)}", f"chunk-{chance.randrange(999)}"],
        "scores": {"support": round(chance.random(), 4), "latency_ms": chance.randrange(5000)},
        "refused": False,
        "model": None,
        "at": "2026-11-02T10:00:00Z",
    }


def event(chance: Random) -> dict[str, object]:
    """Return an event of a bundle."""
    return {
        "specversion": "1.0",
        "id": chance.randbytes(8).hex(),
        "type": "affidavit.tool.call",
        "source": "urn:affidavit:benchmark",
        "time": "2026-11-02T10:00:00Z",
        "assayrunid": "run_1",
        "assayseq": 17,
        "data": {"args": {"k": 8, "q": sentence(chance, range(5, 9))}, "ok": True, "score": 0.875},
    }


def ledger(chance: Random, claims: int, *, with_floats: bool = False) -> dict[str, object]:
    """Return claims with their evidence, as they are sealed: about 1 KB each."""
    return {
        "schema_version": "ledger/1",
        "session_id": f"ses_{chance.randbytes(8).hex()}",
        "created_at": "2026-11-02T10:00:00Z",
        "entries": [claim(chance, number, with_floats=with_floats) for number in range(claims)],
    }


def claim(chance: Random, number: int, *, with_floats: bool) -> dict[str, object]:
    """Return one claim and two pieces of evidence."""
    scores = {"support": chance.random(), "weight": float(number)} if with_floats else {}
    return {
        "claim_id": f"clm_{number:04d}",
        "text": sentence(chance, range(10, 25)),
        "type": chance.choice(("fact", "numeric", "policy")),
        "verdict": "supported",
        "span": {"start": number * 140, "end": number * 140 + 120},
        "reviewed": False,
        "note": None,
        **scores,
        "evidence": [
            {
                "chunk_hash": chance.randbytes(4).hex(),
                "digest": f"sha256:{chance.randbytes(32).hex()}",
                "document": "handbook.pdf",
                "page": number % 90 + 1,
                "section": ["Leave", "Annual leave"],
                "quote": sentence(chance, range(15, 45)),
            }
            for _ in range(2)
        ],
    }


def sentence(chance: Random, lengths: Sequence[int]) -> str:
    """Return words that look like a sentence."""
    words = (chance.choice(WORDS) for _ in range(chance.choice(lengths)))
    return " ".join(words).capitalize() + "."
