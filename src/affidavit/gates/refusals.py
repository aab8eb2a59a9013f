"""Refusals: the exact token, or an answer that says in other words that the sources do not answer.

Origin: decisions.md, "A refusal". An answer in other words is a refusal only if each of its clauses
says so or is a courtesy: "The documents do not mention a limit, so there is none" is an answer. The
patterns are English.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

REFUSAL: Final = "not in context"
REFUSED_IN_WORDS: Final = (
    "answers that refuse in other words, which count as refusals unless --refusal-mode is exact"
)

_SOURCE: Final = (
    r"(?:(?:the|these|those|this|my|our|your|any|all|provided|given|available|retrieved|supplied"
    r"|above|supporting)\s+)*"
    r"(?:documents?|documentation|docs|contexts?|sources?|passages?|texts?|information|materials?"
    r"|excerpts?|articles?|snippets?|knowledge\s+base|search\s+results?|references?|files?)"
    r"(?:\s+(?:provided|given|above|available|retrieved|supplied|i\s+have|you\s+provided))*"
)
# What a text says of one of these may be about its subject: "The contract does not include travel
# costs" is an answer. That it does not say something is a refusal.
_PAPER: Final = (
    r"(?:the|this|your|our)\s+(?:\w+\s+)?"
    r"(?:policy|policies|manual|report|handbook|guide|guidelines?|paper|page|contract|agreement|law)"
)
_NOT: Final = r"(?:do(?:es)?\s*n[o']t|do(?:es)?\s+not|did\s*n[o']t|did\s+not|cannot|can't|never)"
_TELLS: Final = (
    r"(?:mention|contain|include|say|state|specify|provide|discuss|address|describe|cover|give"
    r"|indicate|answer|reveal|tell|explain|offer|disclose|clarify|identify|have|seem\s+to|appear\s+to)"
)
# "It is not covered by the policy" is an answer, so these are about words only.
_SAID: Final = r"(?:mentioned|specified|stated|discussed|addressed|described|disclosed|listed)"
_SAYS: Final = r"(?:mention|say|state|specify|discuss|address|describe|indicate|disclose|answer)"
_STATES: Final = (
    r"(?:mentions?|contains?|includes?|says?|states?|specif(?:y|ies)|provides?|gives?|has|have"
    r"|makes?|offers?|address(?:es)?|discuss(?:es)?|covers?|tells?|answers?|explains?|describes?)"
)
_TOLD: Final = (
    r"(?:mentioned|specified|stated|found|provided|contained|included|given|discussed|addressed"
    r"|available|covered|described|disclosed|listed|present|answered)"
)
_INFORMATION: Final = (
    r"(?:mention|information|answer|reference|details?|data|evidence|indication|context|figures?)"
)
_WHO: Final = r"\b(?:i|we)\s+"
_UNABLE: Final = (
    r"(?:cannot|can\s*not|can't|could\s*n[o']t|could\s+not"
    r"|(?:am|are|was|were|'m|'re)?\s*(?:unable|not\s+able)\s+to)"
)
_FIND: Final = (
    r"(?:answer|find|determine|tell|locate|provide|know|see|confirm|identify"
    r"|say(?!\s+(?:no|yes)\b))"
)

_SAYS_SO: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b{_SOURCE}\s+{_NOT}\s+(?:\w+\s+)?{_TELLS}\b",
        rf"^{_PAPER}\s+{_NOT}\s+(?:\w+\s+)?{_SAYS}\b",
        rf"\b(?:{_SOURCE}|{_PAPER})\s+{_STATES}\s+(?:no\s+(?:\w+\s+)?{_INFORMATION}"
        rf"|nothing\s+(?:about|on|regarding|concerning)|nothing\W*$)",
        rf"\b{_SOURCE}\s+never\s+{_STATES}\b",
        rf"^nothing\s+(?:is|was)\s+said\s+(?:about|on)\s+.{{1,60}}\s+in\s+{_SOURCE}\W*$",
        rf"^not\s+enough\s+information\s+to\s+{_FIND}\b",
        rf"{_WHO}have\s+no\s+way\s+of\s+(?:knowing|telling)\b",
        rf"^{_PAPER}\s+is\s+silent\b",
        rf"^there(?:'s|\s+is)\s+nothing\s+in\s+{_SOURCE}(?:\W*$"
        rf"|\s+(?:about|on|regarding|concerning|that\s+{_STATES})\b)",
        rf"^nowhere\s+in\s+(?:{_SOURCE}|{_PAPER})\s+(?:is|are)\s+.{{1,80}}\b{_SAID}\W*$",
        rf"\b{_SOURCE}\s+(?:leaves?\s+(?:it\s+)?open\s+(?:whether|how|when|who|what|why)\b"
        rf"|{_NOT}\s+(?:allow|let|enable)\s+(?:me|us)\s+to\s+{_FIND}\b)",
        rf"\b{_SOURCE}\s+(?:lacks?\s+(?:\w+\s+){{0,2}}{_INFORMATION}|(?:is|are)\s+silent\b"
        rf"|(?:is|are)\s+(?:insufficient|not\s+(?:sufficient|enough))(?:\W*$|\s+to\s+{_FIND}))",
        rf"^(?:nothing|none|no\s+part|neither)\s+(?:(?:in|of)\s+)?{_SOURCE}\s+{_STATES}\b",
        rf"\b(?:missing|absent)\s+from\s+{_SOURCE}\W*$",
        rf"\b(?:outside|beyond)\s+(?:of\s+)?the\s+scope\s+of\s+{_SOURCE}\W*$",
        rf"\b(?:unclear|not\s+clear)\s+(?:from|in|based\s+on)\s+{_SOURCE}\b",
        rf"\b(?:there\s+(?:is|are|was)|there's|(?:i|we)\s+(?:see|found|find|have))"
        rf"(?:\s+no|\s+not\s+any|n't\s+any)\s+(?:\w+\s+){{0,2}}{_INFORMATION}"
        r"(?!\s+(?:desk|office|officer|point|system|technology|sheet|cent(?:er|re))s?)\b",
        rf"(?:\bnot|n't)\s+(?:\w+\s+)?{_TOLD}\s+(?:\w+\s+)?(?:in|by|within|from)\s+{_SOURCE}\b",
        rf"^(?:it|this|that|the\s+answer)\s+(?:is|was)(?:\s+not|n't)\s+(?:\w+\s+)?{_TOLD}\W*$"
        rf"|^(?:it|this|that|the\s+answer)\s+(?:is|was)(?:\s+not|n't)\s+(?:\w+\s+)?{_SAID}"
        rf"\s+(?:in|by)\s+{_PAPER}\W*$",
        rf"\bnot\s+(?:in|within|part\s+of|among)\s+{_SOURCE}\W*$",
        rf"{_WHO}{_UNABLE}\s+(?:{_FIND}|help\s+(?:you\s+)?with\s+(?:that|this))\b",
        rf"{_WHO}(?:do\s*n[o']t|do\s+not)\s+(?:know|(?:have|see|find)"
        rf"\s+(?:access\s+to\s+(?:that|this|such)\s+|(?:\w+\s+){{0,2}}){_INFORMATION})\b",
        rf"^(?:no|insufficient|not\s+enough)\s+(?:\w+\s+)?{_INFORMATION}"
        rf"(?:\s+(?:\w+\s+){{0,6}}?(?:available|provided|found|given|in\s+{_SOURCE}))?\W*$",
        r"^no\s+(?:information|details?|data|answer)\s+(?:is|are|was|were)\s+(?:given|provided|found)"
        r"\s+(?:about|on|regarding|concerning)\b",
        r"\b(?:unable|not\s+possible|impossible)\s+to\s+(?:answer|determine|find|say|tell)\b",
        r"\bcannot\s+be\s+(?:answered|determined|found|inferred|derived|concluded)\b",
        r"^(?:unknown|n/a|not\s+(?:found|stated|specified|mentioned|available|answerable))\W*$",
        rf"^(?:unknown|not\s+(?:found|stated|specified|known))\s+(?:based\s+on|from|in)\s+{_SOURCE}\W*$",
    )
)
_COURTESY: Final = re.compile(
    r"^(?:(?:i'?m|i\s+am|we\s+are)\s+)?(?:very\s+|so\s+)?sorry\b.{0,40}$"
    r"|^(?:unfortunately|(?:my\s+)?apologies|i\s+apologi[sz]e)\b.{0,40}$"
    r"|^please\s+(?:provide|consult|contact|check|refer|rephrase|clarify|let|share|ask)\b"
    r"|^(?:let\s+me\s+know|feel\s+free)\b"
    r"|^you\s+(?:may|might|could|should)\s+(?:want\s+to\s+|need\s+to\s+|wish\s+to\s+)?"
    r"(?:consult|contact|check|refer|ask)\b"
    r"|^i\s+(?:recommend|suggest)\s+(?:consulting|contacting|checking|asking|referring)\b"
    rf"|^(?:based\s+on|according\s+to|from|in)\s+{_SOURCE}\W*$",
    re.IGNORECASE,
)
_CLAUSES: Final = re.compile(
    r"(?<=[.!?])\s+|\s*;\s*|,?\s+(?:but|however|so|therefore|thus|although|though|because|since"
    r"|instead|hence|and\s+therefore|which\s+means)\b,?\s*|\n+",
    re.IGNORECASE,
)
# "Sorry, but ..." and "Based on the context, ...": what stands before the comma is a courtesy.
_LEAD: Final = re.compile(r"^([^,]{1,60}),\s+", re.DOTALL)
MAX_REFUSAL: Final = 600
"""A longer text is an answer, whatever it begins with."""


def is_refusal_in_words(answer: str, tokens: Iterable[str] = ()) -> bool:
    """Tell whether every clause of an answer says that the sources do not answer.

    A refusal token in other capitals or with a full stop counts too.
    """
    text = answer.strip().replace("\u2019", "'")
    if not text or len(text) > MAX_REFUSAL:
        return False
    known = {" ".join(token.lower().split()) for token in tokens}
    spaced = " ".join(text.lower().split())
    if not _has_hint(spaced) and not any(token in spaced for token in known):
        return False
    clauses = [clause.strip() for clause in _CLAUSES.split(text) if clause.strip(" .!?,-*")]
    said = [_kind_of(clause, known) for clause in clauses]
    return "refusal" in said and None not in said


def _has_hint(text: str) -> bool:
    """Tell whether a text has what every pattern contains; most answers do not.

    It is in lower case and has single spaces. The commonest are first.
    """
    return (
        "not " in text
        or "no " in text
        or "n't " in text
        or "never " in text
        or "unable " in text
        or "impossible " in text
        or "insufficient " in text
        or "unknown" in text
        or "none " in text
        or "nothing" in text
        or "neither " in text
        or "lack" in text
        or "missing " in text
        or "absent " in text
        or "unclear " in text
        or " silent" in text
        or " scope " in text
        or "nowhere " in text
        or " open " in text
        or "n/a" in text
    )


def _kind_of(clause: str, tokens: set[str]) -> str | None:
    lead = _LEAD.match(clause)
    if lead is not None and _COURTESY.search(lead[1]):
        clause = clause[lead.end() :]
    if clause.lower().strip(" .!?,-*\"'") in tokens:
        return "refusal"
    if any(pattern.search(clause) for pattern in _SAYS_SO):
        return "refusal"
    return "courtesy" if _COURTESY.search(clause) else None


class RefusalReader:
    """Tells which answers are refusals; every gate uses it.

    With `is_exact`, only a token is a refusal, and not the same in other words.
    """

    def __init__(self, tokens: Iterable[str] = (REFUSAL,), *, is_exact: bool = False) -> None:
        self.tokens = tuple(dict.fromkeys(token.strip() for token in tokens))
        self.is_exact = is_exact
        self._known = frozenset(self.tokens)
        # Cached: many answers of a run are the same.
        self._is_in_words = lru_cache(maxsize=4096)(is_refusal_in_words)

    @property
    def settings(self) -> dict[str, object]:
        """What a report states of it."""
        return {
            "refusal": self.tokens[0],
            "more_refusals": list(self.tokens[1:]),
            "refusal_mode": "exact" if self.is_exact else "words",
        }

    def is_refusal(self, answer: str) -> bool:
        """Tell whether an answer is a refusal, by a token or in other words."""
        return self.is_token(answer) or self.is_in_words(answer)

    def is_token(self, answer: str) -> bool:
        """Tell whether an answer is a refusal token, exact after trimming."""
        return answer.strip() in self._known

    def is_in_words(self, answer: str) -> bool:
        """Tell whether an answer refuses in other words, and whether that counts."""
        return not self.is_exact and self._is_in_words(answer, self._known)
