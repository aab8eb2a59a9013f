"""Files of other tools, read as gold items and traces.

`detect(path)` tells a file's format from its content. `read_rows(path, role=...)` yields one
`ImportedRow` per question, whose `gold` and `trace` go into `gates.rag_rows.gold_from_value` and
`trace_from_value`. docs/formats.md says field by field what becomes what, and what cannot be
measured because the tool does not record it.
"""

from affidavit.formats.importing.model import Format, ImportedRow, Role
from affidavit.formats.importing.reading import detect, read_rows
from affidavit.formats.importing.shaping import qid_from_question

__all__ = ["Format", "ImportedRow", "Role", "detect", "qid_from_question", "read_rows"]
