"""Checks an answer against its sources: every claim is read against the evidence and adjudicated.

The index and the judge are passed in as a `CheckContext`. What they return is stored in the ledger,
so the ledger follows from recorded inputs.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from msgspec import Struct, structs

from affidavit.app.cited_places import CitedPlaces, SourceSearch
from affidavit.app.judges import JudgeChoice, judge_for, judge_named, rules_at_risk
from affidavit.app.project import Project
from affidavit.base.config import MAX_CONFIG_BYTES
from affidavit.base.digest import digest_of
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import evidence as faults
from affidavit.base.files import is_there, read_bounded
from affidavit.documents.ingest import index_sources
from affidavit.documents.model import DocumentFinding, DocumentSettings
from affidavit.judge.protocol import Judge
from affidavit.judge.thresholded import with_thresholds
from affidavit.ledger.adjudication import CheckRequest, adjudicate
from affidavit.ledger.claims import ClaimOverride, SplitAnswer, parse_override, split_answer
from affidavit.ledger.model import (
    Chunk,
    Claim,
    FindingKind,
    LedgerFinding,
    Reading,
)
from affidavit.ledger.record import Ledger, ledger_to_json
from affidavit.ledger.rules import DEFAULT_RULES, LedgerRules, rules_from_toml, with_gates

MAX_ANSWER_BYTES: Final = 16 * 1024 * 1024

Progress = Callable[[int, int, str], None]
"""Called with the number of finished items, their total, and the name of the last one."""


class CheckPlan(Struct, frozen=True, kw_only=True):
    """What a context is built from. Hashable and picklable, so that each process builds it once."""

    project: Project
    sources: tuple[Path, ...]
    rules: LedgerRules
    top_k: int
    judge: JudgeChoice
    jobs: int = 1


class CheckContext(Struct, frozen=True):
    """What answers are checked with. With the same context, an answer gets the same ledger."""

    index: SourceSearch
    judge: Judge
    rules: LedgerRules
    top_k: int
    findings: tuple[DocumentFinding, ...] = ()
    """The findings of reading the sources."""


def check_plan(
    project: Path,
    sources: Iterable[Path],
    *,
    rules: Path | None,
    gates: tuple[str, ...],
    judge: str | None,
    top_k: int,
    risk: float | None = None,
    jobs: int = 1,
) -> CheckPlan:
    """Return the plan of a check from the values of the options."""
    choice = judge_named(judge)
    checked = ledger_rules_for(rules, gates)
    return CheckPlan(
        project=Project(project),
        sources=tuple(sources),
        rules=checked if risk is None else rules_at_risk(checked, choice, risk),
        top_k=top_k,
        judge=choice,
        jobs=jobs,
    )


def ledger_rules_for(file: Path | None, gates: tuple[str, ...]) -> LedgerRules:
    """Return the rules of a file, or the default rules, with the gates of the command line."""
    rules = DEFAULT_RULES
    if file is not None:
        rules = rules_from_toml(read_bounded(file, MAX_CONFIG_BYTES), str(file))
    return with_gates(rules, gates) if gates else rules


def answer_text(data: bytes, where: Where) -> str:
    """Return an answer as text. It must be UTF-8 and must not be empty."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise AffidavitError(faults.ANSWER_NOT_TEXT, where) from None
    if "\0" in text:
        raise AffidavitError(faults.ANSWER_NOT_TEXT, where)
    if not text.strip():
        raise AffidavitError(faults.ANSWER_EMPTY, where)
    return text


def parse_overrides(texts: Iterable[str]) -> dict[str, ClaimOverride]:
    """Return the overrides of `--claim` by claim id."""
    return dict(map(parse_override, texts))


def build_check_context(plan: CheckPlan, progress: Progress | None = None) -> CheckContext:
    """Read and index the sources, or open their index, and build the judge.

    A named path that does not exist is an error, not a finding.
    """
    for path in plan.sources:
        if not is_there(path):
            raise AffidavitError(faults.SOURCE_MISSING, Where(file=str(path)))
    sources = index_sources(
        plan.sources, plan.project.sources, DocumentSettings(), jobs=plan.jobs, progress=progress
    )
    return CheckContext(sources.index, judge_of(plan), plan.rules, plan.top_k, sources.findings)


def judge_of(plan: CheckPlan) -> Judge:
    """Return the judge of a plan, with the thresholds of its rules."""
    return with_thresholds(judge_for(plan.judge, plan.project), plan.rules.judge_thresholds)


