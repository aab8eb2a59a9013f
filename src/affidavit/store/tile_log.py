"""An append-only log as files: C2SP's tlog-tiles layout, one folder for each log.

Tiles and entries are written before the checkpoint that covers them, each atomically. So a killed
process leaves a log that ends at its last checkpoint; what it had written beyond is written again.
An append is acknowledged when its checkpoint is on the disk.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Final

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import attestation as faults
from affidavit.base.files import read_bounded, write_atomically
from affidavit.seal.bundle.merkle import DIGEST_BYTES, EMPTY_ROOT, leaf_of
from affidavit.seal.transparency import (
    TILE_WIDTH,
    Checkpoint,
    NoteKey,
    Sign,
    SignedNote,
    added_tiles,
    entries_bytes,
    entries_from,
    require_entry_size,
    root_of_tiles,
    sign_checkpoint,
    signed_checkpoint_from,
    tile_path,
    tiles_of,
)
from affidavit.store.files import exclusive_lock, may_exist

_ENTRIES: Final = "entries"
_MAX_TILE_BYTES: Final = TILE_WIDTH * DIGEST_BYTES
_MAX_ENTRIES_BYTES: Final = TILE_WIDTH * (2 + 0xFFFF)
_MAX_CHECKPOINT_BYTES: Final = 1024 * 1024


class TileLog:
    """The log in a folder. Its key is not stored: whoever opens it has to know whom to believe."""

    def __init__(self, folder: Path, key: NoteKey) -> None:
        self._folder = folder
        self.key = key

    @property
    def checkpoint_path(self) -> Path:
        """The file of the newest checkpoint."""
        return self._folder / "checkpoint"

    def create(self, sign: Sign) -> SignedNote:
        """Create an empty log; raise if the folder has one already."""
        with self._locked():
            if may_exist(self.checkpoint_path):
                problem = "there is a log already"
                raise AffidavitError(
                    faults.LOG_STATE, Where(file=str(self._folder)), problem=problem
                )
            note = sign_checkpoint(Checkpoint(self.key.name, 0, EMPTY_ROOT), self.key, sign)
            self._write(self.checkpoint_path, note.text.encode())
        return note

    def checkpoint(self) -> tuple[SignedNote, Checkpoint]:
        """Return the newest checkpoint, which the log has signed."""
        path = self.checkpoint_path
        if not may_exist(path):
            raise AffidavitError(faults.LOG_NONE, Where(file=str(self._folder)))
        try:
            raw = read_bounded(path, _MAX_CHECKPOINT_BYTES)
            return signed_checkpoint_from(raw.decode("utf-8", "replace"), (self.key,))
        except AffidavitError as error:
            raise error.at(file=str(path)) from None

    def append(self, entries: Sequence[bytes], sign: Sign) -> tuple[SignedNote, Checkpoint]:
        """Append entries and return the new checkpoint, when everything is on the disk."""
        for entry in entries:
            require_entry_size(entry)
        with self._locked():
            _, old = self.checkpoint()
            self._require_root(old)
            read = self.reader(old.size)
            edges = {
                level: read(level, index)
                for level, index, width in tiles_of(old.size)
                if width < TILE_WIDTH
            }
            for level, index, hashes in added_tiles(old.size, edges, list(map(leaf_of, entries))):
                self._write(self._path(level, index, len(hashes) // DIGEST_BYTES), hashes)
            self._write_entries(old.size, entries)
            size = old.size + len(entries)
            root = root_of_tiles(size, self.reader(size))
            new = Checkpoint(self.key.name, size, root)
            note = sign_checkpoint(new, self.key, sign)
            self._write(self.checkpoint_path, note.text.encode())
        return note, new

    def update_checkpoint(self, change: Callable[[SignedNote, Checkpoint], SignedNote]) -> None:
        """Replace the newest checkpoint by the same one with other signatures."""
        self.checkpoint()  # The lock would create the folder of a log that does not exist.
        with self._locked():
            self._write(self.checkpoint_path, change(*self.checkpoint()).text.encode())

    def reader(self, size: int) -> Callable[[int, int], bytes]:
        """Return what reads the tiles of a tree of this size."""

        @lru_cache(maxsize=64)
        def read(level: int, index: int) -> bytes:
            count = (size >> (8 * level)) - index * TILE_WIDTH
            width = min(TILE_WIDTH, count)
            wanted = width * DIGEST_BYTES
            # A full tile replaces the partial ones of the same index.
            for each in dict.fromkeys((width, TILE_WIDTH)):
                with suppress(AffidavitError):
                    data = read_bounded(self._path(level, index, each), _MAX_TILE_BYTES)[:wanted]
                    if len(data) == wanted:
                        return data
            raise self._broken(f"the tile {tile_path(level, index, width)} is missing or cut")

        return read

    def entries(self, size: int) -> Iterator[bytes]:
        """Yield the entries of a log of this size, in order."""
        for first in range(0, size, TILE_WIDTH):
            yield from self._entries_of(first // TILE_WIDTH, min(TILE_WIDTH, size - first))

    def check(self) -> tuple[SignedNote, Checkpoint]:
        """Compute the whole log again from its entries; raise unless it is what it signed."""
        note, checkpoint = self.checkpoint()
        read = self.reader(checkpoint.size)
        leaves = [leaf_of(entry) for entry in self.entries(checkpoint.size)]
        for level, index, hashes in added_tiles(0, {}, leaves):
            if read(level, index) != hashes:
                raise self._broken(f"the tile {tile_path(level, index)} has other hashes")
        self._require_root(checkpoint)
        return note, checkpoint

    def _require_root(self, checkpoint: Checkpoint) -> None:
        if root_of_tiles(checkpoint.size, self.reader(checkpoint.size)) != checkpoint.root:
            raise self._broken(f"its tiles do not have the root of its {checkpoint.size} entries")

    def _entries_of(self, index: int, width: int) -> list[bytes]:
        for each in dict.fromkeys((width, TILE_WIDTH)):
            path = self._folder / tile_path(_ENTRIES, index, each)
            if may_exist(path):
                found = entries_from(read_bounded(path, _MAX_ENTRIES_BYTES))[:width]
                if len(found) == width:
                    return found
        raise self._broken(f"entries of {tile_path(_ENTRIES, index, width)} are missing")

    def _write_entries(self, size: int, entries: Sequence[bytes]) -> None:
        first, kept = divmod(size, TILE_WIDTH)
        rest = [*(self._entries_of(first, kept) if kept else ()), *entries]
        for at in range(0, len(rest), TILE_WIDTH):
            part = rest[at : at + TILE_WIDTH]
            path = self._folder / tile_path(_ENTRIES, first + at // TILE_WIDTH, len(part))
            self._write(path, entries_bytes(part))

    def _path(self, level: int, index: int, width: int) -> Path:
        return self._folder / tile_path(level, index, width)

    def _write(self, path: Path, data: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, data)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with exclusive_lock(self._folder / ".lock"):
            yield

    def _broken(self, problem: str) -> AffidavitError:
        return AffidavitError(
            faults.LOG_CONSISTENCY, Where(file=str(self._folder)), problem=problem
        )
