"""The type of a claim: numeric, definition, policy or fact, tried in this order."""

import re
from typing import Final

from affidavit.ledger.model import ClaimType, Span

# Quantities in a claim: amounts, counts, money, shares, durations. Rule T1 of docs/ledger.md.
#
# A number is no quantity when it is a date, a year, a time of day, an ordinal, a reference
# ("Section 3.2") or part of a name ("COVID-19").

_MONTHS: Final = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_NOT_A_QUANTITY: Final = re.compile(
    rf"\b{_MONTHS} \d{{1,2}}(?:st|nd|rd|th)?\b(?:,? \d{{4}}\b)?"
    rf"|\b\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTHS}(?!\w)(?:,? \d{{4}}\b)?"
    rf"|\b{_MONTHS},? \d{{4}}\b"
    r"|\b\d{4}(?:-\d{2}){1,2}\b|\b\d{4} ?[-\u2013]+ ?(?:\d{4}|\d{2})\b"
    r"|\b\d{1,2}[/.]\d{1,2}[/.]\d{2,4}\b"
    r"|\b\d{1,2}:\d{2}(?::\d{2})?\b|\b\d{1,2} ?[ap]\.?m\b"
    r"|\b\d+(?:st|nd|rd|th)\b"
    r"|\b(?:sections?|articles?|clauses?|paragraphs?|pages?|pp?\.|chapters?|parts?|steps?|versions?"
    r"|appendix|annex|figures?|tables?|forms?|rules?|phases?|levels?|tiers?|grades?|class(?:es)?"
    r"|schedules?|items?|numbers?|no\.|iso|rfc|iec|en|rooms?|python|windows|release)"
    r" [#\u00a7]?\d[\d.\-\u2013]*(?:(?:,| and| or| to) \d[\d.]*)*"
    r"|[\u00a7#][ ]?\d[\d.]*",
    re.IGNORECASE,
)
_UNITS: Final = (
    r"%|percent|per cent|points?|days?|weeks?|months?|years?|hours?|minutes?|seconds?|quarters?"
    r"|times|dollars?|euros?|pounds?|cents?|km|kilometers?|kilometres?|miles?|metres?|meters?|cm|mm"
    r"|feet|foot|inch(?:es)?|kg|grams?|tons?|tonnes?|lit(?:er|re)s?|degrees?|pages?|people|persons?"
    r"|employees?|users?|copies|hundred|thousand|million|billion|trillion|dozen"
)
_NUMBER: Final = re.compile(
    r"(?<![\w.])(?<![^\W\d_]-)(?P<money>[$\u20ac\u00a3\u00a5]\s?)?"
    r"(?P<digits>\d+(?:[,.]\d+)*)"
    r"(?P<suffix>%|\u2030|\u00b0[CF]?|(?:k|m|bn|x|kg|g|mg|km|cm|mm|ml|l|kb|mb|gb|tb|ms|s|h|w|kw|v|hz"
    r"|khz|mhz|ghz)\b)?(?![^\W\d_]|_)",
    re.IGNORECASE,
)
_COUNTED: Final = re.compile(rf"[ -](?:{_UNITS}|[^\W\d_]+s)(?!\w)", re.IGNORECASE)
_WORDS: Final = (
    r"two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen"
    r"|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundreds?"
    r"|thousands?|millions?|billions?|dozens?|half|twice|zero"
)
_NUMBER_WORD: Final = re.compile(
    r"(?<!\bthe )(?<!\bthese )(?<!\bthose )(?<!\bboth )(?<!\bits )(?<!\btheir )(?<!\bour )"
    rf"\b(?:{_WORDS}|one(?=[ -](?:{_UNITS})\b))\b(?! of\b)",
    re.IGNORECASE,
)
_NAME_BEFORE: Final = re.compile(r"\w [A-Z][a-z]+ $")
_PROPER: Final = re.compile(r"[A-Z]\w+ [A-Z]")
"""A number word in a name: "Six Sigma"."""
_FIRST_YEAR, _LAST_YEAR = 1500, 2100


def quantities(text: str) -> tuple[Span, ...]:
    """Return where the quantities of a claim begin and end, in order."""
    # What is no quantity is blanked out, letter by letter, so that places stay the same.
    plain = _NOT_A_QUANTITY.sub(lambda found: " " * len(found[0]), text)
    digits = (
        Span(found.start(), found.end())
        for found in _NUMBER.finditer(plain)
        if not _is_year(plain, found) and not _is_named(plain, found)
    )
    spelled = (
        Span(found.start(), found.end())
        for found in _NUMBER_WORD.finditer(plain)
        if _PROPER.match(plain, found.start()) is None
    )
    return tuple(sorted((*digits, *spelled), key=lambda span: span.start))


def _is_named(text: str, found: re.Match[str]) -> bool:
    """Tell whether a number belongs to the name before it: "the Hot 100", "Highway 91"."""
    if found["money"] or found["suffix"] or _COUNTED.match(text, found.end()):
        return False
    return _NAME_BEFORE.search(text, 0, found.start()) is not None


def _is_year(text: str, found: re.Match[str]) -> bool:
    digits = found["digits"]
    if found["money"] or found["suffix"] or len(digits) != len("1999") or not digits.isdigit():
        return False
    return _FIRST_YEAR <= int(digits) <= _LAST_YEAR and _COUNTED.match(text, found.end()) is None


# The type of a claim: numeric, definition, policy or fact, tried in this order.
#
# Origin: evidence-ledger.md, 3.2 and 8.1; the order is in seed-origins C3. A claim is numeric when
# the quantity is what it asserts ("Maximum carryover is 5 days"), not when it only occurs in an
# obligation or an entitlement ("Employees are entitled to 15 days"). Rules T1 to T4,
# docs/ledger.md.

