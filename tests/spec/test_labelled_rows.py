"""The labelled rows, cells and questions are whole: digests, fields, counts and quotes.

No judge runs here.
"""

import hashlib
import json
import re
import zipfile
from collections import Counter
from functools import cache
from pathlib import Path
from statistics import mean
from typing import Any

import pypdfium2
import pytest

HERE = Path(__file__).parent
SHORT, CELLS, PAGES = HERE / "short_rows", HERE / "table_cells", HERE / "page_questions"
Record = dict[str, Any]

ROW_FIELDS = {"id", "question", "contexts", "answer", "label", "kind", "changed", "origin"}
CELL_FIELDS = {"id", "document", "claim", "label", "kind", "cell"}
QUESTION_FIELDS = {"id", "document", "question", "page", "also", "words", "answer_quote"}
TRUE_KINDS = {"right cell", "comparison right", "sum or difference right"}
FALSE_KINDS = {
    "neighbouring row", "neighbouring column", "other unit", "comparison wrong",
    "sum or difference wrong",
}  # fmt: skip
CHANGES = {
    "number", "date", "unit", "negation", "entity", "comparison", "roles", "quantifier",
    "modality", "neighbour's value",
}  # fmt: skip


def records(path: Path) -> list[Record]:
    """Return the records of a JSONL file."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def sources(folder: Path) -> Record:
    """Return what sources.json says about a folder."""
    found: Record = json.loads((folder / "sources.json").read_text("utf-8"))
    return found


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def collapsed(text: str) -> str:
    """Return the text with single spaces and without the soft hyphens of line ends."""
    return " ".join(text.replace("\ufffe", "").replace("\u00ad", "").split())


@cache
def pdf_pages(path: Path) -> list[str]:
    """Return the text of each page of a PDF file."""
    with pypdfium2.PdfDocument(path) as document:
        texts = []
        for page in document:
            text_page = page.get_textpage()
            texts.append(text_page.get_text_range())
            text_page.close()
            page.close()
        return texts


def places(path: Path) -> dict[int | str, str]:
    """Return the pages of a PDF file by number, or the sections of a Markdown file by heading."""
    if path.suffix == ".pdf":
        return {number: collapsed(text) for number, text in enumerate(pdf_pages(path), 1)}
    _, *parts = re.split(r"(?m)^## (.+)$", path.read_text("utf-8"))
    return {heading: collapsed(text) for heading, text in zip(parts[::2], parts[1::2], strict=True)}


@cache
def table_rows(path: Path) -> list[str]:
    """Return the lines or table rows of a document as plain text."""
    if path.suffix == ".pdf":
        return [line for text in pdf_pages(path) for line in text.splitlines()]
    if path.suffix == ".docx":
        with zipfile.ZipFile(path) as archive:
            text = archive.read("word/document.xml").decode()
        lines = re.findall(r"<w:tr>.*?</w:tr>", text)
    else:
        text = path.read_text("utf-8")
        lines = (
            re.findall(r"(?s)<tr>.*?</tr>", text) if path.suffix == ".html" else text.split("\n")
        )
    return [collapsed(re.sub(r"<[^>]+>", " ", line)) for line in lines]


def rows_of(label: str) -> list[Record]:
    return [row for row in records(SHORT / "rows.jsonl") if row["label"] == label]


@pytest.mark.parametrize("folder", [CELLS, PAGES], ids=lambda folder: folder.name)
def test_every_document_has_a_source_and_its_digest(folder: Path) -> None:
    listed = {entry["file"]: entry["sha256"] for entry in sources(folder)["documents"]}
    there = {
        path.name: digest(path)
        for path in (folder / "documents").iterdir()
        if path.name != ".gitattributes"
    }
    assert listed == there


@pytest.mark.parametrize(
    ("folder", "part"), [(SHORT, "rows"), (CELLS, "claims"), (PAGES, "questions")]
)
def test_the_labels_are_frozen(folder: Path, part: str) -> None:
    frozen = sources(folder)[part]
    assert digest(folder / frozen["file"]) == frozen["sha256"]


def test_every_source_names_its_licence() -> None:
    entries = [
        *sources(SHORT)["origins"], *sources(CELLS)["documents"], *sources(PAGES)["documents"],
    ]  # fmt: skip
    for entry in entries:
        for field in ("package", "version", "publisher", "licence", "licence_read_in"):
            assert entry[field], entry
    assert len(sources(SHORT)["origins"]) >= 30


def test_the_short_rows_have_their_fields() -> None:
    rows = records(SHORT / "rows.jsonl")
    assert len({row["id"] for row in rows}) == len(rows) == 120
    assert len({row["question"] for row in rows}) == 120
    for row in rows:
        assert set(row) == ROW_FIELDS
        assert 2 <= len(row["contexts"]) <= 3
        assert len(row["origin"]) == len(row["contexts"])
        assert all(40 <= len(context.split()) <= 120 for context in row["contexts"])
        assert bool(row["changed"]) is (row["label"] != "grounded")


def test_the_short_rows_are_balanced() -> None:
    rows = records(SHORT / "rows.jsonl")
    assert Counter(row["label"] for row in rows) == {"grounded": 40, "changed": 40, "invented": 40}
    kinds = Counter(row["kind"] for row in rows_of("changed"))
    assert set(kinds) == CHANGES
    assert min(kinds.values()) >= 3
    lengths = [
        mean(len(row["answer"].split()) for row in rows_of(label))
        for label in ("grounded", "changed", "invented")
    ]
    assert max(lengths) - min(lengths) < 3


def test_each_set_of_contexts_has_one_row_of_each_label() -> None:
    sets: dict[tuple[str, ...], list[str]] = {}
    for row in records(SHORT / "rows.jsonl"):
        sets.setdefault(tuple(row["contexts"]), []).append(row["label"])
    assert len(sets) == 40
    assert all(sorted(labels) == ["changed", "grounded", "invented"] for labels in sets.values())


def test_an_invented_clause_stands_in_the_answer_and_in_no_context() -> None:
    for row in rows_of("invented"):
        assert row["changed"] in row["answer"], row["id"]
        assert all(row["changed"] not in context for context in row["contexts"]), row["id"]


def test_a_changed_fact_says_what_the_context_says() -> None:
    assert all("; the context says" in row["changed"] for row in rows_of("changed"))


def test_the_cell_claims_have_their_fields() -> None:
    claims = records(CELLS / "claims.jsonl")
    assert len({claim["id"] for claim in claims}) == len(claims) >= 40
    for claim in claims:
        assert set(claim) == CELL_FIELDS
        kinds = TRUE_KINDS if claim["label"] == "supported" else FALSE_KINDS
        assert claim["kind"] in kinds, claim["id"]
    labels = Counter(claim["label"] for claim in claims)
    assert set(labels) == {"supported", "contradicted"}
    assert labels["supported"] >= 16
    assert labels["contradicted"] >= 24
    documents = {claim["document"] for claim in claims}
    assert documents == {entry["file"] for entry in sources(CELLS)["documents"]}


def test_every_cell_stands_in_its_row() -> None:
    for claim in records(CELLS / "claims.jsonl"):
        rows = table_rows(CELLS / "documents" / claim["document"])
        for cell in claim["cell"]:
            found = [row for row in rows if cell["row"] in row and cell["value"] in row]
            assert found, (claim["id"], cell)


def test_the_page_questions_have_their_fields() -> None:
    questions = records(PAGES / "questions.jsonl")
    assert len({question["id"] for question in questions}) == len(questions) == 100
    assert len({question["question"] for question in questions}) == 100
    assert all(set(question) == QUESTION_FIELDS for question in questions)
    assert Counter(question["words"] for question in questions) == {"own": 50, "other": 50}


def test_every_answer_is_quoted_from_its_page_and_only_from_there() -> None:
    by_document: dict[str, list[Record]] = {}
    for question in records(PAGES / "questions.jsonl"):
        by_document.setdefault(question["document"], []).append(question)
    for name, questions in by_document.items():
        found = places(PAGES / "documents" / name)
        for question in questions:
            pages = [page for page, text in found.items() if question["answer_quote"] in text]
            assert pages == [question["page"]], question["id"]
            assert set(question["also"]) <= set(found) - {question["page"]}


def test_the_long_documents_are_long_and_not_too_large() -> None:
    documents = sorted((PAGES / "documents").glob("*.*"))
    sizes = [path.stat().st_size for path in documents]
    assert max(sizes) <= 1_500_000
    assert sum(sizes) <= 4_000_000
    assert all(len(pdf_pages(path)) >= 20 for path in documents if path.suffix == ".pdf")
