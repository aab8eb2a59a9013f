"""What the network reads of a source: the window that the judge selects at run time.

Training must meet the windows of run time, so the selector is the product's own. A text that
shares no word with the claim has no window; its opening stands in.
"""

from affidavit.judge.lexical.tokens import tokens_of
from affidavit.judge.lexical.windows import MOST_WORDS, select_window
from affidavit.ledger.sentences import sentence_spans


def premise_for(claim: str, text: str) -> str:
    """The part of `text` that the network reads to judge `claim`."""
    return select_window(claim, text).text or opening(text)


def opening(text: str) -> str:
    """The first words of a text, as many as a window holds."""
    return " ".join(text.split()[:MOST_WORDS])


def fits(text: str) -> bool:
    """Say whether a text is no longer than a window."""
    return len(text.split()) <= MOST_WORDS


def sentences(text: str) -> tuple[str, ...]:
    """The sentences of a text, as the product splits it."""
    return tuple(text[span.start : span.end] for span in sentence_spans(text))


def content_words(text: str) -> frozenset[str]:
    """The stems that carry meaning; function words are left out."""
    return frozenset(token.word.stem for token in tokens_of(text) if token.word.weight > 0)
