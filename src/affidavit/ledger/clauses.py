"""The assertions of one sentence, each with its subject. Rules C1 to C9 of docs/ledger.md.

The tests are conservative: a sentence left whole is checked as a whole, but a wrong cut makes
claims that nobody made. Where a clause asserts something about a sentence as a whole, the judge
reads it with that sentence.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from affidavit.ledger.grammar import (
    ADVERBS,
    BE,
    CONDITIONS,
    DETERMINERS,
    PREPOSITIONS,
    SUBORDINATORS,
    Form,
    Word,
    find_main_verb,
    is_adverb,
    is_base_verb,
    is_clause,
    is_participle,
    is_plain_verb,
    verb_form,
    word_set,
    words_of,
)
from affidavit.ledger.model import Span
from affidavit.ledger.subjects import begins_with_pronoun, resolved, subject_of

MAX_CHARS: Final = 500
"""The longest claim: seed-origins, C3."""


@dataclass(frozen=True, slots=True)
class Assertion:
    """A part of a sentence, and the statement that it makes."""

    span: Span
    statement: str


_JOINT: Final = re.compile(
    r";[ ]+(?:and[ ]|but[ ]|however,[ ])?"
    r"|,[ ](?:and|but|while|whereas|yet|although|though|because|since|so(?! (?:that|far|as"
    r"|called)))[ ]"
    r"|[ ](?:because(?! of)|while|whereas)[ ]"
    r"|[ ](?:and|but)[ ](?=(?:the|a|an|its|their|his|her|it|they|he|she|this|these|all|each"
    r"|every)[ ])",
    re.IGNORECASE,
)
_LEANS: Final = word_set(
    """this that these those which who whom whose such others one
    then so therefore otherwise else instead not also even only thus hence if unless whether when
    because until although though how what why where to in on at for by with from of under during
    into as through within without despite due rather just like sometimes"""
)
"""A part that begins with one of these leans on the part before it, or has no subject yet."""
_COUNTERS: Final = word_set("both each some most all many neither either")
"""These lean where they have no noun: "and most are paid"."""
_PAIRED: Final = frozenset({"between", "both", "either", "neither"})
_GIVES_EXAMPLES: Final = word_set("including excluding except")
_REPORTING: Final = word_set(
    """believe believes believed think thinks thought say says said know knows knew ensure ensures
    ensured means mean suggest suggests suggested indicate indicates indicated show shows showed
    state states stated claim claims claimed assume assumes assumed hope hopes hoped expect expects
    expected note notes noted report reports reported confirm confirms confirmed explain explains
    explained let lets"""
)
_SUBJECT_WORDS: Final = 8
_ITEM_WORDS: Final = 4
_ANY_SUBJECT: Final = Word("it", 0, 0)
_LONGEST_COMPOUND: Final = 2000
_OPENING: Final = "([{\u201c\u2018"
_CLOSING: Final = ")]}\u201d\u2019"
_SOFT_CUTS: Final = ("; ", ": ", ", ", " ")


def clauses_of(sentence: str) -> tuple[Assertion, ...]:
    """Return the assertions of a sentence; the words between them are left out."""
    if len(sentence) > _LONGEST_COMPOUND:
        # No person wrote this as a sentence. It is only cut to size.
        return tuple(_pieces(sentence, Span(0, len(sentence)), ""))
    return tuple(
        piece
        for part in _joined_clauses(sentence)
        for clause in _inner_clauses(sentence, part)
        for piece in _pieces(sentence, clause.span, clause.statement)
    )


# Clauses with a subject of their own: "A, and B", "A; B", "A because B".


def _joined_clauses(sentence: str) -> Iterator[Assertion]:
    start, before = 0, ""
    for joint in _JOINT.finditer(sentence):
        left, right = sentence[start : joint.start()], sentence[joint.end() :]
        if _left_stands(left, joint[0]) and _right_stands(right, _with_subject(left, before)):
            before = _with_subject(left, before)
            yield Assertion(Span(start, joint.start()), before)
            start = joint.end()
    yield Assertion(Span(start, len(sentence)), _with_subject(sentence[start:], before))


def _with_subject(clause: str, before: str) -> str:
    return resolved(clause, subject_of(before)) if before else clause


def _left_stands(left: str, joint: str) -> bool:
    """A part stands if it has a verb of its own and nothing in it reaches over the joint."""
    words = words_of(left)
    verb = find_main_verb(words)
    if verb is None or not _is_balanced(left) or (joint[0] == "," and _ends_in_list(left)):
        return False
    if joint[0] == " " and words[verb].text in _REPORTING:
        return False
    # A condition, "between" or "says that" on the left may reach over the joint.
    holders = (word.text in CONDITIONS or word.text in _PAIRED for word in words)
    return not any(holders) and not _reports(words)


def _ends_in_list(left: str) -> bool:
    """Tell whether the joint may be the last comma of a list, or belong to a relative clause."""
    _, comma, last = left.rpartition(", ")
    words = words_of(last)
    if not comma or not words or words[0].text in _GIVES_EXAMPLES:
        return False
    is_short = len(words) <= _ITEM_WORDS and find_main_verb(words) is None
    return is_short or words[0].text in SUBORDINATORS


def _reports(words: tuple[Word, ...]) -> bool:
    """Tell whether a verb is followed by "that": what it holds may go on behind the joint."""
    return any(
        that.text == "that" and find_main_verb((_ANY_SUBJECT, verb)) is not None
        for verb, that in pairwise(words)
    )


def _right_stands(right: str, left: str) -> bool:
    """A part stands if it begins with its own subject and has a verb soon behind it.

    A pronoun is a subject of its own if the part before tells what it stands for.
    """
    words = words_of(right)
    if len(words) < 2 or words[0].text in _LEANS or words[0].text in SUBORDINATORS:
        return False
    if words[0].text in _COUNTERS and verb_form(words, 1) is not None:
        return False
    if begins_with_pronoun(right) and resolved(right, subject_of(left)) == right:
        return False
    verb = find_main_verb(words[: _SUBJECT_WORDS + 2])
    if not verb or words[0].text.endswith("ly"):
        return False
    # Behind a comma the verb may be that of another clause.
    return "," not in right[: words[verb].start]


def _is_balanced(text: str) -> bool:
    """Tell whether every bracket and quotation that was opened is closed again."""
    opened = sum(text.count(mark) for mark in _OPENING)
    # An apostrophe looks like a closing quote, so more may close than open.
    closed = sum(text.count(mark) for mark in _CLOSING)
    return opened <= closed and text.count('"') % 2 == 0


# What a clause adds about its subject, or about itself, between commas.

_ASIDE: Final = re.compile(
    r"(?P<subject>[^,;:]{2,80}), (?P<aside>(?:(?:which|who) |(?=(?:an?|the) ))"
    r"(?P<said>[^,;:]{4,200})), (?=\S)"
)
_TAIL: Final = re.compile(
    r", (?:(?P<relative>which|who) (?P<said>(?:is|are|was|were) (?:an?|the|one)\b[^,;:]*)"
    r"|(?:which|who|(?:thereby |thus )?(?:making|allowing|giving|bringing|becoming|resulting"
    r"|leading"
    r"|causing|reaching|raising|reducing|increasing|creating|enabling|leaving|putting|marking"
    r"|ensuring|helping|saving|providing|offering|generating|earning|winning|turning)) [^;:]+)$",
    re.IGNORECASE,
)
_LAST_NAME: Final = re.compile(r"(?:[A-Z][\w'-]*|\d+)(?: (?:[A-Z][\w'-]*|\d+))*$")


def _inner_clauses(sentence: str, clause: Assertion) -> Iterator[Assertion]:
    """Yield the assertions of a clause: asides first, then the verbs of one subject."""
    said = clause.statement
    if not _is_balanced(said) or any(word.text in CONDITIONS for word in words_of(said)):
        yield clause
        return
    aside = _aside(said)
    tail = _TAIL.search(said) if aside is None else None
    if aside is not None:
        subject, added, rest = aside
        cut = clause.span.end - len(rest)
        yield Assertion(Span(clause.span.start, cut), added)
        yield from _predicates(Assertion(Span(cut, clause.span.end), f"{subject} {rest}"))
    elif tail is not None and is_clause(said[: tail.start()]):
        cut = clause.span.end - len(said) + tail.start()
        main = Assertion(Span(clause.span.start, cut), said[: tail.start()])
        yield from _predicates(main)
        yield Assertion(Span(cut, clause.span.end), _tail_statement(said, tail))
    else:
        yield from _predicates(clause)


def _aside(said: str) -> tuple[str, str, str] | None:
    """Return a subject, what is said of it between commas, and the predicate behind them."""
    found = _ASIDE.match(said)
    if found is None:
        return None
    subject, rest = found["subject"], said[found.end() :]
    words = words_of(subject)
    is_relative = not found["aside"].startswith(("a ", "an ", "the "))
    if not words or is_clause(subject) or words[0].text in PREPOSITIONS | SUBORDINATORS | ADVERBS:
        return None
    if not is_relative and not all(word.is_capital for word in words):
        return None
    behind = words_of(f"{subject} {rest}")
    verb = find_main_verb(behind)
    if verb is None or not len(words) <= verb <= len(words) + 1:
        return None
    added = f"{subject} {found['said']}"
    if is_relative:
        # The verb follows "which" at once; else the words are about something else.
        return (subject, added, rest) if find_main_verb(words_of(added)) == len(words) else None
    if is_clause(found["said"]) or behind[verb].text == "and":
        return None
    return subject, f"{subject} is {found['said']}", rest


def _tail_statement(said: str, tail: re.Match[str]) -> str:
    """Return what a clause at the end states: of the name before it, or with its sentence."""
    name = _LAST_NAME.search(said, 0, tail.start()) if tail["relative"] else None
    return f"{name[0]} {tail['said']}" if name and name.start() else said


# Several verbs of one subject: "The plan costs 20 EUR and includes support".

_JOINS_VERBS: Final = frozenset({"and", "but"})


def _predicates(clause: Assertion) -> Iterator[Assertion]:
    """Yield one clause for each verb of the subject.

    A subject that was restored has no place in the span, so places are counted from the end.
    """
    said = clause.statement
    words = words_of(said)
    verb = find_main_verb(words)
    cuts = () if verb is None else tuple(_verb_cuts(said, words, verb))
    if verb is None or not cuts:
        yield clause
        return
    offset = clause.span.end - len(said)
    start, prefix, begun = clause.span.start, "", 0
    for joint, begins, shared in cuts:
        yield Assertion(Span(start, offset + joint), prefix + said[begun:joint])
        start, prefix, begun = offset + begins, said[:shared].rstrip() + " ", begins
    yield Assertion(Span(start, clause.span.end), prefix + said[begun:])


def _verb_cuts(said: str, words: tuple[Word, ...], verb: int) -> Iterator[tuple[int, int, int]]:
    """Yield where a predicate ends, where the next begins, and how much of the text they share."""
    found: list[tuple[int, int, int]] = []
    waiting: list[tuple[int, int, int]] = []
    for number in range(verb + 2, len(words) - 1):
        joins = words[number].text in _JOINS_VERBS
        second = _second_verb(words, number + 1 if joins else number)
        if second is None or not (joins or words[number].after_comma):
            continue
        shared = _shared(said, words, verb, second)
        if shared is None:
            continue
        begins = words[number + 1 if joins else number].start
        cut = (words[number - 1].end, begins, shared)
        if joins:
            found += (*waiting, cut)
            waiting = []
        else:
            # "tracks expenses, sends reports and supports": a comma needs its "and".
            waiting.append(cut)
    holders = {word.text for word in words[verb:]} & (_PAIRED | {"that"})
    yield from () if holders or words[verb].text in _REPORTING else found


def _second_verb(words: tuple[Word, ...], number: int) -> int | None:
    while number < len(words) and is_adverb(words[number].text):
        number += 1
    return number if number < len(words) - 1 else None


def _shared(said: str, words: tuple[Word, ...], verb: int, second: int) -> int | None:
    """Return where what both verbs share ends: the subject, and perhaps the auxiliary."""
    first_form = verb_form(words, verb)
    behind = words[verb + 1]
    subject_end = words[verb].start
    text = words[second].text
    if any(word.text == "not" for word in words[verb : verb + 2]) and first_form is Form.MODAL:
        return subject_end if verb_form(words, second, has_subject=False) is Form.MODAL else None
    auxiliary = _auxiliary_end(words, verb)
    if auxiliary is not None and is_participle(text) and words[second + 1].text in PREPOSITIONS:
        return words[auxiliary].end
    if first_form is Form.MODAL and is_base_verb(text):
        # "shall indemnify and hold harmless the client": both verbs have one object.
        has_object = words[verb + 2].text not in _JOINS_VERBS
        return words[verb].end if has_object and _is_sure_base(words, verb, second) else None
    form = verb_form(words, second, has_subject=False)
    if form is None or not _agree(words[verb].text, first_form, form):
        return None
    if form is Form.PLURAL and is_base_verb(text) and not _is_sure_base(words, verb, second):
        return None
    return subject_end if behind.start < words[second].start else None


def _agree(first: str, first_form: Form | None, second: Form) -> bool:
    """Tell whether two verbs may have one subject: "was founded in 1998 and employs 40 people"."""
    if second is Form.SINGULAR:
        return first_form is not Form.PLURAL and first != "were"
    if second is Form.PLURAL:
        return first_form is Form.PLURAL or first == "were"
    return True


def _is_sure_base(words: tuple[Word, ...], verb: int, second: int) -> bool:
    """Tell whether a base form is the second verb of the subject, and not of "to" or a noun."""
    between = (word.text for word in words[verb:second])
    if "to" in between or words[second + 1].text == "of":
        return False
    following = words[second + 1].text
    return is_plain_verb(words[second].text) or following in DETERMINERS or following == "it"


def _auxiliary_end(words: tuple[Word, ...], verb: int) -> int | None:
    """Return the last auxiliary before a participle: "was" built, "must be" signed."""
    at = verb + 1 if verb + 2 < len(words) and words[verb + 1].text in ("be", "been") else verb
    is_passive = words[at].text in BE or words[at].text in ("be", "been")
    behind = at + 1
    while behind < len(words) - 1 and words[behind].text in ADVERBS - {"not"}:
        behind += 1
    return at if is_passive and is_participle(words[behind].text) else None


# The limit on the length of a claim.


def _pieces(sentence: str, part: Span, statement: str) -> Iterator[Assertion]:
    """Cut a part of more than MAX_CHARS at its last joint, comma or space that keeps to it."""
    if part.end - part.start <= MAX_CHARS:
        yield Assertion(part, statement or sentence[part.start : part.end])
        return
    start = part.start
    while start < part.end:
        window = sentence[start : min(start + MAX_CHARS, part.end)]
        length = next((cut for mark in _SOFT_CUTS if (cut := _last(window, mark))), len(window))
        length = length if part.end - start > MAX_CHARS else part.end - start
        yield Assertion(Span(start, start + length), sentence[start : start + length])
        start += length


def _last(window: str, mark: str) -> int:
    """Return the length of `window` up to its last `mark`, if that is not in its first half."""
    cut = window.rfind(mark) + len(mark)
    return cut if cut > MAX_CHARS // 2 else 0
