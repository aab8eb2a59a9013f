"""The built-in lint rules for secrets and personal data: patterns, a prefilter and findings.

Secrets have the form that their issuers define, with boundaries on both sides: "task-1" contains
`sk-` and is no key. If the form is loose, the rest must also look random: several digits, and
enough different letters. Personal data are found only in forms that a checksum or a grammar
confirms. Each match is confirmed by form, entropy or checksum.
"""

import base64
import binascii
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from math import log2
from string import ascii_letters, ascii_uppercase, digits
from typing import Any, Final

import msgspec
from msgspec import Struct

from affidavit.packs.events import Event, EventHead
from affidavit.packs.model import Severity
from affidavit.packs.pointers import child_pointer
from affidavit.packs.report import EventLocation, LintFinding, finding_fingerprint, location_of

_LEFT: Final = r"(?<![A-Za-z0-9_-])"
_RIGHT: Final = r"(?![A-Za-z0-9_-])"
_WORD: Final = r"[A-Za-z0-9_-]"
MIN_BITS: Final = 3.0  # Per letter. English words have about 2.5 to 3, drawn keys above 3.5.


class SensitiveMatch(msgspec.Struct, frozen=True):
    """A match: its kind, its position, and a text that may be shown for it."""

    kind: str
    shown: str
    start: int
    end: int


class _SecretFormat(msgspec.Struct, frozen=True):
    kind: str
    shown: str
    pattern: re.Pattern[str]
    holds: Callable[[str], bool]


def looks_random(text: str) -> bool:
    """Return whether a text looks random: at least two digits, and many different letters."""
    if sum(map(str.isdigit, text)) < 2 or not any(map(str.isalpha, text)):
        return False
    counts = Counter(text)
    size = len(text)
    bits = -sum(count / size * log2(count / size) for count in counts.values())
    return bits >= MIN_BITS


def _is_token(text: str) -> bool:
    """Return whether a text is a JSON web token: its header is JSON and names an algorithm."""
    head = text.partition(".")[0]
    try:
        decoded = msgspec.json.decode(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4)))
    except (binascii.Error, ValueError):
        return False
    return isinstance(decoded, dict) and "alg" in decoded


def _always(text: str) -> bool:
    return True


_PLACEHOLDERS: Final = re.compile(
    r"[*x.•_-]+|<.*>|\$\{.*|\{\{.*|\$\w+|%\w+%?|sha(?:256|512):.*"
    r"|(?:your|change|replace|dummy|example|redacted|masked|hidden)[-_]?.*|password|undefined",
    re.IGNORECASE | re.DOTALL,
)


def is_placeholder(text: str) -> bool:
    """Return whether a text is a placeholder for a secret: stars, a variable, a digest."""
    return _PLACEHOLDERS.fullmatch(text) is not None


def _secret_format(
    kind: str, shown: str, body: str, holds: Callable[[str], bool] = _always, *, bare: bool = False
) -> _SecretFormat:
    text = body if bare else f"{_LEFT}{body}{_RIGHT}"
    return _SecretFormat(kind, shown, re.compile(text, re.ASCII), holds)


