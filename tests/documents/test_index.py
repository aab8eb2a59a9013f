import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from affidavit.base.digest import chunk_digest, chunk_hash
from affidavit.base.errors import AffidavitError
from affidavit.documents.index import STORE_FILE, SourceIndex, build_index, find_index, open_index
from affidavit.documents.ingest import index_sources
from affidavit.documents.model import DocumentSettings, IngestedDocument
from affidavit.documents.reading import read_chunks
from affidavit.documents.search_terms import (
    SearchTerm,
    claim_keys,
    claim_terms,
    exact_keys,
    stems_of,
)
from affidavit.documents.word_index import ClaimRanker

LEAVE = """# Leave

## Annual leave

All permanent employees shall receive 15 days of paid annual leave per calendar year.

## Carry over

Unused annual leave may be carried over at the discretion of the department head.

## Applications

Leave applications must be submitted at least 14 calendar days before the intended start date.
"""
PAY = """# Pay

Salaries are paid on the 25th of each month.

The pension fund gets 9 percent of the salary, that is 1,000 pounds of 11,111.
"""


def read(text: str, name: str) -> IngestedDocument:
    outcome = read_chunks(text.encode(), name, DocumentSettings())
    assert isinstance(outcome, IngestedDocument)
    return outcome


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> SourceIndex:
    place = tmp_path_factory.mktemp("indexes")
    return build_index(place, "k", [read(LEAVE, "leave.md"), read(PAY, "pay.md")])


CLAIMS = {
    "the words themselves": ("Employees receive 15 days of annual leave", "15 days of paid"),
    "other words for the same": (
        "Staff get fifteen days of vacation every year",
        "15 days of paid",
    ),
    "another unit of time": ("Leave requests are due two weeks in advance", "14 calendar days"),
    "a word written as one": ("Carryover of leave is up to the head", "carried over"),
    "a number in another spelling": ("It is 1000 pounds", "1,000 pounds"),
    "a wrong number still finds what it contradicts": ("Salaries are paid on the 28th", "25th"),
}


@pytest.mark.parametrize(("claim", "found"), CLAIMS.values(), ids=CLAIMS.keys())
def test_search(index: SourceIndex, claim: str, found: str) -> None:
    assert found in index.search(claim)[0].chunk.text


@pytest.mark.parametrize(
    "claim",
    [
        "",
        "...",
        "text:leave AND (",
        '"leave',
        "leave~2 +-^[a TO b] *",
        "path:leave\\",
        "\ud800",
        "x" * 10_000,
    ],
)
def test_a_claim_is_never_a_query(index: SourceIndex, claim: str) -> None:
    for hit in index.search(claim):
        assert 0 <= hit.score <= 1


def test_a_claim_as_long_as_a_book(index: SourceIndex) -> None:
    claim = (
        " ".join(f"word{number}" for number in range(5_000))
        + " annual leave of permanent employees"
    )
    assert index.search(claim)


def test_order_and_size(index: SourceIndex) -> None:
    hits = index.search("annual leave", 3)
    assert len(hits) == 3
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert index.search("annual leave", 3) == hits
    assert index.search("annual leave", 0) == ()
    assert index.search("annual leave", 2) == hits[:2]


def test_equal_scores_come_by_id(tmp_path: Path) -> None:
    opens = "The reading room opens at nine."
    texts = [read(f"{opens}\n\n{n}", f"{n}.md") for n in range(5)]
    same = [
        replace(item, chunks=(replace(item.chunks[0], id=f"chk_{9 - n}", text=opens, index=0),))
        for n, item in enumerate(texts)
    ]
    with build_index(tmp_path, "k", same) as index:
        assert [hit.chunk.id for hit in index.search("reading room")] == [
            f"chk_{n}" for n in range(5, 10)
        ]


def test_a_chunk_has_its_place(index: SourceIndex) -> None:
    chunk = index.search("unused leave carried over")[0].chunk
    document = index.document(chunk.document_id)
    assert (document.filename, chunk.heading_path, chunk.index) == (
        "leave.md",
        ("Leave", "Carry over"),
        1,
    )
    assert index.chunk(chunk.id) == chunk
    assert index.chunk("chk_0") is None
    assert index.page_at(chunk, 0) is None


def test_pages_of_a_chunk_that_runs_over_one(tmp_path: Path) -> None:
    item = read("One sentence here.", "a.md")
    paged = replace(item, page_marks=((0, 4), (4, 5)))
    with build_index(tmp_path, "k", [paged]) as index:
        (hit,) = index.search("sentence")
        assert [index.page_at(hit.chunk, at) for at in (0, 3, 4, 9)] == [4, 4, 5, 5]


def test_resolve(index: SourceIndex) -> None:
    chunk = index.search("annual leave per calendar year")[0].chunk
    assert index.resolve(chunk.hash) == (chunk,)
    assert index.resolve(f" {chunk.hash.upper()} ") == (chunk,)
    assert index.resolve(chunk_digest(chunk.text)[:20]) == (chunk,)
    for wrong in ("00000000", chunk.hash + "zz", chunk.hash[:4], ""):
        with pytest.raises(AffidavitError, match="AF223"):
            index.resolve(wrong)


