"""The same test again and again: each run listed, and how likely it is that k runs all pass."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

_RUN: Final = re.compile(r"run(\d+)of(\d+)")
PASSED: Final = "passed"
SKIPPED: Final = "skipped"


def run_name(number: int, total: int) -> str:
    """Return how a repetition stands in the name of its test."""
    return f"run{number}of{total}"


def apart(nodeid: str) -> tuple[str, int | None]:
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
        from affidavit.base.statistics import pass_hat_k

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
