"""How the fields of each tool are converted: docs/formats.md as a table of examples."""

from pathlib import Path
from typing import Any

import pytest
from tests.importers.imported import export, json_bytes, lines, rows_from, span

from affidavit.importers.tool_format import ImportedRow, chunk_id_from_text, qid_from_question

Q = {"user_input": "How many?"}
PROMPT = {"promptIdx": 0, "testIdx": 0}
SAMPLE = {"id": "s1", "epoch": 1, "input": "How many?", "target": "five days"}


def promptfoo(assertion: object = None, **row: Any) -> dict[str, Any]:
    asserts = [assertion] if isinstance(assertion, dict) else assertion or []
    test = {"assert": asserts, "metadata": row.pop("metadata", {})}
    return {**PROMPT, "testCase": test, "vars": {"question": "How many?"}, **row}


def inspected(**sample: Any) -> dict[str, Any]:
    return {**SAMPLE, "output": {"choices": [{}], "completion": "five"}, **sample}


def gold(row: ImportedRow) -> dict[str, Any]:
    assert row.gold is not None
    return row.gold


def trace(row: ImportedRow) -> dict[str, Any]:
    assert row.trace is not None
    return row.trace


def at(row: ImportedRow, path: str) -> object:
    """Return a value of a row by its path; `absent` if it is not there."""
    value: Any = {"gold": row.gold, "trace": row.trace, "scores": dict(row.scores)}
    for step in path.split("."):
        if value is None or step not in value:
            return "absent"
        value = value[step]
    return value


CLAIM, CITED = "trace.answer_json.claim", "trace.answer_json.citations"
RECORDED, FOUND = "trace.answer_json.citations_recorded", "trace.retrieved_ids"
SUBSTR, RELEVANT = "gold.gold_claim_substr", "gold.gold_citations"
A, B = chunk_id_from_text("a"), chunk_id_from_text("b")

