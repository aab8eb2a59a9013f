"""No module is huge. Below the cap, ideas decide where a module ends, not lines (docs/adr/0017).

Functions are capped by ruff: 40 statements (PLR0915), complexity 8 (C901).
"""

from pathlib import Path

from tests.repository import ROOT

MAX_LINES = 700
CAPPED = ("src", "tools", "benchmarks")


def too_long(folders: list[Path]) -> list[str]:
    """Return the modules that are longer than the cap."""
    lengths = {
        path: len(path.read_text("utf-8").splitlines())
        for folder in folders
        for path in sorted(folder.rglob("*.py"))
    }
    return [f"{path.name}: {lines} lines" for path, lines in lengths.items() if lines > MAX_LINES]


def test_no_module_is_too_long() -> None:
    assert too_long([ROOT / name for name in CAPPED]) == []


def test_one_line_more_is_too_long(tmp_path: Path) -> None:
    (tmp_path / "fits.py").write_text("pass\n" * MAX_LINES, "utf-8")
    (tmp_path / "long.py").write_text("pass\n" * (MAX_LINES + 1), "utf-8")
    assert too_long([tmp_path]) == ["long.py: 701 lines"]
