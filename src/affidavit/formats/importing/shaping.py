"""From a record to a gold item and a trace.

Nothing is invented: what the file does not say is left out, and the gates do not measure it. Four
things are derived, and docs/formats.md says so: the qid from the question, the id of a passage from
its text, whether a question is answerable from its reference answer, and the claim that an answer
must hold from that answer.
"""

from collections.abc import Callable
from typing import Final, TypeAlias

from affidavit.base.digest import chunk_digest
from affidavit.formats.importing.fields import Row
from affidavit.formats.importing.inline_citations import cited_in
from affidavit.formats.importing.model import Choices, Chunk, ImportedRow, Record, RowProblem
from affidavit.gates.rag_scoring import BY_TEXT

NOT_RETRIEVED: Final = "absent:"
Ids: TypeAlias = tuple[str, ...]


def qid_from_question(question: str) -> str:
    """Return the name of a question that a tool has not named: the same in every file."""
    return f"q_{chunk_digest(question)[:16]}"


def chunk_id_from_text(text: str) -> str:
    """Return the id of a passage that a tool has not named; case and white space do not count."""
    return f"{BY_TEXT}{chunk_digest(text)[:16]}"


def by_record(
    record_from: Callable[[Row], Record],
) -> Callable[[Row, int, int, Choices], ImportedRow]:
    """Return how rows of a format are shaped, given how they are read."""

    def shape(row: Row, position: int, line: int, choices: Choices) -> ImportedRow:
        return row_from_record(record_from(row), position, line, choices)

    return shape


def row_from_record(record: Record, position: int, line: int, choices: Choices) -> ImportedRow:
    """Return the row of a record."""
    qid = record.qid
    if not qid:
        if not (record.question and record.question.strip()):
            raise RowProblem("it has neither an id nor a question")
        qid = qid_from_question(record.question)
    retrieved = None if record.retrieved is None else tuple(map(id_of, record.retrieved))
    return ImportedRow(
        position,
        line,
        None if choices.role == "trace" else _gold(record, qid, retrieved, choices),
        None if choices.role == "gold" else _trace(record, qid, retrieved),
        record.scores,
        qid_derived=not record.qid,
    )


def _gold(
    record: Record, qid: str, retrieved: Ids | None, choices: Choices
) -> dict[str, object] | None:
    references = tuple(text for text in record.references or () if text.strip())
    if not references and all(
        said is None for said in (record.answerable, record.claims, record.relevant)
    ):
        return None
    refused = any(text.strip() == choices.refusal for text in references)
    answerable = record.answerable if record.answerable is not None else not refused
    gold: dict[str, object] = {"qid": qid, "answerable": answerable}
    if record.question is not None:
        gold["question"] = record.question
    claims = record.claims
    if claims is None and references and answerable and choices.reference_as_claim:
        claims = tuple(_without_stop(text) for text in references)
    if claims is not None:
        gold["gold_claim_substr"] = claims
    citations = _gold_citations(record, retrieved or ())
    if citations is not None:
        gold["gold_citations"] = citations
    if record.constraints is not None:
        gold["constraints"] = record.constraints
    return gold


def _without_stop(text: str) -> str:
    """Return a reference answer without its full stop: an answer may go on behind it."""
    return text.strip().removesuffix(".")


def _gold_citations(record: Record, retrieved: Ids) -> Ids | None:
    """Return the ids of the relevant passages, in the same kind of id that was retrieved.

    A relevant passage that is known by its text alone takes the id of the retrieved passage with
    the same text. If those have no text, the two cannot be compared: not measured.
    """
    if record.relevant is None:
        return None
    by_text = any(chunk.id is None for chunk in record.relevant)
    named = any(chunk.id is not None for chunk in record.retrieved or ())
    if not by_text or not named:
        return tuple(map(id_of, record.relevant))
    ids = {
        chunk_id_from_text(chunk.text): name
        for chunk, name in zip(record.retrieved or (), retrieved, strict=True)
        if chunk.text is not None
    }
    if not ids:
        return None
    # Not among the retrieved, whose texts are known: a miss, and not one that cannot be told.
    return tuple(
        ids.get(name, name.replace(BY_TEXT, NOT_RETRIEVED)) for name in map(id_of, record.relevant)
    )


def id_of(chunk: Chunk) -> str:
    """Return the id of a passage: the tool's, else one made from its text."""
    if chunk.id is not None:
        return chunk.id
    if chunk.text is None:
        raise RowProblem("a passage has neither an id nor a text")
    return chunk_id_from_text(chunk.text)


def _trace(record: Record, qid: str, retrieved: Ids | None) -> dict[str, object] | None:
    if not record.is_run:
        return None
    trace: dict[str, object] = {"qid": qid, "answer_json": None}
    if record.question is not None:
        trace["q"] = record.question
    if retrieved is not None:
        trace["retrieved_ids"] = retrieved
    if record.answer is not None:
        citations = record.citations
        if citations is None:
            citations = cited_in(record.answer, retrieved or ())
        answer: dict[str, object] = {"claim": record.answer, "citations": citations}
        if citations is None:
            answer["citations_recorded"] = False
        if record.constraints_echo is not None:
            answer["constraints_echo"] = record.constraints_echo
        trace["answer_json"] = answer
    return trace
