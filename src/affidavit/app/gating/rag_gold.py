"""The gold set of a run, made ready; its rows are not kept, and a few are read again."""

from array import array
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field

from msgspec.structs import replace

from affidavit.app.gating.blocks import blocks_of
from affidavit.app.gating.files import Digested, digest_of_files, opened
from affidavit.app.gating.line_index import LineIndex, Stretch
from affidavit.app.gating.rag_imports import Questions, imported_gold, pass_over
from affidavit.app.gating.rag_sources import Source
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import gates as faults
from affidavit.base.files import digest_file
from affidavit.base.places import excerpt
from affidavit.gates.rag_brought import is_sentence
from affidavit.gates.rag_rows import GOLD, GoldV1, gold_from_line, nameless_gold, qid_of
from affidavit.gates.rag_scoring import RagScorer, RagSettings, Ready

OnBad = Callable[[AffidavitError], None]


@dataclass(slots=True)
class Gold:
    """The items by qid, and the line of each; `places` counts over all files."""

    ready: dict[str, Ready] = field(default_factory=dict)
    places: "array[int]" = field(default_factory=lambda: array("q"))
    digests: list[str] = field(default_factory=list)
    index: LineIndex = field(default_factory=LineIndex)
    sentences: int = 0
    """Items of other tools whose reference is a whole sentence."""

    @property
    def digest(self) -> str | None:
        """The digest of the gold set."""
        return digest_of_files(self.digests)


def read_gold(
    sources: Collection[Source],
    settings: RagSettings,
    on_bad: OnBad,
    *,
    beside_traces: bool = False,
    questions: Questions | None = None,
) -> Gold:
    """Read a gold set. An item that stands twice is an error: neither is the right one.

    In a file that holds the traces too an item may stand once per trace, if it stays the same.
    `questions` are noted for traces that know their item by its question alone.
    """
    gold, scorer = Gold(), RagScorer(settings)
    ready, places = gold.ready, gold.places
    before = 0
    for source in sources:
        lines = _Counted()
        rows = _own_rows(source, gold, on_bad, before, lines)
        if not source.is_own:
            rows = _imported_rows(source, settings.refusal, on_bad, lines)
            gold.digests.append(digest_file(source.file))
        if questions is not None:
            rows = questions.noted(rows)
        for place, line, row in rows:
            qid = row.qid if isinstance(row.qid, str) else str(row.qid)
            item = scorer.ready(row, len(places))
            known = ready.setdefault(qid, item)
            if known is item:
                places.append(before + place)
                if not source.is_own and is_sentence(row.gold_claim_substr or ()):
                    gold.sentences += 1
            elif not beside_traces or replace(item, number=known.number) != known:
                where = Where(source.shown, line, "qid")
                raise AffidavitError(faults.GOLD_TWICE, where, qid=excerpt(qid))
        before += lines.count
    return gold


class _Counted:
    """How many lines or rows a file has, known when it was read."""

    count = 0


def _own_rows(
    source: Source, gold: Gold, on_bad: OnBad, before: int, counted: _Counted
) -> Iterator[tuple[int, int, GoldV1]]:
    seen = Digested()
    lines, offsets = array("q"), array("q")
    with opened(source.file) as stream:
        for block in blocks_of(stream, source.shown, on_bad, seen):
            lines.append(block.first_line)
            offsets.append(block.offset)
            counted.count += block.lines
            rows = GOLD.from_chunk(block.raw, block.first_line, source.shown, on_bad, block.lines)
            for line, row in rows:
                if row.qid == "":
                    on_bad(nameless_gold(line, source.shown))
                else:
                    yield line, line, row
    gold.digests.append(seen.digest)
    gold.index.stretches.append(Stretch(source.file, source.shown, before, 0, lines, offsets))


def _imported_rows(
    source: Source, refusal: str, on_bad: OnBad, counted: _Counted
) -> Iterator[tuple[int, int, GoldV1]]:
    for row, item in imported_gold(source, refusal, on_bad):
        counted.count = row.position
        yield row.position, row.line, item


def items_again(
    sources: Collection[Source], gold: Gold, qids: Collection[str], refusal: str
) -> dict[str, GoldV1]:
    """Read some gold items again."""
    if all(source.is_own for source in sources):
        lines = gold.index.fetch(gold.places[gold.ready[qid].number] for qid in qids)
        found = (gold_from_line(line.raw, line.line, line.file) for line in lines)
        return {qid_of(item): item for item in found}
    wanted = set(qids)
    again: dict[str, GoldV1] = {}
    for source in sources:
        found = (item for _, item in imported_gold(source, refusal, pass_over))
        again.update({qid_of(item): item for item in found if qid_of(item) in wanted})
    return again
