"""Asks a pipeline every question under every seed and jitter, and keeps what it answered.

One line per run, appended and synced as it comes, so a crash loses no finished run and the next
start goes on where this one stopped. A run is finished if its line has an answer to the same
question from the same pipeline (`key`); an answer that did not come is recorded with the reason
and asked for again the next time. Origin: the stability page of the RAG document, `--mode run`.
"""

from collections.abc import Callable, Container, Generator, Iterable
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Thread
from typing import Final, Literal

import msgspec

from affidavit.base.canonical import jcs
from affidavit.base.clock import Clock
from affidavit.base.digest import digest_of
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import gate_runs as faults
from affidavit.base.places import excerpt
from affidavit.base.strict_json import decode
from affidavit.gates.jitters import jittered, run_id
from affidavit.gates.rag_rows import AnswerV1, GoldV1, qid_of
from affidavit.gates.rows import placed_problem
from affidavit.sources.pipelines.pipeline import NoAnswerError, Pipeline, Question

Form = Literal["json", "text"]
GIVE_UP_AFTER: Final = 10
"""Questions in a row that did not reach the pipeline: it is not there, and nobody has to wait."""
_FIRST_PAUSE: Final = 0.5


class RecordV1(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line of recorded runs; `gate stability` and `gate latency` read it."""

    qid: str
    run_id: str
    seed: int
    jitter: str
    q: str
    key: str
    answer_json: AnswerV1 | None
    retrieved_ids: tuple[str, ...] | None = None
    e2e_ms: float | None = None
    fault: str | None = None


class _ReplyV1(msgspec.Struct, frozen=True):
    """What a pipeline answers: a trace's answer, or the fields of one at the top."""

    answer_json: AnswerV1 | msgspec.UnsetType | None = msgspec.UNSET
    claim: str | None = None
    citations: tuple[str, ...] | None = None
    constraints_echo: tuple[str, ...] | None = None
    retrieved_ids: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Pace:
    """How a pipeline is asked: how many questions at once, how many a second, how often again."""

    jobs: int = 1
    per_second: float | None = None
    retries: int = 2
    form: Form = "json"


def questions_of(
    gold: Iterable[GoldV1], seeds: Iterable[int], jitters: Iterable[str], file: str | None = None
) -> tuple[Question, ...]:
    """Return every question under every seed and jitter, in the order of the gold set."""
    asked_with = [(seed, jitter) for seed in seeds for jitter in jitters]
    found = []
    for item in gold:
        if not item.question.strip():
            place = Where(file=file, field="question")
            raise AffidavitError(faults.QUESTION_MISSING, place, qid=excerpt(qid_of(item)))
        for seed, jitter in asked_with:
            found.append(Question(qid_of(item), jittered(item.question, jitter), seed, jitter))
    return tuple(found)


def key_of(question: Question, pipeline: Pipeline, form: Form) -> str:
    """Return the digest of all that decides a run."""
    parts = [pipeline.identity, form, question.qid, question.text, question.seed, question.jitter]
    return digest_of(jcs(parts))


def unfinished(
    questions: Iterable[Question], pipeline: Pipeline, form: Form, answered: Container[str]
) -> tuple[Question, ...]:
    """Return the questions whose keys are not among those that were answered."""
    return tuple(
        question for question in questions if key_of(question, pipeline, form) not in answered
    )


def drive(
    questions: Iterable[Question],
    pipeline: Pipeline,
    pace: Pace,
    keep: Callable[[RecordV1], None],
    clock: Clock,
) -> Generator[RecordV1, None, None]:
    """Ask, keep each run as soon as it is over, and yield it. The order is that of the answers."""
    over = SimpleQueue[RecordV1 | Exception]()
    waiting, running, lost, next_start = iter(questions), 0, 0, clock.monotonic()
    question = next(waiting, None)
    try:
        while question is not None or running:
            while question is not None and running < pace.jobs:
                next_start = _keep_pace(pace, next_start, clock)
                # A daemon: one that hangs does not keep the process from ending.
                Thread(
                    target=_ask, args=(question, pipeline, pace, clock, over), daemon=True
                ).start()
                running, question = running + 1, next(waiting, None)
            record = over.get()
            running -= 1
            if isinstance(record, Exception):
                raise record
            keep(record)
            yield record
            lost = lost + 1 if record.fault and record.e2e_ms is None else 0
            if lost >= GIVE_UP_AFTER:
                raise AffidavitError(faults.PIPELINE_GONE, count=lost, problem=record.fault)
    finally:
        pipeline.close()


def _keep_pace(pace: Pace, next_start: float, clock: Clock) -> float:
    """Wait for the moment at which the next question may go, and return the one after it."""
    if pace.per_second is None:
        return next_start
    now = clock.monotonic()
    if now < next_start:
        clock.sleep(next_start - now)
    return max(now, next_start) + 1 / pace.per_second


def _ask(
    question: Question,
    pipeline: Pipeline,
    pace: Pace,
    clock: Clock,
    over: "SimpleQueue[RecordV1 | Exception]",
) -> None:
    try:
        over.put(_recorded(question, pipeline, pace, clock))
    except Exception as error:  # Raised again by the thread that waits for it.
        over.put(error)


def _recorded(question: Question, pipeline: Pipeline, pace: Pace, clock: Clock) -> RecordV1:
    """Ask once, and again only if the question did not get there."""
    for attempt in range(pace.retries + 1):
        if attempt:
            clock.sleep(_FIRST_PAUSE * 2 ** (attempt - 1))
        started = clock.monotonic()
        try:
            raw = pipeline.ask(question)
            taken = round((clock.monotonic() - started) * 1000, 3)
            answer, retrieved = answer_from(raw, pace.form)
        except NoAnswerError as error:
            problem = error.problem
            if error.in_transport:
                continue
            taken = round((clock.monotonic() - started) * 1000, 3)
            return _record(question, pipeline, pace, None, e2e_ms=taken, fault=problem)
        return _record(question, pipeline, pace, answer, e2e_ms=taken, retrieved_ids=retrieved)
    return _record(question, pipeline, pace, None, fault=problem)


def _record(
    question: Question,
    pipeline: Pipeline,
    pace: Pace,
    answer: AnswerV1 | None,
    *,
    e2e_ms: float | None = None,
    fault: str | None = None,
    retrieved_ids: tuple[str, ...] | None = None,
) -> RecordV1:
    return RecordV1(
        question.qid,
        run_id(question.qid, question.seed, question.jitter),
        question.seed,
        question.jitter,
        question.text,
        key_of(question, pipeline, pace.form),
        answer,
        retrieved_ids,
        e2e_ms,
        fault,
    )


def answer_from(raw: bytes, form: Form) -> tuple[AnswerV1, tuple[str, ...] | None]:
    """Return the answer and the retrieved ids that a pipeline sent, or raise NoAnswerError."""
    if form == "text":
        return AnswerV1(_text(raw)), None
    try:
        reply = msgspec.convert(decode(raw), _ReplyV1)
    except AffidavitError as error:
        raise NoAnswerError(f"the answer is not what was agreed: {error.message}") from None
    except msgspec.ValidationError as error:
        problem, field = placed_problem(error)
        place = f" ({field})" if field else ""
        raise NoAnswerError(f"the answer is not what was agreed: {problem}{place}") from None
    if isinstance(reply.answer_json, AnswerV1):
        return reply.answer_json, reply.retrieved_ids
    if reply.answer_json is None:
        raise NoAnswerError("the pipeline says that it has no answer: answer_json is null")
    if reply.claim is None:
        raise NoAnswerError("the answer has neither answer_json nor claim")
    return AnswerV1(reply.claim, reply.citations, reply.constraints_echo), reply.retrieved_ids


def _text(raw: bytes) -> str:
    try:
        text = raw.decode().strip()
    except UnicodeDecodeError:
        raise NoAnswerError("the answer is not text in UTF-8") from None
    if not text:
        raise NoAnswerError("the answer is empty")
    return text
