"""Minimal files to import."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

from affidavit.base.errors import AffidavitError
from affidavit.importers.reader import read_rows
from affidavit.importers.tool_format import ImportedRow


def json_bytes(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def lines(*values: object) -> bytes:
    return b"".join(json_bytes(value) + b"\n" for value in values)


def archive(*members: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a zip, which is a log of Inspect if it has a header."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", method) as made:
        for name, data in members:
            made.writestr(name, data)
    return packed.getvalue()


def span(trace: str, name: str, parent: str | None = None, **more: Any) -> dict[str, Any]:
    """Return a span of OTLP; attributes are given as plain texts."""
    attributes = more.pop("attributes", {})
    return {
        "traceId": trace,
        "spanId": name,
        **({"parentSpanId": parent} if parent else {}),
        "startTimeUnixNano": more.pop("start", "1"),
        "attributes": [
            {"key": key, "value": {"stringValue": value} if isinstance(value, str) else value}
            for key, value in attributes.items()
        ],
        **more,
    }


def export(*spans: dict[str, Any]) -> dict[str, Any]:
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}


def rows_from(folder: Path, data: bytes, **options: Any) -> list[ImportedRow]:
    path = folder / "file"
    path.write_bytes(data)
    return list(read_rows(path, **options))


def refusal(folder: Path, data: bytes, **options: Any) -> AffidavitError:
    """Return the error with which a file is refused."""
    try:
        rows = rows_from(folder, data, **options)
    except AffidavitError as error:
        return error
    raise AssertionError(f"it was read: {rows}")
