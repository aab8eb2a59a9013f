"""Secrets in a text: by the form that their issuers gave them, with boundaries on both sides.

A name such as "task-1" or "disk-0" holds `sk-` and is none. Where an issuer's form is loose, the
text behind it has to look drawn at random as well: several digits, and enough different letters.
"""

import base64
import binascii
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import log2
from typing import Final

import msgspec

_LEFT: Final = r"(?<![A-Za-z0-9_-])"
_RIGHT: Final = r"(?![A-Za-z0-9_-])"
_WORD: Final = r"[A-Za-z0-9_-]"
MIN_BITS: Final = 3.0  # Per letter. English words have about 2.5 to 3, drawn keys above 3.5.


@dataclass(frozen=True, slots=True)
class Match:
    """Something that was found: what it is, and how it may be shown."""

    kind: str
    shown: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Form:
    kind: str
    shown: str
    pattern: re.Pattern[str]
    holds: Callable[[str], bool]


def looks_drawn(text: str) -> bool:
    """Say whether a text looks drawn at random: two digits, and many different letters."""
    if sum(map(str.isdigit, text)) < 2 or not any(map(str.isalpha, text)):
        return False
    counts = Counter(text)
    size = len(text)
    bits = -sum(count / size * log2(count / size) for count in counts.values())
    return bits >= MIN_BITS


def _is_token(text: str) -> bool:
    """Say whether a text is a JSON web token: its head is JSON and names an algorithm."""
    head = text.partition(".")[0]
    try:
        decoded = msgspec.json.decode(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4)))
    except (binascii.Error, ValueError):
        return False
    return isinstance(decoded, dict) and "alg" in decoded


def _always(text: str) -> bool:
    return True


_STAND_INS: Final = re.compile(
    r"[*x.•_-]+|<.*>|\$\{.*|\{\{.*|\$\w+|%\w+%?|sha(?:256|512):.*"
    r"|(?:your|change|replace|dummy|example|redacted|masked|hidden)[-_]?.*|password|undefined",
    re.IGNORECASE | re.DOTALL,
)


def is_stand_in(text: str) -> bool:
    """Say whether a text stands in the place of a secret: stars, a variable, a digest."""
    return _STAND_INS.fullmatch(text) is not None


def _form(
    kind: str, shown: str, body: str, holds: Callable[[str], bool] = _always, *, bare: bool = False
) -> _Form:
    text = body if bare else f"{_LEFT}{body}{_RIGHT}"
    return _Form(kind, shown, re.compile(text, re.ASCII), holds)


_FORMS: Final = (
    _form("API key", "sk-…", rf"sk-({_WORD}{{20,200}})", looks_drawn),
    _form("payment API key", "sk_live_…", r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,200}"),
    _form("AWS access key", "AKIA…", r"(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{16}"),
    _form("GitHub token", "gh…_…", r"gh[pousr]_[A-Za-z0-9]{36,255}"),
    _form("GitHub token", "github_pat_…", r"github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}"),
    _form("GitLab token", "glpat-…", rf"glpat-({_WORD}{{20,200}})", looks_drawn),
    _form("Slack token", "xox…", r"xox[abeoprs]-([A-Za-z0-9-]{15,250})", looks_drawn),
    _form("Google API key", "AIza…", rf"AIza{_WORD}{{35}}"),
    _form("Hugging Face token", "hf_…", r"hf_[A-Za-z0-9]{30,60}"),
    _form("npm token", "npm_…", r"npm_[A-Za-z0-9]{36}"),
    _form("PyPI token", "pypi-…", rf"pypi-AgE{_WORD}{{50,250}}"),
    _form(
        "JSON web token",
        "eyJ…",
        rf"eyJ{_WORD}{{6,2000}}\.eyJ{_WORD}{{4,8000}}\.{_WORD}{{20,2000}}",
        _is_token,
    ),
    _form(
        "private key",
        "-----BEGIN …",
        r"-----BEGIN (?:[A-Z]+ ){0,2}PRIVATE KEY(?: BLOCK)?-----",
        bare=True,
    ),
    _form(
        "bearer token",
        "Bearer …",
        r"(?<![A-Za-z0-9])[Bb][Ee][Aa][Rr][Ee][Rr] {1,4}([A-Za-z0-9._~+/-]{16,4000}=*)",
        looks_drawn,
        bare=True,
    ),
    _form(
        "password in an address",
        "://…:…@",
        r"(?<=://)[^\s/:@\"'<>]{1,100}:([^\s/@\"'<>]{3,200})@",
        lambda text: not is_stand_in(text),
        bare=True,
    ),
    _form(
        "assigned secret",
        "…=…",
        r"(?<![A-Za-z0-9])(?i:pass(?:word|wd)|secret|token|api[_-]?key)\s{0,3}[=:]\s{0,3}[\"']?"
        r"([^\s\"'&,;]{8,500})",
        lambda text: looks_drawn(text) and not is_stand_in(text),
        bare=True,
    ),
)


def secrets_in(text: str) -> Iterator[Match]:
    """Yield every secret in a text by its place; of two that overlap, the first form's."""
    taken: list[tuple[int, int]] = []
    for form in _FORMS:
        for match in form.pattern.finditer(text):
            body = match[1] if match.re.groups else match[0]
            start, end = match.span()
            if form.holds(body) and not any(low < end and start < high for low, high in taken):
                taken.append((start, end))
                yield Match(form.kind, form.shown, start, end)


# Names of fields whose text is a secret whatever its form; compared without case and separators.
_SECRET_NAMES: Final = frozenset(
    (
        "password",
        "passwd",
        "secret",
        "apikey",
        "accesstoken",
        "refreshtoken",
        "authtoken",
        "clientsecret",
        "privatekey",
        "secretkey",
        "secretaccesskey",
        "sessiontoken",
        "bearertoken",
        "idtoken",
    )
)
_SEPARATORS: Final = str.maketrans("", "", "_-. ")
MIN_SECRET_LETTERS: Final = 8


def is_secret_by_name(name: str, text: str) -> bool:
    """Say whether a field's name says that its text is a secret, and the text could be one."""
    return (
        name.translate(_SEPARATORS).lower() in _SECRET_NAMES
        and len(text) >= MIN_SECRET_LETTERS
        and " " not in text
        and not is_stand_in(text)
    )
