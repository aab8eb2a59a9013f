"""What in an answer is no assertion about the world: lead-ins, greetings, talk, absence.

Closed lists of shapes, rules E1 to E6 of docs/ledger.md. A shape is matched at the beginning of a
sentence (or of a part of one), so that a word inside a claim exempts nothing.
"""

import re
from typing import Final

from affidavit.ledger.grammar import is_clause, words_of
from affidavit.ledger.model import Exemption

MIN_CHARS: Final = 5
"""The shortest claim: seed-origins, C3."""

_MATTER: Final = (
    r"(?:documents?|documentation|sources?|context|passages?|texts?|excerpts?|materials?"
    r"|information|files?|evidence|search results|knowledge base)"
)
_GIVEN: Final = (
    r"(?:[ ](?:provided|available|given|above|supplied|retrieved|uploaded|shared"
    r"|(?:that )?(?:you|I|we)(?: have|'ve)?(?: been| were| was)? \w+))*"
)
_THE_MATTER: Final = (
    rf"(?:the|these|those|your|our|my|all)?[ ]?(?:[\w'-]+[ ]){{0,3}}?{_MATTER}{_GIVEN}"
)
_FROM: Final = (
    r"(?:based (?:up)?on|according to|as (?:per|(?:stated|described|noted|outlined|mentioned"
    r"|shown|specified|indicated|explained) (?:in|by))|per|from|in|judging by|looking at|given)"
)
_CONNECTIVES: Final = (
    r"(?:however|additionally|furthermore|moreover|also|in addition|besides|finally|lastly"
    r"|first(?:ly)?|second(?:ly)?|third(?:ly)?|next|overall|in (?:summary|short|conclusion|fact"
    r"|other words|particular|brief)|to (?:summari[sz]e|sum up|conclude|answer your question"
    r"|be clear)|therefore|thus|hence|consequently|as a result|accordingly|specifically|notably"
    r"|importantly|similarly|likewise|meanwhile|nevertheless|nonetheless|on the other hand"
    r"|for example|for instance|yes|no|sure|certainly|of course|absolutely|indeed|that said"
    r"|(?:please )?note|summary|(?:short )?answer|conclusion|tl;dr|(?:hi|hello|hey)(?: there)?)"
)
_NOTES: Final = (
    r"(?:(?:please )?(?:note|remember|be aware|keep in mind|bear in mind)"
    r"|it(?: is|'s) (?:important|worth|worthwhile) (?:to (?:note|mention|remember)"
    r"|noting|mentioning)|it should (?:also )?be noted"
    r"|I (?:found|can (?:see|confirm)|see|understand|believe|think)"
    rf"|{_THE_MATTER} (?:also )?(?:states?|says?|shows?|notes?|indicates?|mentions?|explains?"
    r"|specif(?:y|ies)|confirms?))"
)
_LEAD_IN: Final = re.compile(
    rf"(?:{_FROM} {_THE_MATTER},|{_CONNECTIVES}[,:!]|{_NOTES},? that,?)[ ]+", re.IGNORECASE
)

