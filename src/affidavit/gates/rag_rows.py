"""Gold items and traces: the two inputs of the RAG gates.

Origin: section 1 of the RAG document. An absent field is not measured and not the same as an empty
one, except that an answer without citations cites nothing.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

import msgspec

from affidavit.base.digest import hex_from_digest
from affidavit.base.errors import AffidavitError, Fault, Where
from affidavit.base.faults import gates as faults
from affidavit.base.json_rows import LayoutReader, RowReader, raise_error
from affidavit.base.text import excerpt

Ids = tuple[str, ...]


class GoldItem(msgspec.Struct, frozen=True, gc=False):
    """A line of the gold set."""

    qid: str | int
    answerable: bool
    question: str = ""
    gold_claim_substr: Ids | None = None
    gold_citations: Ids | None = None
    constraints: Ids | None = None


class TraceAnswer(msgspec.Struct, frozen=True, gc=False):
    """The answer of the pipeline."""

    claim: str
    citations: Ids | None = None
    constraints_echo: Ids | None = None
    citations_recorded: bool | None = None
    """False if the tool that wrote the trace records no citations, so that H is not measured."""
    passed: bool | None = None
    """The verdict of the assertions of the tool that wrote the trace; it decides C."""


class TraceRow(msgspec.Struct, frozen=True, gc=False):
    """A line of the traces; `answer_json` is null when the pipeline gave no answer."""

    answer_json: TraceAnswer | None
    qid: str | int | None = None
    q_id: str | int | None = None
    retrieved_ids: Ids | None = None


GOLD_READER: Final = RowReader(
    GoldItem,
    faults.GOLD_ROW,
    ("qid", "answerable", "gold_claim_substr", "gold_citations", "constraints"),
    layouts=LayoutReader(GoldItem),
)
TRACE_READER: Final = RowReader(
    TraceRow,
    faults.TRACE_ROW,
    ("qid", "q_id", "answer_json", "retrieved_ids"),
    ("answer_json", ("claim", "citations", "constraints_echo", "citations_recorded", "passed")),
    LayoutReader(TraceRow, ("answer_json", TraceAnswer)),
)


def gold_from_line(raw: bytes, line: int | None = None, file: str | None = None) -> GoldItem:
    """Return the gold item of one line; its qid must not be empty."""
    return _named_gold(GOLD_READER.from_line(raw, line, file), line, file)


def gold_from_chunk(
    raw: bytes,
    first_line: int = 1,
    file: str | None = None,
    on_bad: Callable[[AffidavitError], None] = raise_error,
) -> Iterator[tuple[int, GoldItem]]:
    """Yield the gold items of many lines with line numbers: five times as fast as one by one."""
    for line, row in GOLD_READER.from_chunk(raw, first_line, file, on_bad):
        if row.qid == "":
            on_bad(gold_without_qid(line, file))
        else:
            yield line, row


def traces_from_chunk(
    raw: bytes,
    first_line: int = 1,
    file: str | None = None,
    on_bad: Callable[[AffidavitError], None] = raise_error,
) -> Iterator[tuple[int, TraceRow]]:
    """Yield the traces of many lines with their line numbers."""
    for line, row in TRACE_READER.from_chunk(raw, first_line, file, on_bad):
        if row.qid or qid_of(row):
            yield line, row
        else:
            on_bad(trace_without_qid(line, file))


def gold_from_value(value: object, line: int | None = None, file: str | None = None) -> GoldItem:
    """Return the gold item of a decoded value, as importers make it."""
    return _named_gold(GOLD_READER.from_value(value, line, file), line, file)


def trace_from_line(raw: bytes, line: int | None = None, file: str | None = None) -> TraceRow:
    """Return the trace of one line; its qid may also be spelled q_id."""
    return _named_trace(TRACE_READER.from_line(raw, line, file), line, file)


def trace_from_value(value: object, line: int | None = None, file: str | None = None) -> TraceRow:
    """Return the trace of a decoded value, as importers make it."""
    return _named_trace(TRACE_READER.from_value(value, line, file), line, file)


def qid_of(row: GoldItem | TraceRow) -> str:
    """Return the qid as text, so that 7 and "7" are the same; empty if a trace has none."""
    qid = row.qid
    if qid is None and isinstance(row, TraceRow):
        qid = row.q_id
    return qid if isinstance(qid, str) else "" if qid is None else str(qid)


def _named_gold(row: GoldItem, line: int | None, file: str | None) -> GoldItem:
    if row.qid == "":
        raise gold_without_qid(line, file)
    return row


def _named_trace(row: TraceRow, line: int | None, file: str | None) -> TraceRow:
    if not qid_of(row):
        raise trace_without_qid(line, file)
    return row


def gold_without_qid(line: int | None, file: str | None) -> AffidavitError:
    """Return the error of a gold item that has no qid."""
    return _without_qid(faults.GOLD_ROW, line, file)


def trace_without_qid(line: int | None, file: str | None) -> AffidavitError:
    """Return the error of a trace that has no qid."""
    return _without_qid(faults.TRACE_ROW, line, file)


def _without_qid(fault: Fault, line: int | None, file: str | None) -> AffidavitError:
    return AffidavitError(fault, Where(file=file, line=line, field="qid"), problem="it has no qid")


def gold_by_qid(
    rows: Iterable[tuple[int, GoldItem]], file: str | None = None
) -> dict[str, GoldItem]:
    """Return the gold set by qid; a duplicate qid is an error."""
    found: dict[str, GoldItem] = {}
    for line, row in rows:
        qid = qid_of(row)
        if qid in found:
            where = Where(file=file, line=line, field="qid")
            raise AffidavitError(faults.GOLD_TWICE, where, qid=excerpt(qid))
        found[qid] = row
    return found


def require_digest(found: str, wanted: str | None, file: str | None = None) -> None:
    """Refuse a gold set with another digest. Origin: section 6, "Freeze per release"."""
    if wanted is not None and found != f"sha256:{hex_from_digest(wanted)}":
        raise AffidavitError(faults.GOLD_CHANGED, Where(file=file), found=found, wanted=wanted)
