"""The definition of a tool's format, and how its records become gold items and traces."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from msgspec import Struct, structs

from affidavit.base.digest import chunk_digest
from affidavit.gates.rag_scoring import TEXT_ID_PREFIX
from affidavit.gates.refusals import RefusalReader

Row: TypeAlias = Mapping[str, object]
Role: TypeAlias = Literal["gold", "trace", "both"]
ToolScore: TypeAlias = bool | int | float | str | None


class ToolName(StrEnum):
    """A kind of file, by the tool that writes it."""

    NATIVE = "native"
    """Our own gold items and traces, as JSON lines."""
    NATIVE_ROWS = "native-rows"
    """The same rows in a list, in Parquet, or as one object over many lines."""
    RAGAS = "ragas"
    DEEPEVAL = "deepeval"
    PROMPTFOO = "promptfoo"
    INSPECT = "inspect"
    OPENINFERENCE = "openinference"
    GEN_AI = "gen_ai"
    LANGFUSE = "langfuse"
    RAGCHECKER = "ragchecker"
    LANGSMITH = "langsmith"
    BRAINTRUST = "braintrust"
    TRULENS = "trulens"
    MLFLOW = "mlflow"
    HAYSTACK = "haystack"
    LLAMAINDEX = "llamaindex"
    TABLE = "table"


class ImportedChunk(Struct, frozen=True, gc=False):
    """A passage that was or should have been retrieved: its id, its text, or both."""

    id: str | None = None
    text: str | None = None


class Record(Struct, frozen=True, kw_only=True, gc=False):
    """One question and what a file says about it."""

    qid: str | None = None
    question: str | None = None
    references: tuple[str, ...] | None = None
    """Reference answers, any of which is right."""
    claims: tuple[str, ...] | None = None
    """Texts of which the answer must contain one, if the tool records them."""
    answerable: bool | None = None
    relevant: tuple[ImportedChunk, ...] | None = None
    """The passages that contain the answer."""
    constraints: tuple[str, ...] | None = None
    is_run: bool = False
    """Whether the file records what a pipeline did with the question."""
    answer: str | None = None
    retrieved: tuple[ImportedChunk, ...] | None = None
    citations: tuple[str, ...] | None = None
    constraints_echo: tuple[str, ...] | None = None
    passed: bool | None = None
    """The verdict of the tool's own assertions on the answer, if the file has them."""
    expected: tuple[str, ...] | None = None
    """What the tool expects of the answer, in words; without it, the references."""
    repeats: str | None = None
    """The qid of the question that this row asks again, if its own qid is another one."""
    scores: dict[str, ToolScore] = {}
    latency_ms: float | None = None
    """How long the answer took, if the tool records it."""


class ImportedRow(Struct, frozen=True, kw_only=True, gc=False):
    """One question of a file, in the shapes that `gates.rag_rows.*_from_value` take.

    `position` counts the rows of the file from 1. `line` is the line on which a row of a text file
    starts; in other files it is the position. `gold` is None if the file has no right answer,
    `trace` if it has no actual answer. If `qid_derived`, the qid is the digest of the question.
    `repeats` is the qid of the question that the row asks again under another qid.
    """

    position: int
    line: int
    gold: dict[str, object] | None
    trace: dict[str, object] | None
    scores: dict[str, ToolScore] = {}
    qid_derived: bool = False
    repeats: str | None = None
    expected: tuple[str, ...] = ()
    latency_ms: float | None = None
    chunks: tuple[ImportedChunk, ...] = ()
    """The passages that were retrieved, then those that contain the answer."""

    def passages(self) -> dict[str, str]:
        """Return the texts of the passages by their ids, as far as the file has them."""
        return {id_of(chunk): chunk.text for chunk in self.chunks if chunk.text is not None}


