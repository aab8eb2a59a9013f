"""Sources are queried at the same time, and the answer is ready by the deadline."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest
from tests.faulty_server import answers, drips, hangs, serving
from tests.tools.feed_server import feed_of, feed_to

from affidavit.app.tool_queries import (
    CallerThreads,
    DaemonThreadPool,
    GatheredEvidence,
    NotImmediateError,
    ToolSet,
    ToolSource,
    ToolWithSources,
    gather_evidence,
)
from affidavit.base.errors import AffidavitError
from affidavit.base.json_values import JsonValue
from affidavit.checks.check import checks_from_wire
from affidavit.checks.facts import Evidence, EvidenceSource, EvidenceUnavailable, SourceAnswer, Tool
from affidavit.tools.feed import (
    CheckArguments,
    FailureReason,
    Feed,
    SourceFailedError,
    SourceRequest,
)

AT = "2026-01-31T14:30:00Z"


@dataclass(frozen=True, slots=True)
class StubFeed:
    """A feed that calls the given function."""

    does: Callable[[CheckArguments, SourceRequest], JsonValue]
    source: EvidenceSource = field(default_factory=lambda: EvidenceSource("feed", "feed", "test"))
    observed_at: str | None = AT

    def ask(self, args: CheckArguments, request: SourceRequest) -> SourceAnswer:
        return SourceAnswer(self.source, self.does(args, request), self.observed_at)


def tool(name: str, *feeds: Feed, timeout_ms: int | None = None) -> ToolWithSources:
    declared = Tool(name=name, max_age_s=60)
    return ToolWithSources(declared, tuple(ToolSource(feed, timeout_ms) for feed in feeds))


def asked(
    tools: list[ToolWithSources], *checks: dict[str, Any], **options: Any
) -> GatheredEvidence:
    box = ToolSet({entry.tool.name: entry for entry in tools})
    wire: list[JsonValue] = [{"id": f"c{n}", **check} for n, check in enumerate(checks)]
    made = checks_from_wire(wire)
    # On a busy machine a thread may wait for seconds before it runs at all.
    options.setdefault("deadline_ms", 60_000)
    return gather_evidence(made, box, now=lambda: AT, signed=True, **options)


WAIT_SECONDS = 30
"""How long a source hangs. Whoever does not wait for it is done earlier, on any machine."""


def reason_of(found: Evidence | EvidenceUnavailable) -> str:
    assert isinstance(found, EvidenceUnavailable)
    return found.reason


def waits(args: CheckArguments, request: SourceRequest) -> JsonValue:
    over = threading.Event()
    request.on_abandon(over.set)
    over.wait(WAIT_SECONDS)
    return "too late to count"


def breaks(args: CheckArguments, request: SourceRequest) -> JsonValue:
    raise RuntimeError("what stands here is not shown: hunter2")


def is_silent(args: CheckArguments, request: SourceRequest) -> JsonValue:
    raise SourceFailedError(FailureReason.MISSING, "there is no such thing")


def leaves(args: CheckArguments, request: SourceRequest) -> JsonValue:
    raise SystemExit(7)


FAILURES = {
    "a failing source gives its reason": (is_silent, "feed: missing: there is no such thing"),
    "an unexpected error": (breaks, "feed: failed: the feed ended in RuntimeError"),
    "a feed that tries to end the process": (leaves, "feed: failed: the feed ended in SystemExit"),
    "a late source": (waits, "feed: late: no answer within 200 ms"),
}


@pytest.mark.parametrize(("does", "wanted"), FAILURES.values(), ids=FAILURES.keys())
def test_a_failed_source(
    does: Callable[[CheckArguments, SourceRequest], JsonValue], wanted: str
) -> None:
    deadline_ms = 200 if does is waits else 60_000
    evidence = asked([tool("t", StubFeed(does))], {"tool": "t"}, deadline_ms=deadline_ms)
    assert reason_of(evidence.by_check["c0"]) == wanted


def test_sources_are_queried_at_the_same_time() -> None:
    together = threading.Barrier(6)

    def meets(args: CheckArguments, request: SourceRequest) -> JsonValue:
        together.wait(10)
        return 1

    entry = tool("t", StubFeed(meets), StubFeed(meets, EvidenceSource("b", "b", "test")))
    evidence = asked([entry], *({"tool": "t", "args": {"n": n}} for n in range(3)))
    assert all(isinstance(found, Evidence) for found in evidence.by_check.values())


def test_equal_queries_are_made_once() -> None:
    calls: list[CheckArguments] = []

    def counts(args: CheckArguments, request: SourceRequest) -> JsonValue:
        calls.append(args)
        return 1

    args: list[JsonValue] = [{"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 1.0, "b": 2}]
    evidence = asked([tool("t", StubFeed(counts))], *({"tool": "t", "args": one} for one in args))
    assert evidence.by_check["c0"] is evidence.by_check["c1"]
    assert len(calls) == 2


def test_a_late_source_does_not_affect_the_others() -> None:
    quick = StubFeed(lambda args, request: 5, EvidenceSource("quick", "quick", "test"))
    start = time.monotonic()
    evidence = asked([tool("t", StubFeed(waits), quick)], {"tool": "t"}, deadline_ms=2_000)
    assert time.monotonic() - start < WAIT_SECONDS
    fact = evidence.by_check["c0"]
    assert isinstance(fact, Evidence)
    assert fact.fact.raw == 5
    assert [source.reason for source in fact.fact.sources] == [
        "late: no answer within 2000 ms",
        None,
    ]


def test_a_source_may_have_a_shorter_timeout() -> None:
    start = time.monotonic()
    evidence = asked(
        [tool("t", StubFeed(waits), timeout_ms=100)], {"tool": "t"}, deadline_ms=30_000
    )
    assert time.monotonic() - start < WAIT_SECONDS
    assert reason_of(evidence.by_check["c0"]) == "feed: late: no answer within 100 ms"


def test_the_time_of_the_answer_is_taken_last() -> None:
    times = iter(("2026-01-31T14:30:00Z", "2026-01-31T14:30:07Z"))
    slow = StubFeed(lambda args, request: request.asked_at, observed_at="2026-01-31T14:30:06Z")
    box = ToolSet({"t": tool("t", slow)})
    checks = checks_from_wire([{"id": "c", "tool": "t"}])
    evidence = gather_evidence(checks, box, now=lambda: next(times), signed=True)
    fact = evidence.by_check["c"]
    assert isinstance(fact, Evidence)
    assert evidence.at == fact.fact.assessed_at == "2026-01-31T14:30:07Z"
    assert fact.fact.raw == "2026-01-31T14:30:00Z"
    assert fact.fact.verification.signals.fresh is True


def test_only_checks_that_need_evidence_are_queried() -> None:
    called = []
    feed = StubFeed(lambda args, request: called.append(args))
    needing = ToolWithSources(Tool(name="t", required_args=("city",)), (ToolSource(feed),))
    evidence = asked([needing], {"tool": "t"}, {"tool": "unknown"})
    assert evidence.by_check == {}
    assert called == []


def test_too_many_hanging_sources_are_counted() -> None:
    threads = DaemonThreadPool(max_threads=1)
    over = threading.Event()

    def hangs_on(args: CheckArguments, request: SourceRequest) -> JsonValue:
        over.wait(WAIT_SECONDS)
        return 1

    entry = tool("t", StubFeed(hangs_on))
    late = asked([entry], {"tool": "t"}, deadline_ms=100, threads=threads)
    assert reason_of(late.by_check["c0"]) == "feed: late: no answer within 100 ms"
    busy = asked([entry], {"tool": "t"}, deadline_ms=100, threads=threads)
    assert reason_of(busy.by_check["c0"]).startswith("feed: busy: too many earlier questions")
    over.set()
    for _ in range(500):
        again = asked([entry], {"tool": "t"}, threads=threads).by_check["c0"]
        if isinstance(again, Evidence):
            return
        time.sleep(0.01)
    pytest.fail("the thread that was free again took no work")


def local(does: Callable[[CheckArguments, SourceRequest], JsonValue], name: str) -> StubFeed:
    return StubFeed(does, EvidenceSource(name, name, "file"))


def test_one_thread_reads_all_files() -> None:
    seen = set()

    def who(args: CheckArguments, request: SourceRequest) -> JsonValue:
        seen.add(threading.get_ident())
        return 1

    tools = [tool(f"t{number}", local(who, "a"), local(who, "b")) for number in range(5)]
    checks: list[dict[str, JsonValue]] = [{"tool": f"t{number}"} for number in range(5)]
    evidence = asked(tools, *checks, threads=DaemonThreadPool(max_threads=1))
    assert all(isinstance(fact, Evidence) for fact in evidence.by_check.values())
    assert len(seen) == 1


def test_a_file_that_hangs_does_not_delay_the_others() -> None:
    quick = local(lambda args, request: 5, "quick")
    tools = [tool("t", local(waits, "gone")), tool("u", quick), tool("v", quick)]
    start = time.monotonic()
    evidence = asked(tools, {"tool": "t"}, {"tool": "u"}, {"tool": "v"}, deadline_ms=2_000)
    assert time.monotonic() - start < WAIT_SECONDS
    assert reason_of(evidence.by_check["c0"]) == "gone: late: no answer within 2000 ms"
    for check in ("c1", "c2"):
        fact = evidence.by_check[check]
        assert isinstance(fact, Evidence)
        assert fact.fact.raw == 5


def test_files_without_a_free_thread() -> None:
    threads = DaemonThreadPool(max_threads=1)
    over = threading.Event()
    hanging = StubFeed(lambda args, request: over.wait(WAIT_SECONDS))
    asked([tool("t", hanging)], {"tool": "t"}, deadline_ms=50, threads=threads)
    quick = local(lambda args, request: 5, "quick")
    evidence = asked(
        [tool("u", quick), tool("v", quick)], {"tool": "u"}, {"tool": "v"}, threads=threads
    )
    over.set()
    assert all(reason_of(found).startswith("quick: busy: ") for found in evidence.by_check.values())


def test_without_threads_the_caller_queries_the_sources() -> None:
    seen: list[int] = []

    def who(args: CheckArguments, request: SourceRequest) -> JsonValue:
        seen.append(threading.get_ident())
        return 5

    feed = local(who, "here")
    tools = [tool("t", feed), tool("u", feed, local(is_silent, "silent"))]
    evidence = asked(tools, {"tool": "t"}, {"tool": "u"}, threads=None)
    assert all(isinstance(fact, Evidence) for fact in evidence.by_check.values())
    assert seen == [threading.get_ident()] * 2
    with_threads = asked(tools, {"tool": "t"}, {"tool": "u"})
    assert with_threads == evidence


NOT_AT_HAND = {
    "a source that is elsewhere": ("feed", None, 6_000),
    "a source that has little time": ("file", 999, 6_000),
    "an answer that has little time": ("file", None, 999),
}


@pytest.mark.parametrize(
    ("kind", "timeout_ms", "deadline_ms"), NOT_AT_HAND.values(), ids=NOT_AT_HAND.keys()
)
def test_sources_that_need_a_thread(kind: str, timeout_ms: int | None, deadline_ms: int) -> None:
    called: list[CheckArguments] = []
    there = local(lambda args, request: called.append(args), "there")
    other = StubFeed(
        lambda args, request: called.append(args), EvidenceSource("other", "other", kind)
    )
    tools = [tool("t", there), tool("u", other, timeout_ms=timeout_ms)]
    with pytest.raises(NotImmediateError):
        asked(tools, {"tool": "t"}, {"tool": "u"}, threads=None, deadline_ms=deadline_ms)
    assert called == []


@pytest.mark.parametrize(
    "threads", [None, DaemonThreadPool()], ids=["in the caller", "in a thread"]
)
def test_the_deadline_counts_from_the_given_start(threads: DaemonThreadPool | None) -> None:
    begun = time.monotonic() - 10
    hanging = local(waits if threads else lambda args, request: 1, "here")
    evidence = asked(
        [tool("t", hanging)], {"tool": "t"}, threads=threads, started_at=begun, deadline_ms=6_000
    )
    assert time.monotonic() - begun < WAIT_SECONDS
    assert reason_of(evidence.by_check["c0"]) == "here: late: no answer within 6000 ms"


@pytest.mark.parametrize("given", [0, -1, 60_001, True])
def test_an_invalid_deadline(given: int) -> None:
    with pytest.raises(AffidavitError) as error:
        asked([], {"tool": "t"}, deadline_ms=given)
    assert error.value.fault.code == "AF355"


@pytest.mark.parametrize("behaviour", [hangs, drips])
def test_a_server_that_blocks(behaviour: Callable[..., None]) -> None:
    with serving(behaviour, answers(200, b"1")) as server:
        start = time.monotonic()
        evidence = asked([tool("t", feed_of(server))], {"tool": "t"}, deadline_ms=300)
        assert time.monotonic() - start < WAIT_SECONDS
    assert "late: " in reason_of(evidence.by_check["c0"])


def test_a_name_server_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()
    monkeypatch.setattr("socket.getaddrinfo", lambda *_, **__: over.wait(WAIT_SECONDS) and [])
    feed = feed_to("http://api.example.com/", ("api.example.com",))
    start = time.monotonic()
    evidence = asked([tool("t", feed)], {"tool": "t"}, deadline_ms=200)
    assert time.monotonic() - start < WAIT_SECONDS
    assert reason_of(evidence.by_check["c0"]) == "s: late: no answer within 200 ms"
    over.set()


HANGING = """
import os, time
from affidavit.app.tool_queries import gather_evidence
from affidavit.checks.check import checks_from_wire
from affidavit.app.tool_config import load_tool_config, load_toolbox

