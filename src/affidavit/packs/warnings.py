"""Engine versions, warnings about packs, and collisions between packs.

Origin: Assay 5.4.0, pack engine 1.2, whose packs and rules have the same meaning here.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from affidavit.base.errors import AffidavitError
from affidavit.base.faults.bundles import PACK_COLLISION
from affidavit.packs.events import ENVELOPE
from affidavit.packs.model import (
    Check,
    Conditional,
    FieldPresent,
    Pack,
    PathExists,
    Rule,
    Unsupported,
)
from affidavit.packs.pointers import JsonPointer

ASSAY_VERSION: Final = "5.4.0"
ENGINE_VERSION: Final = "1.2"
EVIDENCE_SCHEMA: Final = "1.0"

_VERSION: Final = re.compile(
    r"(?:>=|=)?\s*(\d{1,9})\.(\d{1,9})(?:\.(\d{1,9}))?(?:[-+].*)?", re.ASCII
)


def version_numbers(version: str) -> tuple[int, int, int] | None:
    """Return major, minor and patch of `>=1.2.3`, `1.2.3` or `1.2`; None if malformed."""
    match = _VERSION.fullmatch(version.strip())
    return None if match is None else (int(match[1]), int(match[2]), int(match[3] or 0))


def is_version_met(wanted: str, found: str) -> bool:
    """Return whether a version is at least the wanted one; False if either is malformed."""
    least, have = version_numbers(wanted), version_numbers(found)
    return least is not None and have is not None and have >= least


NO_MINIMUM_VERSION: Final = "it does not say which version it needs (requires.assay_min_version)"


def pack_warnings(rules: tuple[Rule, ...], *, has_requirement: bool) -> tuple[str, ...]:
    """Return the warnings that `affidavit packs validate` shows, in the order of the rules."""
    first = () if has_requirement else (NO_MINIMUM_VERSION,)
    return (*first, *(warning for rule in rules for warning in _rule_warnings(rule)))


def _rule_warnings(rule: Rule) -> Iterator[str]:
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
    """Return whether this engine is new enough for a rule."""
    return rule.engine_min_version is None or is_version_met(
        rule.engine_min_version, ENGINE_VERSION
    )


def pointers_of(check: Check) -> tuple[JsonPointer, ...]:
    """Return the fields of events that a check reads."""
    match check:
        case FieldPresent(pointers) | PathExists(pointers):
            return pointers
        case Conditional(clauses, then):
            return (*(clause.pointer for clause in clauses), then)
        case _:
            return ()


def refuse_collisions(packs: Sequence[Pack]) -> tuple[Pack, ...]:
    """Return the packs without duplicates; raise if two different ones share a rule id."""
    kept: list[Pack] = []
    owner: dict[str, Pack] = {}
    for pack in packs:
        if pack in kept:
            continue
        for rule in pack.rules:
            name = pack.canonical_id(rule)
            first = owner.setdefault(name, pack)
            if first is not pack:
                raise AffidavitError(
                    PACK_COLLISION, rule=name, first=first.source, second=pack.source
                )
        kept.append(pack)
    return tuple(kept)
