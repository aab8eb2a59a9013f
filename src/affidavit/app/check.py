"""Checks answers against their sources, one at a time or a resumable batch."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import structs

from affidavit.app.judges import DEFAULT_JUDGE, JudgeChoice, is_remote, judge_for
from affidavit.app.project import Project
from affidavit.base.canonical import jcs
from affidavit.base.config import MAX_CONFIG_BYTES
from affidavit.base.digest import content_id
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.exits import Exit, worst_exit
from affidavit.base.faults import evidence as faults
from affidavit.base.files import append_line_durably, read_bounded
from affidavit.base.json_values import JsonLimits, JsonValue
from affidavit.base.strict_json import decode_lines, split_lines
from affidavit.base.validation import problem_and_field
from affidavit.decision.decision import Decision
from affidavit.documents.ingest import IndexedSources, index_sources
from affidavit.documents.model import DocumentSettings
from affidavit.judge.protocol import Judge
from affidavit.judge.thresholded import with_thresholds
from affidavit.ledger.adjudication import CheckRequest, adjudicate
from affidavit.ledger.citations import citation_index, cited_hashes, resolve_reference
from affidavit.ledger.claims import split_answer
from affidavit.ledger.model import Chunk, Claim, FindingKind, LedgerFinding, Reading
from affidavit.ledger.record import Ledger, ledger_to_json
from affidavit.ledger.rules import (
    DEFAULT_RULES,
    LedgerRules,
    rules_digest,
    rules_from_toml,
    with_gates,
)

# The main job: every claim of an answer, read against the sources, adjudicated.
#
# Each step is a pure function over recorded inputs; what is not pure (the index, the judge) is
# passed in, and what it says is stored in the ledger.

_SEARCHED_FOR_CITED: Final = 64
_READ_OF_CITED: Final = 3

Progress = Callable[[int, int, str], None]
"""Called with how many are done, how many there are, and the name of the last one."""


@dataclass(frozen=True, slots=True)
class CheckContext:
    """What answers are checked with: the same context gives the same ledger for the same answer."""

    sources: IndexedSources
    judge: Judge
    rules: LedgerRules
    top_k: int


def check_answer(
    request: CheckRequest, context: CheckContext, progress: Progress | None = None
) -> Ledger:
    """Return the ledger of an answer."""
    index = context.sources.index
    split = split_answer(
        request.answer,
        request.query,
        numbered_sources=request.numbered_sources,
        overrides=request.overrides,
        thresholds=context.rules.importance,
    )
    cited = _cited_chunks(split.claims, context)
    chunks: dict[str, Chunk] = {chunk.id: chunk for chunk in cited}
    readings: dict[str, Sequence[Reading]] = {}
    for done, claim in enumerate(split.claims, start=1):
        wanted = _evidence_for(claim, cited, context)
        chunks.update((chunk.id, chunk) for chunk in wanted)
        read = context.judge.read(claim.text, wanted)
        readings[claim.id] = tuple(
            structs.replace(reading, page_number=index.page_at(chunk, reading.snippet_span.start))
            for reading, chunk in zip(read, wanted, strict=True)
        )
        if progress is not None:
            progress(done, len(split.claims), claim.id)
    findings = tuple(
        LedgerFinding(FindingKind.SOURCE, str(finding), None, None)
        for finding in context.sources.findings
    )
    return adjudicate(
        replace(split, findings=(*split.findings, *findings)),
        readings,
        chunks=chunks.values(),
        documents=index.documents,
        request=request,
        judge=context.judge.identity,
        rules=context.rules,
    )


def _evidence_for(claim: Claim, cited: Sequence[Chunk], context: CheckContext) -> tuple[Chunk, ...]:
    """Return what the judge reads for a claim: the best passages, and those that it cites.

    Of a document that is cited as a whole the best passages are read, even if others fit better:
    else a true citation could look as if it did not support its claim.
    """
    index = context.sources.index
    found = {hit.chunk.id: hit.chunk for hit in index.search(claim.text, context.top_k)}
    found.update((chunk.id, chunk) for chunk in cited if chunk.hash in claim.cites)
    documents = _cited_documents(claim, context)
    if documents:
        hits = index.search(claim.text, _SEARCHED_FOR_CITED)
        of_cited = [hit.chunk for hit in hits if hit.chunk.document_id in documents]
        found.update((chunk.id, chunk) for chunk in of_cited[:_READ_OF_CITED])
    return tuple(found.values())


def _cited_documents(claim: Claim, context: CheckContext) -> frozenset[str]:
    index = citation_index(context.sources.index.documents, ())
    resolved = (resolve_reference(reference, index) for reference in claim.cites)
    return frozenset(each for citation in resolved for each in citation.document_ids)


def _cited_chunks(claims: Sequence[Claim], context: CheckContext) -> tuple[Chunk, ...]:
    """Return the passages that the answer cites by hash; the ledger reports those not found."""
    chunks: list[Chunk] = []
    for chunk_hash in cited_hashes(claims):
        # Not found, or ambiguous: the ledger says so, from what is not there.
        with suppress(AffidavitError):
            chunks.extend(context.sources.index.resolve(chunk_hash))
    return tuple(chunks)


# Many answers at once, so that a crash loses no finished one and the next run goes on.
#
# A batch keeps one line per finished answer in its results file. The line carries the key of all
# that decided it (the answer, the sources, the judge, the rules): a line with another key is old
# and is made again.

MAX_BATCH_BYTES: Final = 1024 * 1024 * 1024
_LINE_LIMITS: Final = JsonLimits()
_RESULT_LINE_START: Final = b'{"id":"'
"""Every line of the results begins so; what does not is somebody else's file."""