_SECRET_FORMATS: Final = (
    _secret_format("API key", "sk-…", rf"sk-({_WORD}{{20,200}})", looks_random),
    _secret_format("payment API key", "sk_live_…", r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,200}"),
    _secret_format("AWS access key", "AKIA…", r"(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{16}"),
    _secret_format("GitHub token", "gh…_…", r"gh[pousr]_[A-Za-z0-9]{36,255}"),
    _secret_format("GitHub token", "github_pat_…", r"github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}"),
    _secret_format("GitLab token", "glpat-…", rf"glpat-({_WORD}{{20,200}})", looks_random),
    _secret_format("Slack token", "xox…", r"xox[abeoprs]-([A-Za-z0-9-]{15,250})", looks_random),
    _secret_format("Google API key", "AIza…", rf"AIza{_WORD}{{35}}"),
    _secret_format("Hugging Face token", "hf_…", r"hf_[A-Za-z0-9]{30,60}"),
    _secret_format("npm token", "npm_…", r"npm_[A-Za-z0-9]{36}"),
    _secret_format("PyPI token", "pypi-…", rf"pypi-AgE{_WORD}{{50,250}}"),
    _secret_format(
        "JSON web token",
        "eyJ…",
        rf"eyJ{_WORD}{{6,2000}}\.eyJ{_WORD}{{4,8000}}\.{_WORD}{{20,2000}}",
        _is_token,
    ),
    _secret_format(
        "private key",
        "-----BEGIN …",
        r"-----BEGIN (?:[A-Z]+ ){0,2}PRIVATE KEY(?: BLOCK)?-----",
        bare=True,
    ),
    _secret_format(
        "bearer token",
        "Bearer …",
        r"(?<![A-Za-z0-9])[Bb][Ee][Aa][Rr][Ee][Rr] {1,4}([A-Za-z0-9._~+/-]{16,4000}=*)",
        looks_random,
        bare=True,
    ),
    _secret_format(
        "password in an address",
        "://…:…@",
        r"(?<=://)[^\s/:@\"'<>]{1,100}:([^\s/@\"'<>]{3,200})@",
        lambda text: not is_placeholder(text),
        bare=True,
    ),
    _secret_format(
        "assigned secret",
        "…=…",
        r"(?<![A-Za-z0-9])(?i:pass(?:word|wd)|secret|token|api[_-]?key)\s{0,3}[=:]\s{0,3}[\"']?"
        r"([^\s\"'&,;]{8,500})",
        lambda text: looks_random(text) and not is_placeholder(text),
        bare=True,
    ),
)


def find_secrets(text: str) -> Iterator[SensitiveMatch]:
    """Yield every secret in a text; of two that overlap, that of the first format."""
    taken: list[tuple[int, int]] = []
    for form in _SECRET_FORMATS:
        for match in form.pattern.finditer(text):
            body = match[1] if match.re.groups else match[0]
            start, end = match.span()
            if form.holds(body) and not any(low < end and start < high for low, high in taken):
                taken.append((start, end))
                yield SensitiveMatch(form.kind, form.shown, start, end)


# Names of fields whose text is a secret in any form, without case and separators.
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
    """Return whether the name of a field marks its text as a secret, and the text may be one."""
    return (
        name.translate(_SEPARATORS).lower() in _SECRET_NAMES
        and len(text) >= MIN_SECRET_LETTERS
        and " " not in text
        and not is_placeholder(text)
    )


_EMAIL: Final = re.compile(
    r"(?<![\w.%+/:@-])[A-Za-z0-9](?:[\w.%+-]{0,62}[A-Za-z0-9_])?"
    r"@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){1,8}[A-Za-z]{2,24}(?![\w@-]|\.\w)",
    re.ASCII,
)
# Domains that RFC 2606 and RFC 6761 reserve.
_EXAMPLE_ADDRESS: Final = re.compile(
    r"(?:.*\.)?(?:example\.(?:com|net|org)|example|test|invalid|localhost|local)", re.IGNORECASE
)
_ROLE_ADDRESS: Final = re.compile(r"(?:git|no-?reply|donotreply|postmaster|mailer-daemon)@", re.I)

_IBAN: Final = re.compile(
    r"(?<![A-Za-z0-9])[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]){11,30}(?![A-Za-z0-9])", re.ASCII
)
# The length of an IBAN by country (SWIFT's registry).
_IBAN_SIZES: Final = {
    code: int(size)
    for size, codes in {
        "15": "NO", "16": "BE", "18": "DK FI FO GL NL SD", "19": "MK SI",
        "20": "AT BA EE KZ LT LU XK", "21": "CH HR LI LV", "22": "BG BH CR DE GB GE IE ME RS VA",
        "23": "AE GI IL IQ TL", "24": "AD CZ ES MD PK RO SA SE SK TN VG", "25": "LY PT ST",
        "26": "IS TR", "27": "BI DJ FR GR IT MC MR SM", "28": "AL AZ BY CY DO GT HU LB NI PL SV",
        "29": "BR EG PS QA UA", "30": "JO KW MU", "31": "MT SC", "32": "LC", "33": "RU",
    }.items()
    for code in codes.split()
}  # fmt: skip

