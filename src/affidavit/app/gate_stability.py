"""`gate stability`: run a pipeline under seeds and jitters, record the runs, and decide."""

from collections.abc import Callable, Container, Generator, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Final, Literal

import msgspec

from affidavit.app.gate_inputs import (
    BadLines,
    GatePlan,
    InputLines,
    Name,
    Names,
    RefusalMode,
    Tokens,
    baseline_outcomes,
    listed,
)
from affidavit.base.canonical import jcs
from affidavit.base.digest import digest_of
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import gates as faults
from affidavit.base.files import append_line_durably, is_there, read_bounded, write_atomically
from affidavit.base.json_rows import RowReader, keep_last, raise_error
from affidavit.base.strict_json import decode
from affidavit.base.text import excerpt
from affidavit.base.timestamps import Clock
from affidavit.base.validation import problem_and_field
from affidavit.decision.comparison import Comparison, compare_outcomes
from affidavit.decision.counts import listing_of
from affidavit.decision.report import Report
from affidavit.gates.rag_rows import (
    GoldItem,
    TraceAnswer,
    gold_by_qid,
    gold_from_chunk,
    qid_of,
    require_digest,
)
from affidavit.gates.refusals import REFUSAL, RefusalReader
from affidavit.gates.stability import (
    STABILITY_READER,
    QuestionStability,
    StabilityCounts,
    StabilityRules,
    StabilityRun,
    apply_jitter,
    jitter_run_id,
    stability_counts,
    stability_gates,
    stability_report,
)
from affidavit.tools.pipelines import Pipeline, PipelineError, PipelineQuestion

# Ask a pipeline every question under every seed and jitter, and record the answers. Each run is one
# line, appended and synced, so a crash loses no finished run and the next start continues. A run is
# finished if its line has an answer to the same question from the same pipeline (`key`). A missing
# answer is recorded with its reason and asked for again the next time.
# Origin: the stability page of the RAG document, `--mode run`.

ReplyFormat = Literal["json", "text"]
MAX_FAILURES_IN_A_ROW: Final = 10
"""After this many consecutive questions that did not reach the pipeline, the run stops."""
_FIRST_RETRY_SECONDS: Final = 0.5


