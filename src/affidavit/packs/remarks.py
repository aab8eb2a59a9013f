"""What is odd about a pack but no error: `affidavit packs validate` shows it."""

from collections.abc import Iterator
from typing import Final

from affidavit.packs.events import ENVELOPE
from affidavit.packs.model import (
    Check,
    Clause,
    Conditional,
    FieldPresent,
    PathExists,
    Rule,
    Unsupported,
)
from affidavit.packs.pointers import Pointer
from affidavit.packs.versions import ENGINE_VERSION, is_met

NO_REQUIREMENT: Final = "it does not say which version it needs (requires.assay_min_version)"


def remarks_on(rules: tuple[Rule, ...], *, has_requirement: bool) -> tuple[str, ...]:
    """Return what the writer of a pack should know, in the order of its rules."""
    first = () if has_requirement else (NO_REQUIREMENT,)
    return (*first, *(remark for rule in rules for remark in _of_rule(rule)))


def _of_rule(rule: Rule) -> Iterator[str]:
    if isinstance(rule.check, Unsupported):
        yield f"{rule.id}: no check is called {rule.check.type!r}, so the rule always fires"
    if not engine_suffices(rule):
        yield f"{rule.id}: it needs engine {rule.engine_min_version}, so the rule always fires"
    for pointer in pointers_of(rule.check):
        if pointer.steps and pointer.steps[0] not in ENVELOPE:
            yield (
                f"{rule.id}: no event has a field {pointer.text}; what a producer adds to the"
                " envelope itself is covered by no hash and is not seen"
            )


def engine_suffices(rule: Rule) -> bool:
    """Say whether this engine is new enough for a rule."""
    return rule.engine_min_version is None or is_met(rule.engine_min_version, ENGINE_VERSION)


def pointers_of(check: Check) -> tuple[Pointer, ...]:
    """Return where a check looks in events."""
    match check:
        case FieldPresent(pointers) | PathExists(pointers):
            return pointers
        case Conditional(clauses, then):
            return (*map(_pointer_of, clauses), then)
        case _:
            return ()


def _pointer_of(clause: Clause) -> Pointer:
    return clause.pointer