_CARD: Final = re.compile(
    r"(?<![\w.+-])(?:[0-9]{13,19}|[0-9]{4}(?:[ -][0-9]{4}){3}|3[0-9]{3}[ -][0-9]{6}[ -][0-9]{5})"
    r"(?![\w-]|\.[0-9])",
    re.ASCII,
)
# Prefixes and lengths of issuers (ISO/IEC 7812). Any other long number is taken for an id.
_ISSUERS: Final = re.compile(
    r"4[0-9]{12}(?:[0-9]{3}){0,2}|5[1-5][0-9]{14}|2(?:22[1-9]|2[3-9][0-9]|[3-6][0-9]{2}|7[01][0-9]"
    r"|720)[0-9]{12}|3[47][0-9]{13}|6(?:011|4[4-9][0-9]|5[0-9]{2})[0-9]{12}|35[0-9]{14}"
    r"|3(?:0[0-5]|[68][0-9])[0-9]{11}",
    re.ASCII,
)

# Only in the form of E.164: a plus, the country, and groups with single separators.
_PHONE: Final = re.compile(
    r"(?<![\w+.-])\+[1-9][0-9]{0,2}(?:[ .-]?\([0-9]{1,4}\))?(?:[ .-]?[0-9]{2,12}){1,5}"
    r"(?![\w-]|\.[0-9])",
    re.ASCII,
)


def find_personal_data(text: str) -> Iterator[SensitiveMatch]:
    """Yield every piece of personal data in a text."""
    for kind, shown, pattern, holds in _PERSONAL_DATA_FORMATS:
        for match in pattern.finditer(text):
            if holds(match[0]):
                yield SensitiveMatch(kind, shown, *match.span())


def _is_personal_address(address: str) -> bool:
    domain = address.rpartition("@")[2]
    return not _EXAMPLE_ADDRESS.fullmatch(domain) and not _ROLE_ADDRESS.match(address)


def _is_phone(text: str) -> bool:
    """Check E.164: at most 15 digits. Fewer than 10 may easily be something else."""
    return 10 <= sum(map(str.isdigit, text)) <= 15


def _is_iban(grouped: str) -> bool:
    """Check ISO 13616: the length for the country, and a remainder of 1 modulo 97."""
    text = grouped.replace(" ", "")
    if _IBAN_SIZES.get(text[:2]) != len(text):
        return False
    return int("".join(str(int(letter, 36)) for letter in text[4:] + text[:4])) % 97 == 1


def _is_card(grouped: str) -> bool:
    """Check the form of an issuer and the Luhn checksum."""
    digits = grouped.replace(" ", "").replace("-", "")
    if not _ISSUERS.fullmatch(digits):
        return False
    doubled = (sum(divmod(int(digit) * 2, 10)) for digit in digits[-2::-2])
    return (sum(map(int, digits[-1::-2])) + sum(doubled)) % 10 == 0


_PERSONAL_DATA_FORMATS: Final = (
    ("e-mail address", "…@…", _EMAIL, _is_personal_address),
    ("bank account number", "…", _IBAN, _is_iban),
    ("payment card number", "…", _CARD, _is_card),
    ("telephone number", "+…", _PHONE, _is_phone),
)


# --- Prefilter: whether bytes may hold a secret or personal data, in a few microseconds. ---
#
# Bytes without any of these marks match no pattern above; bytes with one may still be harmless.
# Every test runs at the speed of C: a literal in a text, or a literal in a text whose letters were
# replaced by their classes. A property test holds the prefilter to the patterns.

