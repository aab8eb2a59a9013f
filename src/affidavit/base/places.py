"""How an error names a place inside a document, and quotes from it."""

from collections.abc import Iterable


def line_and_column(raw: bytes, at: int) -> tuple[int, int]:
    """Return where a byte stands, both counted from 1; a column is a character."""
    line_start = raw.rfind(b"\n", 0, at) + 1
    column = len(raw[line_start:at].decode(errors="replace")) + 1
    return raw.count(b"\n", 0, at) + 1, column


def field_path(steps: Iterable[str | int | None]) -> str | None:
    """Return a path as a reader writes it, `checks[2].path`; None for the value itself.

    A step that is None is not known. A key that is not a plain word stands in quotes, so that the
    path is never ambiguous and no control character of a hostile document reaches a terminal.
    """
    path = ""
    for step in steps:
        if isinstance(step, int):
            path += f"[{step}]"
        elif isinstance(step, str):
            word = excerpt(step)
            is_plain = word.isascii() and word.replace("-", "_").isidentifier()
            path += f"[{word!r}]" if not is_plain else f".{word}" if path else word
    return excerpt(path, 80) or None


def excerpt(text: str, longest: int = 60) -> str:
    """Return a text that is short enough for an error's message."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
