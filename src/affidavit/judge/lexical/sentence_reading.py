"""What one sentence says of one part of a claim, rule by rule."""

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final

from affidavit.judge.lexical.claims import Part
from affidavit.judge.lexical.conditions import Condition, dropped_condition
from affidavit.judge.lexical.denial import DenialGap, find_denial_gap
from affidavit.judge.lexical.exchange import TELLING, Exchange, find_exchange
from affidavit.judge.lexical.exclusion import Exclusion, Stance, exclusive_of, find_exclusion
from affidavit.judge.lexical.links import Link, links_between
from affidavit.judge.lexical.mixture import Mixture, find_mixture, find_swap_inside
from affidavit.judge.lexical.modality import ModeGap, find_mode_gap
from affidavit.judge.lexical.names import name_around, names_of
from affidavit.judge.lexical.opposites import Opposition, oppositions
from affidavit.judge.lexical.passages import Sentence
from affidavit.judge.lexical.quantifiers import QuantifierGap, find_quantifier_gap
from affidavit.judge.lexical.roles import RoleSwap
from affidavit.judge.lexical.slots import Slot, slots_of

_COPY: Final = 0.9  # Of the words, and of the neighbours among them: such a claim repeats.


@dataclass(frozen=True, slots=True)
class SentenceReading:
    """The words that claim and sentence share, and every way in which they differ."""

    links: tuple[Link, ...]
    recall: float
    bigrams: float
    slots: tuple[Slot, ...]
    opposition: Opposition | None
    denial: DenialGap | None
    mode: ModeGap | None
    quantifier: QuantifierGap | None
    condition: Condition | None
    swap: RoleSwap | None
    turned: frozenset[int]
    """Words of the claim whose opposite, denied, says the same: "not accepted", "rejected"."""
    renamed: Slot | None
    """A name of the claim in whose place the source has another name."""
    exchange: Exchange | None
    exclusion: Exclusion | None
    mixture: Mixture | None

    @property
    def conflicts(self) -> bool:
        """Whether a rule finds that both cannot hold."""
        return bool(
            self.opposition
            or self.denial
            or self.swap
            or self.renamed
            or self.mixture
            or (self.exclusion and self.exclusion.stance is Stance.GRANTS)
            or (self.exchange and self.exchange.is_conflict)
            or (self.quantifier and self.quantifier.is_conflict)
        )

    @property
    def agreement(self) -> float:
        """How well the sentence suits the claim, to choose among sentences that share as much."""
        gaps = sum(gap is not None for gap in (self.mode, self.quantifier, self.condition))
        return self.recall + 0.1 * self.bigrams - 0.25 * self.conflicts - 0.03 * gaps


UNREAD: Final = SentenceReading(
    (), 0.0, 0.0, (), None, None, None, None, None, None, frozenset(), None, None, None, None
)
"""For a sentence that shares too little with a claim to be read for it."""


@lru_cache(maxsize=4096)
def read_sentence(part: Part, sentence: Sentence) -> SentenceReading:
    """Return what `sentence` says of the words of `part`; its facts are checked elsewhere."""
    links = links_between(part.sentence, part.words, sentence)
    weight_of = {at: part.weight(at) for at in part.words}
    total = sum(weight_of.values())
    met = sum(weight_of[link.claim] * link.strength for link in links)
    slots = slots_of(part, sentence, links)
    opposed = oppositions(part, sentence, links, slots)
    denial = find_denial_gap(part.sentence, sentence, links, weight_of)
    exclusion = find_exclusion(part, sentence, links)
    others = exclusion.others if exclusion else frozenset()
    turned = frozenset(found.claim_at for found in opposed if found.agrees)
    against = next((o for o in opposed if not o.agrees and o.claim_at not in others), None)
    if exclusion and exclusion.stance is Stance.DENIES:
        turned |= exclusion.others
    if turned or exclusion:
        # "Not permitted" and "prohibited": the antonym takes the negation up; "only" does too.
        denial = None
    return SentenceReading(
        links=links,
        recall=met / total if total else 1.0,
        bigrams=_bigrams(part, part.words, links),
        slots=slots,
        opposition=against,
        denial=denial,
        mode=find_mode_gap(part.sentence, sentence, links),
        quantifier=find_quantifier_gap(part.sentence, sentence, links),
        condition=dropped_condition(part.sentence, sentence, links),
        swap=find_swap_inside(part, sentence, links),
        turned=turned,
        renamed=_renamed(part, sentence, links, slots),
        exchange=(
            find_exchange(part.sentence, sentence, links)
            if not turned and not exclusive_of(sentence) and _is_copy(part, links)
            else None
        ),
        exclusion=exclusion,
        mixture=find_mixture(part, sentence, links),
    )


