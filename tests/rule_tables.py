"""The tables of a page that is a specification: a rule a row, with its example behind it."""

import re

from tests.repository import ROOT

ROW = re.compile(r"^\| ([A-Z]\d+) \| (.*) \|$", re.MULTILINE)
BETWEEN_CELLS = re.compile(r"(?<!\\) ?\|")


def page_named(name: str) -> str:
    """Return the text of a page of docs/."""
    return (ROOT / "docs" / name).read_text("utf-8")


def examples_in(page: str) -> dict[str, tuple[str, ...]]:
    """Return the examples of a page by the id of their rule: the cells behind the rule's text."""
    found: dict[str, tuple[str, ...]] = {}
    for row in ROW.finditer(page):
        _, *cells = (cell.strip() for cell in BETWEEN_CELLS.split(row[2]))
        assert row[1] not in found, f"{row[1]} stands twice"
        found[row[1]] = tuple(map(_written, cells))
    return found


def _written(cell: str) -> str:
    """Return what a cell says: without the marks of code, and with what a table cannot hold."""
    code = re.fullmatch(r"(`+)(.*)\1", cell)
    text = code[2] if code else cell
    return text.replace("\\|", "|").replace("\u23ce", "\n").replace("~~~", "```")


def require_test(package: str, name: str) -> None:
    """Raise unless a test of this name stands in a package's folder: some rules need more room."""
    tests = (ROOT / "tests" / package).glob("test_*.py")
    assert any(f"def {name}(" in path.read_text("utf-8") for path in tests)
