"""Asking a pipeline: every question once, every answer stored, and missing answers recorded."""

import json
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.gates.making import gold

from affidavit.app.gate_stability import (
    MAX_FAILURES_IN_A_ROW,
    ReplyFormat,
    RunFile,
    RunOptions,
    RunRecordV1,
    answer_from,
    questions_of,
    run_pipeline,
    unfinished_questions,
)
from affidavit.base.errors import AffidavitError
from affidavit.tools.pipelines import PipelineError, PipelineQuestion

ANSWER = b'{"answer_json": {"claim": "c", "citations": ["p1"]}, "retrieved_ids": ["p1"]}'
ITEMS = [gold(qid="a", question="List it"), gold(qid=7, question="Why")]


class Stub:
    """A pipeline that calls a function."""

    def __init__(self, act: Callable[[PipelineQuestion], bytes], identity: str = "stub") -> None:
        self.act = act
        self.identity = identity
        self.asked: list[PipelineQuestion] = []
        self.is_closed = False

    def ask(self, question: PipelineQuestion) -> bytes:
        self.asked.append(question)
        return self.act(question)

    def close(self) -> None:
        self.is_closed = True


class StillClock:
    """A clock that advances only when somebody waits."""

    def __init__(self) -> None:
        self.now = 100.0
        self.waits: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds


def fail(problem: str, *, in_transport: bool = False) -> Callable[[PipelineQuestion], bytes]:
    def act(question: PipelineQuestion) -> bytes:
        raise PipelineError(problem, in_transport=in_transport)

    return act


def driven(
    stub: Stub, pace: RunOptions | None = None, clock: StillClock | None = None, count: int = 1
) -> list[RunRecordV1]:
    kept: list[RunRecordV1] = []
    questions = [PipelineQuestion(f"q{n}", "Why", n, "none") for n in range(count)]
    made = [
        *run_pipeline(questions, stub, pace or RunOptions(), kept.append, clock or StillClock())
    ]
    assert made == kept
    assert stub.is_closed
    return made


def test_every_question_under_every_seed_and_jitter() -> None:
    made = questions_of(ITEMS, (0, 1), ("none", "syn"))
    assert [(each.qid, each.text, each.seed, each.jitter) for each in made] == [
        ("a", "List it", 0, "none"),
        ("a", "enumerate it", 0, "syn"),
        ("a", "List it", 1, "none"),
        ("a", "enumerate it", 1, "syn"),
        ("7", "Why", 0, "none"),
        ("7", "Why", 0, "syn"),
        ("7", "Why", 1, "none"),
        ("7", "Why", 1, "syn"),
    ]


def test_an_item_without_a_question_is_refused() -> None:
    with pytest.raises(AffidavitError) as caught:
        questions_of([gold(question=" ")], (0,), ("none",), "g.jsonl")
    assert (caught.value.fault.code, caught.value.where.file) == ("AF447", "g.jsonl")


def test_an_answer_is_recorded_with_its_time() -> None:
    (record,) = driven(Stub(lambda question: ANSWER))
    assert record.answer_json is not None
    assert (record.qid, record.run_id, record.q) == ("q0", "q0#seed=0;j=none", "Why")
    assert (record.answer_json.citations, record.retrieved_ids) == (("p1",), ("p1",))
    assert (record.e2e_ms, record.fault) == (0.0, None)


def test_a_missing_answer_is_recorded_as_a_fault() -> None:
    stub = Stub(fail("HTTP 500"))
    (record,) = driven(stub)
    assert (record.answer_json, record.fault) == (None, "HTTP 500")
    assert len(stub.asked) == 1


def test_only_transport_errors_are_retried() -> None:
    clock, tries = StillClock(), iter([True, True, False])

    def act(question: PipelineQuestion) -> bytes:
        if next(tries):
            raise PipelineError("gone", in_transport=True)
        return ANSWER

    (record,) = driven(Stub(act), RunOptions(retries=2), clock)
    assert record.fault is None
    assert clock.waits == [0.5, 1.0]
    (lost,) = driven(Stub(fail("gone", in_transport=True)), RunOptions(retries=1))
    assert (lost.fault, lost.e2e_ms) == ("gone", None)