# Every issued key is one long word, so a text without long words has none. In a long text the
# search for long words would cost more than it saves.
_LONG_WORD: Final = "w" * 20
_LONG_TEXT: Final = 500
_WORDS: Final = bytes.maketrans((ascii_letters + digits + "_-").encode(), b"w" * 64)
# Each pattern begins with one letter, which memchr finds.
_PREFIXES: Final = (
    # Words end in sk, too: no letter precedes a key, except perhaps the n of an escaped line feed.
    re.compile(
        r"-(?:(?<=[^\w-]sk-)|(?<=\\[a-z]sk-)|(?<=glpat-)|(?<=xox[abeoprs]-)|(?<=pypi-))", re.ASCII
    ),
    re.compile(
        r"_(?:(?<=[^\w-][sr]k_)|(?<=\\[a-z][sr]k_)|(?<=gh[pousr]_)|(?<=github_pat_)|(?<=hf_)"
        r"|(?<=npm_))",
        re.ASCII,
    ),
    re.compile(r"A(?:KIA|SIA|ROA|IDA|Iza)"),
)
_NAMES: Final = tuple(
    (name, re.compile(rf"{name}{rest}\\?[\"']?\s*[:=]", re.ASCII))
    for name, rest in (("token", ""), ("secret", ""), ("passw", "(?:or)?d"), ("key", ""))
)
# Digits become 0 and capitals A, and spaces between groups are dropped. Hyphens stay, because every
# UUID has them.
_SHAPES: Final = bytes.maketrans((digits + ascii_uppercase).encode(), b"0" * 10 + b"A" * 26)
_SPACE: Final = b" "
_CARDS: Final = ("0" * 13, "0000-0000-0000-0000", "0000-000000-00000")
_IBAN_START: Final = "AA00"
_PHONE_START: Final = re.compile(r"\+[1-9]")


def may_be_sensitive(heads: Sequence[EventHead]) -> bool:
    """Return whether events have to be searched; False only if they hold nothing sensitive."""
    # Joined by quotes, so that no word continues from one payload into the next.
    return may_hold_sensitive_text(
        b'"'.join([*(each.data for each in heads), *encoded_subjects(heads)])
    )


def encoded_subjects(heads: Sequence[EventHead]) -> list[bytes]:
    """Return the subjects of the events that have one."""
    subjects = (each.subject for each in heads if each.subject is not None)
    return [subject.encode("utf-8", "surrogatepass") for subject in subjects]


def may_hold_sensitive_text(raw: bytes) -> bool:
    """Return whether JSON or text may hold something sensitive."""
    text = raw.decode("latin-1")
    return (
        "@" in text
        or "PRIVATE KEY" in text
        or "\\u" in text  # An escape may spell any of these; canonical JSON seldom has one.
        or ("+" in text and _PHONE_START.search(text) is not None)
        or _has_prefix(raw, text)
        or _has_number(raw)
        or _has_name(text.lower())
    )


def _has_number(raw: bytes) -> bool:
    shapes = raw.translate(_SHAPES, _SPACE).decode("latin-1")
    one, grouped, short = _CARDS
    return one in shapes or _IBAN_START in shapes or grouped in shapes or short in shapes


def _has_prefix(raw: bytes, text: str) -> bool:
    if len(raw) < _LONG_TEXT and _LONG_WORD not in raw.translate(_WORDS).decode("latin-1"):
        return False
    return "eyJ" in text or any(pattern.search(text) for pattern in _PREFIXES)


def _has_name(lowered: str) -> bool:
    if "bearer " in lowered:
        return True
    return any(name in lowered and with_value.search(lowered) for name, with_value in _NAMES)


# --- The rules: every text and key of a suspect event is searched; matches are never shown. ---


class SensitiveRule(Struct, frozen=True):
    """A rule that is always on."""

    id: str
    severity: Severity
    description: str
    help_markdown: str


