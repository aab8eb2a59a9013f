"""The file of recorded runs: appended line by line, read again, and mended where it was torn."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from affidavit.app.gating.driving import RecordV1
from affidavit.base.errors import AffidavitError
from affidavit.base.faults import gates as gate_faults
from affidavit.base.files import append_line_durably, is_there, read_bounded, write_atomically
from affidavit.base.strict_json import decode
from affidavit.gates.rag_rows import AnswerV1
from affidavit.gates.rows import RowReader, refuse

MAX_BYTES: Final = 4 * 1024 * 1024 * 1024


class _KeptV1(msgspec.Struct, frozen=True):
    """What is looked at of a recorded run; one that others recorded has no key."""

    qid: str | int
    answer_json: AnswerV1 | None
    seed: int = 0
    jitter: str = "none"
    key: str | None = None


_ROWS: Final = RowReader(
    _KeptV1, gate_faults.STABILITY_ROW, ("qid", "answer_json", "seed", "jitter", "key")
)


_BEGINNING: Final = b'{"qid":'
"""How every line begins that is written here."""


class Recording:
    """A file of runs. What is in it stays; a line that is no run is an error, not overwritten."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.was_torn = False
        """Whether the last line had been cut off, so that its run is made again."""

    def answered(self) -> frozenset[str]:
        """Return the keys of the runs that have an answer; no file, no runs.

        A process that was killed while it wrote leaves a last line without its end. That line is
        taken away: it never was a run, and would be an error for every reader of the file. Any
        other line that is no run is somebody's, and an error.
        """
        if not is_there(self._path):
            return frozenset()
        raw = read_bounded(self._path, MAX_BYTES)
        whole = self._without_torn_end(raw)
        found = frozenset(self._answered_in(whole))
        if len(whole) < len(raw):
            write_atomically(self._path, whole)
            self.was_torn = True
        return found

    def keep(self, record: RecordV1) -> None:
        """Add a run, and return when it is on the disk."""
        line = msgspec.to_builtins(record)
        if record.answer_json is not None:
            said = {name: value for name, value in line["answer_json"].items() if value is not None}
            line["answer_json"] = said
        append_line_durably(self._path, msgspec.json.encode(line))

    def make_folder(self) -> None:
        """Make the folder of the file; what keeps it from being made keeps the runs out."""
        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)

    def _without_torn_end(self, raw: bytes) -> bytes:
        cut = raw.rfind(b"\n") + 1
        return raw[:cut] if _is_torn(raw[cut:]) else raw

    def _answered_in(self, raw: bytes) -> Iterator[str]:
        for _, row in _ROWS.from_chunk(raw, 1, str(self._path), refuse):
            if row.key is not None and row.answer_json is not None:
                yield row.key


def _is_torn(line: bytes) -> bool:
    """Tell whether a line begins as ours do and is not whole: then it is no JSON."""
    if not line or not _BEGINNING.startswith(line[: len(_BEGINNING)]):
        return False
    try:
        decode(line)
    except AffidavitError:
        return True
    return False
