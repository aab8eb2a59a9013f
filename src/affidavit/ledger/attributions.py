"""Words that only say where a statement is from: "the handbook says that", ", says the guide".

Rules P7 to P11 of docs/ledger.md. The judge reads the statement without them: a handbook that is
the source does not say of itself that it says so. Only what may be the source itself counts, a text
with "the" or with its name. "A report", "the minister" and "the study" are somebody else, of whom
the source has to speak; and "the guide recommends" or "claims" says less than that it is so.
"""

import re
from typing import Final

from affidavit.ledger.grammar import is_clause

_TEXT: Final = (
    r"(?:guide(?:lines?|book)?|handbook|manual|documentation|docs|documents?|policy|policies|report"
    r"|spec(?:ification)?s?|standard|readme|faq|agreement|contract|brochure|leaflet|tutorial"
    r"|reference|regulations?|paper|textbook|changelog|(?:release )?notes|wiki|article|website"
    r"|web ?page|page|section|chapter|appendix|annex|table|text|passages?|excerpts?|sources?"
    r"|file|materials?|instructions?|terms|prospectus|filing|schedule|context)"
)
_NUMBERED: Final = (
    r"(?:section|chapter|page|table|figure|appendix|annex|article|clause|paragraph|part|\u00a7)"
    r" ?(?:\d[\w.-]*|[A-Z]\b)"
)
_NAMED: Final = (
    r"(?:RFC|PEP|ISO|DIN|IEEE|BIP|EIP) ?\d[\d.-]*|readme(?:\.\w+)?"
    r"|[\w-]+\.(?:pdf|docx?|md|txt|html?|rst)"
    r"|(?-i:(?:[A-Z][\w.'-]* ){1,5}"
    r"(?:Guide|Handbook|Manual|Policy|Documentation|Specification|Standard|Report|Reference))"
)
_DEFINITE: Final = r"(?:the|this|these|your|our)"
_ITS_PLACE: Final = rf"(?:(?:,? (?:of|in) )?{_DEFINITE} (?:[\w'./&-]+ ){{0,4}}?{_TEXT})"
_SOURCE: Final = (
    rf"(?:{_NUMBERED}(?: (?:of|in) (?:{_NAMED})|{_ITS_PLACE})?|(?:the )?(?:{_NAMED})"
    rf"|{_DEFINITE} (?:[\w'./&-]+ ){{0,4}}?{_TEXT}(?! {_TEXT}\b))(?![\w-])"
)
_OF_WHAT: Final = r"(?: (?:of|for|from|on|about) [^,;:]{1,60})?"
_ADVERB: Final = r"(?:(?:also|further|clearly|explicitly|specifically|then|later|\w+ly) )?"
_SAYS: Final = (
    rf"{_ADVERB}(?:says?|states?|notes?|explains?|mentions?|indicates?|shows?|specif(?:y|ies)"
    r"|confirms?|reports?|adds?|clarif(?:y|ies)|points? out|makes? (?:it )?clear|warns?|reads"
    r"|stresses|emphasi[sz]es?|describes?|said|stated|noted|explained|showed)"
)
_SAID_IN: Final = (
    r"(?:stated|described|noted|outlined|mentioned|shown|specified|indicated|explained|listed"
    r"|set out|given|defined|documented|detailed|laid (?:out|down)|written)"
)
_ACCORDING: Final = (
    rf"(?:according to|as per|per|as {_SAID_IN} (?:in|by|on)"
    rf"|based on(?: the information (?:in|from))?)"
)
_BEFORE: Final = re.compile(
    rf"(?:{_SOURCE}{_OF_WHAT},? {_SAYS}(?:,? that,?|:)"
    rf"|{_ACCORDING} {_SOURCE}{_OF_WHAT},"
    rf"|as {_SOURCE}{_OF_WHAT} {_SAYS},"
    rf"|it (?:is|was) (?:\w+ly )?{_SAID_IN} (?:in|by|on) {_SOURCE}{_OF_WHAT} that"
    rf"|from {_SOURCE}:)[ ]+",
    re.IGNORECASE,
)
# Without "that" or a comma only a clause can tell where the statement begins.
_BEFORE_CLAUSE: Final = re.compile(
    rf"(?:{_SOURCE} {_ADVERB}(?:says|states|notes|adds)|according to {_SOURCE})[ ]+"
    r"(?=(?P<clause>\S.*))",
    re.IGNORECASE,
)
_GOES_ON: Final = re.compile(rf"(?:it|they) {_SAYS},? that,?[ ]+", re.IGNORECASE)
_JOINT: Final = re.compile(rf";[ ](?:and )?(?={_GOES_ON.pattern})", re.IGNORECASE)
_BETWEEN: Final = re.compile(
    rf", (?:{_SOURCE} {_SAYS}|{_ACCORDING} {_SOURCE}|as {_SOURCE} {_SAYS}), (?=\w)", re.IGNORECASE
)
_BEHIND: Final = re.compile(
    rf", (?:(?:as )?{_SAYS} {_SOURCE}|(?:as )?{_SOURCE} {_SAYS}"
    rf"|{_ACCORDING} {_SOURCE}{_OF_WHAT})[.!]?$",
    re.IGNORECASE,
)
_FEWEST: Final = 5
"""What is left is a statement only if it has so many characters: the shortest claim."""


def attribution_length(sentence: str, *, goes_on: bool = False) -> int:
    """Return how many characters before the statement only say which source it is from.

    `goes_on`: the sentence before was attributed to a source, so "It also says that" is one too.
    """
    found = _BEFORE.match(sentence)
    if found is None:
        open_ended = _BEFORE_CLAUSE.match(sentence)
        found = open_ended if open_ended and is_clause(open_ended["clause"]) else None
    if found is None and goes_on:
        found = _GOES_ON.match(sentence)
    return found.end() if found and len(sentence) - found.end() >= _FEWEST else 0


def attribution_joints(sentence: str) -> tuple[int, ...]:
    """Return where parts of a sentence begin that go on with it: "; it also notes that"."""
    return tuple(found.end() for found in _JOINT.finditer(sentence))


def without_attribution(statement: str) -> str:
    """Return what a statement says without the words that only say which source it is from."""
    rest = statement[attribution_length(statement) :]
    between = _BETWEEN.search(rest)
    if between is not None:
        rest = f"{rest[: between.start()]} {rest[between.end() :]}"
    behind = _BEHIND.search(rest)
    return rest[: behind.start()] if behind and behind.start() >= _FEWEST else rest
