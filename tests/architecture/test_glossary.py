"""Every class that the glossary names exists in its package and is defined once."""

import ast
import re
from collections import Counter
from functools import cache

import pytest
from tests.repository import ROOT, modules

GLOSSARY = (ROOT / "docs" / "glossary.md").read_text("utf-8")
ROWS = re.findall(r"^\| ([^|]+) \| [^|]+ \| `(\w+)` \| `(\w+)` \|$", GLOSSARY, re.MULTILINE)


@cache
def defined() -> Counter[tuple[str, str]]:
    """Return how often each class is defined in each package."""
    return Counter(
        (module.name.partition(".")[0], node.name)
        for module in modules()
        for node in module.tree.body
        if isinstance(node, ast.ClassDef)
    )


@pytest.mark.parametrize(("noun", "name", "package"), ROWS, ids=[row[0] for row in ROWS])
def test_a_noun_has_one_class(noun: str, name: str, package: str) -> None:
    found = {place: count for (place, each), count in defined().items() if each == name}
    # `Decision` and `Kind` may still be duplicated: tests/architecture/test_names.py counts them.
    assert found.get(package) == 1


def test_every_row_of_a_table_is_read() -> None:
    rows = [line for line in GLOSSARY.splitlines() if line.startswith("| ") and "`" in line]
    assert len(rows) == len(ROWS) > 30


def test_no_noun_is_explained_twice() -> None:
    assert [noun for noun, count in Counter(row[0] for row in ROWS).items() if count > 1] == []