_GREETING: Final = re.compile(
    r"(?:hi|hello|hey|dear|greetings|good (?:morning|afternoon|evening|day))\b"
    r"|welcome(?= to| back|[!,.]|$)"
    r"|(?:thanks|thank you)\b|(?:great|good|excellent|interesting) question\b",
    re.IGNORECASE,
)
_META: Final = re.compile(
    r"I(?:'m|'ve|'d|'ll)?(?=[ ](?-i:[a-z]))|(?:hope|hopefully)\b"
    r"|we (?:hope|trust)\b|(?:please )?(?:let (?:me|us) know|feel free|(?:do not|don't) hesitate)\b"
    r"|please (?:see|refer|consult|check|review|verify|contact|reach out|ask|provide|share"
    r"|upload)\b"
    r"|(?:happy|glad) to\b|as an ai\b|good luck\b|you(?:'re| are) welcome\b|let me\b"
    r"|if you (?:have|need|want|require|would like|'d like|are looking)\b.*\b(?:let (?:me|us) know"
    r"|feel free|reach out|(?:do not|don't) hesitate|(?:ask|call|contact|tell) (?:me|us)"
    r"|I(?:'m| am| can| will|'ll))\b"
    r"|(?:this answer|(?:this|the) (?:response|summary|overview)) (?:is|was|covers"
    r"|summari[sz]es|assumes)\b"
    r"|(?:sure|certainly|of course|absolutely|understood|ok|okay|no problem|got it)[.!]*$",
    re.IGNORECASE,
)
_ANNOUNCES: Final = re.compile(
    r"(?:here|below|following)(?: is| are|'s)\b[^\d:]{0,100}:?$", re.IGNORECASE
)
_SAY: Final = (
    r"(?:say|mention|state|specify|contain|provide|address|discuss|indicate|include|describe"
    r"|list|give|explain|clarify|cover|define|reference|offer)"
)
_ABSENCE: Final = re.compile(
    rf"(?!while|although|though|even)(?:none of )?{_THE_MATTER} (?:do|does|did)(?: not|n't)"
    rf" (?:\w+ly )?{_SAY}\b"
    rf"|none of {_THE_MATTER} {_SAY}s?\b"
    r"|(?:there (?:is|are|was|were) )?no (?:\w+ ){0,2}(?:information|mention|details?)\b.*"
    rf"\b(?:provided|found|available|given|(?:in|from|within) {_THE_MATTER})"
    rf"|(?:there (?:is|are|was|were) )?no (?:\w+ ){{0,2}}(?:evidence|data|reference)\b.*"
    rf"\b(?:in|from|within) {_THE_MATTER}$"
    r"|[^,;]{3,120}\b(?:is|are|was|were)(?: not|n't) (?:\w+ly )?(?:mentioned|specified|stated"
    r"|addressed|covered|described|provided|included|discussed|found|defined|listed)\b.{0,40}"
    rf"\b(?:in|by|within) {_THE_MATTER}$"
    r"|(?:I|we) (?:could not|couldn't|cannot|can't|did not|didn't|do not|don't"
    r"|(?:am|was|are|were) (?:not able|unable) to) (?:find|see|locate|determine|answer|know"
    r"|verify|confirm|have (?:any|enough|specific|sufficient|access|information|details|the))\b"
    rf"|(?:it|this|that) (?:is|was) (?:unclear|not clear|not possible to (?:say|tell)) from\b"
    r"|(?:the )?(?:answer|information) (?:is|was|could|can)(?: ?not|n't)(?: be)? (?:found|available"
    r"|provided|given|known|determined|in)\b"
    r"|(?:not in context|unknown|insufficient (?:information|context|evidence))$",
    re.IGNORECASE,
)
_POINTS_ON: Final = re.compile(r"\b(?:following|follows|below|here)\b.{0,40}:$", re.IGNORECASE)
_GREETING_WORDS: Final = 8


def lead_in_length(sentence: str) -> int:
    """Return how many characters of lead-ins stand before the claim of a sentence."""
    length = 0
    plain = sentence.replace("\u2019", "'")
    while True:
        found = _LEAD_IN.match(plain, length)
        if found is None or len(sentence) - found.end() < MIN_CHARS:
            return length
        length = found.end()


def find_exemption(sentence: str) -> Exemption | None:
    """Return why a sentence, without its lead-ins, needs no evidence; None if it is a claim."""
    text = sentence.replace("\u2019", "'").strip()
    bare = text.rstrip(" .!:;,")
    if text.rstrip("\"')\u201d").endswith("?"):
        return Exemption.QUESTION
    if len(bare) < MIN_CHARS:
        return Exemption.TOO_SHORT
    if _ABSENCE.match(bare):
        return Exemption.ABSENCE
    if _GREETING.match(text) and _is_brief(text):
        return Exemption.GREETING
    if _META.match(text) or _ANNOUNCES.match(text):
        return Exemption.META
    if text.endswith(":") and (_POINTS_ON.search(text) or not is_clause(text)):
        return Exemption.INTRODUCTION
    return None


def _is_brief(text: str) -> bool:
    return len(words_of(text)) <= _GREETING_WORDS and not is_clause(text)