def test_the_same_text_at_two_places_is_not_ambiguous(tmp_path: Path) -> None:
    text = "The reading room opens at nine."
    with build_index(
        tmp_path, "k", [read(text, "a.md"), read(f"{text}\n\n## B\n\nx", "b.md")]
    ) as index:
        assert len(index.resolve(chunk_hash(text))) == 2


def test_two_texts_with_one_hash_need_longer_digests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    item = read("One.\n\n## B\n\nTwo.", "a.md")
    clash = tuple(replace(chunk, hash="aaaaaaaa") for chunk in item.chunks)
    digests = {clash[0].text: "a" * 20 + "b" * 44, clash[1].text: "a" * 20 + "c" * 44}
    monkeypatch.setattr("affidavit.documents.index.chunk_digest", digests.__getitem__)
    with build_index(tmp_path, "k", [replace(item, chunks=clash)]) as index:
        with pytest.raises(AffidavitError, match=r"AF222.*2 passages.*aaaab{4}, .*aaaac{4}"):
            index.resolve("aaaaaaaa")
        assert [chunk.text for chunk in index.resolve("a" * 20 + "c")] == [clash[1].text]


def test_the_same_documents_give_the_same_answers(tmp_path: Path) -> None:
    documents = [read(LEAVE, "leave.md"), read(PAY, "pay.md")]
    with (
        build_index(tmp_path / "a", "k", documents) as one,
        build_index(tmp_path / "b", "k", documents) as two,
    ):
        for claim, _ in CLAIMS.values():
            assert one.search(claim) == two.search(claim)


def test_a_broken_index_is_built_again(tmp_path: Path) -> None:
    build_index(tmp_path, "k", [read(PAY, "pay.md")]).close()
    (tmp_path / "k" / STORE_FILE).write_bytes(b"not a database, however long one looks at it")
    with pytest.raises(AffidavitError, match="AF220"):
        open_index(tmp_path / "k")
    assert find_index(tmp_path, "k") is None
    with build_index(tmp_path, "k", [read(PAY, "pay.md")]) as index:
        assert index.search("salaries")


def test_no_index_there(tmp_path: Path) -> None:
    assert find_index(tmp_path, "k") is None
    with pytest.raises(AffidavitError, match="AF220"):
        open_index(tmp_path)


def test_a_failure_leaves_nothing(tmp_path: Path) -> None:
    def failing() -> Iterator[IngestedDocument]:
        yield read(PAY, "pay.md")
        raise OSError("disk on fire")

    with pytest.raises(AffidavitError, match=r"AF014.*disk on fire"):
        build_index(tmp_path, "k", failing())
    assert [path.name for path in tmp_path.iterdir()] == ["build.lock"]


def test_only_one_builds_at_a_time(tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "build.lock", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(AffidavitError, match=r"AF221.*0\.1 s"):
        build_index(tmp_path, "k", [], wait_seconds=0.1)
    other.close()
    build_index(tmp_path, "k", []).close()
    # Who waited finds it finished.
    assert build_index(tmp_path, "k", iter(())).documents == ()


def test_old_indexes_go(tmp_path: Path) -> None:
    for number in range(10):
        build_index(tmp_path, f"k{number}", [read(PAY, "pay.md")]).close()
        os.utime(tmp_path / f"k{number}", ns=(number * 10**9, number * 10**9))
    left = sorted(path.name for path in tmp_path.iterdir() if path.is_dir())
    assert left == sorted(f"k{number}" for number in range(2, 10))


KILLED = """
import sys
from pathlib import Path
from affidavit.documents.ingest import index_sources
from affidavit.documents.model import DocumentSettings
print("started", flush=True)
for _ in range(100):
    index_sources([Path(sys.argv[1])], Path(sys.argv[2]), DocumentSettings(), jobs=0)
    Path(sys.argv[1], ".next").write_text("Changed " * (_ + 2))
    Path(sys.argv[1], ".next").replace(Path(sys.argv[1], "a.md"))
"""


def test_a_killed_build_leaves_an_index_that_opens_or_none(tmp_path: Path) -> None:
    sources, kept = tmp_path / "sources", tmp_path / "kept"
    sources.mkdir()
    (sources / "a.md").write_text(LEAVE * 200)
    (sources / "b.md").write_text(PAY * 200)
    moments = random.Random(20260103)
    for _ in range(20):
        process = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(sources), str(kept)], stdout=subprocess.PIPE
        )
        assert process.stdout is not None
        assert process.stdout.readline() == b"started\n"
        time.sleep(moments.uniform(0.0, 0.3))
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        for folder in (kept / "indexes").glob("[!.]*"):
            if folder.is_dir():
                with open_index(folder) as index:
                    assert len(index.documents) == 2
                    assert index.search("leave salaries changed")
    with index_sources([sources], kept, DocumentSettings(), jobs=0).index as index:
        assert index.search("leave salaries changed")
    # Whatever the killed ones left unfinished is gone once somebody builds again.
    (sources / "c.md").write_text("More.")
    index_sources([sources], kept, DocumentSettings(), jobs=0).index.close()
    assert not list((kept / "indexes").glob(".unfinished-*"))


