"""Every check is switched on: a check runs or is deleted, and none is left in place disabled."""

import ast
import re
import tomllib
from typing import Any

import pytest
from tests.repository import ROOT, files_of_the_repository, pure_packages

SETTINGS: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")


def test_ruff_asks_for_everything_agreed() -> None:
    agreed = "E F W I UP B C4 C90 D1 DTZ ERA PLR0915 PT PTH RUF S SIM T20 TID251"
    lint = SETTINGS["ruff"]["lint"]
    assert set(agreed.split()) <= set(lint["select"])
    assert lint["mccabe"]["max-complexity"] <= 8
    assert lint["pylint"]["max-statements"] <= 40


def test_no_lint_rule_is_ignored_in_src() -> None:
    ignored = SETTINGS["ruff"]["lint"]["per-file-ignores"]
    assert [pattern for pattern in ignored if pattern.startswith("src")] == []


def test_mypy_is_strict_everywhere() -> None:
    assert SETTINGS["mypy"]["strict"] is True
    assert SETTINGS["mypy"]["files"] == ["src/affidavit", "tests"]
    loosened = [
        entry for entry in SETTINGS["mypy"].get("overrides", ()) if "ignore_errors" in entry
    ]
    assert loosened == []


def test_warnings_are_errors() -> None:
    assert SETTINGS["pytest"]["ini_options"]["filterwarnings"][0] == "error"
    assert SETTINGS["pytest"]["ini_options"]["xfail_strict"] is True


def test_coverage_counts_branches_and_leaves_nothing_out() -> None:
    assert SETTINGS["coverage"]["run"]["branch"] is True
    assert SETTINGS["coverage"]["run"]["patch"] == ["subprocess"]
    for part in ("run", "report"):
        assert not {"omit", "include"} & SETTINGS["coverage"][part].keys()


def test_all_of_the_pure_packages_must_be_covered() -> None:
    listed = re.search(r"^PURE := (.+)$", MAKEFILE, re.MULTILINE)
    assert listed is not None
    assert set(listed[1].split()) == pure_packages()


# A suppression names its code and its reason.
SUPPRESSION = re.compile(r"#\s*(?:noqa|type:\s*ignore|pragma:\s*no\s*cover|nosec)", re.IGNORECASE)
EXPLAINED = re.compile(
    r"#\s*(?:noqa:\s*[A-Z]+\d+(?:,\s*[A-Z]+\d+)*"
    r"|type:\s*ignore\[[a-z, -]+\]"
    r"|pragma:\s*no\s*cover)"
    r"\s*(?:-|#)\s*\w+"
)

SUPPRESSIONS = {
    "a code and a reason": ("x = 1  # noqa: S105 - not a secret", True),
    "two codes and a reason": ("x = 1  # noqa: S105, E501 - a vector, as published", True),
    "a type, with its reason": ("x()  # type: ignore[arg-type]  # the stubs are wrong", True),
    "no branch, with its reason": ("else:  # pragma: no cover - Windows only", True),
    "no reason": ("x = 1  # noqa: S105", False),
    "no code": ("x = 1  # noqa - it is fine", False),
    "a type without a code": ("x()  # type: ignore - it is fine", False),
    "no branch and no reason": ("else:  # pragma: no cover", False),
}


@pytest.mark.parametrize(("line", "wanted"), SUPPRESSIONS.values(), ids=SUPPRESSIONS.keys())
def test_what_counts_as_explained(line: str, wanted: bool) -> None:
    assert SUPPRESSION.search(line)
    assert bool(EXPLAINED.search(line)) is wanted


def test_every_suppression_is_explained() -> None:
    bare = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in files_of_the_repository()
        if path.suffix == ".py" and path.name != "test_switches.py"
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if SUPPRESSION.search(line) and not EXPLAINED.search(line)
    ]
    assert bare == []


def test_every_skip_has_a_reason() -> None:
    # `pytest.skip("...")` has its reason as the first argument; the others need the keyword.
    bare = [
        f"{path.relative_to(ROOT)}:{call.lineno}"
        for path in files_of_the_repository()
        if path.suffix == ".py"
        for call in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr in {"skipif", "importorskip", "xfail"}
        and "reason" not in {keyword.arg for keyword in call.keywords}
    ]
    assert bare == []