def require_documents(context: CheckContext) -> None:
    """Refuse to check without documents: every claim would be not_found for the wrong reason."""
    if not context.index.documents:
        raise AffidavitError(faults.SOURCES_NONE)


def require_sources_for(answer: str, context: CheckContext) -> None:
    """Refuse to check without documents, or an answer that is one of its own sources."""
    require_documents(context)
    digest = digest_of(answer.encode())
    for document in context.index.documents:
        if document.digest == digest:
            raise AffidavitError(faults.ANSWER_IS_SOURCE, filename=document.filename)


class JudgedClaims(NamedTuple):
    """The claims of an answer and what the judge made of the passages for each of them."""

    split: SplitAnswer
    readings: Mapping[str, Sequence[Reading]]
    chunks: tuple[Chunk, ...]
    unread: frozenset[str]
    """Claims in a language that the judge does not read."""


def check_answer(
    request: CheckRequest, context: CheckContext, progress: Progress | None = None
) -> Ledger:
    """Return the ledger of an answer."""
    read = judge_claims(request, context, progress)
    findings = tuple(
        LedgerFinding(FindingKind.SOURCE, str(finding), None, None) for finding in context.findings
    )
    return adjudicate(
        replace(read.split, findings=(*read.split.findings, *findings)),
        read.readings,
        chunks=read.chunks,
        documents=context.index.documents,
        request=request,
        judge=context.judge.identity,
        rules=context.rules,
        unread=read.unread,
    )


def judge_claims(
    request: CheckRequest, context: CheckContext, progress: Progress | None = None
) -> JudgedClaims:
    """Split an answer and have every claim judged against the passages that fit it best."""
    index = context.index
    split = split_answer(
        request.answer,
        request.query,
        numbered_sources=request.numbered_sources,
        overrides=request.overrides,
        thresholds=context.rules.importance,
    )
    places = CitedPlaces(index)
    chunks: dict[str, Chunk] = {}
    readings: dict[str, Sequence[Reading]] = {}
    unread: set[str] = set()
    for done, claim in enumerate(split.claims, start=1):
        evidence, cited = _evidence_for(claim, places, context)
        if context.judge.reads_english_only and not claim.is_in_english:
            # A repetition needs no language.
            evidence = tuple(chunk for chunk in evidence if _repeats(claim.statement, chunk.text))
            if not evidence:
                unread.add(claim.id)
        chunks.update((chunk.id, chunk) for chunk in evidence)
        readings[claim.id] = tuple(
            structs.replace(reading, page_number=index.page_at(chunk, reading.snippet_span.start))
            for reading, chunk in zip(
                context.judge.read(claim.statement, _as_cited(evidence, cited)),
                evidence,
                strict=True,
            )
        )
        if progress is not None:
            progress(done, len(split.claims), claim.id)
    seen = {**places.named, **chunks}
    return JudgedClaims(split, readings, tuple(seen.values()), frozenset(unread))


def _as_cited(evidence: Iterable[Chunk], cited: frozenset[str]) -> tuple[Chunk, ...]:
    return tuple(
        structs.replace(chunk, cited=True) if chunk.id in cited else chunk for chunk in evidence
    )


def _repeats(claim: str, passage: str) -> bool:
    """Tell whether a claim is in a passage letter for letter, apart from case and white space."""
    plain = " ".join(claim.casefold().split()).rstrip(".!?\u3002")
    return plain in " ".join(passage.casefold().split())


def save_ledger(ledger: Ledger, project: Project) -> Path:
    """Store the ledger in the project and return its file."""
    return project.sessions.save(ledger.session_id, ledger_to_json(ledger)).path


def _evidence_for(
    claim: Claim, places: CitedPlaces, context: CheckContext
) -> tuple[tuple[Chunk, ...], frozenset[str]]:
    """Return the chunks that the judge reads for a claim, and the ids of those that it cites.

    The places that the claim cites come first. The best chunks of all sources follow: a citation
    never keeps a chunk from being read that contradicts the claim.
    """
    cited = places.passages_for(claim)
    found = {chunk.id: chunk for chunk in cited}
    hits = context.index.search(claim.statement, context.top_k)
    found.update((hit.chunk.id, hit.chunk) for hit in hits)
    return tuple(found.values()), frozenset(chunk.id for chunk in cited)
