"""The log of Inspect: the zip archive of an .eval file, and the samples in it or in a JSON file.

Origin: logs of version 2 as inspect-ai 0.3.285 writes them. Inspect has no retrieval; passages are
read from the metadata of a sample, under the usual names.
"""

import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from io import BufferedReader
from typing import Final

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import gates as faults
from affidavit.base.faults.input import EXTRA_MISSING
from affidavit.base.json_values import JsonLimits
from affidavit.importers.fields import (
    ASSISTANT_ROLES,
    USER_ROLES,
    chunks,
    flag,
    last_text,
    milliseconds,
    named_chunks,
    row_in,
    score_from,
    text,
    texts,
)
from affidavit.importers.tool_format import (
    FilePlan,
    Record,
    Row,
    ToolFormat,
    ToolName,
    ToolScore,
    row_shaper,
    unfold_list,
)

# Reads the archive of an Inspect log, which is not trusted.
#
# It is a zip with one JSON file per sample. Each is read alone, so logs of any length can be read.
# Before unpacking, these are refused: encryption, two members of one name, members above the size
# limit of a sample, and compression ratios that no text reaches. Newer logs are compressed with
# Zstandard, which Python's zip reader supports from 3.14 on; until then pyarrow unpacks it.

SAMPLE: Final = JsonLimits(max_bytes=256 * 1024 * 1024, max_depth=128, max_string=64 * 1024 * 1024)
MAX_RATIO: Final = 1000
_HARMLESS: Final = 1024 * 1024
"""Below this size any ratio is harmless."""
_ENCRYPTED: Final = 0x1
_ZSTANDARD: Final = 93
_LOCAL_HEADER: Final = struct.Struct("<4s22xHH")
_WORKBOOK_MEMBER: Final = "xl/workbook.xml"
_LOG_MEMBERS: Final = ("header.json", "_journal/start.json")


