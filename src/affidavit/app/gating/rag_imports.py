"""Gold items and traces out of other tools' files, and how a trace without a name finds its item.

The formats are loaded by those who have such a file; nobody else waits for them.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from affidavit.app.gating.rag_sources import Source
from affidavit.base.errors import AffidavitError
from affidavit.gates.rag_rows import GoldV1, TraceV1, gold_from_value, qid_of, trace_from_value
from affidavit.gates.tally import Listing, listing_of

if TYPE_CHECKING:
    from affidavit.formats.importing import ImportedRow

OnBad = Callable[[AffidavitError], None]


def imported_gold(
    source: Source, refusal: str, on_bad: OnBad
) -> Iterator[tuple["ImportedRow", GoldV1]]:
    """Yield the gold items of a file; a row that says nothing of the right answer has none."""
    from affidavit.formats.importing import read_rows

    rows = read_rows(source.file, role="gold", format=source.format, on_bad=on_bad, refusal=refusal)
    for row in rows:
        if row.gold is not None:
            try:
                item = gold_from_value(row.gold, row.line, source.shown)
            except AffidavitError as error:
                on_bad(error)
            else:
                yield row, item


def imported_traces(
    source: Source, refusal: str, on_bad: OnBad
) -> Iterator[tuple["ImportedRow", TraceV1]]:
    """Yield the traces of a file."""
    from affidavit.formats.importing import read_rows

    rows = read_rows(
        source.file, role="trace", format=source.format, on_bad=on_bad, refusal=refusal
    )
    for row in rows:
        if row.trace is not None:
            try:
                trace = trace_from_value(row.trace, row.line, source.shown)
            except AffidavitError as error:
                on_bad(error)
            else:
                yield row, trace


def pass_over(error: AffidavitError) -> None:
    """Say nothing: the line was told of when it was read first."""


@dataclass(slots=True)
class Questions:
    """Which gold item a question belongs to, for traces that are named by their question alone."""

    _qids: dict[str, str] = field(default_factory=dict)
    _same: dict[str, set[str]] = field(default_factory=dict)
    _met: set[str] = field(default_factory=set)

    def noted(self, rows: Iterable[tuple[int, int, GoldV1]]) -> Iterator[tuple[int, int, GoldV1]]:
        """Yield gold items on, and keep their questions."""
        from affidavit.formats.importing import qid_from_question

        for row in rows:
            item = row[2]
            if item.question.strip():
                self._note(qid_from_question(item.question), qid_of(item))
            yield row

    def _note(self, name: str, qid: str) -> None:
        first = self._qids.setdefault(name, qid)
        if first != qid:
            self._same.setdefault(name, {first}).add(qid)

    def qid_of(self, name: str) -> str:
        """Return the gold item of a question's derived name; the name itself if there is no one."""
        if name in self._same:
            self._met.add(name)
            return name
        return self._qids.get(name, name)

    def same(self) -> Listing:
        """Return the gold items that a trace could not be told to belong to."""
        return listing_of(qid for name in self._met for qid in self._same[name])
