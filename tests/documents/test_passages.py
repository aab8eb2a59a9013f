"""Contexts as sources: texts in memory, cut, searched and cited as documents are."""

import pytest

from affidavit.base.digest import chunk_hash
from affidavit.base.errors import AffidavitError
from affidavit.documents.passages import PassageIndex

RULES = [f"Rule {n}: the fee for parcels of class {n} is {n * 3} euros." for n in range(1, 13)]


def test_a_few_texts_are_all_read_in_order() -> None:
    index = PassageIndex(RULES[:3])
    assert [hit.chunk.text for hit in index.search("anything", 8)] == RULES[:3]
    assert [document.filename for document in index.documents] == [
        "context 1",
        "context 2",
        "context 3",
    ]


def test_of_many_texts_the_best_are_read() -> None:
    index = PassageIndex(RULES)
    found = [hit.chunk.text for hit in index.search("The fee of class 7 is 21 euros", 3)]
    assert len(found) == 3
    assert RULES[6] in found


def test_a_long_text_is_cut_and_the_right_part_is_found() -> None:
    filler = "The weather was mild and nobody complained about it. " * 2000
    text = f"{filler}\n\nThe warranty lasts 18 months.\n\n{filler}"
    (first, *_) = PassageIndex([text]).search("The warranty lasts 18 months", 4)
    assert "The warranty lasts 18 months." in first.chunk.text


def test_the_same_text_twice_is_one_document_and_an_empty_one_is_none() -> None:
    index = PassageIndex(["Water boils.", " \n", "Water boils.", "Ice melts."], ["a", "b", None])
    assert index.names == ["context 1", "", "context 1", "context 4"]
    assert [document.title for document in index.documents] == ["a", "context 4"]
    assert len(index.chunks) == 2


def test_a_hash_leads_to_its_text() -> None:
    index = PassageIndex(["Water boils."])
    (chunk,) = index.resolve(chunk_hash("Water boils.").upper())
    assert chunk.text == "Water boils."
    assert index.page_at(chunk, 0) is None
    with pytest.raises(AffidavitError) as caught:
        index.resolve("00000000")
    assert caught.value.fault.name == "citation.unresolved"


def test_half_of_a_surrogate_pair_is_read() -> None:
    assert PassageIndex(["Broken \ud83d text."]).documents
