"""From a document to passages that can be cited: cut where the document itself is cut.

The rules, in the order in which they bind:
1. A heading begins a passage and stands in it; headings without text between them share one.
2. Blocks stay whole: paragraphs, list items, table rows (each with its header). Only a block over
   the target is cut, at its sentences; code at its lines; an endless sentence at its spaces.
3. A passage ends before the block that would take it over the target, and where a page ends, so
   that the page that is cited is the page on which the passage begins.
4. A sentence that announces a list ("... are:") goes with the list.
5. Where a section is cut for its size, the next passage repeats the last whole blocks or sentences
   up to the overlap.
A passage is always one stretch of the document's text: `text[start:end]` is what it shows.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

import msgspec

from affidavit.base.digest import chunk_hash, content_id
from affidavit.documents.model import ReadDocument, TextBlock, TextBlockKind
from affidavit.documents.settings import ChunkSettings
from affidavit.ledger.sentences import sentence_spans


class DocumentPassage(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A chunk as it is kept on disk; its text is a stretch of the document's."""

    id: str
    hash: str
    text: str
    start: int
    end: int
    page_number: int | None
    heading_path: tuple[str, ...]


class _Segment(msgspec.Struct, frozen=True, gc=False):
    """The smallest stretch that is never cut."""

    start: int
    end: int
    announces: bool = False


_LISTED: Final = (TextBlockKind.ITEM, TextBlockKind.ROW, TextBlockKind.CODE)
_SPACE_NEAR_END: Final = re.compile(r"\s(?=\S*$)")


def chunk_document(document: ReadDocument, settings: ChunkSettings) -> tuple[DocumentPassage, ...]:
    """Return the passages of a document in order."""
    return tuple(_Chunker(document, settings).passages())


class _Chunker:
    def __init__(self, document: ReadDocument, settings: ChunkSettings) -> None:
        self._document = document
        self._target = settings.target_characters
        self._overlap = settings.overlap_characters
        self._page_starts = [offset for offset, _ in document.page_marks]
        self._path: list[tuple[int, str]] = []
        self._lead: int | None = None
        """Where the headings begin that wait for text to go with."""
        self._atoms: list[_Segment] = []
        self._repeated = 0
        """How many of the first atoms repeat the end of the passage before."""

    def passages(self) -> Iterator[DocumentPassage]:
        blocks = self._document.blocks
        for block in blocks:
            if block.kind is TextBlockKind.HEADING:
                yield from self._close()
                yield from self._heading(block)
            elif block.kind is TextBlockKind.CONTENTS:
                yield from self._close()
                yield from self._close_lead(block.start)
            else:
                for atom in self._atoms_of(block):
                    yield from self._add(atom, block.kind)
        yield from self._close()
        yield from self._close_lead(len(self._document.text))

    def _heading(self, block: TextBlock) -> Iterator[DocumentPassage]:
        if self._lead is not None and block.end - self._lead > self._target:
            yield from self._close_lead(block.start)
        while self._path and self._path[-1][0] >= block.level:
            self._path.pop()
        self._path.append((block.level, self._document.text[block.start : block.end]))
        if self._lead is None:
            self._lead = block.start

    def _atoms_of(self, block: TextBlock) -> Iterator[_Segment]:
        if block.end - block.start <= self._target:
            announces = (
                block.kind is TextBlockKind.PARAGRAPH and self._document.text[block.end - 1] == ":"
            )
            yield _Segment(block.start, block.end, announces)
        else:
            yield from self._pieces(block)

    def _pieces(self, block: TextBlock) -> Iterator[_Segment]:
        text = self._document.text[block.start : block.end]
        if block.kind is TextBlockKind.CODE:
            starts = [0, *(found.end() for found in re.finditer(r"\n", text))]
        else:
            starts = [0, *(span.start for span in sentence_spans(text)[1:])]
        for start, end in _split_long(text, (*starts, len(text)), self._target):
            piece = text[start:end].rstrip()
            if piece:
                yield _Segment(block.start + start, block.start + start + len(piece))

    def _add(self, atom: _Segment, kind: TextBlockKind) -> Iterator[DocumentPassage]:
        if self._atoms:
            if self._page(atom.start) != self._page(self._atoms[-1].start):
                yield from self._close()
            elif atom.end - self._start() > self._target:
                yield from self._close_for_size(kind)
        self._atoms.append(atom)

    def _close_for_size(self, next_kind: TextBlockKind) -> Iterator[DocumentPassage]:
        """Close the passage, and begin the next with what it has to repeat or to take along."""
        atoms = self._atoms
        taken = atoms[-1:] if next_kind in _LISTED and atoms[-1].announces else []
        kept = atoms[: len(atoms) - len(taken)]
        if len(kept) <= self._repeated:
            taken, kept = [], atoms
        self._atoms = kept
        yield from self._close()
        repeated = _overlap_segments(kept, self._overlap) if not taken else []
        self._atoms = [*repeated, *taken]
        self._repeated = len(repeated)

    def _start(self) -> int:
        return self._atoms[0].start if self._lead is None else self._lead

    def _close(self) -> Iterator[DocumentPassage]:
        if len(self._atoms) > self._repeated:
            own = self._atoms[self._repeated].start
            yield self._passage(self._start(), self._atoms[-1].end, own)
            self._lead = None
        self._atoms = []
        self._repeated = 0

    def _close_lead(self, end: int) -> Iterator[DocumentPassage]:
        """Give headings that no text follows a passage of their own: nothing is dropped."""
        if self._lead is not None:
            start, self._lead = self._lead, None
            stop = start + len(self._document.text[start:end].rstrip())
            yield self._passage(start, stop, start)

    def _passage(self, start: int, end: int, own: int) -> DocumentPassage:
        text = self._document.text[start:end]
        return DocumentPassage(
            id=content_id("chk", f"{self._document.digest}:{start}:{text}".encode()),
            hash=chunk_hash(text),
            text=text,
            start=start,
            end=end,
            page_number=self._page(own),
            heading_path=tuple(title for _, title in self._path),
        )

    def _page(self, offset: int) -> int | None:
        return page_at(self._document.page_marks, self._page_starts, offset)


def _split_long(text: str, edges: Sequence[int], target: int) -> Iterator[tuple[int, int]]:
    """Yield the stretches between the edges; one that is too long is cut, at a space if it can."""
    for start, end in pairwise(edges):
        at = start
        while end - at > target:
            space = _SPACE_NEAR_END.search(text, at + 1, at + target + 1)
            cut = space.end() if space else at + target
            yield at, cut
            at = cut
        yield at, end


def _overlap_segments(atoms: Sequence[_Segment], room: int) -> list[_Segment]:
    """Return the last atoms, never all of them, that fit into the room."""
    at = len(atoms)
    while at > 1 and atoms[-1].end - atoms[at - 1].start <= room:
        at -= 1
    return list(atoms[at:])


def page_at(marks: Sequence[tuple[int, int]], starts: Sequence[int], offset: int) -> int | None:
    """Return the page of the character at `offset`; `starts` are the offsets of the marks."""
    at = bisect_right(starts, offset) - 1
    return marks[at][1] if at >= 0 else None
