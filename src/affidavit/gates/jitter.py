"""Small changes of a question that must not change its answer.

Origin: the stability page of the RAG document; a jitter that does not apply leaves the question
unchanged.
"""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import gates as faults
from affidavit.base.faults import gates as run_faults
from affidavit.base.text import excerpt

_AROUND_MARK: Final = re.compile(r"\s*([,:])\s*")
_SPACES: Final = re.compile(r"\s+")
_DASH: Final = re.compile("[\u2013\u2014]")
_SYNONYMS: Final = {
    "explain": "describe",
    "list": "enumerate",
    "compare": "contrast",
    "show": "display",
}
_SYNONYM: Final = re.compile(rf"\b({'|'.join(_SYNONYMS)})\b", re.IGNORECASE)
_PHRASES: Final = ("with citations", "in one sentence")
_PHRASE: Final = re.compile("|".join(_PHRASES), re.IGNORECASE)


def _white_space(question: str) -> str:
    return _SPACES.sub(" ", _AROUND_MARK.sub(r"\1 ", question)).strip()


def _punctuation(question: str) -> str:
    changed = _DASH.sub("-", question).rstrip()
    if not changed.endswith((".", "!", "?")):
        changed += "?"
    return changed.replace("?", " ?")


def _synonyms(question: str) -> str:
    return _SYNONYM.sub(lambda word: _SYNONYMS[word[1].lower()], question)


def _order(question: str) -> str:
    found = [*_PHRASE.finditer(question)]
    if {match[0].lower() for match in found} != set(_PHRASES):
        return question
    swapped = dict(zip(_PHRASES, reversed(_PHRASES), strict=True))
    return _PHRASE.sub(lambda match: swapped[match[0].lower()], question)


JITTERS: Final[Mapping[str, Callable[[str], str]]] = MappingProxyType(
    {
        "none": lambda question: question,
        "ws": _white_space,
        "punct": _punctuation,
        "syn": _synonyms,
        "order": _order,
    }
)
_SEED_RANGE: Final = re.compile(r"(\d{1,15})(?:-(\d{1,15}))?")
_MAX_SEEDS: Final = 10_000


def apply_jitter(question: str, jitter: str) -> str:
    """Return a question with a jitter applied."""
    if jitter not in JITTERS:
        raise AffidavitError(faults.JITTER_UNKNOWN, name=jitter, known=", ".join(JITTERS))
    return JITTERS[jitter](question)


def parse_jitters(text: str) -> tuple[str, ...]:
    """Return the jitters of a list with commas, each once."""
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    for name in names:
        apply_jitter("", name)
    return names


def parse_seeds(text: str) -> tuple[int, ...]:
    """Return the seeds of a list with commas and ranges (`0,1,2`, `0-4`), each once."""
    found: dict[int, None] = {}
    for word in text.split(","):
        match = _SEED_RANGE.fullmatch(word.strip())
        first = int(match[1]) if match else 0
        last = int(match[2] or match[1]) if match else -1
        if not 0 <= last - first < _MAX_SEEDS:
            raise AffidavitError(run_faults.SEEDS_MALFORMED, text=excerpt(text))
        found.update(dict.fromkeys(range(first, last + 1)))
    return tuple(found)


def jitter_run_id(qid: str, seed: int, jitter: str) -> str:
    """Return the name of a run, as the stability page writes it."""
    return f"{qid}#seed={seed};j={jitter}"