def members_in(stream: BufferedReader, file: str) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the JSON of the header, then of each sample of a log, in their order.

    A log without `header.json` belongs to an evaluation that did not end; what it planned is in
    `_journal/start.json`.
    """
    for member in _members(stream, file):
        yield member.filename, _unpacked(stream, member, file)


def _members(stream: BufferedReader, file: str) -> list[zipfile.ZipInfo]:
    try:
        with zipfile.ZipFile(stream) as archive:
            members = archive.infolist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError, struct.error):
        raise _broken("its zip archive is damaged", file) from None
    names = {member.filename for member in members}
    if _WORKBOOK_MEMBER in names:
        what, remedy = "an Excel workbook", "save the sheet as CSV UTF-8"
        raise AffidavitError(faults.IMPORT_PACKED, Where(file), what=what, remedy=remedy)
    if names.isdisjoint(_LOG_MEMBERS):
        raise _broken("it is a zip, but not a log of Inspect", file)
    if len(names) != len(members):
        raise _broken("two members have the same name", file)
    header = next(name for name in _LOG_MEMBERS if name in names)
    read = [one for one in members if one.filename == header]
    read += [one for one in members if one.filename.startswith("samples/")]
    for member in read:
        _check_members(member, file)
    return [one for one in read if one.filename.endswith(".json")]


def _check_members(member: zipfile.ZipInfo, file: str) -> None:
    if member.flag_bits & _ENCRYPTED:
        raise _broken("it is encrypted", file)
    if member.file_size > SAMPLE.max_bytes:
        raise _broken(f"a sample has more than {SAMPLE.max_bytes} bytes", file)
    if member.file_size > max(_HARMLESS, MAX_RATIO * member.compress_size):
        raise _broken(f"a sample unpacks to more than {MAX_RATIO} times its size", file)


def _unpacked(stream: BufferedReader, member: zipfile.ZipInfo, file: str) -> bytes:
    packed = _packed(stream, member, file)
    try:
        raw = _unpack(packed, member)
    except (zlib.error, OSError, ValueError):
        raise _broken(f"the member {member.filename} is damaged", file) from None
    if raw is None:
        raise _broken(f"unknown compression method {member.compress_type}", file)
    if len(raw) != member.file_size or zlib.crc32(raw) != member.CRC:
        raise _broken(f"the member {member.filename} is damaged", file)
    return raw


def _packed(stream: BufferedReader, member: zipfile.ZipInfo, file: str) -> bytes:
    """Return the compressed bytes after the local header of a member (APPNOTE 4.3.7)."""
    stream.seek(member.header_offset)
    header = stream.read(_LOCAL_HEADER.size)
    if len(header) == _LOCAL_HEADER.size:
        mark, name_bytes, extra_bytes = _LOCAL_HEADER.unpack(header)
        if mark == b"PK\x03\x04":
            stream.seek(name_bytes + extra_bytes, 1)
            packed = stream.read(member.compress_size)
            if len(packed) == member.compress_size:
                return packed
    raise _broken(f"the member {member.filename} is truncated", file)


def _unpack(packed: bytes, member: zipfile.ZipInfo) -> bytes | None:
    """Return at most one byte more than the declared size; None for an unknown method."""
    size = member.file_size
    if member.compress_type == zipfile.ZIP_STORED:
        return packed
    if member.compress_type == zipfile.ZIP_DEFLATED:
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, size + 1)
    if member.compress_type == _ZSTANDARD:
        return _from_zstandard(packed, size)
    return None


def _from_zstandard(packed: bytes, size: int) -> bytes:
    try:
        import pyarrow
    except ImportError:
        raise AffidavitError(
            EXTRA_MISSING, feature="this log", package="pyarrow", extra="parquet"
        ) from None
    # It decompresses into a buffer of exactly this size; larger data is an error.
    unpacked: bytes = pyarrow.decompress(packed, size, codec="zstd", asbytes=True)
    return unpacked


def _broken(reason: str, file: str) -> AffidavitError:
    return AffidavitError(faults.IMPORT_BROKEN, Where(file), reason=reason)


_CONTEXTS: Final = ("retrieved_contexts", "contexts", "context", "documents")
_ATTACHED: Final = "attachment://"
# Inspect counts correct, incorrect, partial and no answer so (`value_to_float`).
_GRADES: Final[Mapping[str, ToolScore]] = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}


def unfold(value: object) -> Iterable[object] | None:
    """Return the samples of a log; the header of an archive has none."""
    if isinstance(value, Mapping) and "eval" in value:
        samples = value.get("samples")
        return () if samples is None else samples if isinstance(samples, list) else None
    return unfold_list(value)


def plan_of(value: Row) -> FilePlan | None:
    """Return how many samples the evaluation planned, and why the log is not whole.

    A log is written while the evaluation runs; only the status `success` ends it.
    """
    if "eval" not in value:
        return None
    spec = row_in(value["eval"] or {}, "eval")
    config, dataset = spec.get("config") or {}, spec.get("dataset") or {}
    results = value.get("results") or {}
    rows = row_in(results, "results").get("total_samples")
    if not isinstance(rows, int):
        samples = row_in(dataset, "eval.dataset").get("samples")
        epochs = row_in(config, "eval.config").get("epochs") or 1
        is_known = isinstance(samples, int) and isinstance(epochs, int)
        rows = int(str(samples)) * int(str(epochs)) if is_known else None
    status = value.get("status", "started")
    problem = None if status == "success" else f"its status is {status!r}, not 'success'"
    if problem is None and value.get("invalidated"):
        problem = "it was marked as invalid"
    return FilePlan(rows, problem)


def record(row: Row) -> Record:
    """Return the record of a sample in one epoch."""
    metadata = row_in(row.get("metadata") or {}, "metadata")
    retrieved = named_chunks(
        chunks(metadata, *_CONTEXTS), texts(metadata, "retrieved_ids"), "metadata.retrieved_ids"
    )
    return Record(
        qid=_qid(row),
        repeats=text(row, "id") if _qid(row) != text(row, "id") else None,
        question=_attached(row, _question(row)),
        references=texts(row, "target"),
        answerable=flag(metadata, "answerable"),
        relevant=chunks(metadata, "reference_contexts"),
        is_run=True,
        answer=_attached(row, _answer(row)),
        retrieved=retrieved,
        scores=_scores(row),
        latency_ms=milliseconds(row.get("total_time"), 1000),
    )


def _qid(row: Row) -> str | None:
    """Return the sample's id; each further epoch of a sample is a separate question."""
    name = text(row, "id")
    epoch = row.get("epoch")
    return f"{name}#{epoch}" if name and isinstance(epoch, int) and epoch > 1 else name


def _question(row: Row) -> str | None:
    asked = row.get("input")
    return last_text(asked, USER_ROLES) if isinstance(asked, list) else text(row, "input")


def _answer(row: Row) -> str | None:
    """Return the completion; None for a sample that ended in an error."""
    output = row_in(row.get("output") or {}, "output")
    if row.get("error") is not None:
        return None  # What it had said until then is not what it would have answered.
    if output.get("choices") or output.get("completion"):
        return text(output, "completion") or last_text(row.get("messages"), ASSISTANT_ROLES) or ""
    return None


def _attached(row: Row, value: str | None) -> str | None:
    """Return a text; the log may store it separately, under its digest."""
    if value is None or not value.startswith(_ATTACHED):
        return value
    attachments = row_in(row.get("attachments") or {}, "attachments")
    return text(attachments, value.removeprefix(_ATTACHED)) or value


def _scores(row: Row) -> dict[str, ToolScore]:
    found: dict[str, ToolScore] = {}
    for name, score in row_in(row.get("scores") or {}, "scores").items():
        value = row_in(score, f"scores.{name}").get("value")
        parts = value.items() if isinstance(value, Mapping) else ((None, value),)
        for part, figure in parts:
            key = name if part is None else f"{name}.{part}"
            found[key] = _score(figure)
    return found


def _score(value: object) -> ToolScore:
    if isinstance(value, str) and value in _GRADES:
        return _GRADES[value]
    return score_from(value) if isinstance(value, str | int | float) else None


INSPECT: Final = ToolFormat(
    format=ToolName.INSPECT,
    signatures=(("id", "epoch", "input", "target"),),
    shape=row_shaper(record),
    unfold=unfold,
    plan_of=plan_of,
)