class FilePlan(NamedTuple):
    """What a file says about itself: how many rows it should have, and why it is not whole."""

    rows: int | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """Choices of the caller that a format does not settle.

    A reference answer that is one of the `refusals` marks a question as unanswerable. With
    `reference_as_claim` a reference answer is used as the claim that only our own format has.
    """

    role: Role = "both"
    refusals: RefusalReader = field(default_factory=RefusalReader)
    reference_as_claim: bool = True
    mapped: Callable[[Row], dict[str, Any]] | None = None
    """Returns the fields of a record for which the user has named columns."""
    ids: "PassageIds" = field(default_factory=lambda: PassageIds())


class RowProblem(Exception):
    """A row that cannot be imported: the problem and the field. The reader adds the position."""

    def __init__(self, problem: str, name: str | None = None) -> None:
        self.problem = problem
        self.name = name
        super().__init__(problem)


Unfold: TypeAlias = Callable[[object], Iterable[object] | None]
Numbered: TypeAlias = tuple[int, object]
RoleSet: TypeAlias = frozenset[Literal["gold", "trace"]]

GOLD_AND_TRACE: Final[RoleSet] = frozenset({"gold", "trace"})
TRACE_ONLY: Final[RoleSet] = frozenset({"trace"})


def unfold_list(value: object) -> Iterable[object] | None:
    """Return the elements of a list as rows; an object is one row."""
    if isinstance(value, list):
        return value
    return (value,) if isinstance(value, Mapping) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFormat:
    """One format.

    `signatures` are sets of fields; a row has this format if it has all fields of any set. `unfold`
    returns the rows of a document, or None if the document does not have this format. `shape`
    converts a row, given its position and line. `regroup` combines rows about one question; without
    it, each row is about one. A file
    that `appends` is a record of what a program did: the last row of a qid counts. In any other
    file every row counts. `plan_of` returns what a document says about the rows it should have.
    `remedy` is what to do about a file without the texts of contexts, if naming a column is not it.
    """

    format: ToolName
    signatures: tuple[tuple[str, ...], ...]
    shape: Callable[[Row, int, int, ImportOptions], ImportedRow]
    unfold: Unfold = unfold_list
    regroup: Callable[[Iterable[Numbered]], Iterator[Numbered]] | None = None
    holds: RoleSet = GOLD_AND_TRACE
    appends: bool = False
    plan_of: Callable[[Row], FilePlan | None] | None = None
    remedy: str = ""

    def knows(self, row: object) -> bool:
        """Say whether a row has this format."""
        return isinstance(row, Mapping) and any(
            all(name in row for name in names) for names in self.signatures
        )


# Citations in the text of an answer, for tools that have no field for them.
# Two forms are recognised: `[2]`, the second retrieved passage, and `[id]`, a passage by its id;
# both may be lists (`[1, 3]`). The number may have a word before it (`[Source 2]`, `[doc 2]`), be a
# footnote (`[^2]`), or be in the lenticular brackets of assistants. A number without a passage is a
# citation of something that was not retrieved. Without any mark the citations are unknown: the
# pipeline may not be asked to cite. Not covered: marks without brackets.

_MARK: Final = re.compile(r"\[\^?(?:cite:)?([^\[\]\n]{1,200})\]")
_ANY_MARK: Final = re.compile(rf"{_MARK.pattern}|\u3010([^\u3010\u3011\n]{{1,200}})\u3011")
_WORD: Final = re.compile(
    r"(?:sources?|docs?|documents?|passages?|contexts?|chunks?|refs?|references?)\.?\s*[#:]?\s*",
    re.IGNORECASE,
)
_POSITION: Final = re.compile(r"[:\u2020].*", re.DOTALL)
_BETWEEN: Final = re.compile(r"\s*[,;]\s*")
# A year in brackets is not a citation, and nobody retrieves a hundred passages.
_NUMBER: Final = re.compile(r"[0-9]{1,2}")


