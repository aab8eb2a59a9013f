"""Our own gold items and traces, which are handed on as they are: they have the shape already."""

from typing import Final

from affidavit.formats.importing.dialect import Dialect
from affidavit.formats.importing.fields import Row
from affidavit.formats.importing.model import Choices, Format, ImportedRow, RowProblem


def shape(row: Row, position: int, line: int, choices: Choices) -> ImportedRow:
    """Return a gold item or a trace as the row that it is."""
    # In Parquet every row has every column, and a gold item has none of these but the first.
    is_gold, is_trace = row.get("answerable") is not None, "answer_json" in row
    if not is_gold and not is_trace:
        raise RowProblem("it has neither answerable nor answer_json")
    return ImportedRow(
        position,
        line,
        dict(row) if is_gold and choices.role != "trace" else None,
        dict(row) if is_trace and choices.role != "gold" else None,
    )


_SIGNATURES: Final = (("qid", "answerable"), ("qid", "answer_json"), ("q_id", "answer_json"))

NATIVE: Final = Dialect(Format.NATIVE, _SIGNATURES, shape)
NATIVE_ROWS: Final = Dialect(Format.NATIVE_ROWS, _SIGNATURES, shape)
