"""The estimated and the actual use of a judge behind a server, and of a cascade."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

from msgspec import structs

from affidavit.app.check import CheckContext, check_answer
from affidavit.app.groundedness import MemoryJudge, RowJudge
from affidavit.app.judge_scoring import STANDARD_INPUT, RowScorer, outcome_of_line, row_lines
from affidavit.app.judges import judge_for
from affidavit.base.errors import AffidavitError
from affidavit.base.faults import evidence as faults
from affidavit.gates.groundedness import ContextRow
from affidavit.judge.cascade import CascadeJudge
from affidavit.judge.chat.judge import ChatJudge
from affidavit.judge.protocol import Judge
from affidavit.ledger.adjudication import CheckRequest
from affidavit.ledger.model import Chunk, JudgeIdentity, Reading, Span, SupportLevel
from affidavit.store.readings import ReadingStore

Pair: TypeAlias = tuple[str, Sequence[Chunk]]
"""A claim, and the passages to read for it."""


class PairCollector:
    """A judge that reads nothing and records the pairs that it gets."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self.pairs: list[Pair] = []

    @property
    def identity(self) -> JudgeIdentity:
        """The identity of the judge that it replaces."""
        return self._judge.identity

    @property
    def reads_english_only(self) -> bool:
        """As the judge that it replaces."""
        return self._judge.reads_english_only

    def read(self, claim: str, chunks: Sequence[Chunk]) -> tuple[Reading, ...]:
        """Record the pair, and return readings without a result."""
        self.pairs.append((claim, tuple(chunks)))
        return tuple(
            Reading(
                chunk_id=chunk.id,
                support_level=SupportLevel.NONE,
                contradicts=False,
                similarity=0.0,
                contradiction=0.0,
                directness=0.0,
                snippet="",
                snippet_span=Span(0, 0),
                notes="",
            )
            for chunk in chunks
        )


def estimate_answers(
    answers: Iterable[tuple[CheckRequest, CheckContext]], judge: Judge, *, above_budget: bool
) -> str:
    """Return the estimate of checking answers, from a check without a judge."""
    listing = PairCollector(judge)
    for request, context in answers:
        check_answer(request, structs.replace(context, judge=listing))
    return estimate_pairs(judge, listing.pairs, above_budget=above_budget)


def estimate_contexts(rows: Iterable[ContextRow], judge: RowJudge, *, above_budget: bool) -> str:
    """Return the estimate of judging rows by their contexts; stored readings cost nothing."""
    named = judge_for(judge.choice, judge.project)
    listing = PairCollector(named)
    store = None if judge.store is None else ReadingStore(judge.store)
    memory = MemoryJudge(listing, store)
    for row in rows:
        judge.judge(row, memory)
    if store is not None:
        store.close()
    return estimate_pairs(named, listing.pairs, above_budget=above_budget)


def estimate_rows(files: Iterable[Path], scorer: RowScorer, *, above_budget: bool) -> str:
    """Return the estimate of scoring files of rows; the rows of a pipe are not known yet."""
    paths = tuple(files)
    if STANDARD_INPUT in paths:
        return "the cost of rows from a pipe is not known in advance"
    judge = judge_for(scorer.choice, scorer.project)
    listing = PairCollector(judge)
    for line in (line for path in paths for line in row_lines(path)):
        # The errors of a row are reported when it is scored, not here.
        outcome_of_line(line, listing, scorer.rules)
    return estimate_pairs(judge, listing.pairs, above_budget=above_budget)


def estimate_pairs(judge: Judge, pairs: Sequence[Pair], *, above_budget: bool) -> str:
    """Return the estimate of a run in words; refuse a run that exceeds its budget.

    `above_budget` permits such a run: it stops when the budget is spent.
    """
    if isinstance(judge, ChatJudge):
        return _chat_estimate(judge, pairs, above_budget=above_budget)
    if not isinstance(judge, CascadeJudge):
        return ""
    sent = judge.uncertain_pairs(pairs)
    name = judge.larger.identity.name
    text = f"{len(sent)} of {len(pairs)} claims are uncertain"
    if not isinstance(judge.larger, ChatJudge):
        count = sum(len(chunks) for _, chunks in sent)
        return f"{text}; {name} will read {count} passages for them"
    return f"{text}; {_chat_estimate(judge.larger, sent, above_budget=above_budget)}"


def _chat_estimate(judge: ChatJudge, pairs: Iterable[Pair], *, above_budget: bool) -> str:
    settings, estimate = judge.settings, judge.estimate(pairs)
    text = (
        f"{settings.endpoint} will be asked {estimate.pairs - estimate.cached} times"
        f" ({estimate.pairs} pairs, {estimate.cached} answered before),"
        f" about {estimate.input_tokens} tokens in and {estimate.output_tokens} out"
    )
    if estimate.cost is None or estimate.most is None:
        return f"{text}; no prices are set, so the cost is not known"
    amount = judge.spending.amount
    budget = settings.budget
    if budget is not None and estimate.cost > budget and not above_budget:
        raise AffidavitError(
            faults.BUDGET_TOO_SMALL, estimate=amount(estimate.cost), budget=amount(budget)
        )
    cap = "no budget is set" if budget is None else f"budget {amount(budget)}"
    return f"{text}: about {amount(estimate.cost)}, at most {amount(estimate.most)}; {cap}"


def cost_summary(judge: Judge) -> str:
    """Return the actual use in words; "" for a judge whose use is not counted."""
    if isinstance(judge, ChatJudge):
        return f"judge: {_chat_summary(judge)}"
    if not isinstance(judge, CascadeJudge):
        return ""
    counts = judge.counts
    larger = judge.larger
    text = (
        f"judge: {counts.sent_claims} of {counts.claims} claims were uncertain and sent to"
        f" {larger.identity.name}, {counts.sent_pairs} passages"
    )
    return f"{text}; {_chat_summary(larger)}" if isinstance(larger, ChatJudge) else text


def _chat_summary(judge: ChatJudge) -> str:
    tally = judge.tally()
    parts = [f"{tally.requests} requests", f"{tally.cached} replies from before"]
    if tally.unreadable:
        parts.append(f"{tally.unreadable} replies could not be read and count as nothing")
    if tally.refused:
        parts.append(f"{tally.refused} verdicts do not hold and count as nothing")
    if tally.spent is not None:
        parts.append(f"{tally.spent} spent")
    return ", ".join(parts)
