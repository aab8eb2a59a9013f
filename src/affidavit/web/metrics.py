"""The figures of the service in the text format of OpenMetrics.

Requests are counted by each process; jobs and the store are the same whichever process is asked.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

OPEN_METRICS: Final = "application/openmetrics-text; version=1.0.0; charset=utf-8"
BUCKETS: Final = (0.005, 0.02, 0.1, 0.5, 2.0, 10.0)
"""Upper bounds of the durations of requests, in seconds."""


class RequestCounters:
    """Counts the requests of this process by status, and their durations."""

    def __init__(self) -> None:
        self._statuses: Counter[int] = Counter()
        self._buckets: Counter[float] = Counter()
        self._seconds = 0.0

    def add(self, status: int, seconds: float) -> None:
        """Count a request."""
        self._statuses[status] += 1
        self._seconds += seconds
        for bound in BUCKETS:
            if seconds <= bound:
                self._buckets[bound] += 1

    def text(self, figures: Mapping[str, float] | None) -> str:
        """Return everything that is counted, with the figures of the store, if there is one."""
        return "".join(f"{line}\n" for line in (*self._lines(), *_gauges(figures or {}), "# EOF"))

    def _lines(self) -> Iterator[str]:
        yield "# TYPE affidavit_requests counter"
        yield "# HELP affidavit_requests Requests of this process by status."
        for status, count in sorted(self._statuses.items()):
            yield f'affidavit_requests_total{{status="{status}"}} {count}'
        total = self._statuses.total()
        yield "# TYPE affidavit_request_seconds histogram"
        yield "# UNIT affidavit_request_seconds seconds"
        for bound in BUCKETS:
            yield f'affidavit_request_seconds_bucket{{le="{bound}"}} {self._buckets[bound]}'
        yield f'affidavit_request_seconds_bucket{{le="+Inf"}} {total}'
        yield f"affidavit_request_seconds_count {total}"
        yield f"affidavit_request_seconds_sum {self._seconds:.6f}"


def _gauges(figures: Mapping[str, float]) -> Iterator[str]:
    for name, value in sorted(figures.items()):
        yield f"# TYPE affidavit_{name} gauge"
        yield f"affidavit_{name} {value}"
