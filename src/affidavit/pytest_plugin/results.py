"""What the assertions of the running test have found, for the report."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

_results: list[dict[str, object]] = []


def record_result(kind: str, decision: str, reasons: tuple[str, ...]) -> None:
    """Keep what an assertion found, until its test ends."""
    _results.append({"check": kind, "decision": decision, "reasons": list(reasons)})


def take_results() -> list[dict[str, object]]:
    """Return what was found since the last time, and begin anew."""
    found = list(_results)
    _results.clear()
    return found


@contextmanager
def one_line_errors(kind: str) -> Iterator[None]:
    """Turn an error of the catalog, or an extra that is missing, into a failure of one line.

    A traceback through our own modules would tell a user nothing. A check that could not be made
    decided nothing, and stands in the report as that.
    """
    __tracebackhide__ = True
    from affidavit.base.errors import AffidavitError

    try:
        yield
    except AffidavitError as error:
        said = str(error)
    except ModuleNotFoundError as error:
        said = _missing(error)
    else:
        return
    record_result(kind, "inconclusive", (said,))
    raise pytest.fail.Exception(said, pytrace=False) from None


def _missing(error: ModuleNotFoundError) -> str:
    from affidavit.app.doctor import find_extra_with
    from affidavit.base.errors import AffidavitError
    from affidavit.base.faults.input import EXTRA_MISSING

    package = (error.name or "").partition(".")[0]
    extra = find_extra_with(package)
    if extra is None:
        raise error
    return str(
        AffidavitError(EXTRA_MISSING, feature="this assertion", package=package, extra=extra)
    )
