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
    r"|(?:please )?note|summary|(?:(?:the )?(?:short|quick|brief|direct|long) )?answer"
    r"|conclusion|tl;?dr"
    r"|bottom line|key takeaway|(?:hi|hello|hey)(?: there)?|(?:great|good) question|correct"
    r"|exactly|right"
    r"|needless to say|(?:un)?fortunately|interestingly|obviously|clearly|naturally|simply put"
    r"|put simply|in a nutshell|to recap|as (?:mentioned|noted|stated) (?:above|before|earlier)"
    r"|apparently|presumably|step \d{1,2}|[qa])"
)
_NOTES: Final = (
    r"(?:(?:please )?(?:note|remember|be aware|keep in mind|bear in mind)"
    r"|it(?: is|'s) (?:important|worth|worthwhile) (?:to (?:note|mention|remember)"
    r"|noting|mentioning)|it should (?:also )?be noted"
    rf"|{_THE_MATTER} (?:also )?(?:states?|says?|shows?|notes?|indicates?|mentions?|explains?"
    r"|specif(?:y|ies)|confirms?))"
)
# An opinion asserts what it holds: "I believe the fee is 80 EUR".
_OPINION: Final = (
    r"(?:I|we)(?: \w+ly| also| do)?(?:(?: can| could| would)?"
    r" (?:believe|think|feel|guess|assume|suspect|expect|hope|say|find|found|see|understand"
    r"|know|recall"
    r"|confirm|conclude|estimate|imagine|suppose|gather|note|tell you|say to you|assure you)"
    r"|(?: am|'m| are|'re) (?:\w+ly |quite |very )?(?:sure|certain|confident|convinced|afraid"
    r"|aware))"
    r"|it (?:\w+ly )?(?:seems|appears|looks like|sounds like|is (?:likely|probable|possible"
    r"|clear|true"
    r"|believed|said|known|my understanding))|my understanding is"
)
_OPINION_SAYS: Final = re.compile(
    rf"(?:{_OPINION}),?(?:(?P<that> that),?)?[ ]+(?=(?P<content>\S.*))", re.IGNORECASE
)
_VIEW: Final = (
    r"(?:in (?:my|our) (?:opinion|view|experience|understanding)|as far as (?:I|we) (?:know"
    r"|can (?:tell|see))"
    r"|to (?:my|our|the best of my) knowledge|from what (?:I|we) (?:can see|know|found)"
    r"|if I recall correctly)"
)
_LEAD_IN: Final = re.compile(
    rf"(?:{_FROM} {_THE_MATTER}(?: \d[\d, and]*)?,|(?:{_CONNECTIVES})[,:!]|{_NOTES},? that,?"
    rf"|{_VIEW},"
    r"|(?:according to|based on|as stated in|per)(?:,? and)*,)[ ]+",
    re.IGNORECASE,
)