# "Can" and "may" permit where a person or a body is told what to do, or in the passive voice;
# elsewhere they say what is able or likely to happen.
_ABLE: Final = (
    r"(?!(?: not| also| still| often| sometimes| easily| only|\W)*(?: be)? (?:affect|appear|arise"
    r"|attributed|become|believed|calculated|caused?|change|contain|contribute|cost|depend"
    r"|described|differ|difficult|exceed|experience|explained|feel|found|fly|grow|happen|have|hear"
    r"|help|hold|improve|include|increase|indicate|last|lead|live|mean|measured|occur|range|reach"
    r"|reduce|represented|result|run|see|seen|seem|sense|survive|swim|take|taste|tell|traced|true"
    r"|vary|weigh|well)s?\b)"
)
_PERSONS: Final = (
    r"(?:applicants?|anyone|candidates?|citizens?|clients?|compan(?:y|ies)|contractors?|customers?"
    r"|departments?|employees?|employers?|everyone|guests?|landlords?|managers?|members?|nobody"
    r"|no one|officers?|parents?|part(?:y|ies)|participants?|partners?|patients?|persons?"
    r"|residents?|staff|students?|suppliers?|teams?|tenants?|users?|vendors?|visitors?|workers?|you)"
)
_MODAL: Final = r"(?:can|(?-i:may))"
_BE: Final = r"(?:is|are|was|were|be|being|been|becomes?)"
DEONTIC: Final = re.compile(
    rf"\b(?:must|shall|should|ought to|(?:cannot|can't|{_MODAL} not){_ABLE}"
    rf"|{_MODAL}(?= (?:only |also )*be \w+(?:ed|en|ne|ld|id|de|ght|ken|nt)\b){_ABLE})\b"
    rf"|\b{_PERSONS}\b[^,;:.]*\b{_MODAL}\b{_ABLE}"
    rf"|\b{_BE} (?:\w+ly |not |only |also )*(?:entitled|eligible|required|obliged|obligated|allowed"
    r"|permitted|prohibited|forbidden|banned|authori[sz]ed|mandatory|compulsory|optional"
    r"|expected to|supposed to|subject to|responsible for|exempt|not allowed)\b"
    r"|\b(?:needs?|has|have) (?:not )?to\b"
    r"|\b(?:requires?|entitles?|allows?(?! for)|permits?|prohibits?|forbids?|mandates?|obliges?)\b"
    r"|\bat the (?:sole )?discretion of\b|\bwithout (?:prior )?approval\b",
    re.IGNORECASE,
)
_COMMAND: Final = re.compile(
    r"(?:please )?(?:do not|don't|never|always|ensure|make sure|avoid)\b", re.IGNORECASE
)
_MEASURES: Final = re.compile(
    r"\b(?:is|are|was|were|equals?|total(?:s|ed|led)?|amount(?:s|ed)? to|c[oa]mes? to"
    r"|st(?:ands?|ood) at|capped at|limited to)[ ]"
    r"(?:(?:set|fixed|equal|about|approximately|around|roughly|nearly|almost|over|under|up|at|to|by"
    r"|least|most|only|just|exactly|more|less|fewer|than|currently|now|an?|maximum|minimum|of|the)"
    r"[ ])*(?=(?P<number>\S))",
    re.IGNORECASE,
)
_TERM: Final = (
    r"(?!(?:it|he|she|they|this|that|there|these|those|we|you|another)\b)"
    r"(?:(?!(?:is|are|was|were|that|which|means?)\b)[\w'\"()/-]+ ){1,6}?"
)
_DEFINITION: Final = re.compile(
    rf"^{_TERM}(?:means?(?! of\b| that\b)|denotes|signifies|refers? to|is short for)\b"
    r"|\bstands for\b"
    r"|\bis an? (?:acronym|abbreviation|synonym) (?:for|of)\b"
    r"|\b(?:is|are) (?:\w+ly )?(?:defined (?:as|by)|known as|referred to as|called|termed)\b"
    r"|^(?:the term\b|by definition\b)|^[^:]{2,40}: (?-i:an?|any) \w"
    rf"|^{_TERM}(?:is|are) (?:an?|the|any) (?:[\w'-]+ ){{1,5}}?(?:that|which|who|whose|where"
    r"|in which|for which|used (?:to|for|as|in)|designed to|consisting of|characteri[sz]ed by)\b"
    rf"|^{_TERM}(?:is|are) (?:an?|the) (?:[\w'-]+ )?(?:process|practice|act|state|method|term|type"
    r"|kind|form|branch|unit|measure|ability|study|science|set|system) (?:of|for|by)\b",
    re.IGNORECASE,
)


def claim_type(text: str) -> ClaimType:
    """Return the type of a claim from its text alone."""
    plain = text.replace("\u2019", "'")
    if _asserts_quantity(plain):
        return ClaimType.NUMERIC
    if _DEFINITION.search(plain):
        return ClaimType.DEFINITION
    if DEONTIC.search(plain) or _COMMAND.match(plain):
        return ClaimType.POLICY
    return ClaimType.FACT


def _asserts_quantity(text: str) -> bool:
    found = quantities(text)
    if not found:
        return False
    duty = DEONTIC.search(text)
    if duty is None:
        return _COMMAND.match(text) is None
    starts = {quantity.start for quantity in found}
    predicates = (match.start("number") for match in _MEASURES.finditer(text, 0, duty.start()))
    return any(start in starts for start in predicates)
