"""What a bundle holds, how two differ, and what a replay finds: the results, and as text."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, Literal

from msgspec import Struct

from affidavit.base.canonical import jcs
from affidavit.base.exits import Exit
from affidavit.base.text import excerpt
from affidavit.packs.lint import BundleLint
from affidavit.reports.text_tables import Cell, Note, TextPart, Tone, single_line, text_table
from affidavit.seal.bundle.manifest import Manifest

SHOW_SCHEMA: Final = "affidavit-evidence-show/1"
REPLAY_SCHEMA: Final = "affidavit-evidence-replay/1"
_RUN_STATES: Final = {
    True: "the run had finished",
    False: "the run is unfinished",
    None: "no event says that a run began",
}


def single_line_excerpt(name: str) -> str:
    """Return a name from a bundle so that it fits into a line."""
    return single_line(excerpt(name, 120))


@dataclass(slots=True)
class BundleSummary:
    """Counts of what a bundle holds by section; `contents` counts events by type and hash."""

    manifest: Manifest
    counts: dict[str, Counter[str]]
    first_at: str | None = None
    last_at: str | None = None
    contents: Counter[tuple[str, str]] = field(default_factory=Counter)

    def as_wire(self) -> dict[str, object]:
        """Return the summary for `--json`."""
        return {
            "schema_version": SHOW_SCHEMA,
            "manifest": dict(self.manifest.value),
            "manifest_digest": self.manifest.digest,
            "first_at": self.first_at,
            "last_at": self.last_at,
            **{name: dict(sorted(counts.items())) for name, counts in self.counts.items()},
        }


def summary_text(summary: BundleSummary) -> Iterator[TextPart]:
    """Yield what a bundle holds, counted."""
    known = summary.manifest.known
    ours = known.affidavit
    yield f"{known.event_count} events of {single_line_excerpt(known.run_id)}, {known.bundle_id}"
    producer = map(single_line_excerpt, (known.producer.name, known.producer.version))
    yield f"manifest {summary.manifest.digest}"
    yield f"by {' '.join(producer)}"
    yield f"from {summary.first_at} to {summary.last_at}"
    if ours is not None:
        yield _RUN_STATES[ours.finished]
        if ours.origin is not None:
            yield (
                f"{ours.redacted_values} values are redacted;"
                f" the commitment to the bundle before is {ours.origin}"
            )
    rows = (
        (section, what, str(count))
        for section, counts in summary.counts.items()
        for what, count in sorted(counts.items())
    )
    yield text_table(("What", "Which", "How often"), rows)


def events_text(events: Sequence[Mapping[str, Any]], types: Sequence[str]) -> Iterator[TextPart]:
    """Yield a table of events, and the types asked for that no event has."""
    rows = (
        (
            str(event["assayseq"]),
            event["time"],
            event["type"],
            excerpt(jcs(event["data"]).decode(), 120),
        )
        for event in events
    )
    yield text_table(("Event", "Time", "Type", "Data"), rows)
    for each in types:
        if all(event["type"] != each for event in events):
            yield Note(f"no event is of the type {each}")


class ChangedEvent(Struct, frozen=True):
    """A pair of differing events by number; None if one bundle has no event left."""

    type: str
    left: int | None
    right: int | None
    paths: tuple[str, ...] = ()


class BundleDifference(Struct, frozen=True):
    """One thing that occurs more often in one bundle than in the other."""

    section: str
    what: str
    left: int
    right: int


class BundleComparison(Struct, frozen=True, kw_only=True):
    """The differences between two bundles."""

    schema_version: Literal["affidavit-evidence-diff/1"] = "affidavit-evidence-diff/1"
    bundle_ids: dict[str, str]
    same: bool
    differences: tuple[BundleDifference, ...]
    changed_events: tuple[ChangedEvent, ...]


def bundle_comparison_text(comparison: BundleComparison) -> Iterator[TextPart]:
    """Yield the differences between two bundles."""
    differences, changed = comparison.differences, comparison.changed_events
    if not differences:
        yield "Nothing differs but times and runs"
        return
    rows = ((each.section, each.what, str(each.left), str(each.right)) for each in differences)
    yield text_table(("What", "Which", "Left", "Right"), rows)
    if changed:
        yield text_table(("Left", "Right", "Type", "Where"), map(_changed_event, changed))
        pairs = sum(max(each.left, each.right) for each in differences if each.section == "events")
        if pairs > len(changed):
            yield Note(f"{len(changed)} of {pairs} events that differ are listed")


def _changed_event(changed: ChangedEvent) -> tuple[str, ...]:
    return (
        _number(changed.left),
        _number(changed.right),
        changed.type,
        ", ".join(changed.paths) or "in one bundle only",
    )


def _number(number: int | None) -> str:
    return "" if number is None else str(number)


MAX_REPLAYED_ROWS: Final = 1000


class ReplayOutcome(StrEnum):
    """The result of one replay."""

    SAME = "same"
    DIFFERS = "differs"
    NOT_RUN = "not run again"


_REPLAY_TONES: Final = {
    ReplayOutcome.SAME: Tone.GOOD,
    ReplayOutcome.DIFFERS: Tone.BAD,
    ReplayOutcome.NOT_RUN: Tone.UNSURE,
}
_CONCLUSIONS: Final = {
    Exit.YES: "Replays: all that was run again comes out as recorded",
    Exit.UNKNOWN: "Could not tell: not everything that is recorded could be run again",
    Exit.TAMPERED: "Does not replay: believe nothing that is recorded there",
}


class ReplayedItem(Struct, frozen=True):
    """One recorded item, run again or not."""

    line: int | None
    what: str
    outcome: ReplayOutcome
    detail: str = ""


class BundleReplay:
    """The items of a bundle that were run again or not, in constant memory."""

    def __init__(self) -> None:
        self.rows: list[ReplayedItem] = []
        self.counts: Counter[ReplayOutcome] = Counter()
        self.not_run: Counter[str] = Counter()

    def add(self, row: ReplayedItem) -> None:
        """Count an item, and keep it if there is room; differences have room of their own."""
        self.counts[row.outcome] += 1
        if len(self.rows) < MAX_REPLAYED_ROWS or (
            row.outcome is ReplayOutcome.DIFFERS and self.counts[row.outcome] <= MAX_REPLAYED_ROWS
        ):
            self.rows.append(row)

    @property
    def exit(self) -> Exit:
        """Yes if something was replayed and all of it is the same."""
        if self.counts[ReplayOutcome.DIFFERS]:
            return Exit.TAMPERED
        is_known = self.counts[ReplayOutcome.SAME] and not self.counts[ReplayOutcome.NOT_RUN]
        return Exit.YES if is_known else Exit.UNKNOWN


def replay_as_json(replayed: BundleReplay) -> dict[str, object]:
    """Return the result of a replay."""
    return {
        "schema_version": REPLAY_SCHEMA,
        "exit": int(replayed.exit),
        "replayed": [
            {
                "line": row.line,
                "what": row.what,
                "outcome": row.outcome.replace(" ", "_"),
                "detail": row.detail,
            }
            for row in replayed.rows
        ],
        "counts": {outcome.replace(" ", "_"): n for outcome, n in replayed.counts.items()},
        "not_run": dict(sorted(replayed.not_run.items())),
    }


def replay_text(replayed: BundleReplay, linted: BundleLint) -> Iterator[TextPart]:
    """Yield the result of a replay."""
    if replayed.rows:
        yield text_table(("Line", "What", "Result", "Detail"), map(_replayed, replayed.rows))
    for kind, count in sorted(replayed.not_run.items()):
        yield f"Not run again: {count} of {kind}"
    counts = ", ".join(f"{n} {outcome}" for outcome, n in sorted(replayed.counts.items()))
    yield f"{linted.name}: {counts or 'nothing is recorded that could be run again'}"
    closure = linted.result.closure
    yield f"Closure {closure.score} (confidence {closure.confidence.value})"
    yield _CONCLUSIONS[replayed.exit]


def _replayed(row: ReplayedItem) -> tuple[Cell | str, ...]:
    outcome = Cell(row.outcome.value, _REPLAY_TONES[row.outcome])
    return (_number(row.line), row.what, outcome, row.detail)
