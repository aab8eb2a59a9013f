"""Run work in local processes, with results in the order of the items."""

import gc
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

# The multiprocessing modules are slow to import, so they are imported only for more than one job.
if TYPE_CHECKING:
    from concurrent.futures import Executor, Future
    from multiprocessing.context import BaseContext

Item = TypeVar("Item")
Result = TypeVar("Result")
Shared = TypeVar("Shared")

_WAITING_PER_JOB: Final = 4
"""Items submitted ahead of the results: enough to keep every process busy, few enough that memory
does not grow with the number of items."""

_shared: Any = None
"""The data that the processes share; set in each process when it starts."""


class Runner(Protocol):
    """Runs work somewhere, with results in the order of the items."""

    def share(self, file: Path) -> Path:
        """Return where the work finds a file of this machine."""
        ...

    def __call__(self, work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield the result of each item, in order."""
        ...


@dataclass(frozen=True, slots=True)
class LocalRunner:
    """Runs work in so many processes of this machine."""

    jobs: int = 1

    def share(self, file: Path) -> Path:
        """Return the file itself."""
        return file

    def __call__(self, work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield the result of each item, in order, as `run_in_order`."""
        return run_in_order(work, items, self.jobs)


def run_in_order(
    work: Callable[[Item], Result], items: Iterable[Item], jobs: int
) -> Iterator[Result]:
    """Yield the result of each item, in order. One job runs in this process.

    `work` must be picklable if there is more than one job. Its exceptions are raised here.
    """
    if jobs <= 1:
        yield from map(work, items)
        return
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    # A forked child would inherit threads' locks (tantivy, onnxruntime) in an unknown state.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        yield from in_order(pool, work, items, jobs)


def run_with_shared(
    shared: Shared, work: Callable[[Shared, Item], Result], items: Iterable[Item], jobs: int
) -> Iterator[Result]:
    """Yield the result of each item with shared data, in order.

    Where forking is safe, shared data is neither copied nor sent. One job runs in this process.
    """
    if jobs <= 1:
        for item in items:
            yield work(shared, item)
        return
    from concurrent.futures import ProcessPoolExecutor

    gc.freeze()  # Garbage collection in a child would copy every page that it touches.
    try:
        with ProcessPoolExecutor(
            jobs, mp_context=_fastest_context(), initializer=_set_shared, initargs=(shared,)
        ) as pool:
            calls = ((work, item) for item in items)
            yield from in_order(pool, _call_with_shared, calls, jobs)
    finally:
        gc.unfreeze()


def map_in_processes(
    work: Callable[[Item], Result], items: Iterable[Item], jobs: int
) -> Iterator[Result]:
    """Yield the result of each item, in order, from processes that start as fast as possible."""
    return run_with_shared(work, _call, items, jobs)


def _call(work: Callable[[Item], Result], item: Item) -> Result:
    return work(item)


def _fastest_context() -> "BaseContext":
    import multiprocessing

    # Forking is safe on Linux while this process has one thread.
    forks = sys.platform == "linux" and threading.active_count() == 1
    return multiprocessing.get_context("fork" if forks else "spawn")


def _set_shared(shared: object) -> None:
    global _shared
    _shared = shared


def _call_with_shared(call: tuple[Callable[[Any, Item], Result], Item]) -> Result:
    work, item = call
    return work(_shared, item)


def in_order(
    pool: "Executor", work: Callable[[Item], Result], items: Iterable[Item], jobs: int
) -> Iterator[Result]:
    """Yield the results of a pool in the order of the items, with a few items sent ahead."""
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
