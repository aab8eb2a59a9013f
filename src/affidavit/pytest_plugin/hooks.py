"""The hooks of the pytest plugin: options, fixtures, repetitions, summary and report."""

import json
import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

from affidavit import pytest_plugin
from affidavit.pytest_plugin.assertions import take_results

_RUN: Final = re.compile(r"run(\d+)of(\d+)")
PASSED: Final = "passed"
SKIPPED: Final = "skipped"


def run_name(number: int, total: int) -> str:
    """Return the id of a repetition, which becomes part of the test's name."""
    return f"run{number}of{total}"


def split_run_name(nodeid: str) -> tuple[str, int | None]:
    """Return a test's name without the id of its repetition, and the number of the repetition."""
    matches = [*_RUN.finditer(nodeid)]
    if not matches or not nodeid.endswith("]"):
        return nodeid, None
    found = matches[-1]  # An earlier match is part of the test's own id.
    before, after = nodeid[: found.start()], nodeid[found.end() :]
    before, after = (before[:-1], after) if before.endswith("-") else (before, after.lstrip("-"))
    return f"{before}{after}".removesuffix("[]"), int(found[1])


@dataclass(slots=True)
class RunOutcome:
    """The outcome of one run of a test, with the results of its assertions."""

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
        """How many runs there were, without those that were skipped."""
        return sum(run.outcome != SKIPPED for run in self.runs)

    def pass_hat(self) -> dict[int, float | None]:
        """Return pass^k for k = 1, 2, 4 ... and for all runs."""
        from affidavit.base.statistics import pass_hat_k

        steps = {2**power for power in range(self.trials.bit_length()) if 2**power < self.trials}
        return {
            k: pass_hat_k(self.passes, self.trials, k) for k in sorted({*steps, self.trials} - {0})
        }

    def lines(self) -> Iterator[str]:
        """Yield the lines of the terminal summary."""
        said = ", ".join(f"pass^{k} {value:.3f}" for k, value in self.pass_hat().items())
        yield f"{self.name}: {self.passes} of {self.trials} passed" + (f"; {said}" if said else "")
        for run in self.ordered():
            reason = f": {run.reason}" if run.reason else ""
            yield f"  run {run.run}: {run.outcome}{reason}"

    def ordered(self) -> list[RunOutcome]:
        """Return the runs by number: pytest-xdist may have run them in any order."""
        return sorted(self.runs, key=lambda run: run.run or 0)

    def as_wire(self) -> dict[str, object]:
        """Return the test's part of the report file."""
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
    """Register the mark and the collector of outcomes."""
    config.addinivalue_line(
        "markers", "affidavit(repeat=N): a test of answers, run N times (--affidavit-repeat)"
    )
    if config.getoption("--affidavit-repeat") < 1:
        raise pytest.UsageError("--affidavit-repeat needs a number of at least 1")
    config.pluginmanager.register(OutcomeCollector(config), "affidavit-outcomes")


@pytest.fixture(name="affidavit")
def affidavit_fixture() -> Any:
    """Provide `assert_grounded` and `assert_gate`. A test that uses it can be repeated."""
    return pytest_plugin


@pytest.fixture(name=_REPETITION)
def affidavit_repetition(request: pytest.FixtureRequest) -> int:
    """Provide the number of this run, counted from 1."""
    return int(getattr(request, "param", 1))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize a test that should be repeated."""
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
    """Return the repetitions that a mark asks for; anything but a positive number is refused."""
    if mark is None:
        return 1
    repeat = mark.kwargs.get("repeat", 1)
    if mark.args or mark.kwargs.keys() - {"repeat"} or type(repeat) is not int or repeat < 1:
        said = f"{name}: the mark affidavit takes repeat=N, a number of at least 1"
        raise pytest.fail.Exception(said, pytrace=False)
    return repeat


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Attach the results of the assertions to the test report, which pytest-xdist transfers."""
    take_results()
    try:
        return (yield)
    finally:
        found = take_results()
        if found:
            item.user_properties.append((_PROPERTY, json.dumps(found)))


class OutcomeCollector:
    """Collects the outcomes of tests for the summary and the report."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._tests: dict[str, RepeatedTest] = {}
        self._runs: dict[str, RunOutcome] = {}
        self._problem = ""

    def pytest_sessionstart(self) -> None:
        """Stop before the first test if the report cannot be written."""
        self._write()
        if self._problem:
            raise pytest.UsageError(self._problem)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record a phase of a test; a failing phase overrides an earlier one."""
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
        """List each repetition, and the reason why the report could not be written."""
        repeated = [test for test in self._tests.values() if test.runs[0].run is not None]
        if repeated:
            terminalreporter.section("affidavit: repeated tests")
        for test in repeated:
            for line in test.lines():
                terminalreporter.write_line(line)
        if self._problem:
            terminalreporter.write_line(f"ERROR: {self._problem}", red=True)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the report. A failure to write it must not hide a failing test."""
        self._write()
        if self._problem:
            session.exitstatus = pytest.ExitCode.USAGE_ERROR

    def _write(self) -> None:
        path = self._config.getoption("--affidavit-report")
        # Under pytest-xdist only the controller writes the report.
        if path is None or hasattr(self._config, "workerinput"):
            return
        from affidavit.base.errors import AffidavitError
        from affidavit.base.files import write_atomically

        wire = {
            "schema_version": PYTEST_REPORT_SCHEMA,
            "tests": [self._tests[name].as_wire() for name in sorted(self._tests)],
        }
        # A failing test may quote a lone surrogate, which UTF-8 cannot encode.
        text = json.dumps(wire, indent=2, ensure_ascii=False).encode("utf-8", "replace")
        try:
            write_atomically(path, text + b"\n")
        except AffidavitError as error:
            self._problem = str(error)


def reason_of(report: pytest.TestReport) -> str:
    """Return the first line of the reason why a test failed."""
    crash = getattr(report.longrepr, "reprcrash", None)
    text = str(crash.message if crash is not None else report.longrepr or "")
    return next((line.strip() for line in text.splitlines() if line.strip()), "")[:300]
