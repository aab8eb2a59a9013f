"""What the encoder gets to read of a passage: pieces, windows, and the share of the claim."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from affidavit.judge.standard.windows import (
    MAX_PIECE_WORDS,
    narrow_window,
    pieces_of,
    run_recall,
    wide_window,
)

PIECES = {
    "sentences": ("It rains. It pours.", ["It rains.", "It pours."]),
    "a closing quote belongs to its sentence": (
        'He said "no." She left.',
        ['He said "no.', "She left."],
    ),
    "an abbreviation before a small letter": ("See e.g. the annex.", ["See e.g. the annex."]),
    "lines": ("Fees\nThe fee is 5 EUR", ["Fees", "The fee is 5 EUR"]),
    "cells of a table": ("Annual | 20 EUR | 5 seats", ["Annual", "20 EUR", "5 seats"]),
    "items of a list on one line": ("We sell * tea * coffee", ["We sell", "tea", "coffee"]),
    "white space is one space": ("It   rains\ttoday.", ["It rains today."]),
    "a question goes with a yes": (
        "Is it free? Yes. It costs nothing.",
        ["Is it free? Yes.", "It costs nothing."],
    ),
    "a question goes without a no": (
        "Is it free? No. It costs 5 EUR.",
        ["No.", "It costs 5 EUR."],
    ),
    "two questions and their answer": ("Is it free? Really? Yes.", ["Is it free? Really? Yes."]),
    "a question without an answer asserts nothing": ("It rains. Is it free?", ["It rains."]),
    "nothing": ("  \n ", []),
}


@pytest.mark.parametrize(("text", "expected"), PIECES.values(), ids=PIECES.keys())
def test_pieces(text: str, expected: list[str]) -> None:
    assert [piece.text for piece in pieces_of(text)] == expected


def test_a_long_sentence_is_cut_behind_a_comma() -> None:
    words = [f"w{number}" for number in range(60)]
    words[29] += ","
    first, second = pieces_of(" ".join(words))
    assert first.text.endswith("w29,")
    assert second.length == 30


def test_a_long_sentence_without_a_comma_is_cut_at_the_limit() -> None:
    found = pieces_of(" ".join(f"w{number}" for number in range(100)))
    assert [piece.length for piece in found] == [40, 40, 20]


def test_a_question_with_a_long_answer_is_left_out() -> None:
    (piece,) = pieces_of("Is it free? " + " ".join(["Yes", *["word"] * 38, "ends."]))
    assert piece.text.startswith("Yes word")


@given(st.text(alphabet="ab ,.?!\n|*#Z9", max_size=400))
def test_pieces_are_short_and_stand_in_the_text(text: str) -> None:
    last = 0
    for piece in pieces_of(text):
        assert last <= piece.start < piece.end <= len(text)
        assert " ".join(text[piece.start : piece.end].split()) == piece.text
        assert piece.length <= MAX_PIECE_WORDS
        last = piece.end


PASSAGE = (
    "The library opens at nine. Members borrow five books. "
    "Guests may read in the hall. Late books cost one euro a day. The cafe sells soup."
)


def test_a_window_has_the_pieces_that_cover_the_claim_in_their_order() -> None:
    window = narrow_window("A late book costs one euro and members borrow five.", PASSAGE)
    assert "Members borrow five books." in window.text
    assert window.text.index("Members") < window.text.index("Late books")
    assert window.recall == 1.0


def test_the_neighbours_of_the_best_piece_are_read_too() -> None:
    assert "Guests may read" in narrow_window("Late books cost money.", PASSAGE).text


def test_a_passage_that_shares_no_word_has_no_window() -> None:
    assert narrow_window("Quarterly dividends rose.", PASSAGE) == ("", 0.0, ())


def test_a_heading_opens_the_window_and_counts() -> None:
    bare = narrow_window("The museum shop sells soup.", PASSAGE)
    headed = narrow_window("The museum shop sells soup.", PASSAGE, "Museum shop")
    assert headed.text.startswith("Museum shop. ")
    assert headed.recall > bare.recall


def test_a_wide_window_holds_more_than_a_narrow_one() -> None:
    colours = ("red", "blue", "green", "black", "white", "brown")
    filler = " ".join(["word"] * 33)
    text = " ".join(f"The {colour} door {filler} closes." for colour in colours)
    claim = "Doors are red, blue, green, black, white and brown."
    assert len(narrow_window(claim, text).text.split()) <= 88
    assert 88 < len(wide_window(claim, text).text.split()) <= 185


RUNS = {
    "the whole claim in one sentence": ("Members borrow five books.", 1.0),
    "nothing of it": ("Quarterly dividends rose.", 0.0),
}


@pytest.mark.parametrize(("claim", "share"), RUNS.values(), ids=RUNS.keys())
def test_share_of_the_claim_in_three_pieces(claim: str, share: float) -> None:
    assert run_recall(claim, PASSAGE) == share


def test_words_that_stand_far_apart_do_not_meet_in_a_run() -> None:
    assert (
        run_recall("The library sells soup.", PASSAGE)
        < wide_window("The library sells soup.", PASSAGE).recall
    )
