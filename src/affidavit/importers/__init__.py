"""Reads files of other tools as gold items and traces.

`detect(path)` recognises a file's format by its content. `read_rows(path, role=...)` yields one
`ImportedRow` per question, whose `gold` and `trace` go into `gates.rag_rows.gold_from_value` and
`trace_from_value`. docs/formats.md maps every field, and lists what cannot be measured because the
tool does not record it.
"""

from affidavit.importers.reader import detect, read_rows
from affidavit.importers.tool_format import ImportedRow, Role, ToolName, qid_from_question

__all__ = ["ImportedRow", "Role", "ToolName", "detect", "qid_from_question", "read_rows"]
