"""The frame of the gate commands: `--gates` in every spelling, and files that are refused."""

from pathlib import Path

import pytest

from affidavit.base.errors import AffidavitError
from affidavit.cli.gate_frame import Frame, _one_option_per_gate

SPELLINGS = {
    "several words": (
        ["--gates", "a=1", "b<=2", "-q"],
        ["--gates", "a=1", "--gates", "b<=2", "-q"],
    ),
    "a word that is no gate ends them": (
        ["--gates", "a=1", "trace.jsonl", "b=1"],
        ["--gates", "a=1", "trace.jsonl", "b=1"],
    ),
    "the first word is always one": (["--gates", "precision"], ["--gates", "precision"]),
    "an option ends them": (
        ["--gates", "a=1", "--k=3", "b=1"],
        ["--gates", "a=1", "--k=3", "b=1"],
    ),
    "twice": (
        ["--gates", "a=1", "--gates", "b=1", "c=1"],
        ["--gates", "a=1", "--gates", "b=1", "--gates", "c=1"],
    ),
    "nothing to do": (["-q", "x=1"], ["-q", "x=1"]),
}


@pytest.mark.parametrize(("given", "wanted"), SPELLINGS.values(), ids=SPELLINGS.keys())
def test_gates_take_several_words(given: list[str], wanted: list[str]) -> None:
    assert list(_one_option_per_gate(given)) == wanted


CLASHES = {
    "an input": Frame(report=Path("gold.jsonl")),
    "two reports in one file": Frame(report=Path("a"), html=Path("./a")),
    "the history": Frame(junit=Path("h"), history=Path("h")),
    "the baseline, by another report than the JSON": Frame(html=Path("b"), baseline=Path("b")),
}


@pytest.mark.parametrize("frame", CLASHES.values(), ids=CLASHES.keys())
def test_what_would_be_replaced(frame: Frame) -> None:
    with pytest.raises(AffidavitError, match="AF281"):
        frame.refuse_to_replace(["-", "gold.jsonl"])


def test_a_baseline_may_be_renewed() -> None:
    Frame(report=Path("b"), baseline=Path("b")).refuse_to_replace(["gold.jsonl"])
