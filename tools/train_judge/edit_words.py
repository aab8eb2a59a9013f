"""Edits of meaning-bearing words: negation, opposites, quantifiers and modality."""

import re

from numpy.random import Generator

from tools.train_judge.edit_values import pick
from tools.train_judge.word_lists import word_pairs

_AUXILIARY = re.compile(
    r"\b(is|was|are|were|has|have|had|will|would|can|could|should|must|may|might|shall|does|did)\b"
    r"(?! not\b| never\b| no\b|n't)"
)
_NEGATED = re.compile(r"\b(not|never|n't) |(?<=\w)n't\b")
_PAST, _PRESENT = dict(word_pairs("past_tense")), dict(word_pairs("present_tense"))

OPPOSITE: dict[str, list[str]] = {}
for _one, _other in word_pairs("opposites"):
    OPPOSITE.setdefault(_one, []).append(_other)
    OPPOSITE.setdefault(_other, []).append(_one)
_OPPOSED = re.compile(rf"\b({'|'.join(sorted(OPPOSITE, key=len, reverse=True))})\b", re.IGNORECASE)

# A stronger word than the source's: no longer entailed, but not its contradiction.
_STRONGER_AMOUNT = (
    (r"\bsome of the\b", ("all of the", "most of the")),
    (r"\bone of the\b", ("the only one of the",)),
    (r"\b(?:some|many|several|various|numerous|certain)\b(?! of\b| other)", ("all",)),
    (r"\b[Mm]ost (?:of the )?(?=[a-z]+s\b)", ("all ",)),
    (r"\bfew\b", ("no",)),
    (r"\b(?:often|usually|sometimes|generally|typically|frequently|occasionally)\b", ("always",)),
    (r"\b(?:mostly|mainly|largely|primarily|partly|partially)\b", ("entirely", "exclusively")),
    (r"\b(?:nearly|almost|about|approximately|around|roughly|some) (?=\d)", ("exactly ",)),
    (r"\bat least\b", ("exactly", "at most")),
    (r"\b(?:up to)\b", ("at least",)),
    (r"\b(?:more than|over) (?=\d)", ("exactly ", "fewer than ")),
    (r"\b(?:rarely|seldom|hardly)\b", ("never",)),
    (r"\bmajority\b", ("entirety",)),
)
_OPPOSED_AMOUNT = (
    (r"\b(?:all|each)\b(?= (?!of|time|over|other|the|four|three)[a-z]+)", ("no",)),
    (r"\balways\b", ("never",)),
    (r"\bnever\b", ("always",)),
    (r"\bmore than\b", ("less than",)),
    (r"\b(?:less|fewer) than\b", ("more than",)),
    (r"\bonly one\b", ("several",)),
    (r"\bmany\b", ("few",)),
    (r"\bfew\b", ("many",)),
)
_STRONGER_MOOD = (
    (r"\b(?:may|might|could) have been\b", ("was certainly",)),
    (r"\b(?:may|might|could) have\b", ("certainly have", "has definitely")),
    (r"\b(?:may|might|could) (?:also )?be\b", ("is", "is certainly", "will be", "must be")),
    (r"\b(?:may|might|could)(?= [a-z])", ("will", "must", "will certainly")),
    (r"\bcan(?= [a-z])(?! not| never)", ("must", "always will", "has to")),
    (r"\bshould\b(?! not)", ("must", "will")),
    (r"\b(?:allegedly|reportedly|probably|possibly|perhaps|apparently|presumably|likely)\b",
     ("certainly", "definitely", "undoubtedly")),
    (r"\b(?:suggests?|indicates?|hints?)(?= that\b)", ("proves",)),
    (r"\b(?:suggested|indicated|hinted)(?= that\b)", ("proved",)),
    (r"\b(?:claimed|believed|thought|argued|alleged|assumed)(?= that\b)", ("proved", "confirmed")),
    (r"\b(is|was|are|were) (?:believed|thought|said|alleged|reported|considered|claimed|expected)"
     r" to (?:be|have been)\b", (r"\1 certainly", r"\1 known to be", r"\1")),
    (r"\b(?:is|are) expected to\b", ("is certain to", "has begun to")),
    (r"\bplan(?:s|ned)? to\b", ("managed to", "has already begun to")),
    (r"\b(?:hopes?|hoped|aims?|aimed|tried|attempted|intend(?:s|ed)?|wanted) to\b",
     ("managed to", "succeeded in efforts to")),
    (r"\b(?:is|are|was|were) (?:associated|linked|correlated) with\b", ("is caused by", "causes")),
    (r"\bcontribut(?:es|ed) to\b", ("alone caused",)),
    (r"\b(?:proposed|considered|discussed)(?= (?:the|a|an|to)\b)", ("approved", "adopted")),
    (r"\b(?:shall|must)(?! not)\b", ("may", "need not", "is free to")),
    (r"\bmay only\b", ("may always",)),
    (r"\b(?:is|are) required to\b", ("may", "is free to")),
    (r"\b(?:is|are) (?:allowed|permitted|entitled) to\b", ("is required to", "must")),
    (r"\bseem(?:s|ed) to\b", ("is known to",)),
    (r"\bappear(?:s|ed) to\b", ("is known to",)),
)  # fmt: skip


