"""Limits and sizes as values, so that a test, a user or a service can choose them."""

import msgspec


class DocumentLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What a document may cost. Over a limit it is refused with a finding, never cut."""

    max_bytes: int = 256 * 1024 * 1024
    max_pages: int = 20_000
    max_characters: int = 50_000_000
    """Of normalised text: some 20,000 dense pages."""
    max_blocks: int = 2_000_000
    max_unpacked_bytes: int = 512 * 1024 * 1024
    """Of a DOCX: all of its parts together."""
    max_compression_ratio: int = 400
    """Real word processors stay below 100; a zip bomb is at 1,000."""
    max_members: int = 10_000
    max_depth: int = 256
    """Of nested elements, list levels and tables."""
    seconds_per_document: float = 120.0
    max_memory_bytes: int = 4 * 1024**3
    """Of address space, per reading process; where the system can limit it."""


class ChunkSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How a document is cut into passages.

    The defaults are the best of those measured by benchmarks/retrieval.py.
    """

    target_characters: int = 1_000
    """A passage is closed before the block that would take it over this size."""
    overlap_characters: int = 120
    """At most this much, in whole sentences, is repeated where a section had to be cut."""


class DocumentSettings(msgspec.Struct, frozen=True, kw_only=True):
    """All that decides what an index holds, apart from the documents."""

    limits: DocumentLimits = DocumentLimits()
    chunking: ChunkSettings = ChunkSettings()
