"""What a rule checks, in words."""

from affidavit.base.canonical import jcs
from affidavit.packs.model import (
    AuthorizationContext,
    Check,
    Conditional,
    EventCount,
    EventPairs,
    FieldPresent,
    ManifestField,
    PathExists,
    Rule,
    TypeExists,
    Unsupported,
)


def check_in_words(rule: Rule) -> str:
    """Return what has to hold, as the end of a sentence that begins "It checks that"."""
    scope = ""
    if rule.event_types is not None:
        scope = f", among events of type {' or '.join(rule.event_types)}"
    return f"{_check(rule.check)}{scope}"


def _check(check: Check) -> str:
    match check:
        case EventCount(minimum):
            return f"there are at least {minimum} events"
        case EventPairs(start, finish):
            return (
                f"every event of a type {start.text} is followed, in the same run, by its"
                f" {finish.text}"
            )
        case FieldPresent(pointers) | PathExists(pointers, None):
            return f"some event has {' or '.join(pointer.text for pointer in pointers)}"
        case PathExists(pointers, wanted):
            value = jcs(wanted.value).decode() if wanted is not None else ""
            return f"some event has {pointers[0].text} equal to {value}"
        case TypeExists(pattern):
            return f"some event has a type {pattern.text}"
        case _:
            return _rarer_check(check)


def _rarer_check(
    check: ManifestField | Conditional | AuthorizationContext | Unsupported,
) -> str:
    match check:
        case ManifestField(pointer):
            return f"the manifest has {pointer.text}"
        case Conditional(clauses, then):
            conditions = (
                f"{clause.pointer.text} is {jcs(clause.equals).decode()}" for clause in clauses
            )
            return f"every event in which {' and '.join(conditions)} has {then.text}"
        case AuthorizationContext():
            return "some tool decision says on whose authority it was made"
    return f"something holds that this engine does not know ({check.type})"
