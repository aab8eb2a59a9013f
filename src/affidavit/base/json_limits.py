"""What JSON we read: the kinds of value, and the limits a caller passes in."""

from dataclasses import dataclass
from typing import Final, TypeAlias

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"

# Beyond 2^53 - 1 neighbouring integers are one and the same number to JavaScript and to every other
# reader that keeps numbers as doubles (RFC 8259, section 6).
MAX_INTEGER: Final = 2**53 - 1

# orjson writes no deeper, and our proofs write what they have read. A test holds it to that.
DEEPEST: Final = 254


@dataclass(frozen=True, slots=True)
class JsonLimits:
    """How large a document may be; every limit is the largest that is still accepted.

    `max_keys` is per object, `max_string` counts characters (not bytes) of a text or a key.
    """

    max_bytes: int = 16 * 1024 * 1024
    max_depth: int = (
        64  # As in Assay's VerifyLimits, so that either tool reads the other's bundles.
    )
    max_keys: int = 100_000
    max_string: int = 4 * 1024 * 1024

    def __post_init__(self) -> None:
        if not 0 <= self.max_depth <= DEEPEST:
            raise ValueError(f"max_depth must be from 0 to {DEEPEST}, not {self.max_depth}")


DOCUMENT_LIMITS: Final = JsonLimits()
# One line of a JSON lines file: Assay's max_line_bytes.
LINE_LIMITS: Final = JsonLimits(max_bytes=1024 * 1024)
