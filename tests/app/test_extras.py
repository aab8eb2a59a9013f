"""The extras in the metadata of a package."""

import tomllib
from importlib import metadata

import pytest
from tests.repository import ROOT

from affidavit.app.doctor import Needs, Requirement, find_extra_with, find_needs, needs_from

LINES = (
    "click>=8.5",
    "PyYAML >= 6.0.2",
    "lxml>=5.3; extra == 'ledger'",
    'numpy[fast]>=2.0 ; extra == "ledger"',
    "typst; extra == 'pdf'",
    "lxml>=5.3; extra == 'all'",
    "numpy>=2.0; extra == 'all'",
    "typst; extra == 'all'",
    "affidavit[ledger,pdf]; extra == 'everything'",
)


def test_requirements_are_sorted_and_bundles_of_extras_left_out() -> None:
    assert needs_from(LINES) == Needs(
        (Requirement("click", ">=8.5", None), Requirement("PyYAML", ">= 6.0.2", None)),
        (
            (
                "ledger",
                (Requirement("lxml", ">=5.3", "ledger"), Requirement("numpy", ">=2.0", "ledger")),
            ),
            ("pdf", (Requirement("typst", "", "pdf"),)),
        ),
    )


@pytest.mark.parametrize("line", ["", "tomli; python_version < '3.11'", ">=5"])
def test_an_unknown_form_of_requirement_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="unexpected requirement"):
        needs_from([line])


def test_the_metadata_equals_pyproject() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    needs = needs_from(
        [
            *project["dependencies"],
            *(
                f"{line}; extra == '{name}'"
                for name, lines in project["optional-dependencies"].items()
                for line in lines
            ),
        ]
    )
    assert {name for name, _ in needs.extras} == set(project["optional-dependencies"]) - {"all"}
    found = find_needs()
    assert found is not None
    assert {row.name for row in found.core} == {row.name for row in needs.core}
    assert [name for name, _ in found.extras] == [name for name, _ in needs.extras]


MODULES = {
    "a package of the same name": ("pyspark", "spark"),
    "a name space of a package": ("opentelemetry", "otel"),
    "a library of the core": ("click", None),
    "a module of no package": ("nobody", None),
    "no name": ("", None),
}


@pytest.mark.parametrize(("module", "extra"), MODULES.values(), ids=MODULES.keys())
def test_the_extra_of_a_module(module: str, extra: str | None) -> None:
    assert find_extra_with(module) == extra


def test_affidavit_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def requires(name: str) -> list[str]:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", requires)
    assert find_needs() is None
    assert find_extra_with("pyspark") is None


def test_metadata_without_requirements(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "requires", lambda name: None)
    assert find_needs() == Needs((), ())
