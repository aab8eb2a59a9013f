"""`make mutants`: which changes are made, which are left alone, and what the result means."""

from pathlib import Path

import pytest
from tests.repository import ROOT
from tools.mutants import Mutant, files_naming, mutants_of, report, sample

from tools import mutants

SITES = {
    "a comparison": ("x = a < b", ["x = (a <= b)"]),
    "membership": ("x = a in b", ["x = (a not in b)"]),
    "arithmetic": ("x = a + b", ["x = (a - b)"]),
    "grouping is kept": ("x = (a + b) * c", ["x = ((a + b) / c)", "x = ((a - b)) * c"]),
    "and": ("x = a and b", ["x = (a or b)"]),
    "not": ("x = not a", ["x = (a)"]),
    "a number": ("x = 2", ["x = 3"]),
    "a truth value": ("x = True", ["x = False"]),
    "a result": ("def f():\n    return a", ["def f():\n    return None"]),
    "a call that is a statement": ("f(a)", ["pass"]),
    "a raise": ("raise E('text', 1)", ["pass"]),
    "a loop's end": ("for a in b:\n    break", ["for a in b:\n    continue"]),
    "letters of several bytes before it": ("x = 'é' + a", ["x = ('é' - a)"]),
    "a text is wording": ("x = 'text'", []),
    "a docstring": ('"""Text."""', []),
    "an f-string is wording": ("x = f'{a + 1}'", []),
    "an annotation": ("x: Literal[1] = a", []),
    "a union of types": ("X = int | str", []),
    "how a class is stored": ("class A(Struct, frozen=True): ...", []),
    "imports for type checkers": ("if TYPE_CHECKING:\n    x = 1", []),
    "a result of None": ("def f():\n    return None", []),
}


@pytest.mark.parametrize(("source", "wanted"), SITES.values(), ids=SITES.keys())
def test_the_mutants_of_a_source(source: str, wanted: list[str], tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(source, "utf-8")
    made = [mutant for maker in mutants_of("base", path) if (mutant := maker()) is not None]
    assert [mutant.text for mutant in made] == wanted


def test_the_sample_depends_on_the_seed_alone() -> None:
    first = sample(["decision"], 5, 1)
    assert len(first) == 5
    assert first == sample(["decision"], 5, 1) != sample(["decision"], 5, 2)


def test_a_diff_shows_the_change(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text("a = 1\nb = 2\n")
    assert Mutant("base", path, 2, "a = 1\nb = 3\n").diff() == "-b = 2\n+b = 3"


def test_every_package_and_folder_of_tests_exists() -> None:
    packages = [name for name in mutants.TESTS if name != "soak"]
    assert [name for name in packages if not (ROOT / "src" / "affidavit" / name).is_dir()] == []
    assert all(any((ROOT / name).exists() for name in mutants.TESTS[each]) for each in packages)
    assert "tests/base/test_digest.py" in files_naming(ROOT / "src/affidavit/base/digest.py")


@pytest.mark.parametrize(("survived", "wanted"), [(0, 0), (1, 0), (2, 1)])
def test_below_the_floor_is_a_no(survived: int, wanted: int) -> None:
    tried = [Mutant("base", Path("x.py"), number, "") for number in range(10)]
    assert report(tried, tried[:survived], 90) == wanted


def test_nothing_tried_is_not_a_yes() -> None:
    assert report([], [], 0) == 3
