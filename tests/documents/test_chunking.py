from bisect import bisect_right

import pytest
from hypothesis import given
from hypothesis import strategies as st

from affidavit.base.digest import chunk_hash
from affidavit.documents.chunking import chunk_document
from affidavit.documents.model import ChunkSettings, DocumentLimits, ReadDocument, TextBlockKind
from affidavit.documents.tables import TableCell, table_lines
from affidavit.documents.text_builder import TextBuilder, code_text
from affidavit.ledger.model import Chunk, Document

H, P, ITEM, R, C, T, N, CAP = (
    TextBlockKind.HEADING,
    TextBlockKind.PARAGRAPH,
    TextBlockKind.ITEM,
    TextBlockKind.ROW,
    TextBlockKind.CODE,
    TextBlockKind.CONTENTS,
    TextBlockKind.NOTE,
    TextBlockKind.CAPTION,
)
Piece = tuple[TextBlockKind, str] | tuple[TextBlockKind, str, int] | int


def document(*pieces: Piece) -> ReadDocument:
    """A document of blocks; a number alone turns the page."""
    builder = TextBuilder(DocumentLimits())
    for piece in pieces:
        if isinstance(piece, int):
            builder.on_page(piece)
        else:
            builder.add(*piece)
    return ReadDocument(
        document=Document(
            id="doc_x",
            filename="x",
            digest="sha256:0",
            media_type="text/plain",
            title="x",
            date=None,
            page_count=None,
        ),
        text=builder.text(),
        blocks=builder.blocks(),
        page_marks=builder.page_marks(),
    )


def cut(*pieces: Piece, target: int = 60, overlap: int = 0) -> tuple[Chunk, ...]:
    sizes = ChunkSettings(target_characters=target, overlap_characters=overlap)
    return chunk_document(document(*pieces), sizes)


A = "Aaaaa aaaaa aaaaa aaaaa aaaaa."
B = "Bbbbb bbbbb bbbbb bbbbb bbbbb."
D = "Ddddd ddddd ddddd ddddd ddddd."
SPEC = {
    "short blocks share a chunk": ([(P, "One."), (P, "Two.")], ["One.\n\nTwo."]),
    "a heading begins a chunk and is part of it": (
        [(P, "One."), (H, "Leave", 1), (P, "Two.")],
        ["One.", "Leave\n\nTwo."],
    ),
    "headings without text between them share a chunk": (
        [(H, "Leave", 1), (H, "Annual", 2), (P, "One.")],
        ["Leave\n\nAnnual\n\nOne."],
    ),
    "headings at the end are not lost": (
        [(P, "One."), (H, "Leave", 1), (H, "Annual", 2)],
        ["One.", "Leave\n\nAnnual"],
    ),
    "headings that fill a chunk of their own": (
        [
            (H, "Leave of many kinds and sorts", 1),
            (H, "Annual leave of all the employees", 2),
            (H, "More", 3),
            (P, "One."),
        ],
        ["Leave of many kinds and sorts", "Annual leave of all the employees\n\nMore\n\nOne."],
    ),
    "a chunk ends before the block that is too much": ([(P, A), (P, B)], [A, B]),
    "a long paragraph is cut at its sentences": ([(P, f"{A} {B} {D}")], [A, B, D]),
    "two sentences that fit stay together": (
        [(P, f"{A} Short one. {D} {B}")],
        [f"{A} Short one.", D, B],
    ),
    "a sentence without end is cut at its spaces": (
        [(P, "word " * 30)],
        ["word " * 11 + "word", "word " * 11 + "word", "word word word word word word"],
    ),
    "a word without end is cut anywhere": ([(P, "x" * 130)], ["x" * 60, "x" * 60, "x" * 10]),
    "code is cut at its lines": (
        [(C, code_text("\n".join(f"line number {n} of the code" for n in range(4))))],
        [
            "```\nline number 0 of the code\nline number 1 of the code",
            "line number 2 of the code\nline number 3 of the code\n```",
        ],
    ),
    "what announces a list goes with it": (
        [
            (P, "One short text."),
            (P, "The kinds of leave are:"),
            (ITEM, "- annual leave of fifteen days"),
        ],
        ["One short text.", "The kinds of leave are:\n\n- annual leave of fifteen days"],
    ),
    "what announces a list alone cannot go": (
        [(P, "The kinds of leave are these and no others at all:"), (ITEM, "- annual leave")],
        ["The kinds of leave are these and no others at all:", "- annual leave"],
    ),
    "a table of contents is no chunk": (
        [(H, "Contents", 1), (T, "Leave ... 3"), (P, "One.")],
        ["Contents", "One."],
    ),
    "a caption goes with its table": (
        [(P, A), (CAP, "Table 1: Days"), (R, "| Kind: Annual; Days: 15. |")],
        [A, "Table 1: Days\n\n| Kind: Annual; Days: 15. |"],
    ),
    "a footnote is a chunk of its own": (
        [(P, "One."), (N, "1 A note."), (P, "Two.")],
        ["One.", "1 A note.", "Two."],
    ),
    "a question stays a question": (
        [(H, "May leave be sold?", 1), (P, "No.")],
        ["May leave be sold?\n\nNo."],
    ),
    "a page ends a chunk": ([1, (P, "One."), 2, (P, "Two.")], ["One.", "Two."]),
    "nothing": ([], []),
}


@pytest.mark.parametrize(("pieces", "wanted"), SPEC.values(), ids=SPEC.keys())
def test_cut(pieces: list[Piece], wanted: list[str]) -> None:
    assert [chunk.text for chunk in cut(*pieces)] == wanted


