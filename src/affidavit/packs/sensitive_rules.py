"""The built-in lint rules for secrets and personal data, with the cheap byte-level prefilter."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from string import ascii_letters, ascii_uppercase, digits
from typing import Any, Final

from affidavit.packs.events import Event, EventHead
from affidavit.packs.model import Severity
from affidavit.packs.pointers import child_pointer
from affidavit.packs.report import EventLocation, LintFinding, finding_fingerprint, location_of
from affidavit.packs.sensitive_patterns import (
    SensitiveMatch,
    find_personal_data,
    find_secrets,
    is_secret_by_name,
)

# --- Prefilter: whether bytes may hold a secret or personal data, in a few microseconds. ---
#
# Bytes without any of these marks match no pattern of sensitive_patterns; bytes with one may still
# be harmless. Every test runs at the speed of C: a literal in a text, or a literal in a text whose
# letters were replaced by their classes. A property test holds the prefilter to the patterns.

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


@dataclass(frozen=True, slots=True)
class SensitiveRule:
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