HELD = {"question": "q", "answer": "x"}
MESSAGES = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "five"}]
ROWS: dict[str, tuple[object, str, object]] = {
    "passages by their ids": ({**HELD, "contexts": {"p1": "a", "p2": "b"}}, FOUND, ("p1", "p2")),
    "what a vector store returns": (
        {**HELD, "contexts": {"ids": [["p1", "p2"]], "documents": [["a", "b"]], "distances": [[]]}},
        FOUND,
        ("p1", "p2"),
    ),
    "lists of a table in an object": (
        {**HELD, "context": {"title": ["t", "u"], "sentences": [["a"], ["b"]]}},
        FOUND,
        (A, B),
    ),
    "a passage alone": ({**HELD, "contexts": {"text": "a", "score": 1}}, FOUND, (A,)),
    "the passages of a batch of one": ({**HELD, "contexts": [["a", "b"]]}, FOUND, (A, B)),
    "a passage of sentences": (
        {**HELD, "contexts": [["t", ["a", "b"]], ["a"]]},
        FOUND,
        (chunk_id_from_text("t\na\nb"), A),
    ),
    "passages in columns of their own": (
        {**HELD, "Context 10": "b", "Context 2": "a", "Context 11": None},
        FOUND,
        (A, B),
    ),
    "a column for all passages comes before those": (
        {**HELD, "contexts": ["a"], "context_1": "b"},
        FOUND,
        (A,),
    ),
    "an answer in an object": ({"question": "q", "answer": {"text": "five"}}, CLAIM, "five"),
    "an answer deeper in it": (
        {"question": "q", "answer": {"result": {"answer": "five"}}},
        CLAIM,
        "five",
    ),
    "an answer of a model": (
        {"question": "q", "answer": {"choices": [{"message": MESSAGES[1]}]}},
        CLAIM,
        "five",
    ),
    "an answer as JSON in a text": (
        {"question": "q", "answer": '{"answer": "five", "sure": true}'},
        CLAIM,
        "five",
    ),
    "JSON that is the answer": ({"question": "q", "answer": '{"days": 5}'}, CLAIM, '{"days": 5}'),
    "a list of one answer": ({"question": "q", "answer": ["five"]}, CLAIM, "five"),
    "the answer of a conversation": ({"question": "q", "answer": MESSAGES}, CLAIM, "five"),
    "rows within an object": (
        {"version": 1, "rows": [{"question": "q", "answer": "five"}]},
        CLAIM,
        "five",
    ),
    "an answer and its passages need no question": (
        {"answer": "five", "contexts": ["a"]},
        "trace.qid",
        qid_from_question("five").replace("q_", "a_"),
    ),
    "names of Ragas with capitals": (
        {"User Input": "q", "Response": "five", "Retrieved Contexts": ["a"]},
        FOUND,
        (A,),
    ),
    "the messages of a conversation are no passages": (
        {"input": MESSAGES[:1], "output": MESSAGES[1:], "expected": None, "scores": {}},
        FOUND,
        "absent",
    ),
    "passages that a trace has beside the answer": (
        {
            **{"id": "t", "timestamp": "2026", "name": "n", "input": "q"},
            "output": {"answer": "five", "documents": ["a"]},
        },
        FOUND,
        (A,),
    ),
    "passages in the metadata of a trace": (
        {
            **{"id": "t", "timestamp": "2026", "name": "n", "input": "q", "output": "five"},
            "metadata": {"contexts": ["a"]},
        },
        FOUND,
        (A,),
    ),
    "a reference answer loses its full stop": ({**Q, "reference": "Five."}, SUBSTR, ("Five",)),
    "documents of a table are passages": (
        {"question": "q", "answer": "x", "documents": ["a", {"content": "b"}]},
        FOUND,
        (A, B),
    ),
    "sources that are objects are passages": (
        {"question": "q", "answer": "x", "sources": [{"text": "a"}, {"page_content": "b"}]},
        FOUND,
        (A, B),
    ),
    "objects in one cell": (
        {"question": "q", "answer": "x", "sources": "[{'text': 'a'}, {'text': 'b'}]"},
        FOUND,
        (A, B),
    ),
    "sources that are strings are paths": (
        {"question": "q", "answer": "x", "sources": ["a", "b"]},
        FOUND,
        "absent",
    ),
    "sources without texts are not passages": (
        {"question": "q", "answer": "x", "sources": [{"text": "a"}, {"url": "b"}]},
        FOUND,
        "absent",
    ),
    "no sources": ({"question": "q", "answer": "x", "sources": []}, FOUND, "absent"),
    "contexts come before sources": (
        {"question": "q", "answer": "x", "sources": [{"text": "b"}], "contexts": ["a"]},
        FOUND,
        (A,),
    ),
    "several references": (
        {"question": "q", "ground_truths": ["a", "b"]},
        SUBSTR,
        ("a", "b"),
    ),
    "the refusal token is an unanswerable question": (
        {**Q, "reference": " not in context "},
        "gold.answerable",
        False,
    ),
    "which has no claim to hold": ({**Q, "reference": "not in context"}, SUBSTR, "absent"),
    "a column overrules": ({**Q, "reference": "x", "answerable": "no"}, "gold.answerable", False),
    "relevant passages alone make a question answerable": (
        {**Q, "reference_contexts": ["a"]},
        "gold.answerable",
        True,
    ),
    "no reference, no gold": ({**Q, "response": "five"}, "gold", None),
    "an empty reference is none": ({**Q, "reference": " ", "response": "x"}, "gold", None),
    "no answer field and nothing retrieved, no trace": ({**Q, "reference": "x"}, "trace", None),
    "a null answer is not an answer": ({**Q, "response": None}, "trace.answer_json", None),
    "an empty answer is one": ({**Q, "response": ""}, CLAIM, ""),
    "passages by text": ({**Q, "retrieved_contexts": ["a", "B "]}, FOUND, (A, B)),
    "passages by id": (
        {**Q, "retrieved_contexts": ["a"], "retrieved_context_ids": [7]},
        FOUND,
        ("7",),
    ),
    "ids alone": ({**Q, "retrieved_context_ids": ["x"]}, FOUND, ("x",)),
    "a relevant text takes the id of the retrieved": (
        {
            **Q,
            "retrieved_contexts": ["a", "b"],
            "retrieved_context_ids": ["x", "y"],
            "reference_contexts": ["b", "c"],
        },
        RELEVANT,
        ("y", chunk_id_from_text("c").replace("text:", "absent:")),
    ),
    "a text cannot be compared with ids alone": (
        {**Q, "retrieved_context_ids": ["x"], "reference_contexts": ["b"]},
        RELEVANT,
        "absent",
    ),
    "relevant by id": ({**Q, "reference_context_ids": ["x"]}, RELEVANT, ("x",)),
    "marks are citations": (
        {**Q, "response": "five [1]", "retrieved_contexts": ["a"]},
        CITED,
        (A,),
    ),
    "without marks they are not recorded": ({**Q, "response": "five"}, RECORDED, False),
    "several turns: the last question": (
        {
            "user_input": [
                {"type": "human", "content": "first"},
                {"type": "ai", "content": "one"},
                {"type": "human", "content": "second"},
            ]
        },
        "trace.q",
        "second",
    ),
    "several turns: the last answer": (
        {
            "user_input": [
                {"type": "human", "content": "q"},
                {"type": "ai", "content": "one"},
                {"type": "ai", "content": ""},
            ]
        },
        CLAIM,
        "one",
    ),
    "a metric": ({**Q, "response": "x", "faithfulness": 0.5}, "scores.faithfulness", 0.5),
    "a label": ({**Q, "response": "x", "tone": "pass"}, "scores.tone", "pass"),
    "a flag of a table": ({**Q, "response": "x", "ok": "True"}, "scores.ok", True),
    "a metric that is null": (
        {**Q, "response": "x", "faithfulness": None},
        "scores",
        {"faithfulness": None},
    ),
    "a named score that is not a figure": (promptfoo(namedScores={"tone": "x"}), "scores", {}),
    "an answer without a question": (
        {"qid": "a", "answer": "x", "expected": "y"},
        "gold.question",
        "absent",
    ),
    "one number is a list of one": ({**Q, "retrieved_context_ids": 7}, FOUND, ("7",)),
    "a long text is not a score": ({**Q, "response": "x", "notes": "x" * 65}, "scores", {}),
    "DeepEval glues lists": (
        {"input": "q", "actual_output": "x", "retrieval_context": "a|b"},
        FOUND,
        (A, B),
    ),
    "an empty one is empty": (
        {"input": "q", "actual_output": "x", "retrieval_context": ""},
        FOUND,
        (),
    ),
    "DeepEval passages with a source": (
        {"input": "q", "retrievalContext": [{"context": "a", "source": "doc"}]},
        FOUND,
        ("doc",),
    ),
    "the name of a case": ({"input": "q", "actualOutput": "x", "name": "n"}, "trace.qid", "n"),
    "a case without one is named by its place": (
        {"input": "q", "actualOutput": "x", "name": "test_case_3"},
        "trace.qid",
        qid_from_question("q"),
    ),
    "a metric that failed to run": (
        {"testCases": [{"input": "q", "actualOutput": "x", "metricsData": [{"name": "m"}]}]},
        "scores.m",
        None,
    ),
    "the last run of DeepEval": (
        {"testRunData": {"testCases": [{"input": "q", "actualOutput": "x"}]}},
        CLAIM,
        "x",
    ),
    "one assertion is the claim": (
        promptfoo({"type": "contains", "value": "five"}),
        SUBSTR,
        ("five",),
    ),
    "any of a list": (
        promptfoo({"type": "contains-any", "value": ["a", "b"]}),
        SUBSTR,
        ("a", "b"),
    ),
    "any of a text with commas": (
        promptfoo({"type": "icontains-any", "value": "a, b"}),
        SUBSTR,
        ("a", "b"),
    ),
    "all of several cannot be said in one text": (
        promptfoo([{"type": "contains", "value": "a"}, {"type": "contains", "value": "b"}]),
        SUBSTR,
        "absent",
    ),
    "an assertion without a text still has a verdict": (
        promptfoo({"type": "javascript", "value": {}}, success=False, response={"output": "x"}),
        "trace.answer_json.passed",
        False,
    ),
    "without an assertion there is no verdict": (
        promptfoo(success=True, response={"output": "x"}),
        "trace.answer_json.passed",
        "absent",
    ),
    "a value that is a function's": (
        promptfoo({"type": "equals", "value": {}}),
        "gold.answerable",
        True,
    ),
    "a variable is the reference": (
        promptfoo(vars={"query": "q", "expected": "five"}),
        SUBSTR,
        ("five",),
    ),
    "a refusal is wanted": (promptfoo({"type": "is-refusal"}), "gold.answerable", False),
    "an output that is an object": (promptfoo(response={"output": {"a": 1}}), CLAIM, '{"a":1}'),
    "an error is not an answer": (promptfoo(error="timeout"), "trace.answer_json", None),
    "a further provider is apart": (
        promptfoo(promptIdx=2, metadata={"qid": "x"}),
        "trace.qid",
        "x@2",
    ),
    "also by the question": (
        promptfoo(promptIdx=1),
        "trace.qid",
        qid_from_question("How many?") + "@1",
    ),
    "no variable is a question": (
        promptfoo(vars={"x": "y"}, prompt={"raw": "Say y"}),
        "trace.q",
        "Say y",
    ),
    "named scores": (promptfoo(namedScores={"tone": 0.5}), "scores.tone", 0.5),
    "the score of an assertion": (
        promptfoo(gradingResult={"componentResults": [{"score": 1, "assertion": None}]}),
        "scores.0 assertion",
        1,
    ),
    "results of version 2": (
        {"version": 2, "results": [{**promptfoo(), "response": {"output": "x"}}]},
        CLAIM,
        "x",
    ),
    "a further epoch is apart": (inspected(epoch=2), "trace.qid", "s1#2"),
    "a number is an id": (inspected(id=7), "trace.qid", "7"),
    "messages are asked": (
        inspected(input=[{"role": "system", "content": "s"}, {"role": "user", "content": "q"}]),
        "trace.q",
        "q",
    ),
    "several targets": (inspected(target=["a", "b"]), SUBSTR, ("a", "b")),
    "a sample that failed": (
        inspected(output={"choices": [], "completion": ""}, error={}),
        "trace.answer_json",
        None,
    ),
    "a sample that failed after it had said something": (
        inspected(output={"choices": [{}], "completion": "so"}, error={"message": "timeout"}),
        "trace.answer_json",
        None,
    ),
    "a completion in the messages": (
        inspected(
            output={"choices": [{}]},
            messages=[{"role": "assistant", "content": [{"type": "text", "text": "so"}]}],
        ),
        CLAIM,
        "so",
    ),
    "a model that said nothing": (inspected(output={"choices": [{}]}), CLAIM, ""),
    "a text that is kept apart": (
        inspected(input="attachment://d1", attachments={"d1": "long"}),
        "trace.q",
        "long",
    ),
    "a score of several parts": (
        inspected(scores={"judge": {"value": {"a": 1, "b": []}}}),
        "scores",
        {"judge.a": 1, "judge.b": None},
    ),
    "metadata may hold what was retrieved": (
        inspected(metadata={"contexts": ["a"], "answerable": False}),
        FOUND,
        (A,),
    ),
    "RAGChecker by its ids": (
        {"results": [{"query": "q", "gt_answer": "x", "retrieved_context": [{"doc_id": "d"}]}]},
        FOUND,
        ("d",),
    ),
    "RAGChecker without ids": (
        {"query": "q", "response": "x", "retrieved_context": [{"doc_id": None, "text": "a"}]},
        FOUND,
        (A,),
    ),
    "an item of a data set of Langfuse": (
        {"id": "i", "status": "ACTIVE", "input": {"question": "q"}, "expectedOutput": "five"},
        SUBSTR,
        ("five",),
    ),
    "which is named by its id": (
        {"id": "i", "status": "ACTIVE", "input": {"question": "q"}, "expectedOutput": "five"},
        "gold.qid",
        "i",
    ),
    "which may expect nothing": (
        {"id": "i", "status": "ACTIVE", "input": "q", "expectedOutput": None},
        "gold",
        None,
    ),
    "a trace of Langfuse": (
        {
            "id": "t",
            "timestamp": "2026",
            "name": "n",
            "input": '{"messages": [{"role": "user", "content": "q"}]}',
            "output": {"role": "assistant", "content": "five"},
            "observations": ["o1"],
            "scores": [{"name": "tone", "value": 1}, {"name": "b", "stringValue": "good"}, "s3"],
        },
        "scores",
        {"tone": 1, "b": "good"},
    ),
    "a trace with its observations": (
        {
            "id": "t",
            "timestamp": "2026",
            "name": "n",
            "input": None,
            "output": None,
            "observations": [
                {"id": "g", "type": "GENERATION", "input": "q", "output": {"answer": "five"}},
                {"id": "r", "type": "RETRIEVER", "output": {"documents": [{"id": "d"}]}},
            ],
        },
        FOUND,
        ("d",),
    ),
    "a trace of Langfuse with a list for an input": (
        {
            "id": "t",
            "timestamp": "2026",
            "name": "n",
            "input": [{"role": "user", "content": "q"}],
            "output": 3,
        },
        "trace.q",
        "q",
    ),
    "a message alone": (
        {
            "id": "t",
            "timestamp": "2026",
            "name": "n",
            "input": {"role": "user", "parts": "q"},
            "output": 3,
        },
        "trace.answer_json",
        None,
    ),
    "JSON that is none": (
        {"id": "t", "timestamp": "2026", "name": "n", "input": "[q", "output": {"x": "y"}},
        "trace.q",
        "[q",
    ),
    "a plain row": ({"qid": 1, "answer": "x", "citations": []}, CITED, ()),
    "ids with bars between": (
        {"question": "q", "answer": "x", "retrieved_ids": "a|b"},
        FOUND,
        ("a", "b"),
    ),
    "our own gold in a table": (
        {"question": "q", "expected": "x", "gold_citations": "a|b", "constraints": ["c"]},
        "gold.constraints",
        ("c",),
    ),
    "an echo": (
        {"question": "q", "answer": "x", "constraints_echo": ["c"]},
        "trace.answer_json.constraints_echo",
        ("c",),
    ),
}


