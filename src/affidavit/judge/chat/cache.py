"""Replies of a chat server, stored by the digest of everything that was asked.

An entry is written atomically and carries the digest of its content; a damaged entry is ignored and
asked for again. A reply costs money, so it is synced to the disk.
"""

from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from affidavit.base.canonical import jcs
from affidavit.base.digest import digest_of, sha256_hex
from affidavit.base.errors import AffidavitError
from affidavit.base.files import read_bounded, write_atomically
from affidavit.judge.chat.settings import ResponseFormat

_MAX_ENTRY_BYTES: Final = 16 * 1024 * 1024


class CachedReply(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a model wrote, why it stopped, and the format that was requested."""

    content: str
    ending: str
    format: ResponseFormat


class _CacheEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    key: str
    digest: str
    reply: CachedReply


def _digest(key: str, reply: CachedReply) -> str:
    return digest_of(jcs([key, reply.content, reply.ending, reply.format]))


class ReplyCache:
    """A folder of replies. If it is deleted, the replies must be paid for again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def has(self, key: str) -> bool:
        """Tell whether there is a valid entry."""
        return self.find(key) is not None

    def find(self, key: str) -> CachedReply | None:
        """Return the reply with this key, if there is a valid one."""
        try:
            entry = msgspec.json.decode(
                read_bounded(self._place(key), _MAX_ENTRY_BYTES), type=_CacheEntry
            )
            is_valid = entry.key == key and entry.digest == _digest(key, entry.reply)
        except (AffidavitError, msgspec.DecodeError):
            return None
        return entry.reply if is_valid else None

    def keep(self, key: str, reply: CachedReply) -> None:
        """Store a reply. A failure is an error: the reply was paid for."""
        place = self._place(key)
        with suppress(OSError):  # Writing fails next, and raises the error.
            place.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(place, msgspec.json.encode(_CacheEntry(key, _digest(key, reply), reply)))

    def _place(self, key: str) -> Path:
        name = sha256_hex(key.encode())
        return self.folder / name[:2] / f"{name}.json"
