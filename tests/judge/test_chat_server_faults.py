"""What a server can do wrong, and how each of it ends: never as support, never in silence."""

from pathlib import Path
from typing import Any

import pytest
from tests.faulty_server import (
    Behaviour,
    Handler,
    answers,
    breaks_off,
    drips,
    hangs,
    hangs_up,
    no_http,
    serving,
)
from tests.judge.chat_server import FakeClock, completion, judge_at, reply_of, says, settings_for
from tests.judge.reading import chunk_of

from affidavit.base.errors import AffidavitError
from affidavit.judge.chat.client import MAX_REPLY_BYTES
from affidavit.ledger.model import SupportLevel

CLAIM = "Employees get 15 days of leave"
CHUNK = chunk_of("Every employee has 15 days of annual leave.")
GOOD = says(reply_of())
LATER = "Mon, 16 Nov 2026 10:00:07 GMT"
NOW = "Mon, 16 Nov 2026 10:00:00 GMT"

PASSING: dict[str, tuple[Behaviour, list[float]]] = {
    "too many requests": (answers(429), [0.5]),
    "too many requests, with the time to wait": (answers(429, Retry_After="7"), [7.0]),
    "too many requests, with a date to wait for": (
        answers(503, Retry_After=LATER, Date=NOW),
        [7.0],
    ),
    "a time to wait that is none": (answers(429, Retry_After="soon"), [0.5]),
    "an error of the server": (answers(500, b"oops", "text/plain"), [0.5]),
    "an overloaded gateway": (answers(502, b"<html>", "text/html"), [0.5]),
    "a connection that is closed": (hangs_up, [0.5]),
    "an answer that breaks off": (breaks_off, [0.5]),
    "something that is not HTTP": (no_http, [0.5]),
    "a page in place of an answer": (answers(200, b"<html></html>", "text/html"), [0.5]),
    "JSON that breaks off": (answers(200, completion(reply_of())[:-9]), [0.5]),
    "garbage": (answers(200, b"\xff\xfe\x00"), [0.5]),
    "a duplicate key": (answers(200, b'{"choices":[],"choices":[]}'), [0.5]),
    "another shape": (answers(200, b'{"result":"supported"}'), [0.5]),
    "no choice": (answers(200, b'{"choices":[]}'), [0.5]),
}


@pytest.mark.parametrize(("fault", "pauses"), PASSING.values(), ids=PASSING.keys())
def test_what_may_pass_is_tried_again(
    fault: Behaviour, pauses: list[float], tmp_path: Path
) -> None:
    clock = FakeClock()
    with serving(fault, GOOD) as server:
        judge = judge_at(settings_for(server), tmp_path, clock)
        (reading,) = judge.read(CLAIM, [CHUNK])
    assert reading.support_level is SupportLevel.FULL
    assert len(server.requests) == 2
    assert clock.slept == pauses


@pytest.mark.parametrize("fault", [fault for fault, _ in PASSING.values()], ids=PASSING.keys())
def test_what_does_not_pass_is_a_coded_error(fault: Behaviour, tmp_path: Path) -> None:
    clock = FakeClock()
    with serving(fault) as server:
        judge = judge_at(settings_for(server, retries=2), tmp_path, clock)
        with pytest.raises(AffidavitError, match=r"AF257.* in 3 attempts") as caught:
            judge.read(CLAIM, [CHUNK])
    assert caught.value.fault.exit == 3
    assert len(server.requests) == 3
    assert not list(tmp_path.rglob("*.json"))


ENDING: dict[str, tuple[Behaviour, str, int]] = {
    "a wrong key": (answers(401, b'{"error":{"message":"bad key"}}'), "AF255.*bad key", 1),
    "no such model": (answers(404, b'{"detail":"no model m"}'), "AF255.*no model m", 1),
    "a redirect": (answers(307, b"", Location="http://192.0.2.1/v1"), "AF256.*192.0.2.1", 1),
    "a redirect to nowhere": (answers(302), "AF256.*nowhere", 1),
    "refused in every form": (answers(400, b'{"error":"too long"}'), "AF255.*too long", 4),
    "a pause of hours": (answers(429, Retry_After="7200"), "AF257.*wait 7200 s", 1),
    "an endless answer": (answers(200, b" " * (MAX_REPLY_BYTES + 1)), "AF257.*longer than", 1),
    "an answer to nothing": (answers(204), "AF255.*HTTP 204", 1),
}


@pytest.mark.parametrize(("fault", "wanted", "asked"), ENDING.values(), ids=ENDING.keys())
def test_what_cannot_pass_ends_the_run(
    fault: Behaviour, wanted: str, asked: int, tmp_path: Path
) -> None:
    with serving(fault) as server:
        judge = judge_at(settings_for(server), tmp_path)
        with pytest.raises(AffidavitError, match=wanted):
            judge.read(CLAIM, [CHUNK])
    assert len(server.requests) == asked


