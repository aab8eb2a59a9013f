"""Joins the rows of one trace, which may be anywhere in a file."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from affidavit.importers.tool_format import Numbered, Row


def group_rows(
    rows: Iterable[Numbered], trace_of: Callable[[Row], object], name: str
) -> Iterator[Numbered]:
    """Yield rows without a trace at once, and at the end those of each trace as one row.

    The rows of a trace are its field `name`; its line is that of the first of them.
    """
    traces: dict[str, list[object]] = {}
    lines: dict[str, int] = {}
    for line, row in rows:
        trace = trace_of(row) if isinstance(row, Mapping) else None
        if trace:
            traces.setdefault(str(trace), []).append(row)
            lines.setdefault(str(trace), line)
        else:
            yield line, row
    for trace, found in traces.items():
        yield lines[trace], {name: found}
