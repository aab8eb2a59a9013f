"""The encoder's scores do not depend on how it is run.

Threads, batches with padding, orders and levels of optimisation are tried against the shipped way
of reading on 384 pairs: the best class never changes, and a rounded score moves by at most one
unit in its last place. The shipped way itself gives the same bits in every process.
"""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, Final

import numpy as np
import onnxruntime
import pytest
from tests.judge.encoder_weights import shipped_or_skip

from affidavit.judge.encoder import FAST, Encoder, EncoderFiles, Entailment, entailment_from

UNIT: Final = 0.0001

FACTS: Final = (
    ("The harbour museum", "bought", "paintings", 14, "Lisbon", 1987),
    ("Nora Whitfield", "restored", "clocks", 52, "Prague", 2003),
    ("The northern railway", "ordered", "carriages", 230, "Leeds", 1911),
    ("A farm near the river", "sold", "goats", 75, "Dijon", 2019),
    ("The committee of nurses", "rejected", "proposals", 3, "Oslo", 1996),
    ("Ishaan Verma", "translated", "poems", 120, "Pune", 2011),
    ("The observatory", "catalogued", "galaxies", 4100, "Perth", 1974),
    ("One supplier", "recalled", "kettles", 860, "Turin", 2022),
    ("The winter festival", "attracted", "visitors", 9300, "Quebec", 2008),
    ("Marta Olsen", "designed", "bridges", 7, "Bergen", 1958),
    ("The village school", "planted", "cherry trees", 41, "Kyoto", 1932),
    ("The bakery on the corner", "hired", "apprentices", 5, "Ghent", 2016),
    ("A team of divers", "recovered", "amphorae", 66, "Split", 1999),
    ("The water board", "inspected", "pumps", 310, "Delft", 2020),
    ("Chidi Okonkwo", "repaired", "violins", 18, "Lagos", 2014),
    ("The publishing house", "printed", "atlases", 2500, "Vienna", 1903),
)
SIZES: Final = (1, 2, 3)
KINDS: Final = (
    "the same", "number", "year", "place", "denied", "other subject", "less said", "not sure",
)  # fmt: skip


def told(fact: tuple[str, str, str, int, str, int]) -> str:
    subject, verb, things, number, place, year = fact
    return f"{subject} {verb} {number} {things} in {place} in {year}."


def claimed(kind: str, fact: tuple[str, str, str, int, str, int], other: str) -> str:
    subject, verb, things, number, place, year = fact
    return {
        "the same": told(fact),
        "number": told((subject, verb, things, number + 1, place, year)),
        "year": told((subject, verb, things, number, place, year + 1)),
        "place": told((subject, verb, things, number, "Geneva", year)),
        "denied": f"It is not true that {subject} {verb} {things} in {place}.",
        "other subject": told((other, verb, things, number, place, year)),
        "less said": f"{subject} {verb} {things}.",
        "not sure": f"{subject} may have {verb} {things} in {year}.",
    }[kind]


def pairs() -> Iterator[tuple[str, str]]:
    """Yield every fact in sources of several lengths with every kind of claim about it."""
    for (place, fact), size, kind in product(enumerate(FACTS), SIZES, KINDS):
        source = [FACTS[(place + step) % len(FACTS)] for step in range(size)]
        other = FACTS[(place + 1) % len(FACTS)][0]
        yield " ".join(told(row) for row in reversed(source)), claimed(kind, fact, other)


PAIRS: Final = tuple(pairs())


def test_there_are_enough_pairs() -> None:
    assert len(set(PAIRS)) == len(PAIRS) == 384


@pytest.fixture(scope="module")
def shipped() -> EncoderFiles:
    return shipped_or_skip(FAST)


@pytest.fixture(scope="module")
def encoder(shipped: EncoderFiles) -> Encoder:
    return Encoder(shipped)


@pytest.fixture(scope="module")
def read(encoder: Encoder) -> tuple[Entailment, ...]:
    return tuple(encoder.read(*pair).claim for pair in PAIRS)


def scores_of(found: Sequence[Entailment]) -> "np.ndarray[Any, Any]":
    return np.array([(row.entails, row.neutral, row.contradicts) for row in found])


def assert_same(found: Sequence[Entailment], wanted: Sequence[Entailment]) -> None:
    scores, others = scores_of(found), scores_of(wanted)
    assert (scores.argmax(axis=1) == others.argmax(axis=1)).all()
    assert np.abs(scores - others).max() <= 1.5 * UNIT


def answers(
    shipped: EncoderFiles,
    encoder: Encoder,
    *,
    level: str = "ENABLE_BASIC",
    threads: int = 1,
    batch: int = 1,
) -> list[Entailment]:
    """Read all pairs through a session of other settings, padded to batches of `batch`."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, f"ORT_{level}")
    session = onnxruntime.InferenceSession(
        shipped.model, options, providers=["CPUExecutionProvider"]
    )
    found: list[Entailment] = []
    for begin in range(0, len(PAIRS), batch):
        rows = [encoder.inputs_for(*pair) for pair in PAIRS[begin : begin + batch]]
        width = max(row["tokens"].shape[1] for row in rows)
        feed = {
            name: np.concatenate(
                [np.pad(row[name], ((0, 0), (0, width - row[name].shape[1]))) for row in rows]
            )
            for name in ("tokens", "segments", "mask")
        }
        found += map(entailment_from, session.run(["logits"], feed)[0].tolist())
    return found


SETTINGS: Final = {
    "two threads": {"threads": 2},
    "padded batches of 6": {"batch": 6},
    "no optimisation": {"level": "DISABLE_ALL"},
    "all optimisations": {"level": "ENABLE_ALL"},
    "all at once": {"level": "ENABLE_EXTENDED", "batch": 32, "threads": 2},
}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS.keys())
def test_other_settings_change_no_answer(
    settings: dict[str, Any], shipped: EncoderFiles, encoder: Encoder, read: tuple[Entailment, ...]
) -> None:
    assert_same(answers(shipped, encoder, **settings), read)


def test_another_order_changes_no_bit(encoder: Encoder, read: tuple[Entailment, ...]) -> None:
    assert tuple(encoder.read(*pair).claim for pair in reversed(PAIRS)) == read[::-1]


def test_a_change_would_be_noticed(read: tuple[Entailment, ...]) -> None:
    first = read[0]
    moved = Entailment(first.entails, first.neutral, first.contradicts + 2 * UNIT)
    with pytest.raises(AssertionError):
        assert_same([moved], [first])
    with pytest.raises(AssertionError):
        assert_same([Entailment(0.49, 0.51, 0.0)], [Entailment(0.51, 0.49, 0.0)])


def test_the_encoder_tells_pairs_apart(read: tuple[Entailment, ...]) -> None:
    """Scores that never vary would pass every test above."""
    assert len(set(read)) > len(PAIRS) / 2
    assert len(set(scores_of(read).argmax(axis=1))) > 1


PROGRAM: Final = """
import sys
from affidavit.judge.encoder import load_encoder
from tests.judge.test_encoder_determinism import PAIRS

encoder = load_encoder("fast")
for pair in PAIRS[::16]:
    (logits,) = encoder._session.run(["logits"], encoder.inputs_for(*pair))
    print(logits.tobytes().hex(), encoder.read(*pair))
"""


def test_two_processes_give_the_same_bits(shipped: EncoderFiles) -> None:
    said = [
        subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, check=True).stdout
        for _ in range(2)
    ]
    assert said[0] == said[1]
    assert said[0].count(b"\n") == len(PAIRS) // 16
