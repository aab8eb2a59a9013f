"""Score traces against gold items: which of C, H and K hold, and which trace of an item counts.

Origin: section 2 of the RAG document. A gold item is prepared once and then scored with its traces;
the last trace in the order of lines counts. Parts of the traces are scored independently, in any
order and any process, and merged in the order of their lines. Memory does not grow with the number
of traces: ten bytes for each gold item, and the first names of traces without a gold item.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Final

import msgspec

from affidavit.base.errors import AffidavitError
from affidavit.base.json_rows import raise_error
from affidavit.decision.counts import EMPTY_LISTING, MAX_LISTED, Listing
from affidavit.gates.constraints import (
    DEFAULT_SCU_RULES,
    ConstraintJudge,
    Locks,
    ScuRule,
    locked_set,
)
from affidavit.gates.rag_counts import (
    ANSWERABLE,
    C_FAILS,
    C_HOLDS,
    CONSTRAINED,
    FOUND_ALL,
    FOUND_NONE,
    FOUND_SOME,
    H_FAILS,
    H_HOLDS,
    K_FAILS,
    K_HOLDS,
    MISSING,
    NEAR_MISS,
    REFUSED,
    SILENT,
    ItemProfile,
    RagCounts,
    count_codes,
    decode_profile,
)
from affidavit.gates.rag_rows import GoldItem, TraceAnswer, TraceRow, qid_of, trace_without_qid
from affidavit.gates.refusals import REFUSAL, RefusalReader

SHORTEST_SUBSTRING: Final = 5
DEFAULT_K: Final = 5
TEXT_ID_PREFIX: Final = "text:"
"""The prefix of the id of a passage that is identified by its text."""


@dataclass(frozen=True, slots=True)
class RagSettings:
    """The settings that a score depends on."""

    k: int = DEFAULT_K
    refusal: str = REFUSAL
    scu_rules: tuple[ScuRule, ...] = DEFAULT_SCU_RULES
    more_refusals: tuple[str, ...] = ()
    exact_refusals: bool = False
    """Whether only a token is a refusal, and not the same in other words."""
    constraint_judge: ConstraintJudge | None = None

    @property
    def refusals(self) -> tuple[str, ...]:
        """Every refusal token."""
        return (self.refusal, *self.more_refusals)

    @property
    def refusal_reader(self) -> RefusalReader:
        """The reader of refusals."""
        return RefusalReader(self.refusals, is_exact=self.exact_refusals)


DEFAULT_SETTINGS: Final = RagSettings()


class PreparedGold(msgspec.Struct, frozen=True, gc=False):
    """A gold item, prepared for scoring: everything that does not depend on the trace."""

    number: int
    base: int
    """The part of the code that the gold item decides."""
    needles: tuple[str, ...]
    """The gold substrings that are long enough, case-folded."""
    wanted: tuple[str, ...]
    """The gold citations."""
    only: str | None
    """The gold citation, if there is exactly one."""
    lock: frozenset[str] | None
    constraints: tuple[str, ...] | None


class RagScorer:
    """Scores items under some settings."""

    def __init__(self, settings: RagSettings = DEFAULT_SETTINGS) -> None:
        self._k = settings.k
        self._refusal = settings.refusal
        self._refusals = settings.refusal_reader
        self._folded_refusal = " ".join(settings.refusal.casefold().split())
        self._last_word = self._folded_refusal.rpartition(" ")[2]
        self._locks = Locks(settings.scu_rules)
        self._locked = lru_cache(maxsize=4096)(locked_set)
        self._judge = settings.constraint_judge

    def score(self, gold: GoldItem, trace: TraceRow | None) -> ItemProfile:
        """Return the profile of a gold item with its last trace, or without a trace."""
        ready = self.prepare(gold)
        if trace is None:
            return decode_profile(ready.base | MISSING)
        return decode_profile(self.settle(self.code_of(ready, trace), ready, trace))

    def prepare(self, gold: GoldItem, number: int = 0) -> PreparedGold:
        """Prepare a gold item; `number` is its position in the gold set."""
        lock = (self._locked(gold.constraints) or None) if gold.constraints else None
        base = (ANSWERABLE if gold.answerable else 0) + (CONSTRAINED if lock else 0)
        needles = needles_of(gold.gold_claim_substr) if gold.answerable else ()
        wanted = gold.gold_citations or ()
        return PreparedGold(
            number=number,
            base=base,
            needles=needles,
            wanted=wanted,
            only=wanted[0] if len(wanted) == 1 else None,
            lock=lock,
            constraints=gold.constraints if lock else None,
        )

    def settle(self, code: int, ready: PreparedGold, trace: TraceRow) -> int:
        """Return a code with K as the judge decides it, where the rules found nothing."""
        judge, answer = self._judge, trace.answer_json
        if judge is None or answer is None or not code & K_HOLDS:
            return code
        is_lost = any(judge.contradicts(each, answer.claim) for each in sorted(ready.lock or ()))
        return code - K_HOLDS + K_FAILS if is_lost else code

    def code_of(self, ready: PreparedGold, trace: TraceRow) -> int:
        """Return the code of a gold item's profile with a trace, by rules alone.

        The common case takes no further call: one gold citation, which is retrieved and cited, and
        a gold substring in the claim.
        """
        code, wanted = ready.base, ready.wanted
        answerable = code & ANSWERABLE
        retrieved = trace.retrieved_ids
        found = 0
        if answerable and wanted and retrieved is not None:
            top = retrieved if len(retrieved) <= self._k else retrieved[: self._k]
            found = FOUND_ALL if ready.only in top else found_among(wanted, top)
            code += found
        answer = trace.answer_json
        if answer is None:
            return code | SILENT
        claim = answer.claim
        if self._refusals.is_token(claim) or (answer.passed and not answerable):
            return code | REFUSED
        folded = claim.casefold()
        if self._last_word in folded:
            code += NEAR_MISS if self._is_near_miss(folded) else 0
        needles = ready.needles
        passed = answer.passed
        is_held = passed is None and needles and needles[0] in folded
        contains = C_HOLDS if is_held else contained(needles, folded, passed)
        if contains != C_HOLDS and self._refusals.is_in_words(claim):
            return code | REFUSED | NEAR_MISS
        return code + contains + self._cited_and_kept(ready, trace, answer, folded, found)

    def _cited_and_kept(
        self, ready: PreparedGold, trace: TraceRow, answer: TraceAnswer, folded: str, found: int
    ) -> int:
        """Return H and K of an answer."""
        code, wanted, answerable = 0, ready.wanted, ready.base & ANSWERABLE
        # An unanswerable item has no hit, whatever was recorded.
        if answer.citations_recorded is not False or not answerable:
            cited, retrieved = answer.citations, trace.retrieved_ids
            is_hit = found == FOUND_ALL and cited == wanted
            code += H_HOLDS if is_hit else cited_among(wanted, cited or (), retrieved, answerable)
        if ready.lock:
            code += self._kept(ready, ready.lock, answer, folded)
        return code

    def _kept(
        self, ready: PreparedGold, lock: frozenset[str], answer: TraceAnswer, folded: str
    ) -> int:
        """Return K: the constraints are echoed, and the claim contradicts none of them."""
        echo = answer.constraints_echo
        if echo is None or (echo != ready.constraints and locked_set(echo) != lock):
            return K_FAILS
        contradicted = self._locks.contradiction(lock, answer.claim, folded)
        return K_HOLDS if contradicted is None else K_FAILS

    def _is_near_miss(self, folded: str) -> bool:
        # Every text contains an empty refusal token.
        return self._folded_refusal != "" and self._folded_refusal in " ".join(folded.split())


def needles_of(substrings: Iterable[str] | None) -> tuple[str, ...]:
    """Return the gold substrings of five characters or more, case-folded."""
    found = []
    for text in substrings or ():
        trimmed = text.strip()
        if len(trimmed) >= SHORTEST_SUBSTRING:
            found.append(trimmed.casefold())
    return tuple(found)


def contained(needles: tuple[str, ...], folded_claim: str, passed: bool | None = None) -> int:
    """Return C: the claim contains one of the substrings; not measured if there are none.

    If the trace has the verdict of another tool's assertions, that is C.
    """
    if passed is not None:
        return C_HOLDS if passed else C_FAILS
    for needle in needles:
        if needle in folded_claim:
            return C_HOLDS
    return C_FAILS if needles else 0


def found_among(wanted: tuple[str, ...], top: tuple[str, ...]) -> int:
    """Return whether all, some or none of the gold citations are among the first k retrieved."""
    found = [each in top for each in wanted]
    if False not in found:
        return FOUND_ALL
    if True in found:
        return FOUND_SOME
    return FOUND_NONE if named_alike(wanted, top) else 0


def named_alike(wanted: tuple[str, ...], retrieved: tuple[str, ...]) -> bool:
    """Return whether a miss can be determined: not if one side has ids and the other texts."""
    by_text = {name.startswith(TEXT_ID_PREFIX) for name in wanted}
    return not retrieved or any(name.startswith(TEXT_ID_PREFIX) in by_text for name in retrieved)


def cited_among(
    wanted: tuple[str, ...],
    citations: tuple[str, ...],
    retrieved: tuple[str, ...] | None,
    answerable: int | bool,
) -> int:
    """Return H: a gold citation is cited, and everything cited was retrieved.

    It is not measured for an answerable item without gold citations, and False for an unanswerable
    item. Without retrieved ids only a miss can be determined.
    """
    if retrieved is not None:
        for cited in citations:
            if cited not in retrieved:
                return H_FAILS
    if not wanted:
        return 0 if answerable else H_FAILS
    for cited in citations:
        if cited in wanted:
            return 0 if retrieved is None else H_HOLDS
    return H_FAILS if not citations or named_alike(wanted, retrieved or ()) else 0


def cites(
    gold: GoldItem, citations: tuple[str, ...], retrieved: tuple[str, ...] | None
) -> bool | None:
    """Return H of one item; None was not measured."""
    code = cited_among(gold.gold_citations or (), citations, retrieved, gold.answerable)
    return decode_profile(code).cites


GoldSet = Mapping[str, PreparedGold]
"""The prepared gold items by qid, numbered in their order."""


def gold_set(gold: Mapping[str, GoldItem], scorer: RagScorer) -> dict[str, PreparedGold]:
    """Prepare a gold set for scoring."""
    return {qid: scorer.prepare(item, number) for number, (qid, item) in enumerate(gold.items())}


@dataclass(frozen=True, slots=True)
class LastTraces:
    """The last trace of each gold item: its line, and the code of its profile.

    Lines count from 1; 0 means no trace. `traces` counts all traces, `strays` those without a gold
    item.
    """

    lines: "array[int]" = field(default_factory=lambda: array("q"))
    codes: "array[int]" = field(default_factory=lambda: array("H"))
    traces: int = 0
    strays: Listing = EMPTY_LISTING


def merge_traces(parts: Sequence[tuple[int, LastTraces]]) -> LastTraces:
    """Return the merged runs of consecutive parts, each with the number of lines before it.

    The last part comes first: with many traces it often covers every gold item, and the other parts
    need not be searched.
    """
    lines, codes = array("q"), array("H")
    for before, runs in reversed(parts):
        if not lines:
            lines = array("q", [line and line + before for line in runs.lines])
            codes = runs.codes[:]
        elif 0 in lines:
            for number, line in enumerate(runs.lines):
                if line and not lines[number]:
                    lines[number], codes[number] = line + before, runs.codes[number]
    return LastTraces(
        lines,
        codes,
        sum(runs.traces for _, runs in parts),
        sum((runs.strays for _, runs in parts), EMPTY_LISTING),
    )


class TraceScoring:
    """Scores the traces of a part in blocks, in the order of its lines."""

    def __init__(self, gold: GoldSet, scorer: RagScorer) -> None:
        self._gold = gold
        self._scorer = scorer
        self._locked: dict[int, tuple[PreparedGold, TraceRow]] = {}
        self._lines = array("q", bytes(8 * len(gold)))
        self._codes = array("H", bytes(2 * len(gold)))
        self._traces = 0
        self._stray_names: set[str] = set()
        self._strays = 0

    def score(
        self,
        traces: Iterable[tuple[int, TraceRow]],
        file: str | None = None,
        on_bad: Callable[[AffidavitError], None] = raise_error,
    ) -> None:
        """Score traces with their lines, in ascending order."""
        find, code_of, locked = self._gold.get, self._scorer.code_of, self._locked
        lines, codes = self._lines, self._codes
        count = 0
        for line, trace in traces:
            # Nearly every qid is a string in the gold set; the others are handled below.
            ready = find(trace.qid)  # type: ignore[arg-type]  # A number is looked up by its text.
            if ready is None:
                qid = qid_of(trace)
                if not qid:
                    on_bad(trace_without_qid(line, file))
                    continue
                ready = find(qid)
            count += 1
            if ready is None:
                self._note_stray(qid)
            else:
                number = ready.number
                lines[number], codes[number] = line, code_of(ready, trace)
                if ready.lock:
                    locked[number] = ready, trace
        self._traces += count

    def runs(self) -> LastTraces:
        """Return the runs of the part. Of several traces of an item, only the last is judged."""
        for number, (ready, trace) in self._locked.items():
            self._codes[number] = self._scorer.settle(self._codes[number], ready, trace)
        first = tuple(sorted(self._stray_names)[:MAX_LISTED])
        return LastTraces(self._lines, self._codes, self._traces, Listing(self._strays, first))

    def _note_stray(self, qid: str) -> None:
        self._strays += 1
        self._stray_names.add(qid)
        if len(self._stray_names) > 2 * MAX_LISTED:
            self._stray_names = set(sorted(self._stray_names)[:MAX_LISTED])


def score_traces(
    traces: Iterable[tuple[int, TraceRow]], gold: GoldSet, scorer: RagScorer
) -> LastTraces:
    """Score traces, each with its line."""
    scoring = TraceScoring(gold, scorer)
    scoring.score(traces)
    return scoring.runs()


def codes_from_runs(gold: GoldSet, runs: LastTraces) -> Sequence[int]:
    """Return the code of every gold item, in their order."""
    if 0 not in runs.lines:  # Nearly always every item has a trace.
        return runs.codes
    return array(
        "H",
        (
            code if line else ready.base | MISSING
            for ready, line, code in zip(gold.values(), runs.lines, runs.codes, strict=True)
        ),
    )


def counts_from_runs(
    gold: GoldSet, runs: LastTraces, clusters: Mapping[str, str] = MappingProxyType({})
) -> RagCounts:
    """Return the counts of a gold set with all its traces; an item without one is MISSING.

    `clusters` has the qid of the question of each item that asks a question again.
    """
    found = len(runs.lines) - runs.lines.count(0)
    codes = codes_from_runs(gold, runs)
    asked: dict[str, list[int]] = {}
    for name, qid in clusters.items():
        is_asked_first = qid in gold and qid not in clusters
        first = [codes[gold[qid].number]] if is_asked_first else []
        asked.setdefault(qid, first).append(codes[gold[name].number])
    return count_codes(
        gold.keys(),
        codes,
        traces=runs.traces,
        duplicates=runs.traces - runs.strays.total - found,
        strays=runs.strays,
        repeats=tuple(tuple(map(decode_profile, each)) for each in asked.values() if each[1:]),
    )


@dataclass(frozen=True, slots=True)
class ScoredItems:
    """The qid and profile of every gold item, in the order of the gold set, computed lazily."""

    gold: GoldSet
    runs: LastTraces

    def __iter__(self) -> Iterator[tuple[str, ItemProfile]]:
        return items_from_runs(self.gold, self.runs)


def items_from_runs(gold: GoldSet, runs: LastTraces) -> Iterator[tuple[str, ItemProfile]]:
    """Yield every gold item's qid and profile, in the order of the gold set."""
    return zip(gold, map(decode_profile, codes_from_runs(gold, runs)), strict=True)