@pytest.mark.parametrize("fault", [hangs, drips], ids=["hangs", "drips"])
def test_a_server_that_holds_us_is_left(fault: Behaviour, tmp_path: Path) -> None:
    with serving(fault) as server:
        judge = judge_at(settings_for(server, timeout_s=1, retries=1), tmp_path)
        with pytest.raises(AffidavitError, match=r"AF257.*in 2 attempts: no answer within 1 s"):
            judge.read(CLAIM, [CHUNK])


def test_nobody_listens(tmp_path: Path) -> None:
    with serving(GOOD) as server:
        settings = settings_for(server, retries=0)
    with pytest.raises(AffidavitError, match=r"AF257.*no connection"):
        judge_at(settings, tmp_path).read(CLAIM, [CHUNK])


def test_the_pause_doubles_and_is_bounded(tmp_path: Path) -> None:
    clock = FakeClock()
    with serving(answers(500)) as server:
        judge = judge_at(settings_for(server, retries=8), tmp_path, clock)
        with pytest.raises(AffidavitError, match="AF257"):
            judge.read(CLAIM, [CHUNK])
    assert clock.slept == [0.5, 1, 2, 4, 8, 16, 30, 30]


def test_the_rate_is_kept(tmp_path: Path) -> None:
    clock = FakeClock()
    chunks = [chunk_of(f"Every employee has 15 days of leave in year {n}.", n) for n in range(4)]
    with serving(GOOD) as server:
        judge = judge_at(settings_for(server, max_requests_per_minute=30), tmp_path, clock)
        judge.read(CLAIM, chunks)
    assert clock.slept == [2.0, 2.0, 2.0]


NO_SCHEMA = answers(500, b'{"error":{"message":"body response_format: literal_error"}}')
FORMS = {
    "a server that knows schemas": ((GOOD,), ["json_schema"], ""),
    "one that takes them in the older way, and refuses as its own error": (
        (NO_SCHEMA, GOOD),
        ["json_schema", "json_object_schema"],
        "asked as json_object_schema",
    ),
    "one that knows JSON only": (
        (answers(400, b'{"error":"response_format"}'), answers(400), GOOD),
        ["json_schema", "json_object_schema", "json_object"],
        "asked as json_object",
    ),
    "one that knows nothing of it": (
        (answers(400), answers(400), answers(422), GOOD),
        ["json_schema", "json_object_schema", "json_object", "text"],
        "asked as text",
    ),
}


def form_of(body: dict[str, Any]) -> str:
    form = body.get("response_format", {"type": "text"})
    return f"{form['type']}_schema" if "schema" in form else str(form["type"])


@pytest.mark.parametrize(("behaviours", "forms", "remark"), FORMS.values(), ids=FORMS.keys())
def test_the_form_that_the_server_knows_is_found_and_kept(
    behaviours: tuple[Behaviour, ...], forms: list[str], remark: str, tmp_path: Path
) -> None:
    with serving(*behaviours) as server:
        judge = judge_at(settings_for(server), tmp_path)
        first, second = judge.read(CLAIM, [CHUNK, chunk_of("All have 15 days of leave.", 1)])
    assert [form_of(body) for body in server.requests] == [*forms, forms[-1]]
    for reading in (first, second):
        assert reading.support_level is SupportLevel.FULL
        assert reading.notes.endswith(remark)


def test_a_known_form_is_not_given_up_for_one_refusal(tmp_path: Path) -> None:
    with serving(GOOD, answers(400, b'{"error":"context too long"}')) as server:
        judge = judge_at(settings_for(server), tmp_path)
        with pytest.raises(AffidavitError, match=r"AF255.*context too long"):
            judge.read(CLAIM, [CHUNK, chunk_of("All have 15 days of leave.", 1)])
    assert len(server.requests) == 2


def test_a_connection_that_was_dropped_between_requests_is_opened_again(tmp_path: Path) -> None:
    def answers_and_leaves(handler: Handler) -> None:
        GOOD(handler)
        handler.close_connection = True

    clock = FakeClock()
    with serving(answers_and_leaves) as server:
        judge = judge_at(settings_for(server), tmp_path, clock)
        judge.read(CLAIM, [CHUNK, chunk_of("All have 15 days of leave.", 1)])
    assert clock.slept == []


def test_the_request_says_what_the_settings_say(tmp_path: Path) -> None:
    with serving(GOOD) as server:
        settings = settings_for(
            server, seed=7, omit=("temperature",), max_tokens_field="max_completion_tokens"
        )
        judge_at(settings, tmp_path).read(CLAIM, [CHUNK])
    (body,) = server.requests
    assert server.paths == ["/v1/chat/completions"]
    assert body["model"] == "m"
    assert body["seed"] == 7
    assert "temperature" not in body
    assert "max_tokens" not in body
    assert body["max_completion_tokens"] == 400
