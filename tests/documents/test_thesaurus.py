import shutil
from pathlib import Path

import pytest

from affidavit.base.errors import AffidavitError
from affidavit.documents.search_terms import (
    DATA,
    HEADER,
    MANIFEST,
    THESAURUS,
    Thesaurus,
    load_thesaurus,
    read_thesaurus,
)

SYNONYMS = {
    "people at work": ("staff", "employe"),
    "time off": ("vacation", "holiday"),
    "a form of a word has its own": ("kids", "children"),
    "quit is not quite": ("quit", "resign"),
    "money that is owed": ("debts", "loan"),
    "opposites too: the search must find what contradicts": ("cheap", "expens"),
}


@pytest.mark.parametrize(("word", "stem"), SYNONYMS.values(), ids=SYNONYMS.keys())
def test_synonyms(word: str, stem: str) -> None:
    assert stem in dict(load_thesaurus().synonyms(word))


NOT_FOUND = {
    "a word it does not have": "zzyzx",
    "before all words": "",
    "after all words": "\U0001f600",
    "a stop word": "the",
    "words are in lower case": "Staff",
}


@pytest.mark.parametrize("word", NOT_FOUND.values(), ids=NOT_FOUND.keys())
def test_no_synonyms(word: str) -> None:
    assert load_thesaurus().synonyms(word) == []


def test_nearest_first_and_weaker_than_the_word() -> None:
    strengths = [strength for _, strength in load_thesaurus().synonyms("staff")]
    assert strengths == sorted(strengths, reverse=True)
    assert 0 < strengths[-1] <= strengths[0] < 1


def test_the_format() -> None:
    lists = b"big\nbuy", b"larg\npurchas"
    header = HEADER.pack(len(lists[0]), len(lists[1]), 2)
    numbers, strengths = bytes([0, 0, 1, 0, 1, 0, 0, 0]), bytes([255, 51, 102, 0])
    thesaurus = Thesaurus(b"".join((header, *lists, numbers, strengths)))
    assert thesaurus.synonyms("big") == [("larg", 1.0), ("purchas", 0.2)]
    assert thesaurus.synonyms("buy") == [("purchas", 0.4)]  # Strength 0 is no synonym.


def copy_of_the_files(folder: Path) -> Path:
    for name in (THESAURUS, MANIFEST):
        with (DATA / name).open("rb") as source, (folder / name).open("wb") as target:
            shutil.copyfileobj(source, target)
    return folder


def test_a_changed_thesaurus_is_refused(tmp_path: Path) -> None:
    copy_of_the_files(tmp_path)
    data = bytearray((tmp_path / THESAURUS).read_bytes())
    data[-1] ^= 1
    (tmp_path / THESAURUS).write_bytes(data)
    with pytest.raises(AffidavitError, match="differs from the released one"):
        read_thesaurus(tmp_path)


@pytest.mark.parametrize("name", [THESAURUS, MANIFEST])
def test_a_missing_file_is_an_error(tmp_path: Path, name: str) -> None:
    (copy_of_the_files(tmp_path) / name).unlink()
    with pytest.raises(AffidavitError, match="missing or cannot be read"):
        read_thesaurus(tmp_path)