_GREETING: Final = re.compile(
    r"(?:hi|hello|hey|dear|greetings|good (?:morning|afternoon|evening|day))\b"
    r"|welcome(?= to| back|[!,.]|$)"
    r"|(?:cheers|(?:best |kind |warm )?regards|sincerely|yours truly|best wishes)\b"
    r"|(?:thanks|thank you)\b|(?:great|good|excellent|interesting) question\b",
    re.IGNORECASE,
)
# Talk by the writer, unless it names a figure.
_TALK: Final = re.compile(
    r"I(?:'m|'ve|'d|'ll)?(?=[ ](?-i:[a-z]))"
    r"|please (?:see|refer|consult|check|review|verify|contact|reach out|ask|provide|share"
    r"|upload)\b",
    re.IGNORECASE,
)
_META: Final = re.compile(
    r"(?:I )?(?:hope|hopefully),? (?:this|that|it|these)(?: \w+)? (?:helps?|answers?|clarif\w+"
    r"|is (?:helpful|useful|clear))"
    r"|we (?:hope|trust) (?:this|that|it|you)\b"
    r"|(?:please )?(?:let (?:me|us) know|feel free|(?:do not|don't) hesitate)\b"
    r"|(?:happy|glad) to\b|as an ai\b|good luck\b|you(?:'re| are) welcome\b|let me\b|let's\b"
    r"|have a (?:great|good|nice|wonderful) (?:day|week|weekend|time|one|trip)\b"
    r"|(?:this|that|it)(?:'s| is) (?:a|an) (?:great|good|excellent|interesting"
    r"|important) (?:question|point)\b"
    r"|if you (?:have|need|want|require|would like|'d like|are looking)\b.*\b(?:let (?:me|us) know"
    r"|feel free|reach out|(?:do not|don't) hesitate|(?:ask|call|contact|tell) (?:me|us)"
    r"|I(?:'m| am| can| will|'ll))\b"
    r"|(?:this answer|(?:this|the) (?:response|summary|overview)) (?:is|was|covers"
    r"|summari[sz]es|assumes)\b"
    r"|(?:sure|certainly|of course|absolutely|understood|ok|okay|no problem|got it|correct|exactly)"
    r"(?: thing)?[.!]*$",
    re.IGNORECASE,
)
_ANNOUNCES: Final = re.compile(
    r"(?:here|below|following)(?: is| are|'s)\b[^\d:]{0,100}:?$", re.IGNORECASE
)
_BARE_LABEL: Final = re.compile(
    r"(?:(?:the )?(?:short|quick|brief|direct|final|long|detailed) )?(?:answer|sources?"
    r"|references?|citations?"
    r"|(?:executive )?summary|overview|conclusion|introduction|background|details|notes?"
    r"|explanation|context"
    r"|tl;?dr|bottom line|further reading|next steps|disclaimer|examples?|(?:key|main"
    r"|important) (?:points?|takeaways?"
    r"|facts|findings|details|features|information)|in (?:short|summary|brief|conclusion))$",
    re.IGNORECASE,
)
_SAY: Final = (
    r"(?:say|mention|state|specify|contain|provide|address|discuss|indicate|include|describe"
    r"|list|give|explain|clarify|cover|define|reference|offer)"
)
_ABSENCE: Final = re.compile(
    rf"(?!while|although|though|even)(?:none of )?{_THE_MATTER} (?:do|does|did)(?: not|n't)"
    rf" (?:\w+ly )?{_SAY}\b"
    rf"|none of {_THE_MATTER} {_SAY}s?\b"
    # "The policy does not cover dental care" says something; "does not mention" nothing.
    r"|(?:the|this|your|our) (?:[\w'-]+ ){0,3}(?:guide|handbook|manual|readme|specification|report"
    r"|policy) (?:do|does|did)(?: not|n't) (?:\w+ly )?(?:say|mention|state|specify|discuss|address"
    r"|indicate|explain|clarify)\b"
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
        found = _LEAD_IN.match(plain, length) or _opinion(plain, length)
        if found is None or len(sentence) - found.end() < MIN_CHARS:
            return length
        length = found.end()


def _opinion(plain: str, start: int) -> re.Match[str] | None:
    """Return the frame of an opinion, if what it holds is a clause: not "I hope this helps"."""
    if _META.match(plain, start):
        return None
    found = _OPINION_SAYS.match(plain, start)
    if found is None:
        return None
    return found if found["that"] or is_clause(found["content"]) else None


def find_exemption(sentence: str) -> Exemption | None:
    """Return why a sentence, without its lead-ins, needs no evidence; None if it is a claim."""
    text = sentence.replace("\u2019", "'").strip()
    bare = text.rstrip(" .!:;,\u3002\uff01\u0964")
    if text.rstrip("\"')\u201d\u300d").endswith(_QUESTION_MARKS):
        return Exemption.QUESTION
    if len(bare) + 2 * len(_DENSE.findall(bare)) < MIN_CHARS:
        return Exemption.TOO_SHORT
    if _ABSENCE.match(bare):
        return Exemption.ABSENCE
    if _GREETING.match(text) and _is_brief(text):
        return Exemption.GREETING
    if _META.match(text) or _ANNOUNCES.match(text) or _is_talk(text):
        return Exemption.META
    if _BARE_LABEL.match(bare):
        return Exemption.INTRODUCTION
    if text.endswith(":") and (_POINTS_ON.search(text) or not is_clause(text)):
        return Exemption.INTRODUCTION
    return None


_QUESTION_MARKS: Final = ("?", "\uff1f", "\u061f", "\u1367")
# Scripts that say in one character what takes three letters elsewhere.
_DENSE: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


_CONTENT: Final = re.compile(r"\d|\b(?:because|since|which|who)\b", re.IGNORECASE)


def _is_talk(text: str) -> bool:
    return _TALK.match(text) is not None and _CONTENT.search(text) is None


def _is_brief(text: str) -> bool:
    return len(words_of(text)) <= _GREETING_WORDS and not is_clause(text)
