"""The use case behind `affidavit doctor`: what is installed, what works, what to do."""

import platform
from collections.abc import Callable, Iterable, Mapping

from affidavit import __version__
from affidavit.app.doctor.imports import problems_importing
from affidavit.app.doctor.model import Examination, Extra, Package, State, Trial, worst_of
from affidavit.app.doctor.packages import (
    ImportProblems,
    Installed,
    examine_packages,
    extra_from,
    find_installed,
)
from affidavit.app.doctor.trials import ATTEMPTS, Attempt, make_trial
from affidavit.app.extras import Needs, find_needs

__all__ = ["Examination", "Extra", "Package", "State", "Trial", "examine"]


def examine(
    find_needs: Callable[[], Needs | None] = find_needs,
    find_installed: Callable[[], Mapping[str, Installed]] = find_installed,
    problems_importing: ImportProblems = problems_importing,
    attempts: Iterable[Attempt] = ATTEMPTS,
) -> Examination:
    """Look at this environment and try what the core lives on.

    Every library that is installed is imported once, in another process. Nothing is changed, and
    nothing leaves the machine.
    """
    needs = find_needs()
    known = needs or Needs((), ())
    requirements = (*known.core, *(row for _, rows in known.extras for row in rows))
    packages = examine_packages(requirements, find_installed(), problems_importing)
    core = tuple(packages[row.name] for row in known.core)
    extras = tuple(
        extra_from(name, tuple(packages[row.name] for row in rows)) for name, rows in known.extras
    )
    trials = (_installation(needs), *(make_trial(attempt, packages) for attempt in attempts))
    needed = tuple(package.state for package in core)
    others = (*(extra.state for extra in extras), *(trial.state for trial in trials))
    return Examination(
        ok=worst_of(needed) is State.OK and worst_of(others) is not State.BROKEN,
        version=__version__,
        python=f"{platform.python_implementation()} {platform.python_version()}",
        platform=platform.platform(),
        core=core,
        extras=extras,
        trials=trials,
    )


def _installation(needs: Needs | None) -> Trial:
    if needs is None:
        said = "Affidavit runs from its source files; which libraries it needs is not known"
        return Trial("installation", State.BROKEN, said, "pip install -e . in its folder")
    return Trial("installation", State.OK, "Affidavit is installed with its metadata", None)
