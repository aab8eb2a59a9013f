"""Mutation testing: change the code in small ways and see whether a test notices.

`make mutants` takes a sample with a fixed seed. Each mutant is one change in a copy of src; the
tests of its package run against the copy until one fails. A mutant that no test notices survives
and is printed with its diff. A timeout counts as noticed. Some survivors change nothing that can
be observed, which is why the floors are below 100%.
"""

import argparse
import ast
import difflib
import importlib.util
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# A package, or a folder below it, and the tests that cover it.
TESTS: dict[str, tuple[str, ...]] = {
    "base": ("tests/base",),
    "decision": ("tests/decision", "tests/gates", "tests/ledger"),
    "checks": ("tests/checks", "tests/conformance"),
    "ledger": ("tests/ledger",),
    "gates": ("tests/gates",),
    "packs": ("tests/packs",),
    "soak": ("tests/soak",),
    "seal": ("tests/seal", "tests/conformance"),
    "judge/lexical": (
        "tests/judge/test_lexical_judge.py",
        "tests/judge/test_lexical_numbers.py",
        "tests/judge/test_lexical_words.py",
        "tests/judge/test_lexical_laws.py",
    ),
}
SLOW_TESTS = frozenset({"architecture", "cli", "documents", "engine", "packaging", "web"})
COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
}
# How a class or a field is stored, not what it means; `strict` of zip, which guards a length that
# no caller can get wrong.
STORAGE_FLAGS = frozenset({"frozen", "kw_only", "omit_defaults", "slots", "repr", "gc", "strict"})


@dataclass(frozen=True)
class Mutant:
    """One change: the file, its package, the line, and the text of the changed file."""

    package: str
    path: Path
    line: int
    text: str

    def diff(self) -> str:
        """Return the changed lines, without the header of a diff."""
        before = self.path.read_text("utf-8").splitlines()
        lines = difflib.unified_diff(before, self.text.splitlines(), n=0, lineterm="")
        return "\n".join(line for line in lines if not line.startswith(("---", "+++", "@@")))


# Finding the places where code can be changed.


