"""The index of a workspace: one added document costs its own chunks, and a kill is mended."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.ledger.examples import CHUNKS, GUIDE, HR

from affidavit.base.errors import AffidavitError
from affidavit.documents import growing_index
from affidavit.documents.growing_index import open_growing_index, update_index
from affidavit.documents.model import DocumentFinding, LineBox
from affidavit.ledger.model import Chunk, Document, Span

NUMBERED = dict(enumerate(CHUNKS, 1))
CLAIM = "Unused leave can be carried over"


class Rows:
    """Chunks by their numbers, and how often those of a document were asked for."""

    documents: tuple[Document, ...] = (HR, GUIDE)
    findings: tuple[DocumentFinding, ...] = ()

    def __init__(self) -> None:
        self.asked: list[str] = []

    def of_document(self, document: str) -> Mapping[int, Chunk]:
        self.asked.append(document)
        return {number: each for number, each in NUMBERED.items() if each.document_id == document}

    def by_numbers(self, numbers: object) -> dict[int, Chunk]:
        assert isinstance(numbers, list)
        return {number: NUMBERED[number] for number in numbers}

    def by_hash(self, chunk_hash: str) -> tuple[Chunk, ...]:
        return tuple(each for each in CHUNKS if each.hash == chunk_hash)

    def by_id(self, chunk_id: str) -> Chunk | None:
        return None

    def chunks_of(self, document: str) -> tuple[Chunk, ...]:
        return tuple(each for each in CHUNKS if each.document_id == document)

    def page_at(self, document: str, offset: int) -> int | None:
        return None

    def boxes_of(self, document: str, span: Span) -> tuple[LineBox, ...]:
        return ()

    def close(self) -> None:
        pass


def found(place: Path, rows: Rows) -> list[str]:
    return [hit.chunk.id for hit in open_growing_index(place, rows).search(CLAIM)]


def test_documents_come_and_go_one_by_one(tmp_path: Path) -> None:
    rows = Rows()
    assert update_index(tmp_path, {GUIDE.id: "1"}, rows.of_document) == 1
    assert "doc_hr001_1" not in found(tmp_path, rows)
    assert update_index(tmp_path, {GUIDE.id: "1", HR.id: "1"}, rows.of_document) == 1
    assert rows.asked == [GUIDE.id, HR.id]  # The first one was not read again.
    assert found(tmp_path, rows)[0] == "doc_hr001_1"
    assert update_index(tmp_path, {GUIDE.id: "1", HR.id: "1"}, rows.of_document) == 0
    assert update_index(tmp_path, {GUIDE.id: "1"}, rows.of_document) == 1
    assert "doc_hr001_1" not in found(tmp_path, rows)
    assert rows.asked == [GUIDE.id, HR.id]


def test_a_document_that_changed_is_indexed_again_and_once(tmp_path: Path) -> None:
    rows = Rows()
    update_index(tmp_path, {HR.id: "1"}, rows.of_document)
    assert update_index(tmp_path, {HR.id: "2"}, rows.of_document) == 1
    assert len(found(tmp_path, rows)) == len(set(found(tmp_path, rows)))


def test_a_kill_before_the_list_is_written_is_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = Rows()
    update_index(tmp_path, {GUIDE.id: "1"}, rows.of_document)

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(growing_index, "write_atomically", killed)
    with pytest.raises(KeyboardInterrupt):
        update_index(tmp_path, {GUIDE.id: "1", HR.id: "1"}, rows.of_document)
    monkeypatch.undo()
    assert update_index(tmp_path, {GUIDE.id: "1", HR.id: "1"}, rows.of_document) == 1
    assert found(tmp_path, rows).count("doc_hr001_1") == 1


def test_a_failure_leaves_the_index_as_it_was(tmp_path: Path) -> None:
    rows = Rows()
    update_index(tmp_path, {HR.id: "1"}, rows.of_document)

    def fails(_: str) -> Mapping[int, Chunk]:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        update_index(tmp_path, {HR.id: "2"}, fails)
    assert found(tmp_path, rows)[0] == "doc_hr001_1"


@pytest.mark.parametrize("damage", ["{", '{"version": [0, 0], "documents": {}}'])
def test_a_list_that_is_damaged_or_older_is_built_again(damage: str, tmp_path: Path) -> None:
    rows = Rows()
    update_index(tmp_path, {HR.id: "1"}, rows.of_document)
    (tmp_path / "documents.json").write_text(damage, "utf-8")
    assert update_index(tmp_path, {HR.id: "1"}, rows.of_document) == 1
    assert found(tmp_path, rows).count("doc_hr001_1") == 1


def test_old_files_are_removed(tmp_path: Path) -> None:
    rows = Rows()
    for state in range(12):
        update_index(tmp_path, {HR.id: str(state), GUIDE.id: str(state)}, rows.of_document)
    assert len(list((tmp_path / "words").iterdir())) < 60


def test_an_index_that_is_missing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(AffidavitError, match="AF014"):
        open_growing_index(tmp_path / "none", Rows())
