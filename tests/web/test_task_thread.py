"""One thread runs short tasks one after another; callers do not wait for one that hangs."""

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from tests.web.service_client import CHECKS, Service, make_project

from affidavit.app.service import AnswerService, ServiceConfig
from affidavit.app.tool_queries import SOURCE_THREADS
from affidavit.web.settings import WebSettings
from affidavit.web.task_thread import ShortTaskThread


@contextmanager
def hanging() -> Iterator[threading.Event]:
    """Yield an event for tasks to wait for; it is always set in the end."""
    over = threading.Event()
    try:
        yield over
    finally:
        over.set()


def test_tasks_run_one_after_another() -> None:
    running: list[int] = []
    seen: list[tuple[int, int]] = []

    def task(number: int) -> int:
        running.append(number)
        assert running == [number]
        time.sleep(0.001)
        seen.append((number, threading.get_ident()))
        running.clear()
        return number

    async def many() -> list[int | None]:
        thread = ShortTaskThread(stall_seconds=30)
        coming = [thread.run(partial(task, number)) for number in range(20)]
        return await asyncio.gather(*coming)

    assert asyncio.run(many()) == list(range(20))
    assert [number for number, _ in seen] == list(range(20))
    assert {thread for _, thread in seen} != {threading.get_ident()}
    assert len({thread for _, thread in seen}) == 1


def test_an_error_is_raised_in_the_caller() -> None:
    async def ask() -> str | None:
        thread = ShortTaskThread(stall_seconds=30)
        with pytest.raises(ZeroDivisionError):
            await thread.run(lambda: 1 // 0)
        assert thread.waiting == 0
        return await thread.run(lambda: "and goes on")

    assert asyncio.run(ask()) == "and goes on"


def test_one_thread_serves_one_loop_after_another() -> None:
    thread = ShortTaskThread(stall_seconds=30)
    assert [asyncio.run(thread.run(lambda: 5)) for _ in range(3)] == [5, 5, 5]


def test_all_callers_behind_a_hanging_task_give_up() -> None:
    started: list[str] = []

    def start(name: str) -> str:
        started.append(name)
        return name

    async def ask(over: threading.Event) -> None:
        thread = ShortTaskThread(stall_seconds=0.05, retry_seconds=0)
        stuck = asyncio.ensure_future(thread.run(lambda: over.wait(30)))
        behind = asyncio.ensure_future(thread.run(partial(start, "behind")))
        assert [await stuck, await behind] == [None, None]
        assert (thread.waiting, started) == (0, [])
        # Until the task has returned, callers do not wait at all.
        assert await thread.run(partial(start, "later")) is None
        over.set()
        for _ in range(500):
            if await thread.run(lambda: "back") == "back":
                break
            await asyncio.sleep(0.01)
        else:
            pytest.fail("the thread was not used again")
        assert started == []  # Abandoned tasks were not started.

    with hanging() as over:
        asyncio.run(ask(over))


def test_after_a_stall_the_thread_is_paused() -> None:
    async def ask(over: threading.Event) -> None:
        thread = ShortTaskThread(stall_seconds=0.05, retry_seconds=3600)
        assert await thread.run(lambda: over.wait(30)) is None
        over.set()
        await asyncio.sleep(0.1)
        assert await thread.run(lambda: 5) is None

    with hanging() as over:
        asyncio.run(ask(over))


def test_a_caller_in_a_moving_queue_keeps_waiting() -> None:
    def task() -> int:
        time.sleep(0.02)
        return 5

    async def ask() -> list[int | None]:
        thread = ShortTaskThread(stall_seconds=0.3, max_wait_seconds=30)
        return await asyncio.gather(*(thread.run(task) for _ in range(30)))

    assert asyncio.run(ask()) == [5] * 30


def test_a_caller_gives_up_after_the_longest_wait_even_if_the_queue_moves() -> None:
    def task() -> int:
        time.sleep(0.1)
        return 5

    async def ask() -> None:
        thread = ShortTaskThread(stall_seconds=0.5, max_wait_seconds=0.5, retry_seconds=3600)
        found = await asyncio.gather(*(thread.run(task) for _ in range(20)))
        assert (found[0], found[-1]) == (5, None)
        assert await thread.run(task) is None  # New callers do not wait at all.

    asyncio.run(ask())


def test_a_closed_loop_is_not_an_error() -> None:
    thread = ShortTaskThread(stall_seconds=0.02, retry_seconds=0)
    with hanging() as over:
        assert asyncio.run(thread.run(lambda: over.wait(30))) is None
    for _ in range(500):
        if asyncio.run(thread.run(lambda: 5)) == 5:
            return
        time.sleep(0.01)
    pytest.fail("the thread did not recover")


def test_a_file_that_hangs_does_not_block_a_receipt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = Service(make_project(tmp_path))
    with hanging() as over:
        monkeypatch.setattr(
            AnswerService, "answer_immediately", lambda *_: over.wait(30) and b"too late"
        )
        replies = [service.post("/v1/answer", CHECKS) for _ in range(2)]
    assert [reply.json["verdict"] for reply in replies] == ["contradicted"] * 2


def test_local_sources_need_no_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_cases = AnswerService(ServiceConfig(project=make_project(tmp_path)))
    limits = WebSettings().request_limits
    monkeypatch.setattr(type(SOURCE_THREADS), "start", lambda *_: pytest.fail("a thread"))
    found = use_cases.answer_immediately(json.dumps(CHECKS).encode(), limits)
    assert found is not None
    assert json.loads(found.text)["verdict"] == "contradicted"
    slow = json.dumps([{"id": "a", "tool": "slow"}]).encode()
    assert use_cases.answer_immediately(slow, limits) is None


def test_nothing_else_about_a_request_needs_a_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run_here(thread: ShortTaskThread, work: Callable[[], object]) -> object:
        return work()

    service = Service(make_project(tmp_path))
    monkeypatch.setattr(ShortTaskThread, "run", run_here)
    monkeypatch.setattr(threading.Thread, "start", lambda thread: pytest.fail("a thread"))
    reply = service.post("/v1/answer", CHECKS)
    assert (reply.status, reply.json["verdict"]) == (200, "contradicted")
    assert service.post("/v1/verify", reply.json).json["valid"] is True


def test_a_long_request_does_not_use_the_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = Service(make_project(tmp_path))
    monkeypatch.setattr(AnswerService, "answer_immediately", lambda *_: pytest.fail("asked"))
    body = b" " * 65_536 + b'{"question":"What is nowhere covered?"}'
    reply = service.ask("POST", "/v1/answer", body, {"content-type": "application/json"})
    assert (reply.status, reply.json["verdict"]) == (200, "outside_evidence_coverage")