@pytest.mark.parametrize(("value", "path", "wanted"), ROWS.values(), ids=ROWS.keys())
def test_row(value: object, path: str, wanted: object, tmp_path: Path) -> None:
    (row,) = rows_from(tmp_path, json_bytes(value))
    assert at(row, path) == wanted


ASKED = {"openinference.span.kind": "CHAIN", "input.value": "q", "output.value": "five"}
RETRIEVER = {"openinference.span.kind": "RETRIEVER"}
TEXT = {"role": "assistant", "parts": [{"type": "text", "content": "five"}]}


def chat(**attributes: Any) -> dict[str, Any]:
    return {"gen_ai.operation.name": "chat", **attributes}


SPANS: dict[str, tuple[list[dict[str, Any]], str, object]] = {
    "the first span asks and answers": ([span("t", "a", attributes=ASKED)], CLAIM, "five"),
    "JSON in a value": (
        [span("t", "a", attributes={**ASKED, "output.value": '{"answer": "so"}'})],
        CLAIM,
        "so",
    ),
    "a retriever that found nothing": (
        [span("t", "a", attributes=ASKED), span("t", "b", "a", attributes=RETRIEVER)],
        FOUND,
        (),
    ),
    "no retriever, nothing known": ([span("t", "a", attributes=ASKED)], FOUND, "absent"),
    "the last reranking counts": (
        [
            span("t", "a", attributes=ASKED),
            span("t", "b", attributes={**RETRIEVER, "retrieval.documents.0.document.id": "x"}),
            span(
                "t",
                "c",
                start="2",
                attributes={
                    "openinference.span.kind": "RERANKER",
                    "reranker.output_documents.1.document.id": "z",
                    "reranker.output_documents.0.document.id": "y",
                    "reranker.output_documents.n.document.id": "w",
                },
            ),
        ],
        FOUND,
        ("y", "z"),
    ),
    "retrievers in the order of their start, each passage once": (
        [
            span("t", "a", attributes=ASKED),
            span(
                "t",
                "b",
                "a",
                start="9",
                attributes={**RETRIEVER, "retrieval.documents.0.document.id": "x"},
            ),
            span(
                "t",
                "c",
                "a",
                start="8",
                attributes={
                    **RETRIEVER,
                    "retrieval.documents.0.document.id": "y",
                    "retrieval.documents.1.document.id": "x",
                },
            ),
        ],
        FOUND,
        ("y", "x"),
    ),
    "a model answers where the first span does not": (
        [
            span("t", "a", attributes={"openinference.span.kind": "CHAIN", "input.value": "q"}),
            span(
                "t",
                "b",
                "a",
                attributes={
                    "openinference.span.kind": "LLM",
                    "llm.output_messages.0.message.role": "assistant",
                    "llm.output_messages.0.message.content": "five",
                },
            ),
        ],
        CLAIM,
        "five",
    ),
    "the output of a retriever is not an answer": (
        [span("t", "a", attributes={**RETRIEVER, "input.value": "q", "output.value": "[]"})],
        "trace.answer_json",
        None,
    ),
    "an evaluation of OpenInference": (
        [
            span(
                "t",
                "a",
                attributes={
                    **ASKED,
                    "evaluations.0.evaluation.name": "tone",
                    "evaluations.0.evaluation.label": "good",
                    "evaluations.1.evaluation.name": "open",
                },
            )
        ],
        "scores",
        {"tone": "good", "open": None},
    ),
    "its own qid": ([span("t", "a", attributes={**ASKED, "qid": "x"})], "trace.qid", "x"),
    "a qid in the metadata": (
        [span("t", "a", attributes={**ASKED, "metadata": '{"qid": 7}'})],
        "trace.qid",
        "7",
    ),
    "messages of gen_ai, structured": (
        [
            span(
                "t",
                "a",
                attributes=chat(
                    **{
                        "gen_ai.retrieval.query.text": "q",
                        "gen_ai.retrieval.documents": {
                            "arrayValue": {
                                "values": [
                                    {
                                        "kvlistValue": {
                                            "values": [
                                                {"key": "id", "value": {"intValue": "7"}},
                                                {"key": "none", "value": None},
                                                {"key": "empty", "value": {}},
                                            ]
                                        }
                                    }
                                ]
                            }
                        },
                    }
                ),
            )
        ],
        FOUND,
        ("7",),
    ),
    "what OpenLLMetry writes": (
        [
            span(
                "t",
                "a",
                attributes={
                    "gen_ai.system": "x",
                    "gen_ai.prompt.0.role": "user",
                    "gen_ai.prompt.0.content": "q",
                    "gen_ai.completion.0.role": "assistant",
                    "gen_ai.completion.0.content": "five",
                },
            )
        ],
        CLAIM,
        "five",
    ),
    "a retrieval without documents": (
        [
            span(
                "t",
                "a",
                attributes={
                    "gen_ai.operation.name": "retrieval",
                    "gen_ai.retrieval.query.text": "q",
                },
            )
        ],
        FOUND,
        "absent",
    ),
    "an experiment of Langfuse has gold": (
        [
            span(
                "t",
                "a",
                attributes={
                    "langfuse.observation.type": "generation",
                    "langfuse.observation.input": "q",
                    "langfuse.observation.output": '"five"',
                    "langfuse.experiment.item.id": "i",
                    "langfuse.experiment.item.expected_output": '"five"',
                },
            )
        ],
        SUBSTR,
        ("five",),
    ),
    "an event that is not an evaluation": (
        [span("t", "a", attributes=ASKED, events=[{"name": "exception"}])],
        "scores",
        {},
    ),
    "an answer in parts, one of them no text": (
        [
            span(
                "t",
                "a",
                attributes={
                    "gen_ai.system": "x",
                    "gen_ai.retrieval.query.text": "q",
                    "gen_ai.retrieval.documents": "[]",
                    "gen_ai.output.messages": (
                        '[{"role": "assistant", "parts": '
                        '[{"type": "tool_call", "id": 1}, {"type": "text", "content": "five"}]}]'
                    ),
                },
            )
        ],
        CLAIM,
        "five",
    ),
    "a start that is not a number": (
        [span("t", "a", attributes=ASKED, start="soon"), span("t", "b", start=None)],
        CLAIM,
        "five",
    ),
}


