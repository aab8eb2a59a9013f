"""Replies that were paid for, by the digest of all that was asked.

An entry is written whole or not at all, and carries the digest of its content; one that does not
hold is passed over and asked for again. A reply is evidence, so unlike a cache of readings it is
synced to the disk: it cannot be had again for free.
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
    """What a model wrote, how it ended, and the form in which it was asked for."""

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
    """A folder of replies. It may be deleted at any time; then they cost again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def has(self, key: str) -> bool:
        """Tell whether there is an entry that holds."""
        return self.find(key) is not None

    def find(self, key: str) -> CachedReply | None:
        """Return the reply to what the key stands for."""
        try:
            entry = msgspec.json.decode(
                read_bounded(self._place(key), _MAX_ENTRY_BYTES), type=_CacheEntry
            )
            holds = entry.key == key and entry.digest == _digest(key, entry.reply)
        except (AffidavitError, msgspec.DecodeError):
            return None
        return entry.reply if holds else None

    def keep(self, key: str, reply: CachedReply) -> None:
        """Keep a reply. A folder that cannot be written is an error: the money is spent."""
        place = self._place(key)
        with suppress(OSError):  # Writing fails next, and says why.
            place.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(place, msgspec.json.encode(_CacheEntry(key, _digest(key, reply), reply)))

    def _place(self, key: str) -> Path:
        name = sha256_hex(key.encode())
        return self.folder / name[:2] / f"{name}.json"
