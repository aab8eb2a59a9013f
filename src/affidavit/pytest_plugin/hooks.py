"""What pytest calls: options, fixture, repetitions, summary and report."""

import json
import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

from affidavit import pytest_plugin
from affidavit.pytest_plugin import results

# The same test again and again: each run listed, and how likely it is that k runs all pass.

_RUN: Final = re.compile(r"run(\d+)of(\d+)")
PASSED: Final = "passed"
SKIPPED: Final = "skipped"


def run_name(number: int, total: int) -> str:
    """Return how a repetition stands in the name of its test."""
    return f"run{number}of{total}"


def split_run_name(nodeid: str) -> tuple[str, int | None]:
    """Return a test's name without its repetition, and which one it was."""
    matches = [*_RUN.finditer(nodeid)]
    if not matches or not nodeid.endswith("]"):
        return nodeid, None
    found = matches[-1]  # Whatever stands before belongs to the test.
    before, after = nodeid[: found.start()], nodeid[found.end() :]
    before, after = (before[:-1], after) if before.endswith("-") else (before, after.lstrip("-"))
    return f"{before}{after}".removesuffix("[]"), int(found[1])


@dataclass(slots=True)
class RunOutcome:
    """How one run of a test ended, with what its assertions found."""

    run: int | None
    outcome: str
    reason: str = ""
    checks: list[dict[str, object]] = field(default_factory=list)


@dataclass(slots=True)
class RepeatedTest:
    """A test with its runs."""

    name: str
    runs: list[RunOutcome] = field(default_factory=list)

    @property
    def passes(self) -> int:
        """How many runs passed."""
        return sum(run.outcome == PASSED for run in self.runs)

    @property
    def trials(self) -> int:
        """How many runs there were; one that was skipped measured nothing."""
        return sum(run.outcome != SKIPPED for run in self.runs)

    def pass_hat(self) -> dict[int, float | None]:
        """Return pass^k for k = 1, 2, 4 ... and for all runs."""
        from affidavit.base.statistics.rates import pass_hat_k

        steps = {2**power for power in range(self.trials.bit_length()) if 2**power < self.trials}
        return {
            k: pass_hat_k(self.passes, self.trials, k) for k in sorted({*steps, self.trials} - {0})
        }

    def lines(self) -> Iterator[str]:
        """Yield what the summary says."""
        said = ", ".join(f"pass^{k} {value:.3f}" for k, value in self.pass_hat().items())
        yield f"{self.name}: {self.passes} of {self.trials} passed" + (f"; {said}" if said else "")
        for run in self.ordered():
            reason = f": {run.reason}" if run.reason else ""
            yield f"  run {run.run}: {run.outcome}{reason}"

    def ordered(self) -> list[RunOutcome]:
        """Return the runs in their order, however they were distributed."""
        return sorted(self.runs, key=lambda run: run.run or 0)

    def as_wire(self) -> dict[str, object]:
        """Return the test as the report file has it."""
        return {
            "test": self.name,
            "passed": self.passes,
            "runs": self.trials,
            "pass_hat_k": {str(k): value for k, value in self.pass_hat().items()},
            "each": [
                {
                    "run": run.run,
                    "outcome": run.outcome,
                    "reason": run.reason,
                    "checks": run.checks,
                }
                for run in self.ordered()
            ],
        }


# What pytest calls: options, the fixture, repetitions, the summary and the report.

PYTEST_REPORT_SCHEMA: Final = "affidavit-pytest/1"
_PROPERTY: Final = "affidavit"
_REPETITION: Final = "affidavit_repetition"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add our options."""
    group = parser.getgroup("affidavit", "checks of answers")
    group.addoption(
        "--affidavit-repeat",
        type=int,
        default=1,
        metavar="N",
        help="run each test that uses the fixture affidavit, or has its mark, N times",
    )
    group.addoption(
        "--affidavit-report",
        type=Path,
        default=None,
        metavar="FILE",
        help="write what the checks found, and pass^k of repeated tests, as JSON",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark, and what collects the outcomes."""
    config.addinivalue_line(
        "markers", "affidavit(repeat=N): a test of answers, run N times (--affidavit-repeat)"
    )
    if config.getoption("--affidavit-repeat") < 1:
        raise pytest.UsageError("--affidavit-repeat needs a number from 1 on")
    config.pluginmanager.register(OutcomeCollector(config), "affidavit-outcomes")


