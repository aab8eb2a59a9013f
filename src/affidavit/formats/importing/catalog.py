"""The formats, in the order in which a row is held against them.

The order matters only where the fields of one are also fields of another: the plain table, whose
names are everybody's, is last.
"""

from typing import Final

from affidavit.formats.importing.deepeval import DEEPEVAL
from affidavit.formats.importing.dialect import Dialect
from affidavit.formats.importing.inspect_log import INSPECT
from affidavit.formats.importing.langfuse import LANGFUSE
from affidavit.formats.importing.native import NATIVE, NATIVE_ROWS
from affidavit.formats.importing.promptfoo import PROMPTFOO
from affidavit.formats.importing.ragas import RAGAS
from affidavit.formats.importing.ragchecker import RAGCHECKER
from affidavit.formats.importing.table import TABLE
from affidavit.formats.importing.telemetry import GEN_AI, LANGFUSE_SPANS, OPENINFERENCE

DIALECTS: Final[tuple[Dialect, ...]] = (
    NATIVE,
    NATIVE_ROWS,
    PROMPTFOO,
    INSPECT,
    LANGFUSE_SPANS,
    OPENINFERENCE,
    GEN_AI,
    LANGFUSE,
    RAGCHECKER,
    RAGAS,
    DEEPEVAL,
    TABLE,
)
