"""Statements made of questions and answers: "Who wrote Emma? Austen." -> "Austen wrote Emma."

The product judges statements. A question with its answer is turned into one where a simple rule
reads the question; a question that no rule reads stays as it is. The English may be stiff, but it
is equally stiff for right and wrong answers.
"""

import re
from collections.abc import Container

from tools.train_judge.word_lists import word_pairs, words

_BE = r"is|was|are|were"
_MODAL = r"can|could|will|would|should|must|may|might|has|have|had"
_PAST = dict(word_pairs("past_tense"))
_BASE = {base: past for past, base in _PAST.items()} | {base: base for base in words("verbs")}
_PARTICIPLES = frozenset(_PAST) | frozenset(words("participles"))
_TIME = re.compile(r"(?:year|month|day|date|century|decade|season)s?$")
_PREPOSITION = re.compile(
    r"^(?:in|on|at|during|after|before|by|from|since|until|between|around|about|to|with|for|through"
    r"|because|as|of|near|into|within|under|over|along|across)\b",
    re.IGNORECASE,
)
_HANGING = re.compile(r" (in|on|at|by|from|with|for|to|of|as|about|into|under|through|against)$")


def statement(hypothesis: str) -> str | None:
    """The statement that a question with its answer makes, or None if no rule reads it."""
    question, mark, answer = hypothesis.partition("? ")
    answer = answer.strip().rstrip(".")
    if not mark or not answer or answer.lower() in ("yes", "no") or "?" in answer:
        return None
    question = question.strip()
    for rule in (_count, _when_where, _inverted, _subject):
        made = rule(question, answer)
        if made:
            return f"{made[0].upper()}{made[1:]}."
    return None


def _count(question: str, answer: str) -> str | None:
    found = re.match(r"how (?:many|much) (.+)$", question, re.IGNORECASE)
    if not found:
        return None
    rest = found[1]
    there = re.match(rf"(.+?) ({_BE}) there\b(.*)$", rest)
    if there:
        return f"there {there[2]} {answer} {there[1]}{there[3]}"
    helped = re.match(r"(.+?) (did|do|does) (.+)$", rest)
    if helped:
        split = _split_at(helped[3], _BASE)
        return (
            f"{split[0]} {_with(helped[2], split[1])} {answer} {helped[1]}{split[2]}"
            if split
            else None
        )
    return f"{answer} {rest}"


def _when_where(question: str, answer: str) -> str | None:
    found = re.match(
        r"(when|where|(?:in|on|at|during) (?:what|which) [\w ]+?) "
        rf"(did|do|does|{_BE}|{_MODAL}) (.+)$",
        question,
        re.IGNORECASE,
    )
    if not found:
        return None
    helper, rest = found[2].lower(), found[3]
    place = answer if _PREPOSITION.match(answer) else f"{_preposition(found[1], answer)} {answer}"
    return _placed(helper, rest, place)


def _placed(helper: str, rest: str, place: str) -> str | None:
    """Put subject, helper and verb into the order of a statement, and the place at the end."""
    if helper in ("did", "do", "does"):
        split = _split_at(rest, _BASE)
        return f"{split[0]} {_with(helper, split[1])}{split[2]} {place}" if split else None
    split = _split_at(rest, _PARTICIPLES)
    if split:
        return f"{split[0]} {helper} {split[1]}{split[2]} {place}"
    if re.fullmatch(_BE, helper):
        return f"{rest} {helper} {place}"
    return None


def _inverted(question: str, answer: str) -> str | None:
    """`What did X found?`: the answer is the object and goes behind the verb or preposition."""
    found = re.match(
        r"(?:(in|on|at|by|from|with|for|to|of|under|against) )?"
        r"(?:who|whom|what|which)( [\w' -]+?)? (did|do|does) (.+)$",
        question,
        re.IGNORECASE,
    )
    if found:
        split = _split_at(found[4], _BASE)
        if not split:
            return None
        verb = f"{split[0]} {_with(found[3].lower(), split[1])}"
        if found[1]:
            return f"{verb}{split[2]} {found[1].lower()} {answer}"
        if found[2] and _TIME.search(found[2]):
            return f"{verb}{split[2]} in {answer}"
        hanging = _HANGING.search(split[2])
        return f"{verb}{split[2]} {answer}" if hanging else f"{verb} {answer}{split[2]}"
    return _passive(question, answer)


def _passive(question: str, answer: str) -> str | None:
    """`What is X called?`, `What year was X built?`: a participle ends the subject."""
    found = re.match(rf"(what|which)( [\w' -]+?)? ({_BE}) (.+)$", question, re.IGNORECASE)
    if not found:
        return None
    named = re.match(
        r"(.+?) (called|named|titled|known as|known for|used for|made of|based on)$", found[4]
    )
    if named:
        return f"{named[1]} {found[3]} {named[2]} {answer}"
    if found[2] and _TIME.search(found[2]):
        return _placed(found[3], found[4], f"in {answer}")
    return None


def _subject(question: str, answer: str) -> str | None:
    """`Who wrote X?`, `What band is X?`: the answer stands where the question word stood."""
    found = re.match(r"(?:who|what|which)(?:'s)? (.+)$", question, re.IGNORECASE)
    if not found or _HANGING.search(f" {found[1]}"):
        return None
    rest = found[1].split(" ")
    for place, word in enumerate(rest[:5]):
        if re.fullmatch(rf"{_BE}|{_MODAL}", word) or word in _PAST or _looks_like_verb(word, place):
            return f"{answer} {' '.join(rest[place:])}"
    return None


def _looks_like_verb(word: str, place: int) -> bool:
    return word.endswith("ed") or (place == 0 and word.endswith("s"))


def _split_at(text: str, verbs: Container[str]) -> tuple[str, str, str] | None:
    """Cut a text before and after the first word of a kind: subject, verb, rest."""
    parts = text.split(" ")
    for place, word in enumerate(parts):
        if place and word in verbs:
            rest = " ".join(parts[place + 1 :])
            return " ".join(parts[:place]), word, f" {rest}" if rest else ""
    return None


def _with(helper: str, verb: str) -> str:
    """`did` and a verb become its past form; `does` gives it an s."""
    if helper == "did":
        past = _BASE.get(verb, verb)
        if past != verb:
            return past
        return verb + "d" if verb.endswith("e") else f"did {verb}"
    return f"{verb}s" if helper == "does" and not verb.endswith(("s", "y", "o", "h")) else verb


def _preposition(asked: str, answer: str) -> str:
    first = asked.lower().split(" ")[0]
    if first in ("in", "on", "at", "during"):
        return first
    day = re.search(r"\b\d{1,2}\b(?!\d)", answer) and re.search(r"[A-Z][a-z]+", answer)
    return "on" if first == "when" and day else "in"