box = load_toolbox(load_tool_config("affidavit.toml"), os.environ)
checks = checks_from_wire([{"id": "c", "tool": "slow", "args": {"secs": 60}}])
now = lambda: "2026-01-31T14:30:00Z"
print(gather_evidence(checks, box, now=now, signed=True, deadline_ms=300))
"""
CONFIG = """
[tools.slow]
required_args = ["secs"]
sources = [{ kind = "python", call = "time:sleep_kw" }, { kind = "python", call = "slow_one:ask" }]
"""


def test_the_interpreter_exits_while_a_source_hangs(tmp_path: Path) -> None:
    (tmp_path / "affidavit.toml").write_text(CONFIG, "utf-8")
    (tmp_path / "slow_one.py").write_text("import time\ndef ask(secs): time.sleep(secs)\n", "utf-8")
    start = time.monotonic()
    run = subprocess.run(
        [sys.executable, "-c", HANGING],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=40,
    )
    assert time.monotonic() - start < 30
    assert "not-installed: time has no function sleep_kw" in run.stdout
    assert "late: no answer within 300 ms" in run.stdout
    assert run.stderr == ""


def test_a_caller_leaves_threads_for_others() -> None:
    threads, released = DaemonThreadPool(max_threads=4), threading.Event()
    greedy, modest = CallerThreads(threads, "greedy"), CallerThreads(threads, "modest")

    def wait() -> None:
        released.wait()

    started = [caller.start(wait) for caller in (greedy, greedy, greedy, modest, modest)]
    assert started == [True, True, False, True, False]
    assert [threads.start(wait) for _ in range(2)] == [True, False]
    released.set()
    done: SimpleQueue[int] = SimpleQueue()
    while not greedy.start(lambda: done.put(1)):
        pass
    assert done.get(timeout=60) == 1