@pytest.mark.parametrize(("spans", "path", "wanted"), SPANS.values(), ids=SPANS.keys())
def test_trace_of_spans(
    spans: list[dict[str, Any]], path: str, wanted: object, tmp_path: Path
) -> None:
    (row,) = rows_from(tmp_path, json_bytes(export(*spans)))
    assert at(row, path) == wanted


def test_a_trace_without_a_model_is_ignored(tmp_path: Path) -> None:
    health = span("t2", "z", attributes={"http.method": "GET"})
    data = lines(export(health), export(span("t", "a", attributes=ASKED)))
    (row,) = rows_from(tmp_path, data)
    assert (row.position, row.line) == (1, 2)


def test_observations_of_a_trace_may_be_anywhere_in_the_file(tmp_path: Path) -> None:
    common = {"traceId": "t", "startTime": "2026"}
    data = lines(
        {**common, "id": "r", "type": "RETRIEVER", "parentObservationId": "a", "output": ["a"]},
        {**common, "id": "a", "type": "SPAN", "input": "q", "output": "five"},
    )
    (row,) = rows_from(tmp_path, data)
    assert trace(row)["retrieved_ids"] == (A,)
    assert trace(row)["answer_json"]["claim"] == "five"


HEADS = {
    "with capitals": ("Question,Answer,Expected Answer", {}),
    "in capitals": ("QUESTION,ANSWER,EXPECTED", {}),
    "the plain name goes before one that is like it": (
        "question,answer,expected,Question",
        {"Question": "x"},
    ),
    "in any position": ("Q,answer,expected,q", {"Q": "What?"}),
}


