"""docs/tools.md matches the code: its examples load, and it names every field."""

import re
from pathlib import Path
from typing import get_args

import pytest
from tests.repository import ROOT

from affidavit.app.tool_config import load_tool_config, load_toolbox
from affidavit.tools.feed import FailureReason
from affidavit.tools.settings import SourceSettings, ToolSettings

PAGE = (ROOT / "docs" / "tools.md").read_text("utf-8")
EXAMPLES = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)


def first_column(heading: str) -> list[str]:
    """Return the code spans in the first column of the tables below a heading."""
    part = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`[^|]+) \|", part, re.MULTILINE)
    return [word for row in rows for word in re.findall(r"`([^`]+)`", row)]


@pytest.mark.parametrize("text", EXAMPLES)
def test_an_example_loads(text: str, tmp_path: Path) -> None:
    (tmp_path / "affidavit.toml").write_text(text, "utf-8")
    assert load_toolbox(load_tool_config(tmp_path / "affidavit.toml"), {}).tools


def test_every_failure_reason_is_explained() -> None:
    assert first_column("Failures") == list(FailureReason)


def test_every_field_of_a_tool_is_explained() -> None:
    assert sorted(first_column("A tool")) == sorted(ToolSettings.__struct_fields__)


def test_every_kind_of_source_and_its_fields_are_explained() -> None:
    kinds = get_args(SourceSettings)
    explained = first_column("A source")
    common = set(explained) - {kind.__struct_config__.tag for kind in kinds}
    for kind in kinds:
        tag = kind.__struct_config__.tag
        row = re.search(rf"^\| `{tag}` \| (.*)$", PAGE, re.MULTILINE)
        assert row is not None, tag
        said = row[1]
        if "as for `sql`" in said:
            said += "max_rows max_bytes"
        fields = set(kind.__struct_fields__) - common
        assert [name for name in fields if name not in said] == []
