"""The event loop of a request checks the addresses that it resolves; MCP without its client."""

import asyncio
import time
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.faulty_server import answers, serving
from tests.tools.feed_server import request

from affidavit.base.json_values import JsonValue
from affidavit.tools.allow_list import AllowList, allow_list_from, require_addresses
from affidavit.tools.event_loop import run_request
from affidavit.tools.feed import SourceFailedError
from affidavit.tools.feed_factory import FeedContext, build_feed
from affidavit.tools.mcp_feed import json_from_tool_result
from affidavit.tools.settings import McpSource


async def connected(port: int) -> str:
    _, writer = await asyncio.open_connection("localhost", port)
    writer.close()
    await writer.wait_closed()
    return "connected"


def test_an_address_is_checked_after_it_is_resolved() -> None:
    with serving(answers(200)) as server:
        fit = partial(require_addresses, allow_list_from(("localhost",)))
        assert run_request(connected(server.port), request(), fit) == "connected"
        unfit = partial(require_addresses, AllowList())
        with pytest.raises(SourceFailedError, match=r"^forbidden: the host leads to"):
            run_request(connected(server.port), request(), unfit)


def test_work_past_the_deadline_is_cancelled() -> None:
    start = time.monotonic()
    with pytest.raises(SourceFailedError, match=r"^late: "):
        run_request(asyncio.sleep(60), request(0.1))
    assert time.monotonic() - start < 5


@pytest.mark.skipif(find_spec("mcp") is not None, reason="the extra `mcp` is installed")
def test_mcp_without_its_client() -> None:
    wire = McpSource(tool="x", command=("program",))
    feed = build_feed(wire, "s", FeedContext(Path(), AllowList(), {}))
    with pytest.raises(SourceFailedError, match=r"^not-installed: .*affidavit\[mcp\]"):
        feed.ask({}, request())


def result(*texts: str | None, structured: object = None, failed: bool = False) -> SimpleNamespace:
    content = [SimpleNamespace(text=text) if text else SimpleNamespace() for text in texts]
    return SimpleNamespace(is_error=failed, structured_content=structured, content=content)


RESULTS: dict[str, tuple[SimpleNamespace, JsonValue]] = {
    "structured content": (result("x", structured={"n": 1}), {"n": 1}),
    "one text of JSON": (result('{"n": 1}'), {"n": 1}),
}
NO_RESULTS = {
    "an error": (result("{}", failed=True), "refused: "),
    "two texts": (result("1", "2"), "content: "),
    "a picture": (result(None), "content: "),
    "a text for people": (result("20 days"), "malformed: "),
    "two equal keys": (result('{"a": 1, "a": 2}'), "malformed: "),
    "NaN": (result("x", structured={"n": float("nan")}), "malformed: "),
    "too much": (result("x", structured="x" * 200), "too-large: "),
}


@pytest.mark.parametrize(("given", "wanted"), RESULTS.values(), ids=RESULTS.keys())
def test_mcp_results_are_read(given: SimpleNamespace, wanted: JsonValue) -> None:
    assert json_from_tool_result(given, 100) == wanted


@pytest.mark.parametrize(("given", "wanted"), NO_RESULTS.values(), ids=NO_RESULTS.keys())
def test_unusable_mcp_results_are_refused(given: SimpleNamespace, wanted: str) -> None:
    with pytest.raises(SourceFailedError) as failure:
        json_from_tool_result(given, 100)
    assert str(failure.value).startswith(wanted)
