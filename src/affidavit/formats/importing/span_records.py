"""A trace of spans into a record, in three conventions: OpenInference, OTEL gen_ai and Langfuse.

A span is of the first convention that it has a mark of. The question and the answer are those of
the span where the work began; where it has none, the question is the retriever's or the model's,
and the answer the last that a model gave. What was retrieved is the last reranking, or else what
the retrievers found, in the order of their start.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from affidavit.formats.importing.fields import Row, chunk_from, rows_in, score_from, text
from affidavit.formats.importing.messages import ANSWERING, ASKING, last_text
from affidavit.formats.importing.model import Chunk, Record, RowProblem, Score
from affidavit.formats.importing.said import answered_in, asked_in, opened
from affidavit.formats.importing.shaping import id_of
from affidavit.formats.importing.spans import EVENTS, LANGFUSE_MARK, indexed, roots_of


@dataclass(frozen=True, slots=True)
class Step:
    """What one span says, in whichever convention."""

    asked: str | None = None
    answered: str | None = None
    found: tuple[Chunk, ...] | None = None
    is_model: bool = False
    is_reranker: bool = False


def record(row: Row) -> Record:
    """Return the record of a trace."""
    spans = rows_in(row["spans"], "spans")
    steps = [step_of(span) for span in spans]
    roots = [step_of(span) for span in roots_of(spans)]
    question = first(step.asked for step in (*roots, *steps))
    qid = first(_qid(span) for span in spans)
    if question is None and qid is None:
        raise RowProblem("its spans hold no question: the recording of texts may be switched off")
    models = (step.answered for step in reversed(steps) if step.is_model)
    expected = first(text(span, "langfuse.experiment.item.expected_output") for span in spans)
    return Record(
        qid=qid,
        question=question,
        references=None if expected is None else (answered_in(expected) or expected,),
        is_run=True,
        answer=first((*(step.answered for step in roots), *models)),
        retrieved=retrieved_in(steps),
        scores={name: score for span in spans for name, score in _scores(span).items()},
    )


def step_of(span: Row) -> Step:
    """Return what a span says."""
    if LANGFUSE_MARK in span:
        return _langfuse(span)
    return _openinference(span) if "openinference.span.kind" in span else _gen_ai(span)


def _openinference(span: Row) -> Step:
    kind = span["openinference.span.kind"]
    is_reranker = kind == "RERANKER"
    prefix = "reranker.output_documents" if is_reranker else "retrieval.documents"
    found = tuple(
        Chunk(text(one, "document.id"), text(one, "document.content"))
        for one in indexed(span, prefix)
    )
    asked = asked_in(span.get("input.value")) or last_text(
        _messages(indexed(span, "llm.input_messages")), ASKING
    )
    answered = last_text(_messages(indexed(span, "llm.output_messages")), ANSWERING)
    if answered is None and kind not in ("RETRIEVER", "RERANKER", "EMBEDDING"):
        answered = answered_in(span.get("output.value"))
    searched = found or (() if kind == "RETRIEVER" else None)
    return Step(asked, answered, searched, kind == "LLM", is_reranker)


def _messages(flattened: list[dict[str, object]]) -> list[object]:
    return [
        {"role": one.get("message.role"), "content": one.get("message.content")}
        for one in flattened
    ]


def _gen_ai(span: Row) -> Step:
    operation = span.get("gen_ai.operation.name")
    asked = last_text(opened(span.get("gen_ai.input.messages")), ASKING)
    answered = last_text(opened(span.get("gen_ai.output.messages")), ANSWERING)
    # What OpenLLMetry writes, and what the conventions said before there were messages.
    asked = asked or last_text(indexed(span, "gen_ai.prompt"), ASKING)
    answered = answered or last_text(indexed(span, "gen_ai.completion"), ANSWERING)
    documents = opened(span.get("gen_ai.retrieval.documents"))
    found = None
    if documents is not None or operation == "retrieval":
        asked = asked or text(span, "gen_ai.retrieval.query.text")
        found = _passages(documents, "gen_ai.retrieval.documents")
    return Step(asked, answered, found, operation not in ("retrieval", "execute_tool"))


def _langfuse(span: Row) -> Step:
    return observed(
        span[LANGFUSE_MARK],
        span.get("langfuse.observation.input"),
        span.get("langfuse.observation.output"),
    )


def observed(kind: object, asked: object, answered: object) -> Step:
    """Return what an observation of Langfuse says."""
    if str(kind).lower() == "retriever":
        return Step(asked_in(asked), found=_passages(opened(answered), "output"))
    return Step(asked_in(asked), answered_in(answered), is_model=str(kind).lower() == "generation")


def _passages(documents: object, name: str) -> tuple[Chunk, ...] | None:
    if isinstance(documents, Mapping):
        documents = documents.get("documents", documents.get("results"))
    if not isinstance(documents, list):
        return None
    return tuple(chunk_from(one, name) for one in documents)


def retrieved_in(steps: list[Step]) -> tuple[Chunk, ...] | None:
    """Return what the pipeline had before it when it answered."""
    reranked = [step.found for step in steps if step.is_reranker and step.found is not None]
    found = reranked[-1:] or [step.found for step in steps if step.found is not None]
    if not found:
        return None
    unique: dict[str, Chunk] = {}
    for chunk in (one for part in found for one in part):
        unique.setdefault(id_of(chunk), chunk)
    return tuple(unique.values())


def _qid(span: Row) -> str | None:
    """Return the name of the question, if the program has recorded one."""
    named = text(span, "qid", "affidavit.qid", "langfuse.experiment.item.id")
    if named is not None:
        return named
    for name in ("metadata", "langfuse.observation.metadata", "langfuse.trace.metadata"):
        inside = opened(span.get(f"{name}.qid"))
        whole = opened(span.get(name))
        inside = whole.get("qid") if inside is None and isinstance(whole, Mapping) else inside
        if isinstance(inside, str | int):
            return str(inside)
    return None


def _scores(span: Row) -> dict[str, Score]:
    """Return the results of evaluations: events of gen_ai, and attributes of OpenInference."""
    found: dict[str, Score] = {}
    events = span.get(EVENTS)
    for event in events if isinstance(events, list) else ():
        if event.get("name") == "gen_ai.evaluation.result":
            name = text(event, "gen_ai.evaluation.name") or "unnamed"
            found[name] = _score(
                event.get("gen_ai.evaluation.score.value"),
                event.get("gen_ai.evaluation.score.label"),
            )
    for one in indexed(span, "evaluations"):
        name = text(one, "evaluation.name") or "unnamed"
        found[name] = _score(one.get("evaluation.score"), one.get("evaluation.label"))
    return found


def _score(value: object, label: object) -> Score:
    for held in (value, label):
        if isinstance(held, str | int | float):
            return score_from(held)
    return None


def first(found: Iterable[str | None]) -> str | None:
    """Return the first text that is not empty."""
    return next((one for one in found if one), None)