class SiteFinder(ast.NodeVisitor):
    """Collects (node, replacement) pairs; annotations, decorators and f-strings are left alone."""

    def __init__(self) -> None:
        self.sites: list[tuple[ast.expr | ast.stmt, ast.AST]] = []

    def visit_Compare(self, node: ast.Compare) -> None:
        """Swap one comparison for its neighbour."""
        other = deepcopy(node)
        other.ops[0] = COMPARISONS[type(node.ops[0])]()
        self._add(node, other)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        """Swap an arithmetic operator; a union of types is none."""
        if type(node.op) in ARITHMETIC:
            other = deepcopy(node)
            other.op = ARITHMETIC[type(node.op)]()
            self._add(node, other)
        else:
            self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        """Swap `and` and `or`."""
        other = deepcopy(node)
        other.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        self._add(node, other)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        """Drop a `not`."""
        if isinstance(node.op, ast.Not):
            self._add(node, node.operand)
        else:
            self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        """Change a number by one, or a truth value; texts are wording."""
        if isinstance(node.value, bool):
            self._add(node, ast.Constant(not node.value))
        elif isinstance(node.value, int | float):
            self._add(node, ast.Constant(node.value + 1))

    def visit_Return(self, node: ast.Return) -> None:
        """Return nothing instead of a value; a constant is changed by itself."""
        if node.value is not None and not isinstance(node.value, ast.Constant):
            self._add(node, ast.Return(ast.Constant(None)))

    def visit_Expr(self, node: ast.Expr) -> None:
        """Remove a call that is a statement; a docstring is none."""
        if not isinstance(node.value, ast.Constant):
            self._add(node, ast.Pass())

    def visit_Raise(self, node: ast.Raise) -> None:
        """Remove a raise, and leave the texts of its message alone."""
        self.sites.append((node, ast.Pass()))

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """Remove `x += 1` and its like."""
        self._add(node, ast.Pass())

    def visit_Continue(self, node: ast.Continue) -> None:
        """Remove a `continue`."""
        self.sites.append((node, ast.Pass()))

    def visit_Break(self, node: ast.Break) -> None:
        """Turn a `break` into a `continue`."""
        self.sites.append((node, ast.Continue()))

    def visit_keyword(self, node: ast.keyword) -> None:
        """Pass over the flags of classes."""
        if node.arg not in STORAGE_FLAGS:
            self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Change the value of an annotated name, not its type."""
        if node.value is not None:
            self.visit(node.value)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Look at defaults and body; how a value is shown to a developer is wording."""
        if node.name in {"__repr__", "_repr_html_"}:
            return
        for child in (*node.args.defaults, *filter(None, node.args.kw_defaults), *node.body):
            self.visit(child)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Leave f-strings alone: they are wording, and have no exact places before 3.12."""

    def visit_If(self, node: ast.If) -> None:
        """Look at a condition and its branches, but not at imports for type checkers."""
        if not (isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"):
            self.generic_visit(node)

    def _add(self, node: ast.expr | ast.stmt, replacement: ast.AST) -> None:
        self.sites.append((node, replacement))
        self.generic_visit(node)


def mutants_of(package: str, path: Path) -> Iterator[Callable[[], Mutant | None]]:
    """Yield a maker for each mutant of a file: a sample makes few of them."""
    source = path.read_text("utf-8")
    finder = SiteFinder()
    finder.visit(ast.parse(source))
    for node, replacement in finder.sites:
        yield partial(_mutant, package, path, source, node, replacement)


def _mutant(
    package: str, path: Path, source: str, node: ast.expr | ast.stmt, replacement: ast.AST
) -> Mutant | None:
    """Return the mutant, or None where the changed text is not Python."""
    text = ast.unparse(ast.fix_missing_locations(replacement))
    # Parentheses keep the grouping that the node had.
    if isinstance(node, ast.expr) and not isinstance(node, ast.Constant):
        text = f"({text})"
    lines = source.encode().splitlines(keepends=True)
    start = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    end = sum(map(len, lines[: node.end_lineno - 1])) + node.end_col_offset
    raw = source.encode()
    changed = (raw[:start] + text.encode() + raw[end:]).decode()
    try:
        ast.parse(changed)
    except SyntaxError:
        return None
    return Mutant(package, path, node.lineno, changed)


def sample(packages: Sequence[str], count: int, seed: int) -> list[Mutant]:
    """Return a sample of all mutants of some packages, in the order of their files."""
    makers = [
        maker
        for package in packages
        for path in sorted((ROOT / "src" / "affidavit" / package).rglob("*.py"))
        for maker in mutants_of(package, path)
    ]
    chosen = sorted(random.Random(seed).sample(range(len(makers)), min(count, len(makers))))
    return [mutant for number in chosen if (mutant := makers[number]()) is not None]


# Running the tests of a package against a copy of src.


@dataclass(frozen=True)
class SourceCopy:
    """A copy of src, in which one file at a time is changed."""

    root: Path

    def tests_pass(self, package: str, first: Path | None, timeout: float) -> bool:
        """Run the tests of a package, those that name the changed module first."""
        folders = [name for name in TESTS[package] if (ROOT / name).exists()]
        named = [] if first is None else files_naming(first)
        # With the profile `ci` the property tests take the same examples in every run.
        options = ("-x", "-q", "-p", "no:cacheprovider", "--tb=no", "--hypothesis-profile=ci")
        command = [sys.executable, "-m", "pytest", *options, *named, *folders]
        environment = {**os.environ, "PYTHONPATH": str(self.root)}
        try:
            done = subprocess.run(
                command,
                cwd=ROOT,
                env=environment,
                capture_output=True,
                timeout=timeout,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == 0

    def survives(self, mutant: Mutant, timeout: float) -> bool:
        """Write the mutant, run its tests, and restore the file."""
        place = self.root / mutant.path.relative_to(ROOT / "src")
        original = place.read_bytes()
        try:
            self._write(place, mutant.text.encode())
            return self.tests_pass(mutant.package, mutant.path, timeout)
        finally:
            self._write(place, original)

    def _write(self, place: Path, data: bytes) -> None:
        place.write_bytes(data)
        # Python trusts cached bytecode by time and size, which may not differ here.
        Path(importlib.util.cache_from_source(str(place))).unlink(missing_ok=True)


def files_naming(module: Path) -> list[str]:
    """Return the test files that import a module, which are most likely to notice a change."""
    dotted = ".".join(module.relative_to(ROOT / "src").with_suffix("").parts)
    files = (
        path
        for folder in sorted((ROOT / "tests").iterdir())
        if folder.is_dir() and folder.name not in SLOW_TESTS
        for path in sorted(folder.rglob("test_*.py"))
    )
    return [str(path.relative_to(ROOT)) for path in files if dotted in path.read_text("utf-8")]


def main() -> int:
    """Sample, run, print, and compare the share of noticed mutants with the floor."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=__doc__)
    parser.add_argument("packages", nargs="+", choices=tuple(TESTS), metavar="PACKAGE")
    parser.add_argument("--count", type=int, default=100, help="how many mutants to try")
    parser.add_argument("--seed", type=int, default=1, help="the seed of the sample")
    parser.add_argument("--floor", type=float, required=True, help="percent that must be noticed")
    options = parser.parse_args()
    mutants = sample(options.packages, options.count, options.seed)
    with tempfile.TemporaryDirectory(prefix="affidavit-mutants-") as name:
        copy = Path(name) / "src"
        shutil.copytree(ROOT / "src", copy, ignore=shutil.ignore_patterns("__pycache__"))
        survivors = try_all(SourceCopy(copy), mutants)
    return report(mutants, survivors, options.floor)


def try_all(copy_of_src: SourceCopy, mutants: Sequence[Mutant]) -> list[Mutant]:
    """Try every mutant and return those that survive, printing each as it is found."""
    limits: dict[str, float] = {}
    survivors = []
    for number, mutant in enumerate(mutants, 1):
        if mutant.package not in limits:
            started = time.monotonic()
            if not copy_of_src.tests_pass(mutant.package, None, 3600):
                sys.exit(f"The tests of {mutant.package} fail without any mutant; fix them first")
            limits[mutant.package] = 30 + 3 * (time.monotonic() - started)
        if copy_of_src.survives(mutant, limits[mutant.package]):
            survivors.append(mutant)
            print(
                f"[{number}/{len(mutants)}] survived {mutant.path.relative_to(ROOT)}:{mutant.line}"
            )
            print(mutant.diff(), flush=True)
    return survivors


def report(mutants: Sequence[Mutant], survivors: Sequence[Mutant], floor: float) -> int:
    """Print the share per package and over all; 1 below the floor, 3 if nothing was tried."""
    if not mutants:
        print("No mutant was tried, so nothing is known")
        return 3
    for package in sorted({mutant.package for mutant in mutants}):
        tried = sum(mutant.package == package for mutant in mutants)
        lived = sum(mutant.package == package for mutant in survivors)
        print(f"{package:<14} {tried - lived:>4} of {tried:>4} noticed, {lived} survived")
    share = 100 * (len(mutants) - len(survivors)) / len(mutants)
    print(f"Noticed: {share:.1f}% of {len(mutants)} mutants ({floor:g}% needed)")
    return 0 if share >= floor else 1


if __name__ == "__main__":
    sys.exit(main())
