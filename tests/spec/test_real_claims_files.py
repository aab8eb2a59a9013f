"""The files of the real claims: whole documents, exact quotations, and as many of each kind."""

import hashlib
import json
import re
import zipfile
from collections import Counter
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import pypdfium2
import pytest
from lxml import etree, html

FOLDER = Path(__file__).parent / "real_claims"
SOURCES: list[dict[str, str]] = json.loads((FOLDER / "sources.json").read_text("utf-8"))
ROWS: list[dict[str, Any]] = [
    json.loads(line) for line in (FOLDER / "claims.jsonl").read_text("utf-8").splitlines()
]
FIELDS = {"id", "document", "claim", "label", "kind", "passage", "where", "note"}
ORIGIN = {
    "file",
    "title",
    "publisher",
    "package",
    "version",
    "licence",
    "read_in",
    "sha256",
    "kind",
}
TRUE_KINDS = {"verbatim", "paraphrase", "inference", "two-passage", "table-cell", "list"}
AT_LEAST = {
    "table-cell": 12, "negated": 20, "entity": 15, "number": 20, "roles": 12,
    "table-neighbour": 12, "modality": 12, "something-else": 10, "invented": 15, "partial": 10,
}  # fmt: skip
LABEL_OF = {"invented": "absent", "partial": "partial"}
WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
BLOCKS = ("p", "tr", "li", "h1", "h2", "h3", "h4", "div", "br", "pre", "dt", "dd", "td", "th")


def documents_of(row: dict[str, Any]) -> list[str]:
    """Return the files that the claim is about."""
    named = row["document"]
    return [named] if isinstance(named, str) else named


def shared_words(row: dict[str, Any]) -> float:
    """Return the share of the claim's words, of four letters or more, that its passage has too."""
    claim, passage = (
        set(re.findall(r"\w{4,}", text.casefold()))
        for text in (row["claim"], " ".join(row["passage"]))
    )
    return len(claim & passage) / len(claim)


def text_of_pdf(path: Path) -> str:
    """Return the text of all pages; the mark of a word broken at the line's end is dropped."""
    with pypdfium2.PdfDocument(path) as pdf:
        pages = [pdf[number].get_textpage().get_text_range() for number in range(len(pdf))]
    return "\n".join(pages).replace("\ufffe", "")


def words_of(element: etree._Element, *tags: str) -> str:
    """Return the text inside the element, of the named tags only if any are named."""
    return "".join(str(piece) for piece in element.itertext(*tags))


def text_of_html(path: Path) -> str:
    """Return the visible text; the cells of a row are joined by " | "."""
    (body,) = html.document_fromstring(path.read_bytes()).iter("body")
    etree.strip_elements(body, "script", "style", with_tail=False)
    for block in body.iter(*BLOCKS):
        separator = " | " if block.tag in ("td", "th") else "\n"
        block.tail = separator + (block.tail or "")
    return words_of(body)


def text_of_docx(path: Path) -> str:
    """Return the paragraphs and the table rows; the cells of a row are joined by " | "."""
    with zipfile.ZipFile(path) as archive:
        body = etree.fromstring(archive.read("word/document.xml"))[0]
    blocks = []
    for block in body:
        for row in block.iter(f"{WORD}tr"):
            cells = [
                " ".join(words_of(p, f"{WORD}t") for p in cell.iter(f"{WORD}p"))
                for cell in row.iter(f"{WORD}tc")
            ]
            blocks.append(" | ".join(cells))
        if block.tag == f"{WORD}p":
            blocks.append(words_of(block, f"{WORD}t"))
    return "\n".join(blocks)


def text_of_plain(path: Path) -> str:
    """Return the text without the marks of quoted lines."""
    return re.sub(r"(?m)^> ?", "", path.read_text("utf-8"))


READERS = {".pdf": text_of_pdf, ".html": text_of_html, ".docx": text_of_docx}


@cache
def text_of(name: str) -> str:
    """Return the document's text with every run of whitespace as one space."""
    path = FOLDER / "documents" / name
    return " ".join(READERS.get(path.suffix, text_of_plain)(path).split())


def test_every_document_is_the_one_that_was_published() -> None:
    present = {path.name for path in (FOLDER / "documents").iterdir()}
    assert {source["file"] for source in SOURCES} == present
    assert len(SOURCES) == len(present) >= 15
    for source in SOURCES:
        data = (FOLDER / "documents" / source["file"]).read_bytes()
        assert hashlib.sha256(data).hexdigest() == source["sha256"], source["file"]
        assert set(source) == ORIGIN
        assert all(source.values()), source["file"]


def test_every_row_has_the_fields_and_no_two_rows_are_alike() -> None:
    assert all(set(row) == FIELDS for row in ROWS)
    assert len({row["id"] for row in ROWS}) == len(ROWS)
    assert len({row["claim"].casefold() for row in ROWS}) == len(ROWS)
    assert all(row["claim"].endswith(".") for row in ROWS)
    assert all(8 <= len(row["claim"].split()) <= 35 for row in ROWS)


def test_label_and_kind_agree() -> None:
    for row in ROWS:
        of_kind = "supported" if row["kind"] in TRUE_KINDS else "refuted"
        assert row["label"] == LABEL_OF.get(row["kind"], of_kind), row["id"]
        assert row["label"] == "supported" or row["note"], row["id"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row["id"]))
def test_the_passages_are_quoted_exactly(row: dict[str, Any]) -> None:
    assert bool(row["passage"]) == bool(row["where"]) == (row["label"] != "absent")
    texts = [text_of(name) for name in documents_of(row)]
    missing = [quote for quote in row["passage"] if not any(quote in text for text in texts)]
    assert not missing


def test_there_are_as_many_rows_of_each_kind_as_promised() -> None:
    labels = Counter(row["label"] for row in ROWS)
    kinds = Counter(row["kind"] for row in ROWS)
    assert len(ROWS) >= 220
    assert labels["supported"] >= 95
    assert len(ROWS) - labels["supported"] >= 120
    assert set(kinds) == TRUE_KINDS | set(AT_LEAST)
    assert {kind: kinds[kind] for kind, least in AT_LEAST.items() if kinds[kind] < least} == {}


def test_half_of_the_true_claims_share_few_words_with_their_passage() -> None:
    true = [row for row in ROWS if row["label"] == "supported"]
    assert sum(shared_words(row) <= 0.5 for row in true) >= 0.5 * len(true)


def test_every_document_has_true_and_false_claims() -> None:
    named = Counter(chain.from_iterable(documents_of(row) for row in ROWS))
    assert set(named) == {source["file"] for source in SOURCES}
    for name, count in named.items():
        of_document = {row["label"] == "supported" for row in ROWS if name in documents_of(row)}
        assert of_document == {True, False}
        assert 10 <= count <= 20, name
