"""What the network reads of a source: the windows that the judge selects at run time.

A source that shares no word with the claim has no window; its opening stands in.
"""

import re

from affidavit.judge.lexical.tokens import tokens_of
from affidavit.judge.standard.windows import narrow_window, wide_window
from affidavit.ledger.sentences import sentence_spans

SHORT_WORDS = 80
_NUMBERS = r"\d+(?:\s*(?:,|and|&)\s*(?:passage\s+)?\d+)*"
_MARKS = re.compile(rf"\s*(?:\[{_NUMBERS}\]|\(\s*passages?\s+{_NUMBERS}\s*\))", re.IGNORECASE)
_LEAD_IN = re.compile(
    r"^\s*(?:\*|-|\d+\.)?\s*(?:based on|according to|as (?:stated|mentioned) in|in|from)\s+"
    r"(?:the\s+)?(?:provided |given |above )?(?:passages?|text|sources?|documents?|information)"
    rf"(?:\s+{_NUMBERS})?(?:\s+provided)?,?\s+",
    re.IGNORECASE,
)


def narrow(claim: str, text: str) -> str:
    """The window of about 128 tokens, claim included."""
    return narrow_window(claim, text).text or _opening(text, SHORT_WORDS)


def wide(claim: str, text: str) -> str:
    """The window of about 256 tokens, claim included."""
    return wide_window(claim, text).text or _opening(text, 150)


def without_marks(claim: str) -> str:
    """The claim without citation marks ("[1]") and lead-ins ("According to passage 1, ...")."""
    plain = _LEAD_IN.sub("", _MARKS.sub("", claim))
    return plain[:1].upper() + plain[1:] if plain.strip() else claim


def is_short(text: str) -> bool:
    """Say whether a text is short enough to be read whole."""
    return len(text.split()) <= SHORT_WORDS


def sentences(text: str) -> tuple[str, ...]:
    """The sentences of a text, as the product splits it."""
    return tuple(text[span.start : span.end] for span in sentence_spans(text))


def content_words(text: str) -> frozenset[str]:
    """The stems that carry meaning; function words are left out."""
    return frozenset(token.word.stem for token in tokens_of(text) if token.word.weight > 0)


def _opening(text: str, length: int) -> str:
    return " ".join(text.split()[:length])
