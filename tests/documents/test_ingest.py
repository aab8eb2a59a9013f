from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from tests.documents.making import docx_of, paragraph, pdf_of, picture_pdf, write_all

from affidavit.base.errors import AffidavitError
from affidavit.documents import ingest, reader_process
from affidavit.documents.ingest import index_key, index_sources, plan_sources, read_planned
from affidavit.documents.model import (
    ChunkSettings,
    DocumentLimits,
    DocumentSettings,
    IngestedDocument,
)
from affidavit.documents.source_files import list_sources

SETTINGS = DocumentSettings()
FILES = {
    "policy.pdf": pdf_of("= Leave\nAll permanent employees shall receive 15 days of annual leave."),
    "guide.docx": docx_of(paragraph("Leave applications are due 14 days before.")),
    "notes/a.md": b"# Notes\n\nThe reading room opens at nine.",
    "scan.pdf": picture_pdf(),
    "table.csv": b"a,b",
    "copy.md": b"# Notes\n\nThe reading room opens at nine.",
}


def test_all_that_can_be_read_is_and_the_rest_is_listed(tmp_path: Path) -> None:
    sources = write_all(tmp_path / "sources", FILES)
    seen: list[tuple[int, int, str]] = []
    found = index_sources(
        [sources], tmp_path / "kept", SETTINGS, jobs=2, progress=lambda *step: seen.append(step)
    )
    with found.index as index:
        assert [document.filename for document in index.documents] == [
            "copy.md",
            "guide.docx",
            "policy.pdf",
        ]
        assert [(item.file, item.code) for item in found.findings] == [
            ("notes/a.md", "AF212"),
            ("scan.pdf", "AF205"),
            ("table.csv", "AF200"),
        ]
        assert index.search("annual leave of employees")[0].chunk.page_number == 1
    assert [step[2] for step in seen] == [
        "copy.md",
        "guide.docx",
        "policy.pdf",
        "scan.pdf",
        "table.csv",
    ]
    assert [step[:2] for step in seen] == [(number, 5) for number in range(1, 6)]


@pytest.mark.parametrize("jobs", [0, 1])
def test_unchanged_documents_are_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: int
) -> None:
    sources = write_all(tmp_path / "sources", {"a.md": b"One.", "b.md": b"Two."})
    first = index_sources([sources], tmp_path / "kept", SETTINGS, jobs=jobs)
    read: list[str] = []
    really = reader_process.run_task

    def note(task: reader_process.ReadingTask, settings: DocumentSettings) -> object:
        read.append(task.filename)
        return really(task, settings)

    monkeypatch.setattr(ingest, "run_task", note)
    # The same sources: not even the documents are looked at, the index is there.
    again = index_sources([sources], tmp_path / "kept", SETTINGS, jobs=0)
    assert (read, again.index.documents) == ([], first.index.documents)
    # One changed: only that one is read.
    write_all(sources, {"b.md": b"Three."})
    index_sources([sources], tmp_path / "kept", SETTINGS, jobs=0)
    assert read == ["b.md"]
    # The same bytes under another name are known too.
    (sources / "a.md").rename(sources / "c.md")
    renamed = index_sources([sources], tmp_path / "kept", SETTINGS, jobs=0)
    assert read == ["b.md"]
    assert [document.filename for document in renamed.index.documents] == ["b.md", "c.md"]


def test_a_torn_entry_of_the_cache_is_read_again(tmp_path: Path) -> None:
    sources = write_all(tmp_path / "sources", {"a.md": b"One.", "b.csv": b"x"})
    plan = plan_sources([sources], DocumentLimits())
    kept = tmp_path / "kept"
    first = list(read_planned(plan, SETTINGS, kept, jobs=0))
    assert list(read_planned(plan, SETTINGS, kept, jobs=0)) == first
    for entry in kept.iterdir():
        entry.write_bytes(entry.read_bytes()[:-1])
    assert list(read_planned(plan, SETTINGS, kept, jobs=0)) == first
    for entry in kept.iterdir():
        entry.write_bytes(sha256(b"\0").digest() + b"\0")
    assert list(read_planned(plan, SETTINGS, kept, jobs=0)) == first


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    sources = write_all(tmp_path / "sources", {"a.md": b"One."})
    (tmp_path / "kept").write_bytes(b"a file where the folder should be")
    plan = plan_sources([sources], DocumentLimits())
    (outcome,) = read_planned(plan, SETTINGS, tmp_path / "kept", jobs=0)
    assert isinstance(outcome, IngestedDocument)


