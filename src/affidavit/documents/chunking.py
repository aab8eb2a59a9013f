"""Cuts a document into chunks that can be cited, along the document's own structure.

The rules, in order of precedence:
1. A heading begins a chunk and is part of it; headings without text between them share one.
2. Blocks stay whole: paragraphs, list items, table rows (each with its header). Only a block over
   the target is cut, at its sentences; code at its lines; a sentence over the target at its spaces.
3. A chunk ends before the block that would take it over the target, and where a page ends, so
   that the page that is cited is the page on which the chunk begins.
4. A sentence that introduces a list ("... are:") and the caption of a table go with what follows.
   Later chunks of the same list or table have it as the last entry of their heading path.
5. Where a section is cut for its size, the next chunk repeats the last whole blocks or sentences
   up to the overlap.
6. A footnote is a chunk of its own: it is not part of the text around it.
A chunk is always one range of the document's text.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

import msgspec

from affidavit.base.digest import chunk_hash, content_id
from affidavit.documents.model import ChunkSettings, ReadDocument, TextBlock, TextBlockKind
from affidavit.ledger.model import Chunk, Span
from affidavit.ledger.sentences import sentence_spans


class _Segment(msgspec.Struct, frozen=True, gc=False):
    """A range of text that is never cut. `intro` is the range that introduces its list."""

    start: int
    end: int
    announces: bool = False
    intro: Span | None = None


_LISTED: Final = (TextBlockKind.ITEM, TextBlockKind.ROW, TextBlockKind.CODE)
_LONGEST_INTRO: Final = 300
_SPACE_NEAR_END: Final = re.compile(r"\s(?=\S*$)")


def chunk_document(read: ReadDocument, settings: ChunkSettings) -> tuple[Chunk, ...]:
    """Return the chunks of a document in order."""
    return tuple(_Chunker(read, settings).chunks())


class _Chunker:
    def __init__(self, read: ReadDocument, settings: ChunkSettings) -> None:
        self._read = read
        self._target = settings.target_characters
        self._overlap = settings.overlap_characters
        self._page_starts = [offset for offset, _ in read.page_marks]
        self._count = 0
        self._path: list[tuple[int, str]] = []
        self._lead: int | None = None
        """Where the headings begin that no text has followed yet."""
        self._segments: list[_Segment] = []
        self._repeated = 0
        """How many of the first segments repeat the end of the chunk before."""
        self._intro: Span | None = None

    def chunks(self) -> Iterator[Chunk]:
        blocks = self._read.blocks
        for block in blocks:
            if block.kind is TextBlockKind.HEADING:
                yield from self._close()
                yield from self._heading(block)
            elif block.kind is TextBlockKind.CONTENTS:
                yield from self._close()
                yield from self._close_lead(block.start)
            elif block.kind is TextBlockKind.NOTE:
                yield from self._note(block)
            else:
                self._intro = self._intro if block.kind in _LISTED else None
                for segment in self._segments_of(block):
                    yield from self._add(segment, block.kind)
                    if segment.announces:
                        self._intro = self._intro_in(segment)
        yield from self._close()
        yield from self._close_lead(len(self._read.text))

    def _heading(self, block: TextBlock) -> Iterator[Chunk]:
        if self._lead is not None and block.end - self._lead > self._target:
            yield from self._close_lead(block.start)
        while self._path and self._path[-1][0] >= block.level:
            self._path.pop()
        self._path.append((block.level, self._read.text[block.start : block.end]))
        if self._lead is None:
            self._lead = block.start

    def _note(self, block: TextBlock) -> Iterator[Chunk]:
        yield from self._close()
        for segment in self._segments_of(block):
            yield from self._add(segment, block.kind)
        yield from self._close()

    def _intro_in(self, segment: _Segment) -> Span:
        """Return the sentence that introduces what follows: the last of its block."""
        text = self._read.text[segment.start : segment.end]
        last = sentence_spans(text)[-1:]
        start = segment.start + (last[0].start if last else 0)
        return Span(start, segment.end)

    def _segments_of(self, block: TextBlock) -> Iterator[_Segment]:
        if block.end - block.start <= self._target:
            yield _Segment(block.start, block.end, self._announces(block), self._intro)
        else:
            yield from self._pieces(block)

    def _announces(self, block: TextBlock) -> bool:
        return block.kind is TextBlockKind.CAPTION or (
            block.kind is TextBlockKind.PARAGRAPH and self._read.text[block.end - 1] == ":"
        )

    def _pieces(self, block: TextBlock) -> Iterator[_Segment]:
        text = self._read.text[block.start : block.end]
        if block.kind is TextBlockKind.CODE:
            starts = [0, *(found.end() for found in re.finditer(r"\n", text))]
        else:
            starts = [0, *(span.start for span in sentence_spans(text)[1:])]
        for start, end in _split_long(text, (*starts, len(text)), self._target):
            piece = text[start:end].rstrip()
            if piece:
                is_last = end == len(text) and self._announces(block)
                at = block.start + start
                yield _Segment(at, at + len(piece), is_last, self._intro)

    def _add(self, segment: _Segment, kind: TextBlockKind) -> Iterator[Chunk]:
        if self._segments:
            if self._page(segment.start) != self._page(self._segments[-1].start):
                yield from self._close()
            elif segment.end - self._start() > self._target:
                yield from self._close_for_size(kind)
        self._segments.append(segment)

    def _close_for_size(self, next_kind: TextBlockKind) -> Iterator[Chunk]:
        """Close the chunk; the next begins with the overlap, or with the introduction of a list."""
        segments = self._segments
        taken = segments[-1:] if next_kind in _LISTED and segments[-1].announces else []
        kept = segments[: len(segments) - len(taken)]
        if len(kept) <= self._repeated:
            taken, kept = [], segments
        self._segments = kept
        yield from self._close()
        repeated = _overlap_segments(kept, self._overlap) if not taken else []
        self._segments = [*repeated, *taken]
        self._repeated = len(repeated)

    def _start(self) -> int:
        return self._segments[0].start if self._lead is None else self._lead

    def _close(self) -> Iterator[Chunk]:
        if len(self._segments) > self._repeated:
            own = self._segments[self._repeated]
            yield self._chunk(self._start(), self._segments[-1].end, own.start, own.intro)
            self._lead = None
        self._segments = []
        self._repeated = 0

    def _close_lead(self, end: int) -> Iterator[Chunk]:
        """Put headings that no text follows into a chunk of their own: nothing is dropped."""
        if self._lead is not None:
            start, self._lead = self._lead, None
            stop = start + len(self._read.text[start:end].rstrip())
            yield self._chunk(start, stop, start)

    def _chunk(self, start: int, end: int, own: int, intro: Span | None = None) -> Chunk:
        path = [title for _, title in self._path]
        if intro is not None and intro.start < start and intro.end - intro.start <= _LONGEST_INTRO:
            path.append(self._read.text[intro.start : intro.end])
        text = self._read.text[start:end]
        document = self._read.document
        self._count += 1
        return Chunk(
            id=content_id("chk", f"{document.digest}:{start}:{text}".encode()),
            hash=chunk_hash(text),
            document_id=document.id,
            index=self._count - 1,
            text=text,
            span=Span(start, end),
            page_number=self._page(own),
            heading_path=tuple(path),
        )

    def _page(self, offset: int) -> int | None:
        return page_at(self._read.page_marks, self._page_starts, offset)


def _split_long(text: str, edges: Sequence[int], target: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges between the edges; a longer one is cut, at a space if possible."""
    for start, end in pairwise(edges):
        at = start
        while end - at > target:
            space = _SPACE_NEAR_END.search(text, at + 1, at + target + 1)
            cut = space.end() if space else at + target
            yield at, cut
            at = cut
        yield at, end


def _overlap_segments(segments: Sequence[_Segment], room: int) -> list[_Segment]:
    """Return the last segments, never all of them, that fit into `room`."""
    at = len(segments)
    while at > 1 and segments[-1].end - segments[at - 1].start <= room:
        at -= 1
    return list(segments[at:])


def page_at(marks: Sequence[tuple[int, int]], starts: Sequence[int], offset: int) -> int | None:
    """Return the page of the character at `offset`; `starts` are the offsets of the marks."""
    at = bisect_right(starts, offset) - 1
    return marks[at][1] if at >= 0 else None
