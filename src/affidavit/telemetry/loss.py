"""What a mapping lost: every attribute that was left out or changed, with the reason and a count.

Origin: ADR-025, track 5: reports must include `mapping_loss`.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Final

from msgspec import Struct

from affidavit.base.text import excerpt

LOSS_SCHEMA: Final = "affidavit-mapping-loss/1"
MAX_NAMES: Final = 1000
"""Names that one report lists; a hostile span can have a hundred thousand."""
_OTHERS: Final = "(other names)"
_NAME_LENGTH: Final = 200


class LossReason(StrEnum):
    """Why an attribute is not on the other side as it was."""

    NO_TARGET = "no_target"
    OPT_IN_DISABLED = "opt_in_disabled"
    RENAMED = "renamed"
    TYPE_CHANGED = "type_changed"
    VALUE_UNMAPPED = "value_unmapped"
    TRUNCATED = "truncated"
    DEPRECATED = "deprecated"


DROPPED: Final = (LossReason.NO_TARGET, LossReason.OPT_IN_DISABLED, LossReason.VALUE_UNMAPPED)


class AttributeLoss(Struct, frozen=True, omit_defaults=True):
    """An attribute, what became of it, and in how many spans or events."""

    name: str
    reason: LossReason
    count: int
    became: str | None = None


class MissingRequired(Struct, frozen=True):
    """Spans of a type that lack an attribute which the conventions require."""

    span_type: str
    attribute: str
    count: int


class MappingLossReport(Struct, frozen=True, kw_only=True):
    """The section `mapping_loss` of a report."""

    schema_version: str
    target: Mapping[str, str]
    spans: int
    events: int
    attributes: tuple[AttributeLoss, ...]
    unknown_events: Mapping[str, int]
    spans_without_required: tuple[MissingRequired, ...]
    findings: tuple[str, ...] = ()

    @property
    def dropped(self) -> int:
        """How many values are not on the other side at all."""
        return sum(
            each.count for each in self.attributes if each.reason in DROPPED and each.became is None
        )

    @property
    def changed(self) -> int:
        """How many values are on the other side under another name, type or length."""
        return sum(each.count for each in self.attributes) - self.dropped

    def lines(self) -> Iterator[str]:
        """Yield what was lost in words, the most frequent first."""
        counted = sorted(self.attributes, key=lambda one: (-one.count, one.name))
        for each in counted[:_SHOWN]:
            became = f" as {each.became}" if each.became else ""
            yield f"  {_shown(each.name)}: {each.reason}{became} ({each.count})"
        if len(counted) > _SHOWN:
            yield f"  and {len(counted) - _SHOWN} more, in the report"
        for name, count in self.unknown_events.items():
            yield f"  {_shown(name)}: unknown event ({count})"
        for lack in self.spans_without_required:
            yield f"  {lack.span_type} without {lack.attribute} ({lack.count})"
        for finding in self.findings[:_SHOWN]:
            yield f"  {_shown(finding)}"


_SHOWN: Final = 20


def _shown(text: str) -> str:
    return "".join(one if one.isprintable() else " " for one in excerpt(text, 160))


class MappingLoss:
    """Counts what is lost while spans and events are mapped."""

    def __init__(self, target: Mapping[str, str]) -> None:
        self.target = target
        self.spans = 0
        self.events = 0
        self._attributes: Counter[tuple[str, LossReason, str | None]] = Counter()
        self._unknown: Counter[str] = Counter()
        self._missing: Counter[tuple[str, str]] = Counter()
        self._findings: Counter[str] = Counter()

    def add(self, name: str, reason: LossReason, became: str | None = None, count: int = 1) -> None:
        """Count one attribute or field."""
        key = name, reason, became
        if key not in self._attributes and (
            len(self._attributes) >= MAX_NAMES or len(name) > _NAME_LENGTH
        ):
            shown = excerpt(name, _NAME_LENGTH) if len(self._attributes) < MAX_NAMES else _OTHERS
            key = shown, reason, None
        self._attributes[key] += count

    def add_unknown(self, name: str) -> None:
        """Count an event that has no place on the other side."""
        shown = excerpt(name, _NAME_LENGTH)
        is_listed = shown in self._unknown or len(self._unknown) < MAX_NAMES
        self._unknown[shown if is_listed else _OTHERS] += 1

    def add_missing(self, span_type: str, attribute: str) -> None:
        """Count a span that lacks a required attribute."""
        self._missing[span_type, attribute] += 1

    def add_finding(self, finding: str) -> None:
        """Note what was wrong with one span, in one line."""
        shown = finding if len(self._findings) < MAX_NAMES else "other spans had problems, too"
        self._findings[shown] += 1

    def merge(self, other: "MappingLoss") -> None:
        """Add what another mapping lost."""
        self.spans += other.spans
        self.events += other.events
        self._attributes.update(other._attributes)
        self._unknown.update(other._unknown)
        self._missing.update(other._missing)
        self._findings.update(other._findings)

    def report(self) -> MappingLossReport:
        """Return the counts, in an order that does not depend on that of the events."""
        return MappingLossReport(
            schema_version=LOSS_SCHEMA,
            target=self.target,
            spans=self.spans,
            events=self.events,
            attributes=tuple(
                AttributeLoss(name, reason, count, became)
                for (name, reason, became), count in sorted(
                    self._attributes.items(), key=lambda item: tuple(map(str, item[0]))
                )
            ),
            unknown_events=dict(sorted(self._unknown.items())),
            spans_without_required=tuple(
                MissingRequired(span_type, attribute, count)
                for (span_type, attribute), count in sorted(self._missing.items())
            ),
            findings=tuple(
                text if count == 1 else f"{text} ({count} times)"
                for text, count in sorted(self._findings.items())
            ),
        )
