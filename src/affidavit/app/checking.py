"""The main job: every claim of an answer, read against the sources, adjudicated.

Each step is a pure function over recorded inputs; what is not pure (the index, the judge) is
passed in, and what it says is stored in the ledger.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final

from affidavit.base.errors import AffidavitError
from affidavit.judge.protocol import Judge
from affidavit.ledger.build import adjudicate
from affidavit.ledger.citations import cited_hashes, resolve, shelf_of
from affidavit.ledger.claims import ClaimOverride, split_answer
from affidavit.ledger.findings import Finding, FindingKind
from affidavit.ledger.model import Chunk, Claim, Reading
from affidavit.ledger.record import Inquiry, Ledger
from affidavit.ledger.rules import LedgerRules
from affidavit.sources.ingest import IndexedSources

_SEARCHED_FOR_CITED: Final = 64
_READ_OF_CITED: Final = 3

Progress = Callable[[int, int, str], None]
"""Called with how many are done, how many there are, and the name of the last one."""


@dataclass(frozen=True, slots=True)
class AskedAnswer:
    """An answer to check, with what is known about it."""

    answer: str
    query: str | None
    title: str
    answer_date: str
    generated_at: str
    overrides: Mapping[str, ClaimOverride] = field(default_factory=dict)
    numbered_sources: tuple[str, ...] = ()
    """What `[1]`, `[2]` mean where the answer has no reference list: the order its writer had."""


@dataclass(frozen=True, slots=True)
class Bench:
    """What answers are checked with: the same bench gives the same ledger for the same answer."""

    sources: IndexedSources
    judge: Judge
    rules: LedgerRules
    top_k: int


def check_answer(asked: AskedAnswer, bench: Bench, progress: Progress | None = None) -> Ledger:
    """Return the ledger of an answer."""
    index = bench.sources.index
    split = split_answer(
        asked.answer,
        asked.query,
        numbered_sources=asked.numbered_sources,
        overrides=asked.overrides,
        thresholds=bench.rules.importance,
    )
    cited = _cited_chunks(split.claims, bench)
    chunks: dict[str, Chunk] = {chunk.id: chunk for chunk in cited}
    readings: dict[str, Sequence[Reading]] = {}
    for done, claim in enumerate(split.claims, start=1):
        wanted = _evidence_for(claim, cited, bench)
        chunks.update((chunk.id, chunk) for chunk in wanted)
        read = bench.judge.read(claim.text, wanted)
        readings[claim.id] = tuple(
            replace(reading, page_number=index.page_at(chunk, reading.snippet_span.start))
            for reading, chunk in zip(read, wanted, strict=True)
        )
        if progress is not None:
            progress(done, len(split.claims), claim.id)
    met = tuple(
        Finding(FindingKind.SOURCE, str(finding), None, None) for finding in bench.sources.findings
    )
    inquiry = Inquiry(
        asked.answer,
        asked.query,
        asked.title,
        asked.answer_date,
        asked.generated_at,
        bench.judge.identity,
    )
    split = replace(split, findings=(*split.findings, *met))
    return adjudicate(split, readings, chunks.values(), index.documents, inquiry, bench.rules)


def _evidence_for(claim: Claim, cited: Sequence[Chunk], bench: Bench) -> tuple[Chunk, ...]:
    """Return what the judge reads for a claim: the best passages, and those that it cites.

    Of a document that is cited as a whole the best passages are read, even if others fit better:
    else a true citation could look as if it did not support its claim.
    """
    index = bench.sources.index
    found = {hit.chunk.id: hit.chunk for hit in index.search(claim.text, bench.top_k)}
    found.update((chunk.id, chunk) for chunk in cited if chunk.hash in claim.cites)
    documents = _cited_documents(claim, bench)
    if documents:
        hits = index.search(claim.text, _SEARCHED_FOR_CITED)
        of_cited = [hit.chunk for hit in hits if hit.chunk.document_id in documents]
        found.update((chunk.id, chunk) for chunk in of_cited[:_READ_OF_CITED])
    return tuple(found.values())


def _cited_documents(claim: Claim, bench: Bench) -> frozenset[str]:
    shelf = shelf_of(bench.sources.index.documents, ())
    resolved = (resolve(reference, shelf) for reference in claim.cites)
    return frozenset(each for citation in resolved for each in citation.document_ids)


def _cited_chunks(claims: Sequence[Claim], bench: Bench) -> tuple[Chunk, ...]:
    """Return the passages that the answer cites by hash; the ledger reports those not found."""
    chunks: list[Chunk] = []
    for chunk_hash in cited_hashes(claims):
        # Not found, or ambiguous: the ledger says so, from what is not there.
        with suppress(AffidavitError):
            chunks.extend(bench.sources.index.resolve(chunk_hash))
    return tuple(chunks)
