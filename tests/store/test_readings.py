"""Stored readings: named by what determines them, damaged ones are read again."""

import sqlite3
from pathlib import Path

from affidavit.ledger.model import Chunk, Reading, Span, SupportLevel
from affidavit.store.readings import ReadingStore, decode_readings, encode_readings, reading_key


def chunk(text: str, name: str = "chk_1", *headings: str) -> Chunk:
    return Chunk(
        id=name,
        hash="00000000",
        document_id="doc",
        index=0,
        text=text,
        span=Span(0, len(text)),
        page_number=None,
        heading_path=headings,
    )


READING = Reading(
    chunk_id="chk_1",
    support_level=SupportLevel.FULL,
    contradicts=False,
    similarity=0.9,
    contradiction=0.1,
    directness=1.0,
    snippet="The cat sat.",
    snippet_span=Span(0, 12),
    notes="every word",
    scores=(("support", 0.9),),
)


def test_the_key_names_everything_that_determines_a_reading() -> None:
    passage = chunk("The cat sat.")
    keys = {
        reading_key("sha256:1", "The cat sat", [passage]),
        reading_key("sha256:2", "The cat sat", [passage]),
        reading_key("sha256:1", "The cat stood", [passage]),
        reading_key("sha256:1", "The cat sat", [chunk("The cat stood.")]),
        reading_key("sha256:1", "The cat sat", [chunk("The cat sat.", "chk_1", "Cats")]),
        reading_key("sha256:1", "The cat sat", [passage, passage]),
    }
    assert len(keys) == 6


def test_the_same_passage_of_another_document_has_the_same_readings() -> None:
    here, there = chunk("The cat sat.", "chk_1"), chunk("The cat sat.", "chk_2")
    assert reading_key("j", "c", [here]) == reading_key("j", "c", [there])
    (found,) = decode_readings(encode_readings([READING]), [there]) or ()
    assert found.chunk_id == "chk_2"
    assert found.scores == READING.scores


def test_a_damaged_entry_counts_as_missing() -> None:
    content = bytearray(encode_readings([READING]))
    content[-1] ^= 1
    assert decode_readings(bytes(content), [chunk("The cat sat.")]) is None


def test_entries_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "new" / "readings.sqlite"
    store = ReadingStore(path)
    assert store.find(b"a") is None
    store.keep([(b"a", b"1"), (b"b", b"2")])
    store.keep([(b"a", b"3")])
    store.close()
    again = ReadingStore(path)
    assert (again.find(b"a"), again.find(b"b")) == (b"3", b"2")
    again.close()


def test_a_file_that_is_no_store_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "readings.sqlite"
    path.write_bytes(b"This is no database. " * 200)
    store = ReadingStore(path)
    store.keep([(b"a", b"1")])
    assert store.find(b"a") == b"1"
    store.close()


def test_a_place_that_cannot_be_written_is_slow_and_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    store = ReadingStore(tmp_path / "file" / "readings.sqlite")
    store.keep([(b"a", b"1")])
    assert store.find(b"a") is None
    store.close()


def test_a_store_that_loses_its_table_is_slow_and_no_error(tmp_path: Path) -> None:
    path = tmp_path / "readings.sqlite"
    store = ReadingStore(path)
    with sqlite3.connect(path) as other:
        other.execute("DROP TABLE readings")
    store.keep([(b"a", b"1")])
    assert store.find(b"a") is None
    store.close()