class RunRecordV1(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line of recorded runs; `gate stability` and `gate latency` read it."""

    qid: str
    run_id: str
    seed: int
    jitter: str
    q: str
    key: str
    answer_json: TraceAnswer | None
    retrieved_ids: tuple[str, ...] | None = None
    e2e_ms: float | None = None
    fault: str | None = None


class _PipelineReplyV1(msgspec.Struct, frozen=True):
    """The reply of a pipeline: `answer_json`, or its fields at the top level."""

    answer_json: TraceAnswer | msgspec.UnsetType | None = msgspec.UNSET
    claim: str | None = None
    citations: tuple[str, ...] | None = None
    constraints_echo: tuple[str, ...] | None = None
    retrieved_ids: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How to ask a pipeline: concurrency, rate and retries."""

    jobs: int = 1
    per_second: float | None = None
    retries: int = 2
    form: ReplyFormat = "json"


def questions_of(
    gold: Iterable[GoldItem], seeds: Iterable[int], jitters: Iterable[str], file: str | None = None
) -> tuple[PipelineQuestion, ...]:
    """Return every question under every seed and jitter, in the order of the gold set."""
    asked_with = [(seed, jitter) for seed in seeds for jitter in jitters]
    found = []
    for item in gold:
        if not item.question.strip():
            place = Where(file=file, field="question")
            raise AffidavitError(faults.QUESTION_MISSING, place, qid=excerpt(qid_of(item)))
        for seed, jitter in asked_with:
            found.append(
                PipelineQuestion(qid_of(item), apply_jitter(item.question, jitter), seed, jitter)
            )
    return tuple(found)


def run_key(question: PipelineQuestion, pipeline: Pipeline, form: ReplyFormat) -> str:
    """Return the digest of everything that determines a run."""
    parts = [pipeline.identity, form, question.qid, question.text, question.seed, question.jitter]
    return digest_of(jcs(parts))


def unfinished_questions(
    questions: Iterable[PipelineQuestion],
    pipeline: Pipeline,
    form: ReplyFormat,
    answered: Container[str],
) -> tuple[PipelineQuestion, ...]:
    """Return the questions that have no answer yet, by key."""
    return tuple(
        question for question in questions if run_key(question, pipeline, form) not in answered
    )


def run_pipeline(
    questions: Iterable[PipelineQuestion],
    pipeline: Pipeline,
    pace: RunOptions,
    keep: Callable[[RunRecordV1], None],
    clock: Clock,
) -> Generator[RunRecordV1, None, None]:
    """Ask, record each run when it finishes, and yield it in that order."""
    over = SimpleQueue[RunRecordV1 | Exception]()
    waiting, running, lost, next_start = iter(questions), 0, 0, clock.monotonic()
    question = next(waiting, None)
    try:
        while question is not None or running:
            while question is not None and running < pace.jobs:
                next_start = _wait_for_slot(pace, next_start, clock)
                # A daemon thread, so that a hanging call does not keep the process alive.
                Thread(
                    target=_run_in_thread, args=(question, pipeline, pace, clock, over), daemon=True
                ).start()
                running, question = running + 1, next(waiting, None)
            record = over.get()
            running -= 1
            if isinstance(record, Exception):
                raise record
            keep(record)
            yield record
            lost = lost + 1 if record.fault and record.e2e_ms is None else 0
            if lost >= MAX_FAILURES_IN_A_ROW:
                raise AffidavitError(faults.PIPELINE_GONE, count=lost, problem=record.fault)
    finally:
        pipeline.close()


def _wait_for_slot(pace: RunOptions, next_start: float, clock: Clock) -> float:
    """Wait until the next question may be sent, and return the time of the one after it."""
    if pace.per_second is None:
        return next_start
    now = clock.monotonic()
    if now < next_start:
        clock.sleep(next_start - now)
    return max(now, next_start) + 1 / pace.per_second


def _run_in_thread(
    question: PipelineQuestion,
    pipeline: Pipeline,
    pace: RunOptions,
    clock: Clock,
    over: "SimpleQueue[RunRecordV1 | Exception]",
) -> None:
    try:
        over.put(_run_once(question, pipeline, pace, clock))
    except Exception as error:  # Raised again in the waiting thread.
        over.put(error)


def _run_once(
    question: PipelineQuestion, pipeline: Pipeline, pace: RunOptions, clock: Clock
) -> RunRecordV1:
    """Ask once; retry only if the question did not reach the pipeline."""
    for attempt in range(pace.retries + 1):
        if attempt:
            clock.sleep(_FIRST_RETRY_SECONDS * 2 ** (attempt - 1))
        started = clock.monotonic()
        try:
            raw = pipeline.ask(question)
            taken = round((clock.monotonic() - started) * 1000, 3)
            answer, retrieved = answer_from(raw, pace.form)
        except PipelineError as error:
            problem = error.problem
            if error.in_transport:
                continue
            taken = round((clock.monotonic() - started) * 1000, 3)
            return _run_record(question, pipeline, pace, None, e2e_ms=taken, fault=problem)
        return _run_record(question, pipeline, pace, answer, e2e_ms=taken, retrieved_ids=retrieved)
    return _run_record(question, pipeline, pace, None, fault=problem)


def _run_record(
    question: PipelineQuestion,
    pipeline: Pipeline,
    pace: RunOptions,
    answer: TraceAnswer | None,
    *,
    e2e_ms: float | None = None,
    fault: str | None = None,
    retrieved_ids: tuple[str, ...] | None = None,
) -> RunRecordV1:
    return RunRecordV1(
        qid=question.qid,
        run_id=jitter_run_id(question.qid, question.seed, question.jitter),
        seed=question.seed,
        jitter=question.jitter,
        q=question.text,
        key=run_key(question, pipeline, pace.form),
        answer_json=answer,
        retrieved_ids=retrieved_ids,
        e2e_ms=e2e_ms,
        fault=fault,
    )


def answer_from(raw: bytes, form: ReplyFormat) -> tuple[TraceAnswer, tuple[str, ...] | None]:
    """Return the answer and the retrieved ids that a pipeline sent, or raise NoAnswerError."""
    if form == "text":
        return TraceAnswer(_text(raw)), None
    try:
        reply = msgspec.convert(decode(raw), _PipelineReplyV1)
    except AffidavitError as error:
        raise PipelineError(f"the answer is not what was agreed: {error.message}") from None
    except msgspec.ValidationError as error:
        problem, field = problem_and_field(error)
        place = f" ({field})" if field else ""
        raise PipelineError(f"the answer is not what was agreed: {problem}{place}") from None
    if isinstance(reply.answer_json, TraceAnswer):
        return reply.answer_json, reply.retrieved_ids
    if reply.answer_json is None:
        raise PipelineError("the pipeline says that it has no answer: answer_json is null")
    if reply.claim is None:
        raise PipelineError("the answer has neither answer_json nor claim")
    return TraceAnswer(reply.claim, reply.citations, reply.constraints_echo), reply.retrieved_ids


def _text(raw: bytes) -> str:
    try:
        text = raw.decode().strip()
    except UnicodeDecodeError:
        raise PipelineError("the answer is not text in UTF-8") from None
    if not text:
        raise PipelineError("the answer is empty")
    return text


# The file of recorded runs; a line that a crash cut off is removed.

MAX_RUN_FILE_BYTES: Final = 4 * 1024 * 1024 * 1024


class _StoredRunV1(msgspec.Struct, frozen=True):
    """The members of a recorded run that are read; runs recorded by others have no key."""

    qid: str | int
    answer_json: TraceAnswer | None
    seed: int = 0
    jitter: str = "none"
    key: str | None = None


_ROWS: Final = RowReader(
    _StoredRunV1, faults.STABILITY_ROW, ("qid", "answer_json", "seed", "jitter", "key")
)


_RUN_LINE_START: Final = b'{"qid":'
"""The start of every line that is written here."""


class RunFile:
    """A file of runs. Its contents are kept; a line that is not a run is an error."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.was_torn = False
        """Whether the last line was cut off, so that its run is repeated."""

    def answered(self) -> frozenset[str]:
        """Return the keys of the runs that have an answer; none without a file.

        A process that was killed while writing leaves an incomplete last line, which is removed.
        Any other line that is not a run is an error.
        """
        if not is_there(self._path):
            return frozenset()
        raw = read_bounded(self._path, MAX_RUN_FILE_BYTES)
        whole = self._without_torn_end(raw)
        found = frozenset(self._answered_in(whole))
        if len(whole) < len(raw):
            write_atomically(self._path, whole)
            self.was_torn = True
        return found

    def keep(self, record: RunRecordV1) -> None:
        """Append a run durably."""
        line = msgspec.to_builtins(record)
        if record.answer_json is not None:
            said = {name: value for name, value in line["answer_json"].items() if value is not None}
            line["answer_json"] = said
        append_line_durably(self._path, msgspec.json.encode(line))

    def make_folder(self) -> None:
        """Create the folder of the file; a problem is reported when a run is written."""
        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)

    def _without_torn_end(self, raw: bytes) -> bytes:
        cut = raw.rfind(b"\n") + 1
        return raw[:cut] if _is_torn(raw[cut:]) else raw

    def _answered_in(self, raw: bytes) -> Iterator[str]:
        for _, row in _ROWS.from_chunk(raw, 1, str(self._path), raise_error):
            if row.key is not None and row.answer_json is not None:
                yield row.key


def _is_torn(line: bytes) -> bool:
    """Tell whether a line starts like ours and is incomplete JSON."""
    if not line or not _RUN_LINE_START.startswith(line[: len(_RUN_LINE_START)]):
        return False
    try:
        decode(line)
    except AffidavitError:
        return True
    return False


KIND = "stability"


class StabilityPlan(GatePlan, frozen=True, kw_only=True):
    """`[gates.stability]`, over recorded runs."""

    PATHS = ("gold", "runs")

    gold: Name
    runs: Names
    refusal: Tokens = REFUSAL
    refusal_mode: RefusalMode = "words"
    expect_gold_digest: Name | None = None
    allow_missing: bool = False


def gate_stability(plan: StabilityPlan) -> Report:
    """Return the report of recorded runs; the last run of a question, seed and jitter counts."""
    before = baseline_outcomes(plan.fail_on_regression, KIND)
    lines = InputLines("gold", [plan.gold], BadLines(plan.skip_bad))
    gold = gold_by_qid(lines.rows(gold_from_chunk), plan.gold)
    given = lines.as_input()
    require_digest(given.digest or "", plan.expect_gold_digest, plan.gold)
    recorded = InputLines("runs", listed(plan.runs), BadLines(plan.skip_bad))
    rows = (row for _, row in recorded.rows(STABILITY_READER.from_chunk))
    last, duplicates = keep_last(rows, lambda run: (str(run.qid), run.seed, run.jitter))
    by_qid: dict[str, list[StabilityRun]] = {}
    for (qid, _, _), run in sorted(last.items(), key=lambda each: each[0]):
        by_qid.setdefault(qid, []).append(run)
    refusals = RefusalReader(listed(plan.refusal), is_exact=plan.refusal_mode == "exact")
    rules = StabilityRules(refusals, stability_gates(listed(plan.gates))[1])
    figures, counts = _scored(gold, by_qid, rules)
    return stability_report(
        counts,
        figures,
        {"gold": given, "runs": recorded.as_input()},
        overrides=listed(plan.gates),
        correction=plan.correction,
        refusals=refusals,
        strays=listing_of(by_qid.keys() - gold.keys()),
        duplicates=duplicates,
        allow_missing=plan.allow_missing,
        comparison=_compared(before, figures),
    )


def _scored(
    gold: Mapping[str, GoldItem], runs: Mapping[str, list[StabilityRun]], rules: StabilityRules
) -> tuple[list[QuestionStability], StabilityCounts]:
    figures, counts = [], StabilityCounts()
    for qid, item in gold.items():
        made, counted = stability_counts(item, runs.get(qid, ()), rules)
        figures.append(made)
        counts += counted
    return figures, counts


def _compared(
    before: Mapping[str, bool | None] | None, figures: list[QuestionStability]
) -> Comparison | None:
    return (
        None
        if before is None
        else compare_outcomes(before, {made.qid: made.outcome for made in figures})
    )
