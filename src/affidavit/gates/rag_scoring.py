"""One gold item and its trace: which of C, H and K hold, and what was retrieved.

Origin: section 2 of the RAG document. Everything that any figure, listing or comparison needs is
in the profile of an item; profiles are few, so a million items are counted by a few sums.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from affidavit.gates.rag_rows import GoldV1, TraceV1
from affidavit.gates.scu import RULES, Locks, ScuRule, locked

REFUSAL: Final = "not in context"
SHORTEST_SUBSTRING: Final = 5
DEFAULT_K: Final = 5


class Seen(StrEnum):
    """What became of a question."""

    SHIPPED = "shipped"
    REFUSED = "refused"
    SILENT = "no_answer"
    """There is a trace, and no answer in it."""
    MISSING = "missing"
    """There is no trace."""


class Profile(NamedTuple):
    """How one item came out; None was not measured, or does not apply."""

    seen: Seen
    answerable: bool
    contains: bool | None = None
    """C: a gold substring stands in the claim."""
    cites: bool | None = None
    """H: a gold citation is cited, and nothing that was not retrieved."""
    keeps: bool | None = None
    """K: the constraints are echoed, and the claim contradicts none; None without constraints."""
    constrained: bool = False
    recalls: bool | None = None
    """Every gold citation is among the first k retrieved."""
    reachable: bool | None = None
    """At least one is."""
    near_miss: bool = False
    """A shipped answer that holds the refusal token, but is not exactly it."""


@dataclass(frozen=True, slots=True)
class RagSettings:
    """What a score depends on besides the rows."""

    k: int = DEFAULT_K
    refusal: str = REFUSAL
    scu_rules: tuple[ScuRule, ...] = RULES


DEFAULT_SETTINGS: Final = RagSettings()


class RagScorer:
    """Scores items under some settings. Equal profiles are one object, to save memory."""

    def __init__(self, settings: RagSettings = DEFAULT_SETTINGS) -> None:
        self._k = settings.k
        self._refusal = settings.refusal
        self._folded_refusal = " ".join(settings.refusal.casefold().split())
        self._last_word = self._folded_refusal.rpartition(" ")[2]
        self._locks = Locks(settings.scu_rules)
        self._known: dict[Profile, Profile] = {}

    def score(self, gold: GoldV1, trace: TraceV1 | None) -> Profile:
        """Return the profile of a gold item with its last trace, or with none."""
        profile = self._profile(gold, trace)
        return self._known.setdefault(profile, profile)

    def is_refusal(self, claim: str) -> bool:
        """Tell whether a claim is the refusal token: exact after trimming."""
        return claim.strip() == self._refusal

    def _profile(self, gold: GoldV1, trace: TraceV1 | None) -> Profile:
        lock = locked(gold.constraints) if gold.constraints else None
        constrained = bool(lock)
        if trace is None:
            return Profile(Seen.MISSING, gold.answerable, constrained=constrained)
        recalls = reachable = None
        if gold.answerable and gold.gold_citations and trace.retrieved_ids is not None:
            top = trace.retrieved_ids[: self._k]
            found = [wanted in top for wanted in gold.gold_citations]
            recalls, reachable = all(found), any(found)
        answer = trace.answer_json
        if answer is None or self.is_refusal(answer.claim):
            seen = Seen.SILENT if answer is None else Seen.REFUSED
            return Profile(
                seen,
                gold.answerable,
                constrained=constrained,
                recalls=recalls,
                reachable=reachable,
            )
        folded = answer.claim.casefold()
        keeps = self._keeps(lock, answer.constraints_echo, answer.claim) if lock else None
        return Profile(
            Seen.SHIPPED,
            gold.answerable,
            contains(gold.gold_claim_substr, folded) if gold.answerable else None,
            cites(gold, answer.citations or (), trace.retrieved_ids),
            keeps,
            constrained,
            recalls,
            reachable,
            self._is_near_miss(folded),
        )

    def _keeps(self, lock: frozenset[str], echo: Iterable[str] | None, claim: str) -> bool:
        return (
            echo is not None
            and locked(echo) == lock
            and self._locks.contradiction(lock, claim) is None
        )

    def _is_near_miss(self, folded: str) -> bool:
        return self._last_word in folded and self._folded_refusal in " ".join(folded.split())


def contains(substrings: Iterable[str] | None, folded_claim: str) -> bool | None:
    """Return C: any gold substring of five characters or more stands in the claim, in any case."""
    usable = False
    for text in substrings or ():
        wanted = text.strip()
        if len(wanted) >= SHORTEST_SUBSTRING:
            usable = True
            if wanted.casefold() in folded_claim:
                return True
    return False if usable else None


def cites(
    gold: GoldV1, citations: tuple[str, ...], retrieved: tuple[str, ...] | None
) -> bool | None:
    """Return H: a gold citation is cited, and all that is cited was retrieved.

    An answerable item without gold citations does not say what a hit would be: not measured.
    Nothing is a hit for an unanswerable one. Without retrieved ids only a miss can be told.
    """
    if retrieved is not None and not all(cited in retrieved for cited in citations):
        return False
    if not gold.gold_citations:
        return None if gold.answerable else False
    wanted = gold.gold_citations
    if not any(cited in wanted for cited in citations):
        return False
    return None if retrieved is None else True