KEYS = {
    "another chunking": (DocumentSettings(chunking=ChunkSettings(target_characters=500)), {}),
    "another limit": (DocumentSettings(limits=DocumentLimits(max_pages=7)), {}),
    "another document": (SETTINGS, {"b.md": b"Two."}),
    "another content": (SETTINGS, {"a.md": b"Else."}),
}


@pytest.mark.parametrize(("settings", "files"), KEYS.values(), ids=KEYS.keys())
def test_whatever_decides_the_index_decides_its_name(
    tmp_path: Path, settings: DocumentSettings, files: dict[str, bytes]
) -> None:
    sources = write_all(tmp_path, {"a.md": b"One."})
    before = index_key(plan_sources([sources], DocumentLimits()), SETTINGS)
    assert index_key(plan_sources([sources], DocumentLimits()), SETTINGS) == before
    write_all(sources, files)
    assert index_key(plan_sources([sources], DocumentLimits()), settings) != before


def test_a_file_over_the_limit_is_not_even_hashed(tmp_path: Path) -> None:
    write_all(tmp_path, {"a.md": b"x" * 100})
    plan = plan_sources([tmp_path], DocumentLimits(max_bytes=10))
    assert (plan.files, [item.code for item in plan.findings]) == ((), ["AF206"])


def test_a_file_that_goes_between_the_walk_and_its_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_all(tmp_path, {"a.md": b"One."})
    walk = list_sources(iter([tmp_path]))
    (tmp_path / "a.md").unlink()
    monkeypatch.setattr(ingest, "list_sources", lambda _: walk)
    plan = plan_sources([tmp_path], DocumentLimits())
    assert (plan.files, [item.code for item in plan.findings]) == ((), ["AF010"])


def test_nothing_to_read_is_an_empty_index(tmp_path: Path) -> None:
    (tmp_path / "sources").mkdir()
    found = index_sources([tmp_path / "sources"], tmp_path / "kept", SETTINGS)
    assert (found.index.documents, found.findings) == ((), ())
    assert found.index.search("anything") == ()


def test_sources_that_never_hold_still(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sources = write_all(tmp_path / "sources", {"a.md": b"One."})
    plan = ingest.plan_sources
    rounds: list[int] = []

    def and_then_changed(*arguments: Any) -> object:
        planned = plan(*arguments)
        rounds.append(len(rounds))
        if len(rounds) < changes:
            (sources / "a.md").write_text(f"Changed {len(rounds)} of {changes}.")
        return planned

    monkeypatch.setattr(ingest, "plan_sources", and_then_changed)
    changes = 3  # Steady in the third round.
    assert index_sources([sources], tmp_path / "kept", SETTINGS, jobs=0).index.documents
    changes, rounds[:] = 99, []
    (sources / "a.md").write_text("Not seen before.")
    with pytest.raises(AffidavitError, match="AF219"):
        index_sources([sources], tmp_path / "kept", SETTINGS, jobs=0)


def test_a_passing_fault_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from affidavit.base.faults import evidence as faults
    from affidavit.documents.model import RefusedDocument, finding_from_fault

    sources = write_all(tmp_path / "sources", {"a.md": b"One."})
    slow = RefusedDocument(finding_from_fault(faults.DOCUMENT_TIMEOUT, "a.md", seconds="1"))
    with monkeypatch.context() as patch:
        patch.setattr(ingest, "run_task", lambda *_: slow)
        found = index_sources([sources], tmp_path / "kept", SETTINGS, jobs=0)
        assert [item.code for item in found.findings] == ["AF208"]
    found = index_sources([sources], tmp_path / "kept", SETTINGS, jobs=0)
    assert (found.findings, len(found.index.documents)) == ((), 1)


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest, "find_spec", lambda name: None if name == "tantivy" else name)
    with pytest.raises(AffidavitError, match=r"AF003.*tantivy.*affidavit\[ledger\]"):
        index_sources([tmp_path], tmp_path / "kept", SETTINGS)
