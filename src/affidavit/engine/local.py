"""Work over local processes, with results in the order of the items whatever finishes first."""

import multiprocessing
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from typing import Final, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

_WAITING_PER_JOB: Final = 4
"""Items handed out ahead of the results: enough to keep every process busy, few enough that the
memory does not grow with the number of items."""


def run_in_order(
    work: Callable[[Item], Result], items: Iterable[Item], jobs: int
) -> Iterator[Result]:
    """Yield the result of each item, in order. One job runs in this process.

    `work` must be picklable if there is more than one job; what it raises is raised here.
    """
    if jobs <= 1:
        yield from map(work, items)
        return
    # A forked child would inherit threads' locks (tantivy, onnxruntime) in an unknown state.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        waiting: deque[Future[Result]] = deque()
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) >= jobs * _WAITING_PER_JOB:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
