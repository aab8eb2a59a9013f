"""Ledgers stored in the project's `.affidavit/sessions` folder, one file each.

A session is the JSON export of a ledger, byte for byte as the check wrote it. Its id is derived
from its inputs, so repeating the same check replaces the same file.
"""

import re
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import evidence as faults
from affidavit.base.files import read_bounded, write_atomically

MAX_SESSION_BYTES: Final = 256 * 1024 * 1024
_ID: Final = re.compile(r"ses_[0-9a-f]{16}")


class StoredSession(NamedTuple):
    """The id of a session and the file of its ledger."""

    id: str
    path: Path


class SessionFolder:
    """Sessions as files in a folder, which is created with the first one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def save(self, session_id: str, ledger: bytes) -> StoredSession:
        """Store a ledger. After a crash the file is complete: the earlier ledger or this one."""
        stored = self._at(session_id)
        with suppress(OSError):  # Writing fails next, and raises the error.
            self._folder.mkdir(parents=True, exist_ok=True)
        write_atomically(stored.path, ledger)
        return stored

    def load(self, session_id: str) -> bytes:
        """Return the ledger of a session."""
        return read_bounded(self.find(session_id).path, MAX_SESSION_BYTES)

    def find(self, reference: str) -> StoredSession:
        """Return the session whose id begins with `reference`; `last` is the newest."""
        sessions = self.all()
        if reference == "last" and sessions:
            return sessions[0]
        found = [session for session in sessions if session.id.startswith(reference)]
        if len(found) == 1:
            return found[0]
        if not found:
            raise AffidavitError(faults.SESSION_UNKNOWN, Where(), session=reference)
        names = ", ".join(session.id for session in found[:4])
        raise AffidavitError(faults.SESSION_AMBIGUOUS, Where(), session=reference, found=names)

    def all(self) -> tuple[StoredSession, ...]:
        """Return every session, the newest first; other files are ignored."""
        if not self._folder.is_dir():
            return ()
        stored = [
            (path.stat().st_mtime_ns, path.stem)
            for path in self._folder.glob("ses_*.json")
            if _ID.fullmatch(path.stem)
        ]
        return tuple(self._at(session_id) for _, session_id in sorted(stored, reverse=True))

    def delete(self, session_id: str) -> None:
        """Delete a session."""
        self.find(session_id).path.unlink(missing_ok=True)

    def _at(self, session_id: str) -> StoredSession:
        if not _ID.fullmatch(session_id):
            raise AffidavitError(faults.SESSION_UNKNOWN, Where(), session=session_id)
        return StoredSession(session_id, self._folder / f"{session_id}.json")