def _rewritten(
    claim: str, table: tuple[tuple[str, tuple[str, ...]], ...], rng: Generator
) -> str | None:
    options: list[str] = []
    for pattern, words in table:
        if re.search(pattern, claim):
            new = words[int(rng.integers(len(words)))]
            options.append(re.sub(pattern, new, claim, count=1))
    return pick([option for option in options if option != claim], rng)


def change_negation(claim: str, window: str, rng: Generator) -> str | None:
    """What is affirmed is denied, or what is denied is affirmed."""
    del window
    if "not only" in claim:
        return None
    denied = _NEGATED.search(claim)
    if denied and "n't" not in denied.group():
        return claim[: denied.start()] + claim[denied.end() :]
    options: list[str] = []
    auxiliary = _AUXILIARY.search(claim)
    if auxiliary:
        word = "never" if rng.integers(5) == 0 else "not"
        options.append(f"{claim[: auxiliary.end()]} {word}{claim[auxiliary.end() :]}")
    for table, helper in ((_PAST, "did not"), (_PRESENT, "does not")):
        verbs = [m for m in re.finditer(r"(?<=\w )[a-z]+\b", claim) if m.group() in table]
        if verbs and not auxiliary:
            verb = verbs[0]
            base = f"{helper} {table[verb.group()]}"
            options.append(claim[: verb.start()] + base + claim[verb.end() :])
    if " without " in claim:
        options.append(claim.replace(" without ", " with ", 1))
    return pick(options, rng)


def change_opposite(claim: str, window: str, rng: Generator) -> str | None:
    """One word becomes its opposite."""
    del window
    options: list[str] = []
    for found in _OPPOSED.finditer(claim):
        new = pick(OPPOSITE[found.group().lower()], rng) or ""
        new = new.capitalize() if found.group()[0].isupper() else new
        options.append(claim[: found.start()] + new + claim[found.end() :])
    return pick(options, rng)


def change_quantifier(claim: str, window: str, rng: Generator) -> str | None:
    """The amount is claimed more strongly than the source gives it."""
    del window
    return _rewritten(claim, _STRONGER_AMOUNT, rng)


def change_amount(claim: str, window: str, rng: Generator) -> str | None:
    """The amount becomes its opposite: all becomes no, more than becomes less than."""
    del window
    return _rewritten(claim, _OPPOSED_AMOUNT, rng)


def change_modality(claim: str, window: str, rng: Generator) -> str | None:
    """What is possible, planned, reported or permitted is claimed as certain, done or required."""
    del window
    return _rewritten(claim, _STRONGER_MOOD, rng)
