"""Whole answers and the statements that a judge should read: claim_splitting/README.md."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from affidavit.ledger.claims import split_answer

FOLDER = Path(__file__).parent / "claim_splitting"
# Cases that the rules do not solve yet; the reason is the value.
UNSOLVED = {
    "a contract summary": '"pay" may be a noun, and nothing behind it tells',
    "a train": '"stop" may be a noun, and a preposition behind it does not tell',
    "from real text: gcc on armhf": '"seem" is not taken for a second verb of "these"',
    "from real text: libgsm": '"so that" is mostly a purpose, and here a consequence',
    "from real text: yelp": '"reference" may be a noun, and nothing behind it tells',
    "from real text: libcrypt": "a reason at the beginning holds the sentence together",
    "from real text: liblrdf": "a comma between two sentences may be any other comma",
    "a rate limit": "a defining relative clause hides the verb of its subject",
}


def cases() -> Iterator[tuple[str, str, list[str]]]:
    for file in sorted(FOLDER.glob("*.txt")):
        for part in re.split(r"(?m)^@@@ ", file.read_text(encoding="utf-8"))[1:]:
            name, _, body = part.partition("\n")
            lines = body.rstrip("\n").split("\n")
            answer = "\n".join(line for line in lines if not line.startswith("=> "))
            yield name, answer, [line[3:] for line in lines if line.startswith("=> ")]


CASES = {name: (answer, wanted) for name, answer, wanted in cases()}


def plain(statement: str) -> str:
    return " ".join(statement.casefold().split()).rstrip(".!?\u3002")


@pytest.mark.parametrize("name", CASES)
def test_the_statements_of_an_answer(name: str) -> None:
    answer, wanted = CASES[name]
    found = [plain(claim.statement) for claim in split_answer(answer).claims]
    if name in UNSOLVED:
        assert found != list(map(plain, wanted)), f"{name!r} is solved: remove it from UNSOLVED"
    else:
        assert found == list(map(plain, wanted))


def test_no_two_cases_have_one_name() -> None:
    assert len(CASES) == len(list(cases()))
    assert UNSOLVED.keys() <= CASES.keys()