def test_paths_follow_the_levels() -> None:
    chunks = cut(
        (H, "Leave", 1),
        (P, "a."),
        (H, "Annual", 2),
        (P, "b."),
        (H, "Notes", 4),
        (P, "c."),
        (H, "Sick", 2),
        (P, "d."),
        (H, "Pay", 1),
        (P, "e."),
    )
    assert [chunk.heading_path for chunk in chunks] == [
        ("Leave",),
        ("Leave", "Annual"),
        ("Leave", "Annual", "Notes"),
        ("Leave", "Sick"),
        ("Pay",),
    ]


INTRODUCED = {
    "the sentence that introduces a list": (
        [(P, "It is short. The kinds are:"), (ITEM, f"- {A}"), (ITEM, f"- {B}")],
        [("Leave",), ("Leave", "The kinds are:")],
    ),
    "the caption of a table": (
        [(CAP, "Table 1: Days"), (R, f"| {A} |"), (R, f"| {B} |")],
        [("Leave",), ("Leave", "Table 1: Days")],
    ),
    "on the next page": (
        [1, (P, "The kinds are:"), 2, (ITEM, "- annual")],
        [("Leave",), ("Leave", "The kinds are:")],
    ),
    "not behind the list": (
        [(P, "The kinds are:"), (ITEM, f"- {A}"), (P, B)],
        [("Leave",), ("Leave",)],
    ),
}


@pytest.mark.parametrize(("pieces", "wanted"), INTRODUCED.values(), ids=INTRODUCED.keys())
def test_what_introduces_a_list_is_in_the_path(
    pieces: list[Piece], wanted: list[tuple[str, ...]]
) -> None:
    chunks = cut((H, "Leave", 1), *pieces, target=75)
    assert [chunk.heading_path for chunk in chunks] == wanted


def test_an_introduction_as_long_as_a_chapter_is_in_no_path() -> None:
    chunks = cut(1, (P, f"{'very ' * 80}long:"), 2, (ITEM, "- annual"), target=600)
    assert [chunk.heading_path for chunk in chunks] == [(), ()]


def test_overlap_repeats_whole_sentences_and_keeps_the_page() -> None:
    chunks = cut(1, (P, f"{A} {B} {D}"), target=70, overlap=40)
    assert [chunk.text for chunk in chunks] == [f"{A} {B}", f"{B} {D}"]
    chunks = cut((P, "One."), (P, A), (P, B), target=60, overlap=3)
    assert [chunk.text for chunk in chunks] == [f"One.\n\n{A}", B]


def test_the_page_is_that_of_what_is_new() -> None:
    chunks = cut(3, (P, "One."), 4, (P, "Two."), 5, (H, "Leave", 1))
    assert [chunk.page_number for chunk in chunks] == [3, 4, 5]
    assert cut((P, "One."))[0].page_number is None


def test_ids_and_hashes_are_stable() -> None:
    (first,) = cut(
        (P, "All permanent employees shall receive 15 days of paid annual leave."), target=99
    )
    (again,) = cut(
        (P, "All permanent employees shall receive 15 days of paid annual leave."), target=99
    )
    assert first == again
    assert first.hash == "b8b859ac"  # The hash of the seed's own sample sentence.
    assert first.id.startswith("chk_")


WORDS = st.lists(
    st.sampled_from(
        ["leave", "Dr.", "15 days.", "It", "may", "end.", "x" * 70, "caf\u00e9", "[1]"]
    ),
    min_size=1,
    max_size=30,
).map(" ".join)


def row_of(text: str) -> str:
    return next(table_lines([[TableCell(text, 0), TableCell("more", 1)]], header_rows=0))


PIECES = st.lists(
    st.one_of(
        st.tuples(st.just(P), WORDS),
        st.tuples(st.just(P), WORDS.map(lambda text: f"{text}:")),
        st.tuples(st.just(ITEM), WORDS.map(lambda text: f"- {text}")),
        st.tuples(st.just(R), WORDS.map(row_of)),
        st.tuples(st.just(C), WORDS.map(lambda text: code_text(text.replace(" ", "\n")))),
        st.tuples(st.just(T), WORDS),
        st.tuples(st.just(N), WORDS),
        st.tuples(st.just(CAP), WORDS),
        st.tuples(st.just(H), WORDS, st.integers(1, 4)),
        st.integers(1, 5),
    ),
    max_size=25,
)


@given(PIECES, st.integers(20, 200), st.integers(0, 60))
def test_laws(pieces: list[Piece], target: int, overlap: int) -> None:
    whole = document(*pieces)
    chunks = chunk_document(
        whole, ChunkSettings(target_characters=target, overlap_characters=overlap)
    )
    covered = set[int]()
    ends = 0
    for chunk in chunks:
        # What a chunk shows is a range of the document's text, without white space around it.
        span = chunk.span
        assert whole.text[span.start : span.end] == chunk.text == chunk.text.strip()
        assert chunk.hash == chunk_hash(chunk.text)
        # Passages move on, and repeat no more than the overlap.
        assert chunk.span.end > ends
        assert ends - chunk.span.start <= overlap
        ends = chunk.span.end
        covered.update(range(chunk.span.start, chunk.span.end))
    # Every letter outside of a table of contents is in a chunk.
    starts = [block.start for block in whole.blocks]
    for at, letter in enumerate(whole.text):
        if not letter.isspace() and at not in covered:
            assert whole.blocks[bisect_right(starts, at) - 1].kind is TextBlockKind.CONTENTS
    assert len({chunk.id for chunk in chunks}) == len(chunks)
