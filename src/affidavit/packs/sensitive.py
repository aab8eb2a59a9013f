"""The built-in lint rules for secrets and personal data: a prefilter, patterns and findings.

Personal data are found only in forms that a checksum or a grammar confirms.
"""

import re
from collections.abc import Iterator, Sequence
from functools import reduce
from string import ascii_letters, ascii_uppercase, digits
from typing import Any, Final

from msgspec import Struct

from affidavit.base.text import excerpt
from affidavit.packs.events import Event, EventHead
from affidavit.packs.model import Severity
from affidavit.packs.pointers import child_pointer
from affidavit.packs.report import EventLocation, LintFinding, finding_fingerprint, location_of
from affidavit.packs.secret_formats import (
    KEY_START,
    LONG_WORD,
    SHORTEST_KEY,
    WORD,
    SensitiveMatch,
    find_secrets,
    is_secret_by_name,
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

_RUN_OF_LETTERS: Final = "w" * SHORTEST_KEY
_WORDS: Final = bytes.maketrans((ascii_letters + digits + "_-").encode(), b"w" * 64)
# A long word that begins like a key, perhaps behind the letter of an escape (the n of \\n), or that
# continues a secret of several words.
_SUSPECT_WORD: Final = re.compile(
    rf"(?:(?<=\\)[bfnrt])?(?:{KEY_START.pattern}|eyJ|(?<=:)AA|(?<=\.){WORD}{{24}})", re.ASCII
)
_MARKS: Final = (
    "private key",
    "putty-user-key-file",
    "bearer ",
    "basic ",
    "hooks.slack.com/",
    "/api/webhooks/",
    "q~",
    "sig=",
    "sha256~",
    "fm2_",
    "ops_eyj",
)
_NAMES: Final = (
    *(
        (name, re.compile(rf"{name}{rest}\\?[\"']?\s*[:=]", re.ASCII))
        for name, rest in (
            ("token", ""),
            ("secret", ""),
            ("key", ""),
            ("pass", "(?:word|wd|phrase)?"),
            ("pwd", ""),
        )
    ),
    # The three letters alone are in too many words.
    ("aws", re.compile(r"aws[\w.-]{0,20}(?:secret|key)", re.ASCII)),
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
        or "\\u" in text  # An escape may spell any of these; canonical JSON seldom has one.
        or ("+" in text and _PHONE_START.search(text) is not None)
        or _has_number(raw)
        or _has_mark(text.lower())
        or _has_key(raw, text)
    )


def _has_number(raw: bytes) -> bool:
    shapes = raw.translate(_SHAPES, _SPACE).decode("latin-1")
    one, grouped, short = _CARDS
    return one in shapes or _IBAN_START in shapes or grouped in shapes or short in shapes


def _has_key(raw: bytes, text: str) -> bool:
    if _RUN_OF_LETTERS not in raw.translate(_WORDS).decode("latin-1"):
        return False
    return any(_SUSPECT_WORD.match(text, word.start()) for word in LONG_WORD.finditer(text))


def _has_mark(lowered: str) -> bool:
    return any(mark in lowered for mark in _MARKS) or any(
        name in lowered and with_value.search(lowered) for name, with_value in _NAMES
    )


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


_LONGEST_STEP: Final = 200  # Letters of a key in a pointer; a key may have a million.


class _Place(Struct, frozen=True):
    """A value of an event by its parent and its key; rendered only if something is found in it."""

    parent: "_Place | None"
    step: str | int

    @property
    def pointer(self) -> str:
        steps: list[str | int] = []
        place: _Place | None = self
        while place is not None:
            steps.append(
                place.step if isinstance(place.step, int) else excerpt(place.step, _LONGEST_STEP)
            )
            place = place.parent
        return reduce(child_pointer, reversed(steps), "")


def _sensitive_matches(event: Event) -> Iterator[tuple[str, SensitiveMatch, bool]]:
    """Yield each match with its pointer, and whether it is a secret."""
    if event.head.subject is not None:
        yield from _matches_in_text(_Place(None, "subject"), "subject", event.head.subject)
    pending: list[tuple[_Place, str, Any]] = [(_Place(None, "data"), "data", event.data)]
    while pending:
        place, name, value = pending.pop()
        if isinstance(value, str):
            yield from _matches_in_text(place, name, value)
        elif isinstance(value, int) and value >= _SHORTEST_CARD:
            yield from _matches_in_text(place, name, str(value))
        elif isinstance(value, list):
            members = [(_Place(place, at), name, each) for at, each in enumerate(value)]
            pending.extend(reversed(members))
        elif isinstance(value, dict):
            for key in reversed(value):
                found = list(_matches_in_text(place, "", key))
                yield from found
                # A key that is itself a secret is not shown in the pointer.
                pending.append((_Place(place, "…" if found else key), key, value[key]))


_SHORTEST_MATCH: Final = 6  # An address: a@b.de.
_SHORTEST_CARD: Final = 10**12  # 13 digits.


def _matches_in_text(
    place: _Place, name: str, text: str
) -> Iterator[tuple[str, SensitiveMatch, bool]]:
    if len(text) < _SHORTEST_MATCH:
        return
    secrets = list(find_secrets(text))
    if not secrets and is_secret_by_name(name, text):
        secrets = [SensitiveMatch("secret, by the name of its field", "…", 0, len(text))]
    personal = list(find_personal_data(text))
    if secrets or personal:
        pointer = place.pointer
        yield from ((pointer, match, True) for match in secrets)
        yield from ((pointer, match, False) for match in personal)


def _article(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeiouA' else 'a'} {kind}"