@pytest.mark.parametrize(("head", "scores"), HEADS.values(), ids=HEADS.keys())
def test_columns_are_known_in_any_case(head: str, scores: dict[str, str], tmp_path: Path) -> None:
    cells = ["What?", "It is blue", "blue", "x"][: head.count(",") + 1]
    (row,) = rows_from(tmp_path, f"{head}\n{','.join(cells)}\n".encode())
    assert gold(row)["question"] == ("x" if "Q" in scores else "What?")
    assert gold(row)["gold_claim_substr"] == ("blue",)
    assert trace(row)["answer_json"]["claim"] == "It is blue"
    assert dict(row.scores) == scores


def test_of_two_columns_with_one_name_the_first_counts(tmp_path: Path) -> None:
    (row,) = rows_from(tmp_path, b"Question,QUESTION,answer,expected\nWhat?,x,blue,blue\n")
    assert gold(row)["question"] == "What?"
    assert dict(row.scores) == {"QUESTION": "x"}


def test_a_table_of_csv(tmp_path: Path) -> None:
    table = '\ufeffqid;question;answer;answerable;score\r\n1;"q\r\nq";;TRUE;nan\r\n\r\n'
    (row,) = rows_from(tmp_path, table.encode())
    assert gold(row) == {"qid": "1", "answerable": True, "question": "q\r\nq"}
    assert trace(row)["answer_json"] is None
    assert (row.line, dict(row.scores)) == (2, {"score": None})


