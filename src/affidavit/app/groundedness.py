"""Judges answers against their own contexts, row by row, in one process or several.

A row gets the ledger that `affidavit check` would give it, with its contexts as the sources. What a
judge reads is remembered and stored, so that a claim is read against the same passages only once,
and a run that was killed goes on where it stopped. The results are the same for any number of
processes, any order of rows and any content of the store.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, cached_property, lru_cache
from hashlib import sha256
from heapq import nsmallest
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple

from msgspec import Struct, structs

from affidavit.app.check import CheckContext, judge_claims
from affidavit.app.judges import DEFAULT_JUDGE, JudgeChoice, is_counted, judge_for
from affidavit.app.project import Project
from affidavit.base.errors import AffidavitError
from affidavit.base.text import excerpt
from affidavit.decision.decision import Decision
from affidavit.documents.passages import PassageIndex
from affidavit.documents.search_terms import claim_terms, stems_of, stop_stems
from affidavit.engine.local import LocalRunner, Runner
from affidavit.gates.groundedness import ContextRow, Groundedness, GroundedRow, RowCounts
from affidavit.gates.rag_counts import AnswerState
from affidavit.gates.refusals import RefusalReader
from affidavit.gates.report import ClaimVerdict, PlacedOffender, RagOffender
from affidavit.judge.protocol import Judge
from affidavit.judge.thresholded import with_thresholds
from affidavit.ledger.adjudication import (
    CheckRequest,
    DecidedClaims,
    decide_claims,
    decide_entry,
    undecided_entry,
)
from affidavit.ledger.citations import citation_index
from affidavit.ledger.claims import split_answer
from affidavit.ledger.languages import language_of
from affidavit.ledger.model import (
    Chunk,
    Claim,
    ClaimType,
    Importance,
    JudgeIdentity,
    Reading,
    Span,
    Verdict,
)
from affidavit.ledger.record import LedgerEntry
from affidavit.ledger.rules import DEFAULT_RULES, LedgerRules, rules_digest
from affidavit.store.readings import (
    ReadingEntry,
    ReadingStore,
    decode_readings,
    encode_readings,
    reading_key,
)

DEFAULT_TOP_K: Final = 8
_UNDATED: Final = "1970-01-01"
"""The day of the answers: rows have none, so no context is outdated."""
_ROWS_AT_ONCE: Final = 8
_BYTES_AT_ONCE: Final = 1 << 20
_REMEMBERED: Final = 20_000
_MAX_TEXT: Final = 600
_THIS_PROCESS: Final = LocalRunner()


@cache
def _judge_code_digest() -> str:
    """Return a digest of the code of the judges.

    The digest of a judge covers its tables and weights. What another release read must not be
    taken for what this one reads.
    """
    folder = Path(__file__).parent.parent / "judge"
    digest = sha256()
    for file in sorted(folder.rglob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()


class MemoryJudge:
    """A judge that remembers what it read, and takes it from the store if it is there."""

    def __init__(self, judge: Judge, store: ReadingStore | None) -> None:
        self._judge = judge
        self._store = store
        self._known: dict[bytes, bytes] = {}
        self.fresh: list[ReadingEntry] = []
        """What was read and is not stored yet."""

    @cached_property
    def identity(self) -> JudgeIdentity:
        """The identity of the judge that reads; some compute it from their tables each time."""
        return self._judge.identity

    @cached_property
    def _reader(self) -> str:
        return f"{self.identity.digest} {_judge_code_digest()}"

    @property
    def reads_english_only(self) -> bool:
        """As the judge that reads."""
        return self._judge.reads_english_only

    def read(self, claim: str, chunks: Sequence[Chunk]) -> tuple[Reading, ...]:
        """Return one reading per chunk, in the order of the chunks."""
        key = reading_key(self._reader, claim, chunks)
        content = self._known.get(key) or (self._store and self._store.find(key))
        found = decode_readings(content, chunks) if content else None
        if found is None:
            found = self._judge.read(claim, chunks)
            content = encode_readings(found)
            self.fresh.append((key, content))
        if key not in self._known and len(self._known) >= _REMEMBERED:
            self._known.clear()
        self._known[key] = content or b""
        return found


class JudgedBatch(NamedTuple):
    """The results of some rows, and the readings to store."""

    rows: tuple[GroundedRow, ...]
    entries: tuple[ReadingEntry, ...]
    read: int
    """How many claims were judged; the others were known."""


class RowJudge(Struct, frozen=True, kw_only=True):
    """Judges rows, in any process."""

    rules: LedgerRules = DEFAULT_RULES
    choice: JudgeChoice = DEFAULT_JUDGE
    top_k: int = DEFAULT_TOP_K
    project: Project = Project(Path())
    store: Path | None = None
    """The file of readings; without it, readings are remembered in memory only."""
    refusals: tuple[str, ...] = ()
    exact_refusals: bool = False

    def sent_to(self, run: Runner) -> "RowJudge":
        """Return the judge that a runner runs; on other machines it sees a copy of the store."""
        if self.store is None or not self.store.exists():
            return self
        ReadingStore(self.store).close()  # What a killed run left beside the file goes into it.
        return structs.replace(self, store=run.share(self.store))

    @property
    def settings(self) -> dict[str, object]:
        """What the verdicts depend on, as a report states it."""
        identity = judge_for(self.choice, self.project).identity
        return {
            "judge": f"{identity.name} {identity.version}",
            "judge_digest": identity.digest,
            "rules_digest": rules_digest(self.rules),
            "top_k": self.top_k,
        }

    def __call__(self, rows: tuple[ContextRow, ...]) -> JudgedBatch:
        """Return the results of some rows, in order."""
        memory = _memory_of(self.choice, self.project, self.store)
        judged = tuple(self.judge(row, memory) for row in rows)
        entries = tuple(memory.fresh)
        memory.fresh.clear()
        return JudgedBatch(judged, entries, len(entries))

    def judge(self, row: ContextRow, judge: Judge) -> GroundedRow:
        """Return the result of one row."""
        state = self._state(row.answer)
        if state is not AnswerState.SHIPPED or row.answer is None:
            counts = RowCounts(state, has_contexts=row.contexts is not None)
            return GroundedRow(row.name, row.question_id, counts)
        index = _index_of(row)
        if index is None:
            claims = len(split_answer(row.answer, row.question or None).claims)
            return GroundedRow(row.name, row.question_id, RowCounts(state, unread=claims))
        context = CheckContext(
            index, with_thresholds(judge, self.rules.judge_thresholds), self.rules, self.top_k
        )
        decided = decided_claims_of(row, index, context)
        counts = _counts(row, decided, index, context)
        verdicts = tuple(map(_claim_verdict, decided.entries))
        return GroundedRow(row.name, row.question_id, counts, verdicts)

    def _state(self, answer: str | None) -> AnswerState:
        if answer is None or not answer.strip():
            return AnswerState.SILENT
        refusals = _refusal_reader(self.refusals, self.exact_refusals)
        is_refusal = refusals.is_token(answer) or refusals.is_in_words(answer)
        return AnswerState.REFUSED if is_refusal else AnswerState.SHIPPED


@lru_cache(maxsize=4)
def _memory_of(choice: JudgeChoice, project: Project, store: Path | None) -> MemoryJudge:
    return MemoryJudge(judge_for(choice, project), None if store is None else ReadingStore(store))


@lru_cache(maxsize=4)
def _refusal_reader(tokens: tuple[str, ...], is_exact: bool) -> RefusalReader:
    return RefusalReader(tokens, is_exact=is_exact)


def decided_claims_of(row: ContextRow, index: PassageIndex, context: CheckContext) -> DecidedClaims:
    """Return the claims of a row as the ledger of `affidavit check` would decide them."""
    read = judge_claims(
        CheckRequest(
            answer=row.answer or "",
            query=row.question or None,
            title=row.question or row.name,
            answer_date=_UNDATED,
            generated_at=f"{_UNDATED}T00:00:00Z",
            numbered_sources=tuple(index.names),
        ),
        context,
    )
    return decide_claims(
        read.split,
        read.readings,
        chunks=read.chunks,
        documents=index.documents,
        answer_date=_UNDATED,
        rules=context.rules,
        unread=read.unread,
    )


_GROUNDED: Final = {Decision.SHIP: True, Decision.NO_SHIP: False, Decision.INCONCLUSIVE: None}


def _counts(
    row: ContextRow, decided: DecidedClaims, index: PassageIndex, context: CheckContext
) -> RowCounts:
    judged = [entry for entry in decided.entries if not entry.unread_language]
    verdicts = [entry.verdict for entry in judged]
    supported = [entry for entry in judged if entry.verdict is Verdict.SUPPORTED]
    used = {reading.document_id for entry in supported for reading in entry.deciding_readings}
    cited = _citations(row, decided, index, context)
    references = [
        _verdict_on(
            claim, [hit.chunk for hit in index.search(claim.statement, context.top_k)], context
        )
        for claim in _claims_of_references(row.references)
        if claim.is_in_english or not context.judge.reads_english_only
    ]
    return RowCounts(
        AnswerState.SHIPPED,
        has_contexts=True,
        is_grounded=_GROUNDED[decided.gates.decision],
        supported=len(supported),
        weak=verdicts.count(Verdict.WEAK),
        contradicted=verdicts.count(Verdict.CONTRADICTED),
        not_found=verdicts.count(Verdict.NOT_FOUND),
        unread=len(decided.entries) - len(judged),
        citations=cited.total,
        right_citations=cited.right,
        has_citations=cited.total > 0,
        cited_claims=cited.claims,
        contexts=len(index.documents),
        used_contexts=len(used),
        reference_claims=len(references),
        found_reference_claims=references.count(Verdict.SUPPORTED),
        is_relevant=is_relevant(row.question, row.answer or "", decided.entries),
    )


def _index_of(row: ContextRow) -> PassageIndex | None:
    """Return the contexts of a row; None if it has none, or one that is too large to be read."""
    if row.contexts is None:
        return None
    try:
        return PassageIndex(
            [context.text for context in row.contexts], [context.id for context in row.contexts]
        )
    except AffidavitError:
        return None


class _Citations(NamedTuple):
    """The citations of an answer, the right ones, and the supported claims that have one."""

    total: int = 0
    right: int = 0
    claims: int = 0


def _citations(
    row: ContextRow, decided: DecidedClaims, index: PassageIndex, context: CheckContext
) -> _Citations:
    """Return how the answer cites: by marks in its text, or else by a list of contexts."""
    entries = [entry for entry in decided.entries if not entry.unread_language]
    if any(entry.citations for entry in entries):
        # For each claim, whether each of its citations is right.
        marks = [
            [
                any(_supports(entry, name, context) for name in citation.document_ids)
                for citation in entry.citations
            ]
            for entry in entries
        ]
        return _Citations(
            sum(map(len, marks)), sum(map(sum, marks)), sum(any(each) for each in marks)
        )
    ids = {document.filename: document.id for document in index.documents}
    cited = [ids.get(index.names[number - 1]) if number else None for number in row.citations or ()]
    held = [
        [name is not None and _supports(entry, name, context) for name in cited]
        for entry in entries
    ]
    right = sum(any(each) for each in zip(*held, strict=True))
    return _Citations(len(cited), right, sum(any(each) for each in held))


def _supports(entry: LedgerEntry, document_id: str, context: CheckContext) -> bool:
    """Tell whether a document supports a claim that is supported.

    The judge stops at the first passage that says so; another one is read by itself.
    """
    if entry.verdict is not Verdict.SUPPORTED:
        return False
    if any(reading.document_id == document_id for reading in entry.deciding_readings):
        return True
    claim = _claim(entry.statement)
    found = context.index.search(claim.statement, context.top_k)
    chunks = [hit.chunk for hit in found if hit.chunk.document_id == document_id]
    return bool(chunks) and _verdict_on(claim, chunks, context) is Verdict.SUPPORTED


def _claims_of_references(references: Iterable[str]) -> Iterator[Claim]:
    for reference in references:
        # A reference of a few words is a claim as a whole.
        yield from split_answer(reference).claims or (_claim(reference),)


def _claim(statement: str) -> Claim:
    return Claim(
        id="clm_001",
        text=statement,
        span=Span(0, len(statement)),
        type=ClaimType.FACT,
        importance=Importance.MATERIAL,
        language=language_of(statement),
    )


def _verdict_on(claim: Claim, chunks: Sequence[Chunk], context: CheckContext) -> Verdict:
    index = citation_index(context.index.documents, chunks)
    readings = context.judge.read(claim.statement, chunks) if chunks else ()
    entry = undecided_entry(claim, readings, index)
    return decide_entry(entry, index.documents, _UNDATED, context.rules).verdict


def is_relevant(question: str, answer: str, entries: Iterable[LedgerEntry]) -> bool | None:
    """Tell whether an answer is about its question; None if the question has no words that tell.

    It is if a word of the question, or a synonym, is in the answer or in the sentences that its
    claims rest on: "Paris." answers "What is the capital of France?" by such a sentence.
    """
    terms = claim_terms(question)
    asked = {term.word for stem, term in terms.items() if term.is_own and stem not in stop_stems()}
    if not asked:
        return None
    read = (reading.snippet for entry in entries for reading in entry.deciding_readings)
    found = {stem for text in (answer, *read) for stem in stems_of(text)}
    return any(stem in found for stem, term in terms.items() if term.word in asked)


def _claim_verdict(entry: LedgerEntry) -> ClaimVerdict:
    text = excerpt(entry.shown_text, _MAX_TEXT)
    if entry.unread_language:
        return ClaimVerdict(text, "not_judged", reason=entry.notes)
    if entry.verdict is Verdict.SUPPORTED:
        return ClaimVerdict(text, entry.verdict.value)
    reading = entry.nearest_reading
    if reading is None:
        return ClaimVerdict(text, entry.verdict.value, reason=entry.notes)
    return ClaimVerdict(
        text,
        entry.verdict.value,
        excerpt(" ".join(reading.snippet.split()), _MAX_TEXT),
        reading.filename,
        reading.notes,
    )


# Many rows.


def judge_rows(
    rows: Iterator[ContextRow],
    judge: RowJudge,
    *,
    run: Runner = _THIS_PROCESS,
    sample: tuple[int, int] | None = None,
    keeps_claims: bool = False,
    progress: Callable[[int, int], None] | None = None,
    estimate: Callable[[Sequence[ContextRow]], None] | None = None,
) -> Groundedness | None:
    """Judge rows, in order; None if no row has the texts of its contexts.

    `sample` is how many rows are judged, and the seed that chooses them. `progress` is called with
    the numbers of rows and of readings that were needed. `estimate` is called with all rows before
    any is judged; only then they are kept in memory. A judge behind a server is used by this
    process only, as in `judge_file`.
    """
    leading: list[ContextRow] = []
    for row in rows:
        leading.append(row)
        if row.contexts is not None:
            break
    else:
        return None
    found = Groundedness(keeps_claims=keeps_claims, settings=judge.settings)
    wanted: Iterable[ContextRow] = chain(leading, rows)
    if sample is not None:
        count, seed = sample
        found.settings = {**found.settings, "sample": count, "seed": seed}
        wanted = _sample(wanted, count, seed, found)
    if estimate is not None:
        wanted = kept = [*wanted]
        estimate(kept)
    _judge_all(wanted, judge, found, _THIS_PROCESS if is_counted(judge.choice) else run, progress)
    return found


def _judge_all(
    rows: Iterable[ContextRow],
    judge: RowJudge,
    found: Groundedness,
    run: Runner,
    progress: Callable[[int, int], None] | None,
) -> None:
    waiting: deque[tuple[ContextRow, ...]] = deque()

    def sent() -> Iterator[tuple[ContextRow, ...]]:
        for batch in _batches(rows):
            waiting.append(batch)
            yield batch

    worker = judge.sent_to(run)
    store = None if judge.store is None else ReadingStore(judge.store)
    done = read = 0
    for judged in run(worker, sent()):
        if store is not None and judged.entries:
            store.keep(judged.entries)
        read += judged.read
        for row, result in zip(waiting.popleft(), judged.rows, strict=True):
            found.add(result, _offender(row, result))
            done += 1
        if progress is not None:
            progress(done, read)
    if store is not None:
        store.close()


def _batches(rows: Iterable[ContextRow]) -> Iterator[tuple[ContextRow, ...]]:
    """Yield rows in batches, each small enough to be sent to another process."""
    batch: list[ContextRow] = []
    size = 0
    for row in rows:
        batch.append(row)
        size += sum(len(context.text) for context in row.contexts or ())
        if len(batch) >= _ROWS_AT_ONCE or size >= _BYTES_AT_ONCE:
            yield tuple(batch)
            batch, size = [], 0
    if batch:
        yield tuple(batch)


def _sample(
    rows: Iterable[ContextRow], count: int, seed: int, found: Groundedness
) -> list[ContextRow]:
    """Return so many rows, chosen by a digest of the seed and their names.

    The choice does not depend on the order of the rows.
    """
    total = 0

    def counted() -> Iterator[ContextRow]:
        nonlocal total
        for row in rows:
            total += 1
            yield row

    def rank(row: ContextRow) -> bytes:
        return sha256(f"{seed}\0{row.name}".encode("utf-8", "replace")).digest()

    kept = nsmallest(count, counted(), key=rank)
    found.left_out = total - len(kept)
    return kept


def _offender(row: ContextRow, judged: GroundedRow) -> PlacedOffender | None:
    if judged.counts.is_grounded is not False:
        return None
    claims = tuple(each for each in judged.claims if each.verdict != Verdict.SUPPORTED.value)
    offender = RagOffender(
        qid=row.name,
        why="contradicts_contexts" if judged.counts.contradicted else "not_grounded",
        question=row.question,
        claim=row.answer or "",
        expected=row.expected,
        passages={
            context.id or f"context {number}": excerpt(context.text, _MAX_TEXT)
            for number, context in enumerate(row.contexts or (), 1)
        },
        claims=claims,
    )
    return PlacedOffender(offender, row.line, row.file)