def cited_in(answer: str, retrieved: Sequence[str]) -> tuple[str, ...] | None:
    """Return the distinct ids that an answer cites, in order; None if it has no mark."""
    if not retrieved:
        return None
    # The usual marks alone are found three times faster.
    pattern = _ANY_MARK if "\u3010" in answer else _MARK
    found: dict[str, None] = {}
    for match in pattern.finditer(answer) if "[" in answer or pattern is _ANY_MARK else ():
        mark = str(match[match.lastindex or 1]).strip()
        for part in (mark,) if mark in retrieved else _BETWEEN.split(mark):
            name = part if part in retrieved else _numbered(part, retrieved)
            if name is not None:
                found[name] = None
    return tuple(found) or None


def _numbered(part: str, retrieved: Sequence[str]) -> str | None:
    """Return the id of a passage by its number; None if a mark is not a number."""
    if not _NUMBER.fullmatch(part):
        word = _WORD.match(part)
        part = _POSITION.sub("", part[word.end() :] if word is not None else part).strip()
        if not _NUMBER.fullmatch(part):
            return None
    place = int(part)
    return retrieved[place - 1] if 1 <= place <= len(retrieved) else f"[{part}]"


# What the file does not say is left out, and the gates do not measure it. Four things are derived,
# as docs/formats.md says: the qid from the question, the id of a passage from its text, whether a
# question is answerable from its reference answer, and the required claim from that answer.

NOT_RETRIEVED: Final = "absent:"
Ids: TypeAlias = tuple[str, ...]
Chunks: TypeAlias = tuple[ImportedChunk, ...]


def qid_from_question(question: str) -> str:
    """Return the qid of a question without one; it is the same in every file."""
    return f"q_{chunk_digest(question)[:16]}"


def chunk_id_from_text(text: str) -> str:
    """Return the id of a passage without one; it ignores case and white space."""
    return f"{TEXT_ID_PREFIX}{chunk_digest(text)[:16]}"


class PassageIds:
    """The ids of passages. Retrieval finds the same texts again and again, so some are kept."""

    MOST: Final = 8192
    LONGEST: Final = 4096
    """The kept texts take at most 32 MB, or four times as much in some scripts."""

    def __init__(self) -> None:
        self._kept: dict[str, str] = {}

    def of(self, chunks: Chunks) -> Ids:
        """Return the id of each passage: the tool's id, or one derived from its text."""
        return tuple(map(self._id_of, chunks))

    def _id_of(self, chunk: ImportedChunk) -> str:
        text = chunk.text
        if chunk.id is not None or text is None:
            return id_of(chunk)
        name = self._kept.get(text)
        if name is None:
            name = chunk_id_from_text(text)
            if len(text) <= self.LONGEST and len(self._kept) < self.MOST:
                self._kept[text] = name
        return name


def row_shaper(
    record_from: Callable[[Row], Record],
) -> Callable[[Row, int, int, ImportOptions], ImportedRow]:
    """Return the `shape` function of a format, given its function from rows to records."""

    def shape(row: Row, position: int, line: int, choices: ImportOptions) -> ImportedRow:
        record = record_from(row)
        if choices.mapped is not None:
            found = choices.mapped(row)
            record = structs.replace(
                record, **{**found, "is_run": record.is_run or "is_run" in found}
            )
        return row_from_record(record, position, line, choices)

    return shape


def row_from_record(
    record: Record, position: int, line: int, choices: ImportOptions
) -> ImportedRow:
    """Return the row of a record."""
    qid = record.qid
    if not qid:
        if record.question and record.question.strip():
            qid = qid_from_question(record.question)
        elif record.answer and record.retrieved is not None:
            qid = f"a_{chunk_digest(record.answer)[:16]}"
        else:
            raise RowProblem("it has neither an id nor a question (--map question=COLUMN names it)")
    chunks = record.retrieved
    retrieved = None if chunks is None else choices.ids.of(chunks)
    role = choices.role
    return ImportedRow(
        position=position,
        line=line,
        gold=None if role == "trace" else _gold(record, qid, retrieved, choices),
        trace=_trace(record, qid, retrieved) if record.is_run and role != "gold" else None,
        scores=record.scores,
        qid_derived=not record.qid,
        repeats=record.repeats,
        expected=record.expected or record.references or (),
        latency_ms=record.latency_ms,
        chunks=(chunks or ()) + (record.relevant or ()),
    )