SECRET_FOUND: Final = SensitiveRule(
    "AFFIDAVIT-S001",
    Severity.ERROR,
    "No event holds a secret",
    "Bundles are passed on, with everything that they hold. Revoke the secret, keep it out of what"
    " is recorded, and remove it from this bundle with `affidavit evidence redact`.",
)
SECRET_UNDECLARED: Final = SensitiveRule(
    "AFFIDAVIT-S002",
    Severity.WARNING,
    "An event that holds a secret says so in assaysecrets",
    "The event declares that it holds no secret, but it holds one, which misleads readers of the"
    " flag. Set `assaysecrets`, or better, remove the secret.",
)
PERSONAL_FOUND: Final = SensitiveRule(
    "AFFIDAVIT-P001",
    Severity.INFO,
    "No event holds personal data",
    "An e-mail address, a telephone, bank account or card number is in an event. If it is not"
    " needed, keep it out of what is recorded, or redact it with `affidavit evidence redact`.",
)
PERSONAL_UNDECLARED: Final = SensitiveRule(
    "AFFIDAVIT-P002",
    Severity.WARNING,
    "An event that holds personal data says so in assaypii",
    "The event declares that it holds no personal data, but it holds some, which misleads readers"
    " of the flag. Set `assaypii`, or remove the data.",
)
SENSITIVE_RULES: Final = (SECRET_FOUND, SECRET_UNDECLARED, PERSONAL_FOUND, PERSONAL_UNDECLARED)


def sensitive_findings(event: Event) -> Iterator[LintFinding]:
    """Yield a finding for each match in an event, and one for each flag that is wrong."""
    secret_at: EventLocation | None = None
    personal_at: EventLocation | None = None
    for pointer, match, is_secret in _sensitive_matches(event):
        place = location_of(event, pointer)
        rule = SECRET_FOUND if is_secret else PERSONAL_FOUND
        yield _finding(rule, f"Event holds {_article(match.kind)} ({match.shown})", place)
        if is_secret:
            secret_at = secret_at or place
        else:
            personal_at = personal_at or place
    if secret_at is not None and not event.head.assaysecrets:
        message = "Event holds a secret, and its assaysecrets is false"
        yield _finding(SECRET_UNDECLARED, message, secret_at)
    if personal_at is not None and not event.head.assaypii:
        message = "Event holds personal data, and its assaypii is false"
        yield _finding(PERSONAL_UNDECLARED, message, personal_at)


def _finding(rule: SensitiveRule, message: str, place: EventLocation) -> LintFinding:
    return LintFinding(
        rule_id=rule.id,
        severity=rule.severity,
        message=message,
        location=place,
        fingerprint=finding_fingerprint(rule.id, place),
        pack=None,
    )


def _sensitive_matches(event: Event) -> Iterator[tuple[str, SensitiveMatch, bool]]:
    """Yield each match with its pointer, and whether it is a secret."""
    if event.head.subject is not None:
        yield from _matches_in_text("/subject", "subject", event.head.subject)
    pending: list[tuple[str, str, Any]] = [("/data", "data", event.data)]
    while pending:
        pointer, name, value = pending.pop()
        if isinstance(value, str):
            yield from _matches_in_text(pointer, name, value)
        elif isinstance(value, int) and value >= _SHORTEST_CARD:
            yield from _matches_in_text(pointer, name, str(value))
        elif isinstance(value, list):
            members = [(child_pointer(pointer, at), name, each) for at, each in enumerate(value)]
            pending.extend(reversed(members))
        elif isinstance(value, dict):
            for key in reversed(value):
                found = list(_matches_in_text(pointer, "", key))
                yield from found
                # A key that is itself a secret is not shown in the pointer.
                pending.append((child_pointer(pointer, "…" if found else key), key, value[key]))


_SHORTEST_CARD: Final = 10**12  # 13 digits.


def _matches_in_text(
    pointer: str, name: str, text: str
) -> Iterator[tuple[str, SensitiveMatch, bool]]:
    has_secret = False
    for match in find_secrets(text):
        has_secret = True
        yield pointer, match, True
    if not has_secret and is_secret_by_name(name, text):
        yield pointer, SensitiveMatch("secret, by the name of its field", "…", 0, len(text)), True
    for match in find_personal_data(text):
        yield pointer, match, False


def _article(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeiouA' else 'a'} {kind}"
