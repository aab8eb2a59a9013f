"""The formats, in the order in which a row is held against them.

The order matters only where the fields of one are also fields of another: the plain table, whose
names are everybody's, is last.
"""

from typing import Final

from affidavit.formats.importing.dialect import Dialect
from affidavit.formats.importing.model import Format
from affidavit.formats.importing.native import NATIVE
from affidavit.formats.importing.ragas import RAGAS
from affidavit.formats.importing.table import TABLE

DIALECTS: Final[tuple[Dialect, ...]] = (NATIVE, RAGAS, TABLE)
BY_FORMAT: Final = {dialect.format: dialect for dialect in DIALECTS}


def dialect_named(name: Format) -> Dialect:
    """Return the dialect of a format."""
    return BY_FORMAT[name]
