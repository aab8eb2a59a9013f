"""Documents that were read before, by the digest of their bytes.

Unchanged files are not read again. An entry is named by all that decides it, and begins with the
SHA-256 of the rest; one that is torn or foreign counts as missing.
"""

from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec

from affidavit.base.digest import sha256_hex
from affidavit.base.errors import AffidavitError
from affidavit.base.files import read_bounded
from affidavit.documents.detection import extension_of
from affidavit.documents.reading import (
    READER_VERSION,
    IngestedDocument,
    ReadingOutcome,
    RefusedDocument,
)
from affidavit.documents.settings import DocumentSettings
from affidavit.documents.source_files import SourceFile

OUTCOME_ENCODER: Final = msgspec.msgpack.Encoder()
OUTCOME_DECODER: Final = msgspec.msgpack.Decoder(IngestedDocument | RefusedDocument)
_MAX_ENTRY_BYTES: Final = 1 << 30
_DIGEST_BYTES: Final = 32


class DocumentCache:
    """A folder of documents that were read."""

    def __init__(self, folder: Path, settings: DocumentSettings) -> None:
        self._folder = folder
        self._settings = msgspec.json.encode((READER_VERSION, settings))

    def has(self, file: SourceFile, digest: str) -> bool:
        """Tell whether there is an entry, without looking into it."""
        return self._entry(file, digest).is_file()

    def find(self, file: SourceFile, digest: str) -> ReadingOutcome | None:
        """Return what reading these bytes under this name gave before."""
        try:
            entry = read_bounded(self._entry(file, digest), _MAX_ENTRY_BYTES)
            body = entry[_DIGEST_BYTES:]
            if sha256(body).digest() != entry[:_DIGEST_BYTES]:
                return None
            outcome: ReadingOutcome = OUTCOME_DECODER.decode(body)
        except (AffidavitError, msgspec.DecodeError):
            return None
        return with_filename(outcome, file.filename)

    def keep(self, file: SourceFile, digest: str, outcome: ReadingOutcome) -> None:
        """Keep an outcome. A cache that cannot be written is a slower one, not an error."""
        body = OUTCOME_ENCODER.encode(outcome)
        target = self._entry(file, digest)
        # Not synced: an entry that a power cut tears does not bear its seal, and is read again.
        with suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            part = target.with_suffix(".part")
            part.write_bytes(sha256(body).digest() + body)
            part.replace(target)

    def _entry(self, file: SourceFile, digest: str) -> Path:
        # The ending decides how text is read, and whether the name is right.
        ending = extension_of(file.filename).encode()
        parts = (self._settings, digest.encode(), ending, b"named" if file.named else b"")
        return self._folder / f"{sha256_hex(b'|'.join(parts))}.msgpack"


def with_filename(outcome: ReadingOutcome, filename: str) -> ReadingOutcome:
    """Return the outcome for the same bytes under another name."""
    replace = msgspec.structs.replace
    if isinstance(outcome, RefusedDocument):
        return RefusedDocument(replace(outcome.finding, file=filename))
    findings = tuple(replace(finding, file=filename) for finding in outcome.findings)
    return replace(outcome, filename=filename, findings=findings)
