"""Rows of a Parquet file, a batch at a time."""

from collections.abc import Iterator
from io import BufferedReader
from typing import Final

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import gates as faults
from affidavit.base.faults.input import EXTRA_MISSING

_BATCH_ROWS: Final = 1000


def parquet_rows(stream: BufferedReader, file: str) -> Iterator[tuple[int, dict[str, object]]]:
    """Yield each row with its number."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise AffidavitError(
            EXTRA_MISSING, feature="reading Parquet", package="pyarrow", extra="parquet"
        ) from None
    number = 0
    try:
        opened = parquet.ParquetFile(stream)
        for batch in opened.iter_batches(batch_size=_BATCH_ROWS):
            for row in batch.to_pylist():
                number += 1
                yield number, row
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise AffidavitError(
            faults.IMPORT_BROKEN, Where(file), reason=f"as Parquet it cannot be read ({reason})"
        ) from None
