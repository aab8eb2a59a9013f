"""promptfoo: results as JSON (versions 2 to 4) and as JSON lines.

Origin: files of promptfoo 0.121.20. The question and the passages are variables of a test; the
usual names are recognised. If a test has assertions, promptfoo's own verdict on them decides
whether the answer is right: `equals` is more than containment, and `not-contains` names no text
that the answer should contain.
"""

from collections.abc import Iterable, Mapping
from typing import Final

import orjson

from affidavit.importers.fields import (
    chunks,
    flag,
    milliseconds,
    row_in,
    rows_in,
    score_from,
    text,
    texts,
)
from affidavit.importers.tool_format import (
    FilePlan,
    Record,
    Row,
    ToolFormat,
    ToolName,
    ToolScore,
    qid_from_question,
    row_shaper,
    unfold_list,
)

_QUESTIONS: Final = ("question", "query", "input", "user_input", "q")
_CONTEXTS: Final = ("context", "contexts", "retrieved_contexts", "documents")
_REFERENCES: Final = ("reference", "expected", "expected_answer", "expected_output", "ground_truth")
_ASSERTED: Final = ("equals", "contains", "icontains", "contains-any", "icontains-any")


def unfold(value: object) -> Iterable[object] | None:
    """Return the rows of a results file, or of a line of one."""
    inner = value
    for _ in range(2):
        if isinstance(inner, Mapping) and "results" in inner:
            inner = inner["results"]
    if inner is not value:
        return inner if isinstance(inner, list) else None
    return unfold_list(value)


def record(row: Row) -> Record:
    """Return the record of one test under one prompt and provider."""
    test = row_in(row.get("testCase") or {}, "testCase")
    variables = row_in(row.get("vars") or test.get("vars") or {}, "vars")
    metadata = row_in(test.get("metadata") or {}, "testCase.metadata")
    asserts = rows_in(test.get("assert") or [], "testCase.assert")
    question = text(variables, *_QUESTIONS) or _prompt(row)
    named = text(metadata, "qid") or text(variables, "qid", "id")
    qid = _qid(row, named, question)
    answerable = flag({**variables, **metadata}, "answerable")
    if asserts and answerable is None:
        answerable = not any(one.get("type") == "is-refusal" for one in asserts)
    success = row.get("success")
    return Record(
        qid=qid,
        repeats=None if qid == named else named or (question and qid_from_question(question)),
        question=question,
        references=_asserted(asserts) or texts(variables, *_REFERENCES),
        expected=tuple(map(_described, asserts)) or None,
        answerable=answerable,
        passed=success if asserts and isinstance(success, bool) else None,
        is_run=True,
        answer=_answer(row),
        retrieved=chunks(variables, *_CONTEXTS),
        scores=_scores(row),
        latency_ms=milliseconds(row.get("latencyMs")),
    )


def _qid(row: Row, named: str | None, question: str | None) -> str | None:
    """Return the qid of a test; each further prompt or provider gets its own."""
    prompt = row.get("promptIdx")
    if not isinstance(prompt, int) or prompt == 0:
        return named
    name = named or (qid_from_question(question) if question else None)
    return None if name is None else f"{name}@{prompt}"


def _prompt(row: Row) -> str | None:
    prompt = row.get("prompt")
    return text(prompt, "raw") if isinstance(prompt, Mapping) else None


def _asserted(asserts: list[Row]) -> tuple[str, ...] | None:
    found = [one for one in asserts if one.get("type") in _ASSERTED]
    if len(found) != 1:
        return None
    value = found[0].get("value")
    if isinstance(value, str) and str(found[0]["type"]).endswith("-any"):
        return tuple(part.strip() for part in value.split(","))
    return texts(found[0], "value") if isinstance(value, str | int | float | list) else None


def _described(assertion: Row) -> str:
    """Return an assertion in words, such as `not-contains: Paris`."""
    value = assertion.get("value")
    name = str(assertion.get("type") or "assertion")
    if value is None:
        return name
    return f"{name}: {value if isinstance(value, str) else orjson.dumps(value).decode()}"


def plan_of(value: Row) -> FilePlan | None:
    """Return how many results the file says it has; it may have been cut or filtered."""
    inner = value.get("results")
    stats = inner.get("stats") if isinstance(inner, Mapping) else None
    if not isinstance(stats, Mapping):
        return None
    counts = [stats.get(name) for name in ("successes", "failures", "errors")]
    return FilePlan(sum(count for count in counts if isinstance(count, int)))


def _answer(row: Row) -> str | None:
    response = row.get("response")
    output = response.get("output") if isinstance(response, Mapping) else None
    if output is None or isinstance(output, str):
        return output
    return orjson.dumps(output, option=orjson.OPT_SORT_KEYS).decode()


def _scores(row: Row) -> dict[str, ToolScore]:
    """Return whether the test passed, its score, its named scores and those of its assertions."""
    found: dict[str, ToolScore] = {}
    for name in ("success", "score"):
        value = row.get(name)
        if isinstance(value, bool | int | float):
            found[name] = score_from(value)
    for name, value in row_in(row.get("namedScores") or {}, "namedScores").items():
        if isinstance(value, bool | int | float):
            found[name] = score_from(value)
    grading = row_in(row.get("gradingResult") or {}, "gradingResult")
    for number, one in enumerate(rows_in(grading.get("componentResults") or [], "gradingResult")):
        assertion = row_in(one.get("assertion") or {}, "assertion")
        score = one.get("score")
        name = f"{number} {text(assertion, 'metric', 'type') or 'assertion'}"
        found[name] = score_from(score) if isinstance(score, int | float) else None
    return found


PROMPTFOO: Final = ToolFormat(
    format=ToolName.PROMPTFOO,
    signatures=(
        ("promptIdx", "testIdx"),
        ("testCase", "vars"),
        ("provider", "prompt", "vars", "success"),
    ),
    shape=row_shaper(record),
    unfold=unfold,
    plan_of=plan_of,
)