def _gold(
    record: Record, qid: str, retrieved: Ids | None, choices: ImportOptions
) -> dict[str, object] | None:
    references = [text for text in record.references or () if text and not text.isspace()]
    answerable, relevant = record.answerable, record.relevant
    if answerable is None:
        if not references and record.claims is None and relevant is None:
            return None
        answerable = not any(map(choices.refusals.is_refusal, references))
    gold: dict[str, object] = {"qid": qid, "answerable": answerable}
    if record.question is not None:
        gold["question"] = record.question
    if record.claims is not None:
        gold["gold_claim_substr"] = record.claims
    elif references and answerable and choices.reference_as_claim:
        gold["gold_claim_substr"] = tuple(map(_without_stop, references))
    citations = _gold_citations(relevant, record.retrieved or (), retrieved or ())
    if citations is not None:
        gold["gold_citations"] = citations
    if record.constraints is not None:
        gold["constraints"] = record.constraints
    return gold


def _without_stop(text: str) -> str:
    """Return a reference answer without its full stop, so that an answer may go on."""
    return text.strip().removesuffix(".")


def _gold_citations(relevant: Chunks | None, retrieved: Chunks, ids: Ids) -> Ids | None:
    """Return the ids of the relevant passages, comparable with the `ids` that were retrieved.

    A relevant passage that has only a text gets the id of the retrieved passage with the same text.
    If the retrieved passages have no texts, the two cannot be compared and None is returned.
    """
    if relevant is None:
        return None
    literal = [_index_of(chunk, retrieved) for chunk in relevant]
    if None not in literal:  # Most passages are repeated literally, so that no digest is needed.
        return tuple([ids[place] for place in literal if place is not None])
    by_text = any(chunk.id is None for chunk in relevant)
    named = any(chunk.id is not None for chunk in retrieved)
    if not by_text or not named:
        return tuple(map(id_of, relevant))
    by_digest = {
        chunk_id_from_text(chunk.text): name
        for chunk, name in zip(retrieved, ids, strict=True)
        if chunk.text is not None
    }
    if not by_digest:
        return None
    # A passage that is not among the retrieved texts is a miss.
    return tuple(
        by_digest.get(name, name.replace(TEXT_ID_PREFIX, NOT_RETRIEVED))
        for name in map(id_of, relevant)
    )


def _index_of(chunk: ImportedChunk, retrieved: Chunks) -> int | None:
    """Return the index of a passage among the retrieved ones, if it is there unchanged."""
    try:
        return retrieved.index(chunk)
    except ValueError:
        return None


def id_of(chunk: ImportedChunk) -> str:
    """Return the id of a passage: the tool's id, or one derived from its text."""
    if chunk.id is not None:
        return chunk.id
    if chunk.text is None:
        raise RowProblem("a passage has neither an id nor a text")
    return chunk_id_from_text(chunk.text)


def _trace(record: Record, qid: str, retrieved: Ids | None) -> dict[str, object]:
    claim = record.answer
    answer = None if claim is None else _answer(record, claim, retrieved or ())
    trace: dict[str, object] = {"qid": qid, "answer_json": answer}
    if record.question is not None:
        trace["q"] = record.question
    if retrieved is not None:
        trace["retrieved_ids"] = retrieved
    return trace


def _answer(record: Record, claim: str, retrieved: Ids) -> dict[str, object]:
    citations = cited_in(claim, retrieved) if record.citations is None else record.citations
    answer: dict[str, object] = {"claim": claim, "citations": citations}
    if citations is None:
        answer["citations_recorded"] = False
    if record.constraints_echo is not None:
        answer["constraints_echo"] = record.constraints_echo
    if record.passed is not None:
        answer["passed"] = record.passed
    return answer