@pytest.mark.parametrize("container", ["lines", "list", "parquet"])
def test_native_rows_are_unchanged(container: str, tmp_path: Path) -> None:
    item = {"qid": "a", "answerable": True, "gold_citations": ["x"]}
    run = {"qid": "a", "answer_json": {"claim": "c", "citations": ["x"]}, "retrieved_ids": ["x"]}
    if container == "parquet":
        import pyarrow
        from pyarrow import parquet

        parquet.write_table(pyarrow.Table.from_pylist([{**item, **run}]), tmp_path / "made")
        (row,) = rows_from(tmp_path, (tmp_path / "made").read_bytes())
        assert gold(row)["gold_citations"] == ["x"]
        assert trace(row)["answer_json"] == run["answer_json"]
        return
    data = lines(item, run) if container == "lines" else json_bytes([item, run])
    first, second = rows_from(tmp_path, data)
    assert (first.gold, first.trace) == (item, None)
    assert (second.gold, second.trace) == (None, run)


def test_a_role_takes_its_part(tmp_path: Path) -> None:
    data = json_bytes([{**Q, "reference": "x", "response": "y"}])
    (as_gold,) = rows_from(tmp_path, data, role="gold")
    (as_trace,) = rows_from(tmp_path, data, role="trace")
    assert as_gold.trace is None
    assert as_trace.gold is None
    assert as_gold.gold is not None
    assert as_trace.trace is not None