class BatchRowV1(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A line of a batch: an answer, and the sources to check it against if not the common ones."""

    id: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    answer: str
    query: str | None = None
    sources: tuple[str, ...] | None = None
    date: str | None = None


class BatchOutcomeV1(msgspec.Struct, frozen=True):
    """A line of the results: what became of an answer. `error` is set where it has no ledger."""

    id: str
    key: str
    decision: Decision
    session_id: str | None = None
    ledger_id: str | None = None
    total_claims: int | None = None
    supported: int | None = None
    weak: int | None = None
    contradicted: int | None = None
    not_found: int | None = None
    evidence_coverage: float | None = None
    unsupported_rate: float | None = None
    findings: tuple[str, ...] = ()
    error: str | None = None

    def is_final_for(self, work: "BatchItem") -> bool:
        """Tell whether the same inputs were checked; what failed may pass the next time."""
        return self.key == work.key and self.error is None


@dataclass(frozen=True, slots=True)
class BatchItem:
    """A row with the key of all that decides its outcome."""

    row: BatchRowV1
    key: str


def read_batch_rows(path: Path) -> tuple[BatchRowV1, ...]:
    """Return the rows of a JSON-lines file. Every row must have its own id."""
    rows: list[BatchRowV1] = []
    first_line: dict[str, int] = {}
    lines = split_lines(read_bounded(path, MAX_BATCH_BYTES))
    try:
        for number, value in decode_lines(lines, _LINE_LIMITS):
            row = _batch_row(value, number)
            if row.id in first_line:
                where, first = Where(line=number, field="id"), first_line[row.id]
                raise AffidavitError(faults.BATCH_ID_TWICE, where, id=row.id, first=first)
            first_line[row.id] = number
            rows.append(row)
    except AffidavitError as error:
        raise error.at(file=str(path)) from None
    if not rows:
        raise AffidavitError(faults.BATCH_EMPTY, Where(file=str(path)))
    return tuple(rows)


def _batch_row(value: JsonValue, number: int) -> BatchRowV1:
    try:
        return msgspec.convert(value, BatchRowV1)
    except msgspec.ValidationError as error:
        problem, field = problem_and_field(error)
        raise AffidavitError(
            faults.BATCH_ROW, Where(line=number, field=field), problem=problem
        ) from None


def finished_outcomes(path: Path) -> Mapping[str, BatchOutcomeV1]:
    """Return the outcomes that a results file holds, by id; a torn last line is no outcome."""
    if not path.exists():
        return {}
    outcomes: dict[str, BatchOutcomeV1] = {}
    for line in split_lines(read_bounded(path, MAX_BATCH_BYTES)):
        try:
            outcome = msgspec.json.decode(line, type=BatchOutcomeV1)
        except msgspec.DecodeError:
            # A crash in the middle of a line leaves the start of one; its answer is checked again.
            if line.startswith(_RESULT_LINE_START[: len(line)]):
                continue
            raise AffidavitError(faults.RESULTS_FOREIGN, Where(file=str(path))) from None
        outcomes[outcome.id] = outcome
    return outcomes


def run_batch(
    works: Iterable[BatchItem],
    results: Path,
    check: Callable[[Iterable[BatchItem]], Iterator[BatchOutcomeV1]],
    holds: Callable[[BatchItem, BatchOutcomeV1], bool],
) -> Iterator[BatchOutcomeV1]:
    """Yield an outcome per row, in order; those that are finished come from the results file.

    A finished line is believed only if it holds against the ledger that was kept for it.
    """
    wanted = tuple(works)
    known = finished_outcomes(results)
    done = {
        work.row.id: known[work.row.id]
        for work in wanted
        if work.row.id in known
        and known[work.row.id].is_final_for(work)
        and holds(work, known[work.row.id])
    }
    fresh = check(work for work in wanted if work.row.id not in done)
    for work in wanted:
        if work.row.id in done:
            yield done[work.row.id]
        else:
            outcome = next(fresh)
            append_line_durably(results, msgspec.json.encode(outcome))
            yield outcome


def batch_outcome(work: BatchItem, ledger: Ledger) -> BatchOutcomeV1:
    """Return a ledger's line of the results."""
    summary = ledger.summary
    return BatchOutcomeV1(
        id=work.row.id,
        key=work.key,
        decision=ledger.gates.decision,
        session_id=ledger.session_id,
        ledger_id=ledger.ledger_id,
        total_claims=summary.total_claims,
        supported=summary.by_verdict.supported,
        weak=summary.by_verdict.weak,
        contradicted=summary.by_verdict.contradicted,
        not_found=summary.by_verdict.not_found,
        evidence_coverage=summary.evidence_coverage,
        unsupported_rate=summary.unsupported_rate,
        findings=tuple(finding.message for finding in ledger.findings),
    )


def failed_outcome(work: BatchItem, error: AffidavitError) -> BatchOutcomeV1:
    """Return the line of an answer that could not be checked: not measured, so inconclusive."""
    return BatchOutcomeV1(work.row.id, work.key, Decision.INCONCLUSIVE, error=str(error))


def batch_exit(outcomes: Iterable[BatchOutcomeV1]) -> Exit:
    """Return how a batch ends: one answer that must not ship is enough to say no."""
    return worst_exit(outcome.decision.exit for outcome in outcomes)


# Setting up what answers are checked with.


@dataclass(frozen=True, slots=True)
class CheckPlan:
    """All that a context is made from: hashable and picklable, so each process makes it once."""

    project: Project
    sources: tuple[Path, ...]
    rules: LedgerRules
    top_k: int
    jobs: int = 1
    judge: JudgeChoice = DEFAULT_JUDGE

    @property
    def checking_jobs(self) -> int:
        """How many processes check answers: one where they would share a budget and a rate."""
        return 1 if is_remote(self.judge) else self.jobs


def ledger_rules_for(file: Path | None, gates: tuple[str, ...]) -> LedgerRules:
    """Return the rules of a file, or the default ones, with the gates of the command line."""
    rules = DEFAULT_RULES
    if file is not None:
        rules = rules_from_toml(read_bounded(file, MAX_CONFIG_BYTES), str(file))
    return with_gates(rules, gates) if gates else rules


def build_check_context(
    plan: CheckPlan, progress: Callable[[int, int, str], None] | None = None
) -> CheckContext:
    """Read and index the sources, or open their index, and put the judge beside it.

    A path that somebody named and that is not there is their mistake, not a finding.
    """
    for path in plan.sources:
        if not path.exists():
            raise AffidavitError(faults.SOURCE_MISSING, Where(file=str(path)))
    sources = index_sources(
        plan.sources, plan.project.sources, DocumentSettings(), jobs=plan.jobs, progress=progress
    )
    judge = with_thresholds(judge_for(plan.judge, plan.project), plan.rules.judge_thresholds)
    return CheckContext(sources, judge, plan.rules, plan.top_k)


def require_documents(context: CheckContext) -> None:
    """Refuse to check against nothing: every claim would be not found, for the wrong reason."""
    if not context.sources.index.documents:
        raise AffidavitError(faults.SOURCES_NONE)


@lru_cache(maxsize=8)
def _process_context(plan: CheckPlan) -> CheckContext:
    return build_check_context(replace(plan, jobs=0 if plan.jobs > 1 else plan.jobs))


@dataclass(frozen=True, slots=True)
class BatchChecker:
    """Checks rows of a batch, in whichever process it is called."""

    plan: CheckPlan
    folder: Path
    """The sources that a row names are looked for from here: the folder of the batch's file."""
    generated_at: str

    def key(self, row: BatchRowV1) -> str:
        """Return the key of all that decides on a row, apart from the time.

        A row whose sources cannot be read has a key that decides nothing: it fails, and a row that
        failed is tried again.
        """
        try:
            context = _process_context(self.plan_of(row))
        except AffidavitError:
            return ""
        decided_by = {
            "row": {"answer": row.answer, "query": row.query, "date": row.date},
            "sources": sorted(each.digest for each in context.sources.index.documents),
            "judge": context.judge.identity.digest,
            "rules": rules_digest(context.rules),
            "top_k": context.top_k,
        }
        return content_id("key", jcs(decided_by))

    def plan_of(self, row: BatchRowV1) -> CheckPlan:
        """Return the plan of a row: its own sources, if it names some."""
        if row.sources is None:
            return self.plan
        return replace(self.plan, sources=tuple(self.folder / each for each in row.sources))

    def request_for(self, row: BatchRowV1) -> CheckRequest:
        """Return the answer of a row with what is known about it."""
        return CheckRequest(
            answer=row.answer,
            query=row.query,
            title=row.query or row.id,
            answer_date=row.date or self.generated_at[:10],
            generated_at=self.generated_at,
            numbered_sources=row.sources or (),
        )

    def readable(self, rows: Iterable[BatchRowV1]) -> Iterator[tuple[CheckRequest, CheckContext]]:
        """Yield the answers whose sources can be read, each with its context."""
        for row in rows:
            with suppress(AffidavitError):
                yield self.request_for(row), _process_context(self.plan_of(row))

    def holds(self, work: BatchItem, outcome: BatchOutcomeV1) -> bool:
        """Tell whether a finished line says what its kept ledger says, untouched."""
        try:
            ledger = self.plan.project.ledger(outcome.session_id or "")
        except AffidavitError:
            return False
        return batch_outcome(work, ledger) == outcome

    def __call__(self, work: BatchItem) -> BatchOutcomeV1:
        """Check a row and keep its ledger; an error is an outcome, so the rest goes on."""
        row = work.row
        try:
            context = _process_context(self.plan_of(row))
            require_documents(context)
            ledger = check_answer(self.request_for(row), context)
        except AffidavitError as error:
            return failed_outcome(work, error)
        self.plan.project.sessions.save(ledger.session_id, ledger_to_json(ledger))
        return batch_outcome(work, ledger)