def test_a_build_killed_while_it_removes_old_indexes_leaves_no_half_of_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources, kept = tmp_path / "sources", tmp_path / "kept"
    sources.mkdir()

    def build(number: int) -> None:
        (sources / "a.md").write_text(f"Text number {number}.")
        index_sources([sources], kept, DocumentSettings(), jobs=0).index.close()

    def killed_half_way(folder: Path, **_: object) -> None:
        if Path(folder).is_dir():
            (Path(folder) / "passages.sqlite").unlink()
            raise KeyboardInterrupt

    for number in range(8):
        build(number)
    with monkeypatch.context() as killing:
        killing.setattr("shutil.rmtree", killed_half_way)
        with pytest.raises(KeyboardInterrupt):
            build(8)
    for folder in (kept / "indexes").glob("[!.]*"):
        if folder.is_dir():
            open_index(folder).close()
    assert list((kept / "indexes").glob(".unfinished-*"))
    build(9)
    assert not list((kept / "indexes").glob(".unfinished-*"))


TEXT_KEYS = {
    "numbers in one spelling": ("1,000 and 15% of $2.50, -3", ["1000", "15", "2.50", "3"]),
    "number words": ("fourteen (two) one", ["14", "2"]),
    "compounds as one word": (
        "carry-over of debian/control v4.6.2",
        ["carryover", "debiancontrol", "v462"],
    ),
    "writing without spaces": (
        "\u5e74\u6b21\u4f11\u6687 x",
        ["\u5e74\u6b21", "\u6b21\u4f11", "\u4f11\u6687"],
    ),
    "plain words and signs are none": ("a plain, word -- !", []),
}


@pytest.mark.parametrize(("text", "wanted"), TEXT_KEYS.values(), ids=TEXT_KEYS.keys())
def test_keys(text: str, wanted: list[str]) -> None:
    assert exact_keys(text) == wanted


CLAIM_KEYS = {
    "weeks are days": ("2 weeks", ("2", "14")),
    "in words": ("two weeks", ("2", "14")),
    "days are weeks if they are whole": ("14 days", ("14", "2")),
    "else they are not": ("15 days", ("15",)),
    "none is none": ("0 days", ("0",)),
    "years and hours": ("3 years, 2 hours", ("3", "2", "36", "120")),
    "no count before it": ("some days", ()),
    "long words may be compounds": ("carryover", ("carryover",)),
}


@pytest.mark.parametrize(("claim", "wanted"), CLAIM_KEYS.values(), ids=CLAIM_KEYS.keys())
def test_keys_of_a_claim(claim: str, wanted: tuple[str, ...]) -> None:
    assert claim_keys(claim) == wanted


def test_terms_of_a_claim() -> None:
    search_terms = claim_terms("The employees ask")
    assert search_terms["the"] == SearchTerm(0, 0.3)
    assert search_terms["employe"] == SearchTerm(1, 1.0)
    assert search_terms["staff"].word == 1
    assert not search_terms["staff"].is_own
    assert 0.3 < search_terms["staff"].strength < 0.6
    assert all(term.is_own or term.strength < 0.8 for term in search_terms.values())


def test_a_synonym_of_two_words_stands_for_the_nearer() -> None:
    for claim in ("the staff and its servants", "its servants and the staff"):
        words = list(dict.fromkeys(stems_of(claim)))
        assert claim_terms(claim)["personnel"].word == words.index("staff")


def test_the_cache_of_stems_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    from affidavit.documents import search_terms

    monkeypatch.setattr(search_terms, "_MAX_STEMS", 3)
    assert stems_of("leaves days years") == ["leav", "day", "year"]
    assert stems_of("requests applications " + "x" * 99) == ["request", "applic", ""]


def test_words_near_each_other_rank_before_words_far_apart() -> None:
    search_terms = {
        "annual": SearchTerm(0, 1.0),
        "leav": SearchTerm(1, 1.0),
        "holiday": SearchTerm(1, 0.4, is_own=False),
    }
    words = ClaimRanker(search_terms, lambda _: 2.0)
    near = words.score(["annual", "leav"], 1.0)
    far = words.score(["annual", *["x"] * 40, "leav"], 1.0)
    synonym = words.score(["annual", "holiday"], 1.0)
    assert near == pytest.approx(1.0)
    assert near > synonym > words.score(["annual"], 1.0)
    assert near > far
    assert words.score([], 0.0) == 0.0
    assert ClaimRanker({}, lambda _: 2.0).score(["annual"], 0.5) == pytest.approx(0.2)
