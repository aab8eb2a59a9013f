"""Rule-made pairs from running text: each edited claim stands beside its unedited original.

For half of the families the edit is made in the source instead of in the claim. The same sentence
is then right in one family and wrong in the other, so neither the topic nor the oddity of a claim
tells the label: only the comparison with the source does.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from numpy.random import Generator

from tools.train_judge import edit_names, edit_values, edit_words
from tools.train_judge.restate import restate
from tools.train_judge.sources import NOT_ENTAILED, Pair
from tools.train_judge.windows import content_words, is_short, narrow, sentences

Edit = Callable[[str, str, Generator], str | None]
_ENTAILS, _NEUTRAL, _CONTRADICTS = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Kind:
    """A rule, the label of what it makes, whether source and claim may change places, how many."""

    edit: Edit
    target: int
    both_ways: bool
    families: int


KINDS = {
    "number": Kind(edit_values.change_number, _CONTRADICTS, True, 4000),
    "date": Kind(edit_values.change_date, _CONTRADICTS, True, 3500),
    "unit": Kind(edit_values.change_unit, _CONTRADICTS, True, 4000),
    "negation": Kind(edit_words.change_negation, _CONTRADICTS, True, 3500),
    "opposite": Kind(edit_words.change_opposite, _CONTRADICTS, True, 3500),
    "amount": Kind(edit_words.change_amount, _CONTRADICTS, True, 900),
    "quantifier": Kind(edit_words.change_quantifier, NOT_ENTAILED, False, 2000),
    "modality": Kind(edit_words.change_modality, NOT_ENTAILED, False, 4500),
    "entity": Kind(edit_names.swap_entity, NOT_ENTAILED, True, 8000),
    "roles": Kind(edit_names.swap_roles, NOT_ENTAILED, True, 4500),
    "predicate": Kind(edit_names.swap_predicate, NOT_ENTAILED, False, 1500),
}
MIN_CLAIM, MAX_CLAIM = 5, 34
JOIN_LIMIT = 18
# A removed sentence whose words the rest still holds may be said twice: no label is certain.
STILL_SAID = 0.7


@dataclass(frozen=True, slots=True)
class Passage:
    """Running text as distinct sentences."""

    parts: tuple[str, ...]

    def text(self) -> str:
        """The sentences as one text."""
        return " ".join(self.parts)

    def without(self, place: int) -> str:
        """The text with one sentence left out."""
        return " ".join(self.parts[:place] + self.parts[place + 1 :])

    def with_sentence(self, place: int, sentence: str) -> str:
        """The text with one sentence exchanged."""
        return " ".join((*self.parts[:place], sentence, *self.parts[place + 1 :]))

    def claims(self, longest: int = MAX_CLAIM) -> list[int]:
        """The places of sentences that can serve as claims."""
        return [
            place
            for place, part in enumerate(self.parts)
            if MIN_CLAIM <= len(part.split()) <= longest and part[-1] in ".!" and part[0].isalnum()
        ]


def read_passage(text: str) -> Passage:
    """Split and drop repeated sentences."""
    return Passage(tuple(dict.fromkeys(sentences(text))))


def _premise(claim: str, text: str, rng: Generator) -> str:
    """Mostly the judge's window; now and then a short text whole, for sources without padding."""
    return text if is_short(text) and rng.integers(4) == 0 else narrow(claim, text)


def edited_family(name: str, passage: Passage, place: int, rng: Generator) -> list[Pair]:
    """The original and the edited claim over the same source, or nothing where no rule applies."""
    kind = KINDS[name]
    text = passage.text()
    claim = _claim(passage, place, rng)
    # What is swapped in may come from any sentence: the edited claim's window then holds that too.
    edited = kind.edit(claim, text, rng)
    if edited is None or edited == claim:
        return []
    before, after = _surroundings(passage, place, rng)
    right, wrong = f"{before}{claim}{after}", f"{before}{edited}{after}"
    if kind.both_ways and rng.integers(2):
        text = passage.with_sentence(place, edited)
        right, wrong = f"{before}{restate(edited, rng)}{after}", right
    source, premise = f"edit_{name}", _premise(right, text, rng)
    if premise == right:
        return []
    return [
        Pair(premise, right, _ENTAILS, source),
        Pair(_premise(wrong, text, rng), wrong, kind.target, source),
    ]


def _claim(passage: Passage, place: int, rng: Generator) -> str:
    """The sentence as a claim: mostly in other words, with its subject named."""
    sentence = passage.parts[place]
    if place and rng.integers(4):
        sentence = edit_names.with_name(sentence, passage.parts[place - 1])
    return restate(sentence, rng) if rng.integers(5) else sentence


def _surroundings(passage: Passage, place: int, rng: Generator) -> tuple[str, str]:
    """One time in five the claim has a second, true sentence: one wrong detail among right ones."""
    others = [other for other in passage.claims(JOIN_LIMIT) if other != place]
    if not others or rng.integers(5):
        return "", ""
    other = restate(passage.parts[int(rng.choice(others))], rng)
    return (f"{other} ", "") if rng.integers(2) else ("", f" {other}")


def _is_said_elsewhere(sentence: str, rest: str) -> bool:
    words = content_words(sentence)
    return len(words & content_words(rest)) > STILL_SAID * len(words)


def removed_family(passage: Passage, place: int, rng: Generator) -> list[Pair]:
    """The claim with its sentence in the source, and with that sentence taken out."""
    rest = passage.without(place)
    if not rest or _is_said_elsewhere(passage.parts[place], rest):
        return []
    claim = _claim(passage, place, rng)
    return [
        Pair(_premise(claim, passage.text(), rng), claim, _ENTAILS, "edit_removed"),
        Pair(_premise(claim, rest, rng), claim, _NEUTRAL, "edit_removed"),
    ]


def partial_family(passage: Passage, place: int, rng: Generator) -> list[Pair]:
    """A claim of two facts, both in the source, and with one of them taken out of it."""
    others = [other for other in passage.claims(JOIN_LIMIT) if other != place]
    if not others or len(passage.parts) < 3 or len(passage.parts[place].split()) > JOIN_LIMIT:
        return []
    first, second = sorted((place, int(rng.choice(others))))
    missing = first if rng.integers(2) else second
    rest = passage.without(missing)
    if _is_said_elsewhere(passage.parts[missing], rest):
        return []
    one, other = (restate(passage.parts[i], rng) for i in (first, second))
    claim = f"{one} {other}" if rng.integers(2) else f"{one.rstrip('.!')}, and {other}"
    return [
        Pair(_premise(claim, passage.text(), rng), claim, _ENTAILS, "edit_partial"),
        Pair(_premise(claim, rest, rng), claim, NOT_ENTAILED, "edit_partial"),
    ]


Maker = Callable[[Passage, int, Generator], list[Pair]]
MAKERS: dict[str, tuple[Maker, int]] = {
    "removed": (removed_family, 3000),
    "partial": (partial_family, 3000),
    **{name: (partial(edited_family, name), kind.families) for name, kind in KINDS.items()},
}
"""Makes a family of a sentence of a passage, and how many families are wanted."""
