"""Changes of wording that keep the meaning, so that a supported claim is not always a copy.

Without them a network learns that "supported" means "verbatim", and that any new figure format is
an error.
"""

import re

from numpy.random import Generator

from tools.train_judge.edit_values import MONTHS
from tools.train_judge.word_lists import word_pairs

_DIGITS = dict(word_pairs("counts"))
_MILLIONS = re.compile(r"\b(\d{1,3})(?:\.(\d))? million\b")
_LEADING = re.compile(
    r"^(?:In|On|At|During|After|Since|By|As of|From|Under|For|With) [^,]{3,45}, (?=[A-Za-z])"
)
_FRONTED = re.compile(
    r"^(In|On|At|During|After|Before|Since) ([^,]{3,40}), (?!which)([^;:]{12,})\.$"
)
_CONNECTIVE = re.compile(
    r"^(?:However|Moreover|Furthermore|Additionally|Also|Thus|Therefore|But|And|Meanwhile|Then|"
    r"In addition|For example|In fact|Indeed|Finally), ?(?=\w)"
)
_PARENTHESIS = re.compile(r" ?\([^()]*\)|,? ?\[[^\]]*\]")
_TRAILING = re.compile(
    r", (?:which|who|where|whose|although|though|while|including|making|leading|resulting|with)\b"
    r"[^,]*\.$"
)
_DAY_FIRST = re.compile(rf"\b(\d{{1,2}}) ({'|'.join(MONTHS)}) (\d{{4}})\b")
_MONTH_FIRST = re.compile(rf"\b({'|'.join(MONTHS)}) (\d{{1,2}}), (\d{{4}})\b")
_SHORTER = (
    (r"\bis not\b", "isn't"), (r"\bwas not\b", "wasn't"), (r"\bdid not\b", "didn't"),
    (r"\bdoes not\b", "doesn't"), (r"\bare not\b", "aren't"), (r"\bwere not\b", "weren't"),
    (r"\bcannot\b", "can't"), (r"\bwill not\b", "won't"),
)  # fmt: skip
_SAME_UNIT = (
    (r"(?<=\d) ?%", " percent"), (r"(?<=\d) percent\b", "%"), (r"(?<=\d) km\b", " kilometres"),
    (r"(?<=\d) kilometres\b", " km"), (r"(?<=\d) kilometers\b", " km"),
    (r"(?<=\d) miles\b", " mi"), (r"(?<=\d) kg\b", " kilograms"), (r"(?<=\d) metres\b", " m"),
    (r"(?<=\d) meters\b", " m"), (r"(?<=\d) feet\b", " ft"), (r"\bper cent\b", "percent"),
    (r"\$(\d[\d.,]*\d)(?: million)", r"\1 million dollars"),
)  # fmt: skip
_SAME_WORD = (
    (r"\bapproximately\b", "about"), (r"\babout (?=\d)", "approximately "), (r"\bfilm\b", "movie"),
    (r"\bmovie\b", "film"), (r"\bbegan\b", "started"), (r"\bstarted\b", "began"),
    (r"\bpurchased\b", "bought"), (r"\bbought\b", "purchased"), (r"\bmore than\b", "over"),
    (r"\bover (?=\d)", "more than "), (r"\bnearly\b", "almost"), (r"\balmost\b", "nearly"),
    (r"\blarge\b", "big"), (r"\bcreated\b", "made"), (r"\bobtained\b", "got"),
    (r"\bhowever, ", ""), (r"\balso ", ""), (r"\bfamous\b", "well-known"),
    (r"\bsaid that\b", "stated that"),
    (r"\bin order to\b", "to"), (r"\bdue to\b", "because of"), (r"\bbecause of\b", "due to"),
    (r"\bseveral\b", "a number of"), (r"\bpassed away\b", "died"),
    (r"\bapart from\b", "except for"),
    (r"\bassist\b", "help"), (r"\brequired\b", "needed"), (r"\bneeded\b", "required"),
    (r"\blocated in\b", "situated in"), (r"\bknown as\b", "called"), (r"\bcalled\b", "known as"),
    (r"\bvarious\b", "different"), (r"\bapprox\.", "about"), (r"\bmust\b", "has to"),
    (r"\bincreased\b", "went up"), (r"\bdecreased\b", "went down"), (r"\bmay be\b", "might be"),
    (r"\bmay (?=[a-z])", "might "), (r"\bmight (?=[a-z])", "may "), (r"\busually\b", "normally"),
)  # fmt: skip


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _moved_back(claim: str) -> str:
    """`In 1932, the bridge opened.` becomes `The bridge opened in 1932.`"""
    found = _FRONTED.match(claim)
    return f"{_capital(found[3])} {found[1].lower()} {found[2]}." if found else claim


def shorten(claim: str, rng: Generator) -> str:
    """Drop what the rest of the sentence can stand without."""
    for pattern in (_CONNECTIVE, _PARENTHESIS):
        claim = pattern.sub("", claim)
    choice = rng.integers(4)
    if choice == 0:
        claim = _LEADING.sub("", claim, count=1)
    elif choice < 3:
        claim = _moved_back(claim)
    if rng.integers(2):
        claim = _TRAILING.sub(".", claim, count=1)
    return _capital(claim.strip())


def _figures(claim: str, rng: Generator) -> str:
    if rng.integers(2):
        claim = _DAY_FIRST.sub(r"\2 \1, \3", claim)
    else:
        claim = _MONTH_FIRST.sub(r"\2 \1 \3", claim)
    if rng.integers(3) == 0:
        claim = re.sub(r"(?<=\d),(?=\d{3}\b)", "", claim)
    if rng.integers(3) == 0:
        names = "|".join(_DIGITS)
        claim = re.sub(rf"(?<!-)\b({names})\b(?=\s[a-z])", lambda found: _DIGITS[found[1]], claim)
    if rng.integers(3) == 0:
        claim = _MILLIONS.sub(lambda found: f"{found[1]},{found[2] or 0}00,000", claim)
    return claim


def restate(claim: str, rng: Generator) -> str:
    """The same statement in other words: some of the rules above, drawn at random."""
    changed = shorten(claim, rng)
    changed = _figures(changed, rng)
    for table, chance in ((_SHORTER, 0.5), (_SAME_UNIT, 0.5), (_SAME_WORD, 0.4)):
        for pattern, new in table:
            if rng.uniform() < chance and re.search(pattern, changed):
                changed = re.sub(pattern, new, changed, count=1)
                break
    return changed if len(changed.split()) >= 4 else claim
