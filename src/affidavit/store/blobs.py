"""The original bytes of documents, in files named by their digest."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults.input import FILE_UNWRITABLE

_PREFIX: Final = "sha256:"


class BlobFolder:
    """Files by digest. The same bytes are kept once, for all workspaces."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def incoming(self) -> Path:
        """The folder of unfinished uploads, on the same disk."""
        folder = self._folder / "incoming"
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise AffidavitError(FILE_UNWRITABLE, Where(file=str(folder)), reason=reason) from error
        return folder

    def path(self, digest: str) -> Path:
        """Return the file of a digest, which need not exist."""
        name = digest.removeprefix(_PREFIX)
        return self._folder / name[:2] / name

    def keep(self, upload: Path, digest: str) -> None:
        """Move a finished upload, which is on the disk already, to its place."""
        target = self.path(digest)
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        upload.replace(target)

    def digests(self) -> list[str]:
        """Return the digests of all files."""
        return sorted(_PREFIX + path.name for path in self._folder.glob("[0-9a-f][0-9a-f]/*"))

    def delete(self, digests: Iterable[str]) -> None:
        """Delete files."""
        for digest in digests:
            with suppress(OSError):
                self.path(digest).unlink()
