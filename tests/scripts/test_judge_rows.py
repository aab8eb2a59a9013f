"""The rows that the judge's encoder is trained and measured on."""

import gzip
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from tests.repository import ROOT
from tools.train_judge import prepare as command
from tools.train_judge import sources
from tools.train_judge.batches import Rows, batch_order
from tools.train_judge.heldout import SETS, plain
from tools.train_judge.joined import joined_claims
from tools.train_judge.prepare import CLAIMS, EDITS, Prepared, prepare
from tools.train_judge.sources import CAPS, HELD, NOT_ENTAILED, UNLABELLED, Pair
from tools.train_judge.windows import narrow, wide, without_marks
from tools.train_judge.word_lists import words

TOKENIZER = min((ROOT / "src/affidavit/judge").rglob("tokenizer.json"))
SUBJECTS = (
    "Alice Moreau",
    "Ben Okafor",
    "Carla Ruiz",
    "Dmitri Volkov",
    "Emma Larsen",
    "Farid Aziz",
)
TOWNS = ("Lyon", "Lagos", "Lima", "Perm", "Oslo", "Cairo")
LABELS = ("supported", "refuted", "neutral", "not_supported")
DEV_CLAIM = "Grace Hopper did not open a bridge in Tallinn."


def passage(number: int) -> str:
    """Return running text that every kind of edit finds something in."""
    who, town = SUBJECTS[number % 6], TOWNS[number // 6 % 6]
    other = SUBJECTS[(number + 1) % 6]
    return (
        f"{who} was born in {town} on 4 May 19{10 + number % 80}. "
        f"{who} hired {other} for the bridge of {town} in June. "
        f"All of the {20 + number} workers may have walked {3 + number} kilometres. "
        f"The bridge was not open to the public before {town} paid {number + 5} million dollars."
    )


def write_set(folder: Path, name: str, rows: Sequence[tuple[str, str, str]]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with gzip.open(folder / f"{name}.jsonl.gz", "wt", encoding="utf-8") as out:
        for premise, hypothesis, label in rows:
            row = {"premise": premise, "hypothesis": hypothesis, "label": label}
            out.write(json.dumps(row) + "\n")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    for place, name in enumerate(sorted({*CAPS, *words("running_text"), "squad_swap"})):
        rows = [
            (passage(place + number), f"{name} says {number}.", label)
            for number in range(8)
            for label in LABELS[:2]
        ]
        write_set(folder / "train", name, rows)
    asked = ((passage(1), f"Who opened it? {who}.", "supported") for who in SUBJECTS)
    swapped = ((passage(1), f"Who opened it? {who}.", "not_supported") for who in SUBJECTS[::-1])
    write_set(folder / "train", "squad_swap", [*asked, *swapped])
    leaked = [("Nothing.", DEV_CLAIM.lower(), "supported"), ("Nothing.", "It is open.", "refuted")]
    write_set(folder / "train", "paws_ni", leaked)
    for place, name in enumerate(SETS):
        rows = [(passage(place + 40), f"Claim {n} [1].", LABELS[n % 2]) for n in range(6)]
        write_set(folder / "dev", name, [*rows, (passage(3), f"{DEV_CLAIM} ", "supported")])
    return folder


@pytest.fixture(scope="module", autouse=True)
def _small_sets() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sources, "HELD_PER_CLASS", 2)
        patch.setitem(CAPS, "infotabs", 8)
        yield


@pytest.fixture(scope="module")
def prepared(data: Path) -> Prepared:
    return prepare(data, 11, unlabelled=5)


def test_real_claims_are_at_least_four_fifths(prepared: Prepared) -> None:
    heads = [head for pair, head in prepared.rows(11) if pair.target != UNLABELLED]
    assert 0.8 <= heads.count(CLAIMS) / len(heads) < 0.81


def test_a_claim_of_the_dev_sets_is_not_trained_on(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    again = prepare(data, 11, unlabelled=5)
    claims = {plain(pair.hypothesis) for pair, _ in again.rows(11)}
    assert "it is open." in claims
    assert plain(DEV_CLAIM) not in claims
    assert "2 families left out: their claims are in the dev sets" in capsys.readouterr().out


def test_no_premise_is_both_held_out_and_trained_on(prepared: Prepared) -> None:
    held = {(pair.source, pair.premise) for pair in prepared.held}
    assert {source for source, _ in held} == HELD
    assert held.isdisjoint((pair.source, pair.premise) for pair, _ in prepared.rows(11))


def test_the_same_seed_gives_the_same_rows(data: Path, prepared: Prepared) -> None:
    assert prepare(data, 11, unlabelled=5).rows(11) == prepared.rows(11)


def test_pairs_beyond_the_caps_have_no_label(prepared: Prepared) -> None:
    found = [pair for pair, _ in prepared.rows(11) if pair.target == UNLABELLED]
    assert [pair.source for pair in found] == ["infotabs"] * 5


def test_the_command_writes_rows_and_probe(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["prepare", str(data), str(TOKENIZER), str(tmp_path)])
    command.main()
    rows = Rows.read(tmp_path / "pairs.npz")
    lines = [
        json.loads(line) for line in (tmp_path / "pairs.jsonl").read_text("utf-8").splitlines()
    ]
    assert rows.ids.dtype == np.uint16
    assert len(rows) == len(lines) == len(rows.targets)
    assert list(rows.targets) == [line[1] for line in lines]
    assert list(rows.heads) == [line[4] for line in lines]
    dev = [json.loads(line) for line in (tmp_path / "dev.jsonl").read_text("utf-8").splitlines()]
    groups = {row["group"] for row in dev}
    assert set(SETS) | {"originals", "edit_number", "edit_removed"} <= groups
    assert all("[1]" not in row["claim"] for row in dev)
    assert all("wide" in row for row in dev if row["group"] in SETS)
    assert (tmp_path / "held.jsonl").stat().st_size


def test_an_original_and_its_edit_stay_together(prepared: Prepared) -> None:
    rows = prepared.rows(11)
    edits = [place for place, (_, head) in enumerate(rows) if head == EDITS]
    assert all(rows[place][0].target == 0 for place in edits[::2])
    assert all(rows[place][0].target != 0 for place in edits[1::2])
    assert edits[1::2] == [place + 1 for place in edits[::2]]


def pair(hypothesis: str, target: int) -> Pair:
    return Pair("A man and a dog are outside.", hypothesis, target, "snli_100k")


def test_a_joined_claim_is_entailed_only_if_both_parts_are() -> None:
    right, other = pair("A man is outside.", 0), pair("The dog is outside.", 0)
    wrong, unknown = pair("Nobody is outside.", 2), pair("Ben is happy.", 1)
    both = list(joined_claims([right, other, wrong], 1))
    assert [made.target for made in both] == [2, 0]
    assert all(made.source == "snli_100k+" for made in both)
    assert "man is outside" in both[1].hypothesis.lower()
    assert "dog is outside" in both[1].hypothesis.lower()
    assert [made.target for made in joined_claims([right, other, unknown], 1)] == [NOT_ENTAILED, 0]
    assert list(joined_claims([wrong, unknown], 1)) == []


GOODS = ("copper", "tobacco", "lumber", "saffron", "granite", "herring", "porcelain", "rubber")
LONG = " ".join(f"There is some {good} {'on that old and quiet quay ' * 3}." for good in GOODS)
CLAIM = f"The harbour stores {', '.join(GOODS)}."
SIZES = {"narrow": (narrow, 88), "wide": (wide, 185)}


@pytest.mark.parametrize(("window", "most"), SIZES.values(), ids=SIZES.keys())
def test_a_window_covers_as_much_of_the_claim_as_its_size_allows(
    window: Callable[[str, str], str], most: int
) -> None:
    size = len(window(CLAIM, LONG).split()) + len(CLAIM.split())
    assert most - 20 < size <= most
    assert "saffron" in window("It stores saffron.", LONG)


def test_a_source_without_a_shared_word_gives_its_opening() -> None:
    assert narrow("Xyzzy?", LONG) == " ".join(LONG.split()[:80])
    assert wide("Xyzzy?", LONG) == " ".join(LONG.split()[:150])


MARKED = {
    "numbers in brackets": ("It opened in 1932 [1][2, 3].", "It opened in 1932."),
    "a passage in parentheses": ("It opened (passage 2).", "It opened."),
    "a lead-in": ("According to passage 1, it opened.", "It opened."),
    "nothing but marks": ("[1]", "[1]"),
    "a plain claim": ("In Lyon it rains.", "In Lyon it rains."),
}


@pytest.mark.parametrize(("claim", "wanted"), MARKED.values(), ids=MARKED.keys())
def test_marks_are_taken_off_a_claim(claim: str, wanted: str) -> None:
    assert without_marks(claim) == wanted


def test_batches_go_on_where_they_stopped_and_meet_every_row_once_a_pass() -> None:
    lengths = np.random.default_rng(3).integers(5, 60, 5000)
    whole, later = batch_order(lengths, 1, 0), batch_order(lengths, 1, 70)
    first = [next(whole) for _ in range(79)]
    assert sorted(np.concatenate(first)) == list(range(5000))
    assert all((next(later) == batch).all() for batch in first[70:])
    assert all((next(later) == next(whole)).all() for _ in range(5))
