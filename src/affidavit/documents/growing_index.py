"""The index of a workspace: it grows and shrinks by single documents, and mends itself.

Beside the word index is the list of the documents in it. An update compares it with the documents
that there should be, and adds and removes only the difference. The list is written after the words,
so after a kill the same difference is applied again, which changes nothing.
"""

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults.input import FILE_UNWRITABLE
from affidavit.base.files import read_bounded, write_atomically
from affidavit.documents.index import Passages, SourceIndex, hold_lock
from affidavit.documents.model import READER_VERSION
from affidavit.documents.word_index import WORD_INDEX_FOLDER, GrowingWordIndex, WordIndex
from affidavit.ledger.model import Chunk

GROWING_VERSION: Final = 1
"""Increased whenever the words of an index are made otherwise; it is then built again."""
_LIST: Final = "documents.json"
_MAX_LIST_BYTES: Final = 64 * 1024 * 1024
_ATTEMPTS: Final = 5

ChunksOf = Callable[[str], Mapping[int, Chunk]]
"""The chunks of a document, by their numbers."""


class _Listed(msgspec.Struct, frozen=True):
    version: tuple[int, int]
    documents: dict[str, str]


_VERSION: Final = (GROWING_VERSION, READER_VERSION)


def update_index(place: Path, wanted: Mapping[str, str], chunks_of: ChunksOf) -> int:
    """Make the index hold these documents, and return how many were added or removed.

    `wanted` has a state for each document, which changes when its chunks do.
    """
    try:
        place.mkdir(parents=True, exist_ok=True)
        if _listed(place) == wanted:
            return 0
        with hold_lock(place):
            return _apply(place, wanted, chunks_of)
    except (OSError, ValueError) as error:  # tantivy: a full disk
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise AffidavitError(FILE_UNWRITABLE, Where(file=str(place)), reason=reason) from error


def open_growing_index(place: Path, passages: Passages) -> SourceIndex:
    """Open the index as it is now; what is added later is not seen."""
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            return SourceIndex(passages, WordIndex(place / WORD_INDEX_FOLDER))
        except (OSError, ValueError) as error:  # A writer has just removed old files.
            if attempt == _ATTEMPTS:
                raise AffidavitError(
                    FILE_UNWRITABLE, Where(file=str(place)), reason=str(error)
                ) from error
    raise AssertionError


def _apply(place: Path, wanted: Mapping[str, str], chunks_of: ChunksOf) -> int:
    listed = _listed(place)
    if not listed:  # Nobody knows what is in an index without its list.
        shutil.rmtree(place / WORD_INDEX_FOLDER, ignore_errors=True)
    changed = [each for each, state in wanted.items() if listed.get(each) != state]
    removed = [each for each in listed if each not in wanted]
    words = GrowingWordIndex(place / WORD_INDEX_FOLDER)
    try:
        for document in removed:
            words.replace(document, {})
        for document in changed:
            words.replace(document, chunks_of(document))
    except BaseException:
        words.abandon()
        raise
    words.finish()
    text = msgspec.json.encode(_Listed(_VERSION, dict(wanted)))
    write_atomically(place / _LIST, text)
    return len(changed) + len(removed)


def _listed(place: Path) -> dict[str, str]:
    """Return the documents in the index; a damaged or older list counts as empty."""
    try:
        raw = read_bounded(place / _LIST, _MAX_LIST_BYTES)
        found = msgspec.json.decode(raw, type=_Listed)
    except (AffidavitError, msgspec.DecodeError):
        return {}
    return found.documents if found.version == _VERSION else {}
