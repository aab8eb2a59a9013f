"""The record per question that every format is read into, before it becomes gold and trace.

None means that the file does not say; an empty tuple means that there is none.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Literal, TypeAlias

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
    TABLE = "table"


REFUSAL: Final = "not in context"


@dataclass(frozen=True, slots=True)
class ImportedChunk:
    """A passage that was or should have been retrieved: its id, its text, or both."""

    id: str | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
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
    scores: Mapping[str, ToolScore] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedRow:
    """One question of a file, in the shapes that `gates.rag_rows.*_from_value` take.

    `position` counts the rows of the file from 1. `line` is the line on which a row of a text file
    starts; in other files it is the position. `gold` is None if the file has no right answer,
    `trace` if it has no actual answer. If `qid_derived`, the qid is the digest of the question.
    """

    position: int
    line: int
    gold: dict[str, object] | None
    trace: dict[str, object] | None
    scores: Mapping[str, ToolScore] = field(default_factory=dict)
    qid_derived: bool = False


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """Choices of the caller that a format does not settle.

    `refusal` is the reference answer that marks a question as unanswerable. With
    `reference_as_claim` a reference answer is used as the claim that only our own format has.
    """

    role: Role = "both"
    refusal: str = REFUSAL
    reference_as_claim: bool = True


class RowProblem(Exception):
    """A row that cannot be imported: the problem and the field. The reader adds the position."""

    def __init__(self, problem: str, name: str | None = None) -> None:
        self.problem = problem
        self.name = name
        super().__init__(problem)