def test_an_unreachable_pipeline_stops_the_run() -> None:
    stub = Stub(fail("no connection", in_transport=True))
    kept: list[RunRecordV1] = []
    questions = [PipelineQuestion(f"q{n}", "Why", 0, "none") for n in range(50)]
    with pytest.raises(AffidavitError) as caught:
        list(run_pipeline(questions, stub, RunOptions(retries=0), kept.append, StillClock()))
    assert (caught.value.fault.code, caught.value.fault.exit) == ("AF446", 3)
    assert len(kept) == MAX_FAILURES_IN_A_ROW


def test_a_server_that_answers_with_an_error_is_reachable() -> None:
    assert len(driven(Stub(fail("HTTP 400")), count=30)) == 30


def test_the_rate_limit_is_kept() -> None:
    clock = StillClock()
    driven(Stub(lambda question: ANSWER), RunOptions(per_second=4), clock, count=3)
    assert clock.waits == [0.25, 0.25]


def test_at_most_the_given_number_of_questions_run_at_once() -> None:
    turn, at_once, most = threading.Lock(), 0, 0
    together = threading.Barrier(3)

    def act(question: PipelineQuestion) -> bytes:
        nonlocal at_once, most
        with turn:
            at_once += 1
            most = max(most, at_once)
        together.wait(10)
        with turn:
            at_once -= 1
        return ANSWER

    made = driven(Stub(act), RunOptions(jobs=3), count=9)
    assert (most, len(made)) == (3, 9)


def test_a_defect_is_raised_and_the_pipeline_closed() -> None:
    def act(question: PipelineQuestion) -> bytes:
        raise KeyError("defect")

    stub = Stub(act)
    with pytest.raises(KeyError):
        list(
            run_pipeline(
                [PipelineQuestion("q", "W", 0, "none")],
                stub,
                RunOptions(),
                lambda _: None,
                StillClock(),
            )
        )
    assert stub.is_closed


ANSWERS = {
    "as a trace has it": (ANSWER, "json", ("c", ("p1",), ("p1",))),
    "at the top": (b'{"claim": "c", "citations": [], "x": 1}', "json", ("c", (), None)),
    "plain text": (b" Yes, it does.\n", "text", ("Yes, it does.", None, None)),
}
NO_ANSWERS = {
    "not JSON": (b"Yes", "json", "the answer is not what was agreed: this is not JSON"),
    "a duplicate key": (b'{"claim": "a", "claim": "b"}', "json", "the answer is not what"),
    "of the wrong kind": (b'{"claim": 7}', "json", "the answer is not what was agreed: expected"),
    "not an object": (b"[]", "json", "the answer is not what was agreed: expected `object`"),
    "nothing known in it": (b'{"text": "c"}', "json", "the answer has neither"),
    "no answer by its own word": (b'{"answer_json": null}', "json", "the pipeline says"),
    "an empty text": (b" \n", "text", "the answer is empty"),
    "bytes that are no text": (b"\xff", "text", "the answer is not text in UTF-8"),
}


@pytest.mark.parametrize(("raw", "form", "wanted"), ANSWERS.values(), ids=ANSWERS.keys())
def test_answer(raw: bytes, form: ReplyFormat, wanted: tuple[object, ...]) -> None:
    answer, retrieved = answer_from(raw, form)
    assert (answer.claim, answer.citations, retrieved) == wanted


@pytest.mark.parametrize(("raw", "form", "problem"), NO_ANSWERS.values(), ids=NO_ANSWERS.keys())
def test_invalid_replies_are_refused(raw: bytes, form: ReplyFormat, problem: str) -> None:
    with pytest.raises(PipelineError) as caught:
        answer_from(raw, form)
    assert caught.value.problem.startswith(problem)
    assert not caught.value.in_transport


