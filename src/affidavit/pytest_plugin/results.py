"""The results of the assertions of the running test, for the report."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

_results: list[dict[str, object]] = []


def record_result(kind: str, decision: str, reasons: tuple[str, ...]) -> None:
    """Keep the result of an assertion until its test ends."""
    _results.append({"check": kind, "decision": decision, "reasons": list(reasons)})


def take_results() -> list[dict[str, object]]:
    """Return the results since the last call, and forget them."""
    found = list(_results)
    _results.clear()
    return found


@contextmanager
def one_line_errors(kind: str) -> Iterator[None]:
    """Turn an AffidavitError or a missing extra into a test failure of one line.

    A traceback through our own modules would not help the user. The report lists the check as
    inconclusive.
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
