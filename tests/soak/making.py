"""Trials and plans for tests, in a few words each."""

from collections.abc import Sequence
from typing import Any

from affidavit.soak.report import SoakPackV1, SoakPlan
from affidavit.soak.trial import InfraError, InfraErrorKind, Trial, TrialStatus

LETTERS = {"p": TrialStatus.PASS, "f": TrialStatus.FAIL, "i": TrialStatus.INFRA_ERROR}
INFRA = InfraError(InfraErrorKind.SUBPROCESS_FAILED, "it ended with 9")
RULE = "pack@1:R-1"


def trial(index: int, letter: str, **others: Any) -> Trial:
    """Return a trial: p passed, f failed, i was not judged."""
    members: dict[str, Any] = {
        "index": index,
        "seed": index,
        "status": LETTERS[letter],
        "duration_ms": 1,
        "infra_error": INFRA if letter == "i" else None,
        "violated_rules": (RULE,) if letter == "f" else (),
    }
    return Trial(**{**members, **others})


def trials(letters: str, cases: Sequence[str] = ()) -> list[Trial]:
    """Return trials in order; the cases take turns."""
    return [
        trial(at + 1, letter, case=cases[at % len(cases)] if cases else None)
        for at, letter in enumerate(letters)
    ]


def plan(iterations: int, **others: Any) -> SoakPlan:
    """Return a plan of a command."""
    members: dict[str, Any] = {
        "target": "./agent",
        "target_kind": "command",
        "iterations": iterations,
        "seed": 1,
        "packs": (SoakPackV1(name="exit-status", version="1.0.0"),),
        "limits": {"max_events": 1},
    }
    return SoakPlan(**{**members, **others})