def test_recorded_questions_are_not_asked_again(tmp_path: Path) -> None:
    recording = RunFile(tmp_path / "runs.jsonl")
    questions = questions_of(ITEMS, (0,), ("none", "ws"))
    stub = Stub(lambda question: ANSWER if question.qid == "a" else fail("HTTP 500")(question))
    assert recording.answered() == frozenset()
    assert len([*run_pipeline(questions, stub, RunOptions(), recording.keep, StillClock())]) == 4
    left = unfinished_questions(questions, stub, "json", recording.answered())
    assert [each.qid for each in left] == ["7", "7"]
    changed = questions_of([gold(qid="a", question="Other")], (0,), ("none",))
    assert unfinished_questions(changed, stub, "json", recording.answered()) == changed
    other = Stub(stub.act, "another pipeline")
    assert len(unfinished_questions(questions, other, "json", recording.answered())) == 4
    assert len(unfinished_questions(questions, stub, "text", recording.answered())) == 4
    assert not recording.was_torn


WHOLE = b'{"qid": "a", "answer_json": {"claim": "c"}, "key": "k1"}\n'
TORN = {
    "a line that was cut off is taken away": (WHOLE + b'{"qid": "b", "ans', WHOLE, {"k1"}, True),
    "a whole line that only lacks its newline stays": (
        WHOLE + WHOLE.strip().replace(b"k1", b"k2"),
        WHOLE + WHOLE.strip().replace(b"k1", b"k2"),
        {"k1", "k2"},
        False,
    ),
    "runs that others recorded stay": (b'{"qid":1,"answer_json":null}\n', None, set(), False),
    "nothing but a torn line": (b'{"qid"', b"", set(), True),
    "an empty file": (b"", b"", set(), False),
}


@pytest.mark.parametrize(("raw", "left", "keys", "torn"), TORN.values(), ids=TORN.keys())
def test_a_torn_last_line_is_handled(
    tmp_path: Path, raw: bytes, left: bytes | None, keys: set[str], torn: bool
) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_bytes(raw)
    recording = RunFile(path)
    assert recording.answered() == keys
    assert recording.was_torn is torn
    assert path.read_bytes() == (raw if left is None else left)


OTHERS = {
    "notes": b"dear diary\nmore",
    "notes of one line without an end": b"dear diary",
    "a gold item without an end": b'{"qid": "a", "answerable": true}',
    "half a document": b"[",
}


@pytest.mark.parametrize("raw", OTHERS.values(), ids=OTHERS.keys())
def test_a_file_that_is_something_else_is_left_alone(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(raw)
    with pytest.raises(AffidavitError) as caught:
        RunFile(path).answered()
    assert (caught.value.where.file, caught.value.where.line) == (str(path), 1)
    assert path.read_bytes() == raw


def test_a_folder_that_cannot_be_created_is_reported_when_a_run_is_stored(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    recording = RunFile(tmp_path / "file" / "runs" / "runs.jsonl")
    recording.make_folder()
    questions = questions_of([gold(qid="a", question="Other")], (0,), ("none",))
    with pytest.raises(AffidavitError, match="AF014"):
        [
            *run_pipeline(
                questions, Stub(lambda _: ANSWER), RunOptions(), recording.keep, StillClock()
            )
        ]


def test_a_line_is_a_row_for_the_other_gates(tmp_path: Path) -> None:
    recording = RunFile(tmp_path / "runs.jsonl")
    list(
        run_pipeline(
            questions_of(ITEMS[:1], (0,), ("none",)),
            Stub(lambda q: ANSWER),
            RunOptions(),
            recording.keep,
            StillClock(),
        )
    )
    line = json.loads((tmp_path / "runs.jsonl").read_text())
    assert [*line] == [
        "qid",
        "run_id",
        "seed",
        "jitter",
        "q",
        "key",
        "answer_json",
        "retrieved_ids",
        "e2e_ms",
    ]