def test_a_role_of_our_own_rows(tmp_path: Path) -> None:
    data = lines({"qid": "a", "answerable": True}, {"qid": "a", "answer_json": None})
    assert [row.gold is None for row in rows_from(tmp_path, data, role="gold")] == [False, True]
    assert [row.trace is None for row in rows_from(tmp_path, data, role="trace")] == [True, False]


def test_what_the_caller_decides(tmp_path: Path) -> None:
    data = json_bytes([{**Q, "reference": "keine Angabe"}])
    (row,) = rows_from(tmp_path, data, refusals=("keine Angabe",))
    assert gold(row)["answerable"] is False
    (row,) = rows_from(tmp_path, data, reference_as_claim=False)
    assert "gold_claim_substr" not in gold(row)


RUN = {"run_type": "chain", "trace_id": "t", "inputs": {"question": "q"}, "outputs": {"answer": 1}}
MAPPED: dict[str, tuple[object, str]] = {
    "Ragas": ({"user_input": "q", "response": "five", "found": ["a"]}, "found"),
    "DeepEval": ({"input": "q", "actual_output": "five", "found": ["a"]}, "found"),
    "a run of DeepEval": (
        {"testCases": [{"input": "q", "actualOutput": "five", "found": ["a"]}]},
        "found",
    ),
    "a variable of promptfoo": (
        {**PROMPT, "testCase": {}, "vars": {"q": "q", "found": ["a"]}},
        "vars.found",
    ),
    "metadata of Inspect": (inspected(metadata={"found": ["a"]}), "metadata.found"),
    "a column of LangSmith": (
        {"example_id": "e", "execution_time": 1, "inputs.question": "q", "outputs.found": ["a"]},
        "outputs.found",
    ),
    "metadata of Braintrust": (
        {"input": "q", "output": "x", "expected": 1, "scores": {}, "metadata": {"found": ["a"]}},
        "metadata.found",
    ),
    "the same as JSON in a cell": (
        {"input": "q", "output": "x", "expected": 1, "scores": {}, "metadata": '{"found": ["a"]}'},
        "metadata.found",
    ),
    "TruLens": (
        {"record_id": "r", "app_name": "a", "input": "q", "output": "x", "found": ["a"]},
        "found",
    ),
    "MLflow": ({"trace_id": "t", "request": "q", "response": "x", "found": ["a"]}, "found"),
    "Haystack": ({"question": "q", "predicted_answer": "x", "found": ["a"]}, "found"),
    "LlamaIndex": ({"query": "q", "response": "x", "passing": True, "found": ["a"]}, "found"),
    "RAGChecker": ({"results": [{"query": "q", "gt_answer": "x", "found": ["a"]}]}, "found"),
    "metadata of Langfuse": (
        {
            **{"id": "t", "timestamp": "2026", "name": "n", "input": "q", "output": "x"},
            "metadata": {"found": ["a"]},
        },
        "metadata.found",
    ),
    "rows within an object": ({"rows": [{"ask": "q", "answer": "x", "found": ["a"]}]}, "found"),
}


@pytest.mark.parametrize(("value", "theirs"), MAPPED.values(), ids=MAPPED.keys())
def test_the_column_of_contexts_can_be_named_in_every_format(
    value: object, theirs: str, tmp_path: Path
) -> None:
    (row,) = rows_from(tmp_path, json_bytes(value), columns={"contexts": theirs})
    assert at(row, FOUND) == (A,)


def test_columns_of_rows_that_are_joined_cannot_be_named(tmp_path: Path) -> None:
    from tests.importers.imported import refusal

    error = refusal(tmp_path, lines({**RUN, "found": ["a"]}), columns={"contexts": "found"})
    assert (error.fault.code, "joined from several" in error.message) == ("AF421", True)
