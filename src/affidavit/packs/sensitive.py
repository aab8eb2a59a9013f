"""Secrets and personal data in events: rules of lint that are always on.

An event in whose bytes marks.py sees a mark is decoded, and every text and every key of it looked
at. What is found is never shown, only its kind.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from affidavit.packs.events import Event
from affidavit.packs.findings import Finding, Location, fingerprint, location_of
from affidavit.packs.model import Severity
from affidavit.packs.personal_data import personal_data_in
from affidavit.packs.pointers import below
from affidavit.packs.secrets import Match, is_secret_by_name, secrets_in


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
    "A bundle is made to be handed on, and so is what it holds. Revoke the secret, keep it out of"
    " what is recorded, and take it out of this bundle with `affidavit evidence redact`.",
)
SECRET_UNDECLARED: Final = SensitiveRule(
    "AFFIDAVIT-S002",
    Severity.WARNING,
    "An event that holds a secret says so in assaysecrets",
    "The event says that it holds no secret, and it holds one: whoever relies on the flag is"
    " misled. Set `assaysecrets`, or better, take the secret out.",
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
    "The event says that it holds no personal data, and it holds some: whoever relies on the flag"
    " is misled. Set `assaypii`, or take the data out.",
)
SENSITIVE_RULES: Final = (SECRET_FOUND, SECRET_UNDECLARED, PERSONAL_FOUND, PERSONAL_UNDECLARED)


def sensitive_findings(event: Event) -> Iterator[Finding]:
    """Yield what is found in an event: each piece once, and each flag that is wrong once."""
    secret_at: Location | None = None
    personal_at: Location | None = None
    for pointer, match, is_secret in _pieces(event):
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


def _finding(rule: SensitiveRule, message: str, place: Location) -> Finding:
    return Finding(rule.id, rule.severity, message, place, fingerprint(rule.id, place))


def _pieces(event: Event) -> Iterator[tuple[str, Match, bool]]:
    """Yield each piece with its pointer, and whether it is a secret."""
    if event.head.subject is not None:
        yield from _pieces_of_text("/subject", "subject", event.head.subject)
    pending: list[tuple[str, str, Any]] = [("/data", "data", event.data)]
    while pending:
        pointer, name, value = pending.pop()
        if isinstance(value, str):
            yield from _pieces_of_text(pointer, name, value)
        elif isinstance(value, int) and value >= _SHORTEST_CARD:
            yield from _pieces_of_text(pointer, name, str(value))
        elif isinstance(value, list):
            members = [(below(pointer, at), name, each) for at, each in enumerate(value)]
            pending.extend(reversed(members))
        elif isinstance(value, dict):
            for key in reversed(value):
                found = list(_pieces_of_text(pointer, "", key))
                yield from found
                # A key that is itself a secret is not shown in the pointer either.
                pending.append((below(pointer, "…" if found else key), key, value[key]))


_SHORTEST_CARD: Final = 10**12  # 13 digits.


def _pieces_of_text(pointer: str, name: str, text: str) -> Iterator[tuple[str, Match, bool]]:
    has_secret = False
    for match in secrets_in(text):
        has_secret = True
        yield pointer, match, True
    if not has_secret and is_secret_by_name(name, text):
        yield pointer, Match("secret, by the name of its field", "…", 0, len(text)), True
    for match in personal_data_in(text):
        yield pointer, match, False


def _article(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeiouA' else 'a'} {kind}"
