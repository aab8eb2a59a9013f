"""The sample documents are what their texts give, and say what the README and the tests cite."""

from pathlib import Path

import pytest
from tests.repository import ROOT

from affidavit.documents.index import SourceIndex
from affidavit.documents.ingest import index_sources
from affidavit.documents.model import DocumentSettings
from tools import make_samples

LEAVE = ROOT / "samples" / "leave"


def test_documents_are_built_byte_for_byte() -> None:
    for name, data in make_samples.documents().items():
        assert (LEAVE / "sources" / name).read_bytes() == data, f"run tools.make_samples: {name}"


def test_the_check_tells_when_they_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(make_samples, "SOURCES", tmp_path / "sources")
    assert make_samples.main(["--check"]) == 1
    assert "HR_Policy.pdf differs from the generated file" in capsys.readouterr().out
    assert make_samples.main([]) == 0
    assert make_samples.main(["--check"]) == 0


def test_they_are_small() -> None:
    assert sum(path.stat().st_size for path in LEAVE.rglob("*") if path.is_file()) < 200_000


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> SourceIndex:
    kept = tmp_path_factory.mktemp("kept")
    found = index_sources([LEAVE / "sources"], kept, DocumentSettings(), jobs=2)
    assert found.findings == ()
    return found.index


def test_documents(index: SourceIndex) -> None:
    assert [(d.filename, d.title, d.date, d.page_count) for d in index.documents] == [
        ("HR_Policy.pdf", "Human Resources Policy", "2025-09-01", 17),
        ("Leave_Guidelines.docx", "Leave Guidelines", "2026-03-03", None),
    ]


CLAIMS = {
    "Employees are entitled to 15 days of annual leave": (
        "HR_Policy.pdf",
        12,
        "4.1 Annual leave",
        "All permanent employees shall receive 15 days of paid annual leave",
    ),
    "Leave requests must be submitted 2 weeks in advance": (
        "Leave_Guidelines.docx",
        None,
        "3.2 When a request is due",
        "at least 14 calendar days before the intended start date",
    ),
    "Unused leave can be carried forward to next year": (
        "HR_Policy.pdf",
        15,
        "4.2 Carry-over of annual leave",
        "at the discretion of the head of department",
    ),
}


@pytest.mark.parametrize("claim", CLAIMS)
def test_evidence_stands_where_it_is_cited(index: SourceIndex, claim: str) -> None:
    filename, page, heading, words = CLAIMS[claim]
    chunk = index.search(claim)[0].chunk
    assert index.document(chunk.document_id).filename == filename
    assert (chunk.page_number, chunk.heading_path[-1]) == (page, heading)
    assert words in chunk.text


def test_the_answer_makes_the_four_claims() -> None:
    answer = (LEAVE / "answer.md").read_text("utf-8")
    for claim in (*CLAIMS, "Maximum carryover is 5 days"):
        assert f"{claim}." in answer


def test_nothing_limits_what_may_be_carried_over(index: SourceIndex) -> None:
    for hit in index.search("carry over leave days", 60):
        assert "5 days" not in hit.chunk.text.replace("15 days", "")
        assert "five days" not in hit.chunk.text
