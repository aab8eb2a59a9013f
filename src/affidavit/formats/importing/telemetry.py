"""OTLP exports of programs that record their models and retrievers: three dialects of one shape.

Origin: openinference-semantic-conventions 0.1.42; OpenTelemetry's conventions for generative AI,
all of them still in development; and the attributes that langfuse 5.0.4 sends.
"""

from typing import Final

from affidavit.formats.importing.dialect import BOTH, TRACES, Dialect, Holds
from affidavit.formats.importing.model import Format
from affidavit.formats.importing.shaping import by_record
from affidavit.formats.importing.span_records import record
from affidavit.formats.importing.spans import LANGFUSE_MARK, TRACE, by_trace, unfold


def _exported(name: Format, *marks: str, holds: Holds = TRACES) -> Dialect:
    signatures = tuple((TRACE, mark) for mark in marks)
    return Dialect(name, signatures, by_record(record), unfold, by_trace, holds)


# In an experiment the item's expected output is recorded too.
LANGFUSE_SPANS: Final = _exported(Format.LANGFUSE, LANGFUSE_MARK, holds=BOTH)
OPENINFERENCE: Final = _exported(Format.OPENINFERENCE, "openinference.span.kind")
GEN_AI: Final = _exported(Format.GEN_AI, "gen_ai.operation.name", "gen_ai.system")
