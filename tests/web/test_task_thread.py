"""Short work is done by one thread, one piece after another; nobody waits for one that hangs."""

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
    """Yield what work may wait for; whatever happens, it comes in the end."""
    over = threading.Event()
    try:
        yield over
    finally:
        over.set()


def test_one_piece_after_another() -> None:
    running: list[int] = []
    seen: list[tuple[int, int]] = []

    def piece(number: int) -> int:
        running.append(number)
        assert running == [number]
        time.sleep(0.001)
        seen.append((number, threading.get_ident()))
        running.clear()
        return number

    async def many() -> list[int | None]:
        thread = ShortTaskThread(stall_seconds=30)
        coming = [thread.run(partial(piece, number)) for number in range(20)]
        return await asyncio.gather(*coming)

    assert asyncio.run(many()) == list(range(20))
    assert [number for number, _ in seen] == list(range(20))
    assert {thread for _, thread in seen} != {threading.get_ident()}
    assert len({thread for _, thread in seen}) == 1


def test_an_error_is_the_askers() -> None:
    async def ask() -> str | None:
        thread = ShortTaskThread(stall_seconds=30)
        with pytest.raises(ZeroDivisionError):
            await thread.run(lambda: 1 // 0)
        assert thread.waiting == 0
        return await thread.run(lambda: "and goes on")

    assert asyncio.run(ask()) == "and goes on"


def test_one_hand_serves_one_loop_after_another() -> None:
    thread = ShortTaskThread(stall_seconds=30)
    assert [asyncio.run(thread.run(lambda: 5)) for _ in range(3)] == [5, 5, 5]


def test_all_who_wait_behind_one_that_hangs_go_another_way() -> None:
    begun: list[str] = []

    def begin(name: str) -> str:
        begun.append(name)
        return name

    async def ask(over: threading.Event) -> None:
        thread = ShortTaskThread(stall_seconds=0.05, retry_seconds=0)
        stuck = asyncio.ensure_future(thread.run(lambda: over.wait(30)))
        behind = asyncio.ensure_future(thread.run(partial(begin, "behind")))
        assert [await stuck, await behind] == [None, None]
        assert (thread.waiting, begun) == (0, [])
        # As long as it has not come back, nobody waits at all.
        assert await thread.run(partial(begin, "later")) is None
        over.set()
        for _ in range(500):
            if await thread.run(lambda: "back") == "back":
                break
            await asyncio.sleep(0.01)
        else:
            pytest.fail("it was not asked again")
        assert begun == []  # What nobody waited for any more was not begun.

    with hanging() as over:
        asyncio.run(ask(over))


def test_after_one_that_hung_it_has_a_rest() -> None:
    async def ask(over: threading.Event) -> None:
        thread = ShortTaskThread(stall_seconds=0.05, retry_seconds=3600)
        assert await thread.run(lambda: over.wait(30)) is None
        over.set()
        await asyncio.sleep(0.1)
        assert await thread.run(lambda: 5) is None

    with hanging() as over:
        asyncio.run(ask(over))


def test_who_waits_in_a_line_that_moves_goes_on_waiting() -> None:
    def piece() -> int:
        time.sleep(0.02)
        return 5

    async def ask() -> list[int | None]:
        thread = ShortTaskThread(stall_seconds=0.3, max_wait_seconds=30)
        return await asyncio.gather(*(thread.run(piece) for _ in range(30)))

    assert asyncio.run(ask()) == [5] * 30


def test_who_has_waited_long_goes_another_way_though_the_line_moves() -> None:
    def piece() -> int:
        time.sleep(0.1)
        return 5

    async def ask() -> None:
        thread = ShortTaskThread(stall_seconds=0.5, max_wait_seconds=0.5, retry_seconds=3600)
        found = await asyncio.gather(*(thread.run(piece) for _ in range(20)))
        assert (found[0], found[-1]) == (5, None)
        assert await thread.run(piece) is None  # Those who come now do not wait at all.

    asyncio.run(ask())


def test_a_loop_that_has_gone_is_no_error() -> None:
    thread = ShortTaskThread(stall_seconds=0.02, retry_seconds=0)
    with hanging() as over:
        assert asyncio.run(thread.run(lambda: over.wait(30))) is None
    for _ in range(500):
        if asyncio.run(thread.run(lambda: 5)) == 5:
            return
        time.sleep(0.01)
    pytest.fail("the thread has ended")


def test_a_file_that_hangs_does_not_hold_up_a_receipt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = Service(make_project(tmp_path))
    with hanging() as over:
        monkeypatch.setattr(
            AnswerService, "answer_immediately", lambda *_: over.wait(30) and b"too late"
        )
        replies = [service.post("/v1/answer", CHECKS) for _ in range(2)]
    assert [reply.json["verdict"] for reply in replies] == ["contradicted"] * 2


def test_what_is_at_hand_needs_no_crew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counter = AnswerService(ServiceConfig(project=make_project(tmp_path)))
    limits = WebSettings().json_limits
    monkeypatch.setattr(type(SOURCE_THREADS), "start", lambda *_: pytest.fail("somebody was sent"))
    found = counter.answer_immediately(json.dumps(CHECKS).encode(), limits)
    assert found is not None
    assert json.loads(found)["verdict"] == "contradicted"
    slow = json.dumps([{"id": "a", "tool": "slow"}]).encode()
    assert counter.answer_immediately(slow, limits) is None


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


def test_a_long_request_holds_nobody_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    service = Service(make_project(tmp_path))
    monkeypatch.setattr(AnswerService, "answer_immediately", lambda *_: pytest.fail("asked"))
    body = b" " * 65_536 + b'{"question":"What is nowhere covered?"}'
    reply = service.ask("POST", "/v1/answer", body, {"content-type": "application/json"})
    assert (reply.status, reply.json["verdict"]) == (200, "outside_evidence_coverage")