@pytest.fixture(name="affidavit")
def affidavit_fixture() -> Any:
    """Give `assert_grounded` and `assert_gate`; a test that asks for it can be repeated."""
    return pytest_plugin


@pytest.fixture(name=_REPETITION)
def affidavit_repetition(request: pytest.FixtureRequest) -> int:
    """Give the number of this run, from 1 on."""
    return int(getattr(request, "param", 1))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make N tests of one that is to be repeated."""
    mark = metafunc.definition.get_closest_marker("affidavit")
    if mark is None and "affidavit" not in metafunc.fixturenames:
        return
    chosen = metafunc.config.getoption("--affidavit-repeat")
    marked = _repetitions(mark, metafunc.definition.nodeid)
    total = chosen if chosen > 1 else marked
    if total > 1:
        if _REPETITION not in metafunc.fixturenames:
            metafunc.fixturenames.append(_REPETITION)
        numbers = range(1, total + 1)
        names = [run_name(number, total) for number in numbers]
        metafunc.parametrize(_REPETITION, numbers, indirect=True, ids=names)


def _repetitions(mark: pytest.Mark | None, name: str) -> int:
    """Return how often a mark has its test run; a word or a zero there is a slip, not a wish."""
    if mark is None:
        return 1
    repeat = mark.kwargs.get("repeat", 1)
    if mark.args or mark.kwargs.keys() - {"repeat"} or type(repeat) is not int or repeat < 1:
        said = f"{name}: the mark affidavit takes repeat=N, a number from 1 on"
        raise pytest.fail.Exception(said, pytrace=False)
    return repeat


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Keep what the assertions of a test found with its result, where xdist carries it home."""
    results.take_results()
    try:
        return (yield)
    finally:
        found = results.take_results()
        if found:
            item.user_properties.append((_PROPERTY, json.dumps(found)))


class OutcomeCollector:
    """Collects how tests ended, and says so at the end."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._tests: dict[str, RepeatedTest] = {}
        self._runs: dict[str, RunOutcome] = {}
        self._problem = ""

    def pytest_sessionstart(self) -> None:
        """Refuse a place for the report before the first test, not after the last."""
        self._write()
        if self._problem:
            raise pytest.UsageError(self._problem)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember a phase of a test: one that fails is worse than what came before."""
        properties = dict(report.user_properties)
        found = json.loads(str(properties.get(_PROPERTY, "[]")))
        name, number = split_run_name(report.nodeid)
        is_end = report.when == "call" or not report.passed
        if not is_end or (number is None and not found):
            return
        run = self._runs.get(report.nodeid)
        if run is None:
            run = self._runs[report.nodeid] = RunOutcome(number, PASSED)
            self._tests.setdefault(name, RepeatedTest(name)).runs.append(run)
        if report.skipped:
            run.outcome = SKIPPED
        elif report.failed:
            run.outcome = "failed" if report.when == "call" else "error"
            run.reason = reason_of(report)
        run.checks = found

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """List each repetition, and say what kept the report from being written."""
        repeated = [test for test in self._tests.values() if test.runs[0].run is not None]
        if repeated:
            terminalreporter.section("affidavit: repeated tests")
        for test in repeated:
            for line in test.lines():
                terminalreporter.write_line(line)
        if self._problem:
            terminalreporter.write_line(f"ERROR: {self._problem}", red=True)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the report; what keeps it from being written must not hide what failed."""
        self._write()
        if self._problem:
            session.exitstatus = pytest.ExitCode.USAGE_ERROR

    def _write(self) -> None:
        path = self._config.getoption("--affidavit-report")
        # The workers of xdist leave it to their leader.
        if path is None or hasattr(self._config, "workerinput"):
            return
        from affidavit.base.errors import AffidavitError
        from affidavit.base.files import write_atomically

        wire = {
            "schema_version": PYTEST_REPORT_SCHEMA,
            "tests": [self._tests[name].as_wire() for name in sorted(self._tests)],
        }
        # Half a letter, which a failing test may quote, has no place in UTF-8.
        text = json.dumps(wire, indent=2, ensure_ascii=False).encode("utf-8", "replace")
        try:
            write_atomically(path, text + b"\n")
        except AffidavitError as error:
            self._problem = str(error)


def reason_of(report: pytest.TestReport) -> str:
    """Return the first line of why a test failed."""
    crash = getattr(report.longrepr, "reprcrash", None)
    text = str(crash.message if crash is not None else report.longrepr or "")
    return next((line.strip() for line in text.splitlines() if line.strip()), "")[:300]
