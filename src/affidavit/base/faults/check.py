"""AF27x: checking answers: what is asked, batches, and the sessions that are kept."""

from affidavit.base.errors import Fault
from affidavit.base.exits import Exit

SESSION_UNKNOWN = Fault(
    "AF270",
    "session.unknown",
    "no session is named {session!r}",
    "run `affidavit sessions list` for those that are kept",
)
SESSION_AMBIGUOUS = Fault(
    "AF271",
    "session.ambiguous",
    "{session!r} may mean several sessions: {found}",
    "write more of the id",
)
SESSION_ENTRY = Fault(
    "AF272",
    "session.entry",
    "there is no claim number {number}; the ledger has {count}",
    "choose a number of the table",
)
BATCH_ROW = Fault(
    "AF273",
    "batch.row",
    "this row is not {{id, answer, query?, sources?, date?}}: {problem}",
    "mend the row",
)
BATCH_ID_TWICE = Fault(
    "AF274",
    "batch.id_twice",
    "the id {id!r} stands in line {first} already",
    "give every row an id of its own",
)
BATCH_EMPTY = Fault(
    "AF275",
    "batch.empty",
    "the file has no rows, so there is nothing to check",
    "write one JSON object per line: id, answer and, if known, query",
    Exit.UNKNOWN,
)
ANSWER_EMPTY = Fault(
    "AF276",
    "answer.empty",
    "the answer is empty, so there is nothing to check",
    "name a file with the answer in it, or - to read standard input",
    Exit.UNKNOWN,
)
ANSWER_NOT_TEXT = Fault(
    "AF277",
    "answer.not_text",
    "the answer is not UTF-8 text",
    "name the answer, a text or Markdown file; documents go after --sources",
)
TIME_SYNTAX = Fault(
    "AF278",
    "time.syntax",
    "{value!r} is neither a day nor a time",
    "write a day like 2026-01-31 or a time like 2026-01-31T14:30:00Z",
)
SESSION_TAMPERED = Fault(
    "AF279",
    "session.tampered",
    "the ledger was changed after it was made: its verdicts do not follow from what it stores",
    "check the answer again, and find out who changed the file",
    Exit.TAMPERED,
)
ANSWER_IS_SOURCE = Fault(
    "AF280",
    "answer.is_source",
    "the answer is itself one of the sources, as {filename}, so it would prove itself",
    "move it out of the sources, or name the sources one by one",
)
OUTPUT_IS_INPUT = Fault(
    "AF281",
    "output.is_input",
    "the report would replace what is being read, or another report",
    "choose another place for it",
)
RESULTS_FOREIGN = Fault(
    "AF282",
    "batch.results_foreign",
    "this file holds something else than results of a batch",
    "choose another file for the results",
)
CITATION_SYNTAX = Fault(
    "AF283",
    "citation.syntax",
    "{text!r} is not a citation",
    "write 8 to 64 hexadecimal digits, as in [cite:00f66349]",
)
NOTHING_INDEXED = Fault(
    "AF284",
    "index.none",
    "this project has indexed no sources, so no citation can be resolved",
    "name the documents with --sources",
    Exit.UNKNOWN,
)
