"""Unpacks compressed files while they are read, and lists the files of a saved data set."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BufferedReader, RawIOBase
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Protocol, TypeVar

from msgspec import Struct, ValidationError, convert

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import gates as faults
from affidavit.base.faults.input import EXTRA_MISSING
from affidavit.base.strict_json import read_json_file

PACKED: Final[Mapping[bytes, str]] = MappingProxyType(
    {
        b"\x1f\x8b": "gzip",
        b"BZh": "bzip2",
        b"\xfd7zXZ\0": "xz",
        b"\x28\xb5\x2f\xfd": "Zstandard",
    }
)
"""The compressions that are read, by the first bytes of a file."""
_BUFFER_BYTES: Final = 1 << 18


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes:
        """Return at most `size` bytes; b"" at the end."""
        ...


@contextmanager
def unpacked(stream: BufferedReader, method: str, file: str) -> Iterator[BufferedReader]:
    """Open what a stream contains; data that is damaged or cut is a coded error when it is read.

    Lines and documents are limited in size, so that a small file cannot fill the memory.
    """
    plain: BufferedReader = BufferedReader(_Unpacking(stream, method, file), _BUFFER_BYTES)
    with plain:
        yield plain


class _Unpacking(RawIOBase):
    """The unpacked bytes of a stream."""

    def __init__(self, stream: BufferedReader, method: str, file: str) -> None:
        self._plain, self._errors = _opened(stream, method)
        self._method = method
        self._file = file

    def readable(self) -> bool:
        """Say that it can be read, as buffers ask."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer, and return how many bytes there were."""
        try:
            data = self._plain.read(len(buffer))
        except self._errors as error:
            reason = f"its {self._method} data is {_damage(error)}"
            raise AffidavitError(faults.IMPORT_BROKEN, Where(self._file), reason=reason) from None
        buffer[: len(data)] = data
        return len(data)


def _damage(error: Exception) -> str:
    return "cut" if isinstance(error, EOFError) else "damaged"


def _opened(stream: BufferedReader, method: str) -> tuple[_Readable, tuple[type[Exception], ...]]:
    """Return a reader of unpacked bytes and its errors. The modules are seldom needed."""
    if method == "gzip":
        import gzip
        import zlib

        return gzip.GzipFile(fileobj=stream), (EOFError, OSError, zlib.error)
    if method == "bzip2":
        import bz2

        return bz2.BZ2File(stream), (EOFError, OSError)
    if method == "xz":
        import lzma

        return lzma.LZMAFile(stream), (EOFError, lzma.LZMAError)
    try:
        import pyarrow
    except ImportError:
        raise AffidavitError(
            EXTRA_MISSING, feature="reading Zstandard", package="pyarrow", extra="parquet"
        ) from None
    return pyarrow.CompressedInputStream(stream, "zstd"), (OSError, pyarrow.ArrowException)


# `save_to_disk` of Hugging Face `datasets` writes a folder with Arrow streams, whose order is in
# `state.json`. A folder of several splits has a folder for each, named in `dataset_dict.json`.


class _DataFile(Struct):
    filename: str


class _State(Struct, rename={"files": "_data_files"}):
    files: tuple[_DataFile, ...]


class _Splits(Struct):
    splits: tuple[str, ...]


Saved = TypeVar("Saved", _State, _Splits)


def data_files(folder: Path, shown: str) -> tuple[Path, ...]:
    """Return the files of a saved data set, in the order of its rows."""
    if (folder / "dataset_dict.json").is_file():
        splits = _read(folder / "dataset_dict.json", _Splits).splits
        if len(splits) != 1:
            names = " or ".join(f"{shown}/{split}" for split in splits)
            raise AffidavitError(faults.IMPORT_SPLITS, Where(shown), count=len(splits), names=names)
        folder /= Path(splits[0]).name
    if not (folder / "state.json").is_file():
        raise AffidavitError(faults.IMPORT_FOLDER, Where(shown))
    state = _read(folder / "state.json", _State)
    return tuple(folder / Path(one.filename).name for one in state.files)


def _read(path: Path, kind: type[Saved]) -> Saved:
    try:
        return convert(read_json_file(path), kind)
    except ValidationError as error:
        raise AffidavitError(faults.IMPORT_BROKEN, Where(str(path)), reason=str(error)) from None