def _is_copy(part: Part, links: tuple[Link, ...]) -> bool:
    """Say whether the claim repeats the sentence but for the small words that tell."""
    words = tuple(at for at in part.words if part.sentence.words[at].norm not in TELLING)
    total = sum(part.weight(at) for at in words)
    met = sum(part.weight(link.claim) * link.strength for link in links if link.claim in words)
    return met >= _COPY * total and _bigrams(part, words, links) >= _COPY


def _bigrams(part: Part, words: tuple[int, ...], links: tuple[Link, ...]) -> float:
    """Return the share of neighbouring words of the claim that stay neighbours, in order."""
    place = {link.claim: link.evidence for link in links}
    total = kept = 0.0
    for left, right in pairwise(words):
        weight = min(part.weight(left), part.weight(right))
        total += weight
        if left in place and right in place and 0 < place[right] - place[left] <= right - left + 2:
            kept += weight
    return kept / total if total else 1.0


def _renamed(
    part: Part, sentence: Sentence, links: tuple[Link, ...], slots: tuple[Slot, ...]
) -> Slot | None:
    """Return the name of the claim in whose place the source has another one."""
    names = names_of(sentence)
    met = {link.claim: link.evidence for link in links}
    for slot in slots:
        if slot.claim_at not in part.names:
            continue
        # The first word of a sentence may be a name that nobody told us of.
        fillers = [at for at in slot.fillers if at in names or _opens(sentence, at)]
        name = name_around(part.names, slot.claim_at)
        half = {met[at] for at in name if at in met}
        if half:
            # Part of the name is there: "Shu Zhang" for "Shu Rongli", but not "Lionel Messi" for
            # "Messi": the stranger must belong to the very name that is half met.
            fillers = [at for at in fillers if name_around(names, at) & half]
        elif not fillers or not _is_framed(part, sentence, name, met, fillers):
            continue
        if fillers:
            return Slot(slot.claim_at, tuple(fillers))
    return None


def _is_framed(
    part: Part, sentence: Sentence, name: set[int], met: dict[int, int], fillers: list[int]
) -> bool:
    """Say whether the words next to the name stand next to the other name as well."""
    if not _same_lead(part.sentence, min(name), sentence, min(fillers)):
        return False
    before = [at for at in part.words if at < min(name)][-1:]
    behind = [at for at in part.words if at > max(name)][:1]
    if any(at not in met for at in (*before, *behind)):
        return False
    left = all(0 < min(fillers) - met[at] <= min(name) - at + 1 for at in before)
    right = all(0 < met[at] - max(fillers) <= at - max(name) + 1 for at in behind)
    return left and right


def _same_lead(claim: Sentence, name: int, sentence: Sentence, other: int) -> bool:
    """Say whether the same small word leads to both names: not "and Dublin", "with Pacino"."""
    ours, theirs = _lead(claim, name), _lead(sentence, other)
    return not ours or not theirs or ours == theirs


def _lead(sentence: Sentence, at: int) -> str:
    place = at - 1
    while place >= 0 and sentence.words[place].norm in ("the", "a", "an"):
        place -= 1
    if place < 0 or sentence.words[place].weight > 0:
        return ""
    return sentence.words[place].norm if sentence.words[place].norm.isalpha() else ""


def _opens(sentence: Sentence, at: int) -> bool:
    return at == 0 and sentence.tokens[0].text[0].isupper()
