"""What a judge read, stored in one SQLite file, so that nothing is read twice.

An entry is named by everything that determines it: the judge's digest, the claim and the passages.
It begins with a checksum; a damaged entry counts as missing and is read again. Entries are written
in transactions, so a process that is killed loses at most the last one.
"""

import sqlite3
import zlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec

from affidavit.ledger.model import Chunk, Reading

ReadingEntry = tuple[bytes, bytes]
"""The name of an entry and its content."""
_DIGEST_BYTES: Final = 8
_TIMEOUT_SECONDS: Final = 60.0
_FASTEST: Final = 1
_READINGS: Final = msgspec.msgpack.Decoder(tuple[Reading, ...])


def reading_key(judge_digest: str, claim: str, chunks: Sequence[Chunk]) -> bytes:
    """Return the name of what a judge reads in some passages about a claim."""
    passages = [(chunk.text, chunk.heading_path, chunk.cited) for chunk in chunks]
    return sha256(msgspec.msgpack.encode((judge_digest, claim, passages))).digest()


def encode_readings(readings: Sequence[Reading]) -> bytes:
    """Return the content of an entry."""
    body = zlib.compress(msgspec.msgpack.encode(readings), _FASTEST)
    return sha256(body).digest()[:_DIGEST_BYTES] + body


def decode_readings(content: bytes, chunks: Sequence[Chunk]) -> tuple[Reading, ...] | None:
    """Return the readings of an entry for these chunks; None if the entry is damaged."""
    body = content[_DIGEST_BYTES:]
    if sha256(body).digest()[:_DIGEST_BYTES] != content[:_DIGEST_BYTES]:
        return None
    readings = _READINGS.decode(zlib.decompress(body))
    # The same passages may be chunks of another document.
    return tuple(
        msgspec.structs.replace(reading, chunk_id=chunk.id)
        for reading, chunk in zip(readings, chunks, strict=True)
    )


class ReadingStore:
    """The readings in one file. A file that cannot be used is slow, not an error."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection = self._open()

    def find(self, key: bytes) -> bytes | None:
        """Return the content of an entry."""
        if self._connection is None:
            return None
        try:
            row = self._connection.execute(
                "SELECT content FROM readings WHERE key = ?", (key,)
            ).fetchone()
        except sqlite3.Error:
            return None
        return None if row is None else row[0]

    def keep(self, entries: Iterable[ReadingEntry]) -> None:
        """Store entries in one transaction."""
        if self._connection is not None:
            with suppress(sqlite3.Error), self._connection:
                self._connection.executemany(
                    "INSERT OR REPLACE INTO readings VALUES (?, ?)", entries
                )

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            self._connection.close()

    def _open(self) -> sqlite3.Connection | None:
        with suppress(sqlite3.Error, OSError):
            return self._connect()
        # A damaged file holds nothing that cannot be read again.
        with suppress(sqlite3.Error, OSError):
            self._path.unlink(missing_ok=True)
            return self._connect()
        return None

    def _connect(self) -> sqlite3.Connection:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(self._path, timeout=_TIMEOUT_SECONDS)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute(
                "CREATE TABLE IF NOT EXISTS readings (key BLOB PRIMARY KEY, content BLOB NOT NULL)"
                " WITHOUT ROWID"
            )
        except sqlite3.Error:
            connection.close()
            raise
        return connection
