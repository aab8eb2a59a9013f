"""route/1: an ordered table of patterns that compiles a question to checks; the first match wins.

Origin: answer-eval.md, section 6; the T rules of docs/checks.md. A text that asserts a value (a
`say` pattern with `{value}`) is adjudicated. A question (an `ask` pattern) asserts nothing and
observes.

A pattern is literal words with slots between them, not a regular expression. Words are compared
case-folded, white space is collapsed, and punctuation at the end of the text is ignored. A pattern
covers the whole text; a slot takes one or more words, as few as the rest allows.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, TypeAlias

import msgspec

from affidavit.base.canonical import sorted_compact
from affidavit.base.digest import sha256_hex
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import receipts as faults
from affidavit.base.json_values import JsonValue
from affidavit.base.text import excerpt
from affidavit.base.validation import join_field, problem_and_field
from affidavit.checks.check import (
    MAX_CHECKS,
    MAX_EXPECTATIONS,
    Check,
    CheckId,
    check_from_wire,
)
from affidavit.checks.facts import Tool, ToolName
from affidavit.checks.operators import OPERATORS
from affidavit.checks.values import MAX_PATH_DEPTH

ROUTE_RULE: Final = "route/1"
MAX_QUESTION_CHARACTERS: Final = 1_000
_PLACEHOLDER: Final = re.compile(r"\{([a-z][a-z0-9_]{0,31})\}")
# With the question marks of other scripts: full-width, Arabic, Greek, Armenian, and combined ones.
_QUESTION_MARKS: Final = "?\uff1f\u061f\u037e\u055e\u203d\u2047\u2048\u2049"
END_PUNCTUATION: Final = f"{_QUESTION_MARKS}!."


class RoutePattern(msgspec.Struct, frozen=True):
    """Literals and slots in turn, a literal first and last; those two may be empty."""

    text: str
    literals: tuple[tuple[str, ...], ...]
    slots: tuple[str, ...]


def parse_pattern(text: str) -> RoutePattern | str:
    """Return the pattern that a text is, or what is wrong with it."""
    literals: list[tuple[str, ...]] = []
    slots: list[str] = []
    words: list[str] = []
    for word in words_of(text):
        slot = _PLACEHOLDER.fullmatch(word)
        if slot is None:
            if "{" in word or "}" in word:
                return f"has {word!r}, which is neither a word nor a slot"
            words.append(word.casefold())
            continue
        if slots and not words:
            return "has two slots with no word between them"
        if slot[1] in slots:
            return f"has the slot {word} twice"
        literals.append(tuple(words))
        slots.append(slot[1])
        words = []
    literals.append(tuple(words))
    if not any(literals):
        return "has no literal word, so it would match anything"
    return RoutePattern(text, tuple(literals), tuple(slots))


def placeholder_name(given: JsonValue) -> str | None:
    """Return the name of the slot that an argument is, or None if it is a constant."""
    if isinstance(given, str) and given.startswith("{") and given.endswith("}"):
        return given[1:-1]
    return None


def words_of(text: str) -> list[str]:
    """Return the words of a text without its closing punctuation, which alone is no word."""
    words = text.rstrip().rstrip(END_PUNCTUATION).split()
    return words if any(word.strip(END_PUNCTUATION) for word in words) else []


def is_interrogative(text: str) -> bool:
    """Say whether a text ends in a question mark. It then asserts nothing."""
    end = text.rstrip()[len(text.rstrip().rstrip(END_PUNCTUATION)) :]
    return any(mark in end for mark in _QUESTION_MARKS)


def match_pattern(pattern: RoutePattern, words: list[str]) -> dict[str, str] | None:
    """Return the words of each slot, as they were written, or None if the text does not match.

    Taking each literal where it first occurs finds a match if there is one, because that leaves the
    most words for the rest; the last literal must end the text. So one pass is enough.
    """
    folded = [word.casefold() for word in words]
    first, *rest = pattern.literals
    if tuple(folded[: len(first)]) != first:
        return None
    if not rest:
        return {} if len(folded) == len(first) else None
    taken: dict[str, str] = {}
    start = len(first)
    for slot, literal in zip(pattern.slots, rest, strict=True):
        is_last = slot == pattern.slots[-1]
        end = _find_literal(folded, literal, start + 1, is_last=is_last)
        if end is None:
            return None
        taken[slot] = " ".join(words[start:end])
        start = end + len(literal)
    return taken


def _find_literal(
    words: list[str], literal: tuple[str, ...], start: int, *, is_last: bool
) -> int | None:
    """Return the position of a literal from `start` on. The last one must end the text."""
    size = len(literal)
    last = len(words) - size
    for place in range(max(start, last) if is_last else start, last + 1):
        if tuple(words[place : place + size]) == literal:
            return place
    return None


VALUE_PLACEHOLDER: Final = "value"


class RouteRowV1(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True
):
    """One row of the table. `args` are constants, or slots such as `{product}`."""

    id: CheckId
    tool: ToolName
    ask: list[str] = []
    say: list[str] = []
    args: dict[str, Any] = {}
    path: str | None = None
    op: str = "eq"
    tol: Any = None


class RoutesV1(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The whole table, as it is written."""

    version: Literal["route/1"]
    routes: list[RouteRowV1]
    not_covered: list[str] = []


class Route(msgspec.Struct, frozen=True):
    """A row, with its patterns ready to match. `example` is its check before slots are filled."""

    row: RouteRowV1
    asks: tuple[RoutePattern, ...]
    says: tuple[RoutePattern, ...]
    example: Check


class RouteTable(msgspec.Struct, frozen=True):
    """The routes in order, and the SHA-256 digest of the table in hexadecimal."""

    routes: tuple[Route, ...]
    not_covered: tuple[str, ...]
    sha256: str


QuestionForm: TypeAlias = Literal["declarative", "interrogative"]


class QuestionRoute(msgspec.Struct, frozen=True):
    """The route that compiled a question to checks."""

    router_version: str
    router_sha256: str
    route_id: str
    form: QuestionForm


class CompiledQuestion(msgspec.Struct, frozen=True):
    """The checks of a question, and the route that compiled it."""

    checks: tuple[Check, ...]
    route: QuestionRoute


def routes_from_wire(value: JsonValue) -> RouteTable:
    """Return the route table in a decoded file, or raise the first error with its field."""
    digest = sha256_hex(sorted_compact(value))
    try:
        wire = msgspec.convert(value, RoutesV1)
    except msgspec.ValidationError as error:
        problem, path = problem_and_field(error)
        raise AffidavitError(faults.ROUTES_FIELD, Where(field=path), problem=problem) from None
    seen: set[str] = set()
    routes = []
    for number, row in enumerate(wire.routes):
        field = f"routes[{number}]"
        if row.id in seen:
            where = Where(field=f"{field}.id")
            raise AffidavitError(faults.ROUTE_ID_TWICE, where, route=row.id)
        seen.add(row.id)
        try:
            routes.append(_route_of(row))
        except AffidavitError as error:
            where = Where(field=join_field(field, error.where.field or ""))
            raise AffidavitError(error.fault, where, **error.values) from None
    return RouteTable(tuple(routes), tuple(wire.not_covered), digest)


def compile_question(table: RouteTable, text: str) -> CompiledQuestion | None:
    """Return the checks that a text compiles to by the first route that matches, or None."""
    if len(text) > MAX_QUESTION_CHARACTERS:
        problem = f"{len(text)} letters, and {MAX_QUESTION_CHARACTERS} are allowed"
        raise AffidavitError(faults.QUESTION_SIZE, problem=problem)
    words = words_of(text)
    if not words:
        raise AffidavitError(faults.QUESTION_SIZE, problem="no words")
    for route, pattern, form in _patterns_for(table, asks_only=is_interrogative(text)):
        slots = match_pattern(pattern, words)
        if slots is not None:
            if form == "interrogative":
                slots.pop(VALUE_PLACEHOLDER, None)
            return _compiled_question(table, route.row, slots, form)
    return None


def _patterns_for(
    table: RouteTable, *, asks_only: bool
) -> Iterator[tuple[Route, RoutePattern, QuestionForm]]:
    """Yield the patterns in the order in which they are tried, and how a match is read."""
    for route in table.routes:
        if not asks_only:
            # `say` comes first: the slot of an `ask` pattern would swallow the asserted value.
            yield from ((route, pattern, "declarative") for pattern in route.says)
        yield from ((route, pattern, "interrogative") for pattern in route.asks)
    if asks_only:
        # A question in the words of a statement asserts nothing, so its value is left out.
        for route in table.routes:
            yield from ((route, pattern, "interrogative") for pattern in route.says)


def _compiled_question(
    table: RouteTable,
    row: RouteRowV1,
    slots: dict[str, str],
    form: QuestionForm,
) -> CompiledQuestion:
    route = QuestionRoute(ROUTE_RULE, table.sha256, row.id, form)
    return CompiledQuestion((_check_from_row(row, slots),), route)


def _check_from_row(row: RouteRowV1, slots: dict[str, str]) -> Check:
    """Return the check of a row. It adjudicates if a value was asserted, and else observes."""
    wire: dict[str, Any] = {
        "id": row.id,
        "tool": row.tool,
        "args": {name: _fill_argument(given, slots) for name, given in row.args.items()},
    }
    expect: dict[str, Any] = {} if row.path is None else {"path": row.path}
    if VALUE_PLACEHOLDER in slots:
        expect |= {"op": row.op, "value": slots[VALUE_PLACEHOLDER]}
        wire["expect"] = expect if row.tol is None else {**expect, "tol": row.tol}
    else:
        wire["observe"] = True
        if row.path is not None:
            wire["expect"] = {**expect, "op": "exists"}
    return check_from_wire(wire, f"of route {row.id}")


def _fill_argument(given: JsonValue, slots: dict[str, str]) -> JsonValue:
    name = placeholder_name(given)
    return given if name is None else slots.get(name, given)


def _route_of(row: RouteRowV1) -> Route:
    if not row.ask and not row.say:
        raise AffidavitError(
            faults.ROUTES_FIELD, problem=f"route {row.id} has neither `ask` nor `say`"
        )
    asks, says = _row_patterns(row, "ask"), _row_patterns(row, "say")
    return Route(row, asks, says, _example_check(row))


def _row_patterns(row: RouteRowV1, form: Literal["ask", "say"]) -> tuple[RoutePattern, ...]:
    used = {name for given in row.args.values() if (name := placeholder_name(given)) is not None}
    wanted = used | {VALUE_PLACEHOLDER} if form == "say" else used
    patterns = []
    for number, text in enumerate(row.ask if form == "ask" else row.say):
        pattern = parse_pattern(text)
        problem = pattern if isinstance(pattern, str) else _placeholder_problem(pattern, wanted)
        if isinstance(pattern, str) or problem:
            raise AffidavitError(
                faults.ROUTE_PATTERN,
                Where(field=f"{form}[{number}]"),
                route=row.id,
                pattern=excerpt(text),
                problem=problem,
            )
        patterns.append(pattern)
    return tuple(patterns)


def _placeholder_problem(pattern: RoutePattern, wanted: set[str]) -> str | None:
    """Return the problem of the first slot that is missing or unused, or None."""
    for slot in sorted(wanted - set(pattern.slots)):
        return f"has no slot {{{slot}}}"
    for slot in sorted(set(pattern.slots) - wanted):
        return f"has the slot {{{slot}}}, which nothing uses here"
    return None


def _example_check(row: RouteRowV1) -> Check:
    """Return the check of the row with unfilled slots, or raise if it would be invalid."""
    try:
        if row.say:
            _check_from_row(row, {VALUE_PLACEHOLDER: "1"})
        return _check_from_row(row, {})
    except AffidavitError as error:
        raise AffidavitError(
            faults.ROUTE_OPERATOR, Where(field="op"), route=row.id, problem=error.message
        ) from None


_REFUSAL_CONTRACT: Final = (
    "A question that no route matches is refused with a signed outside_evidence_coverage receipt: "
    "nothing is guessed, paraphrased or looked up elsewhere."
)


class QuestionFamilyV1(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Questions of one kind that a route compiles."""

    route_id: str
    ask: list[str]
    say: list[str]
    tool: str


class CoveredToolV1(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A tool that a check may name."""

    name: str
    required_args: list[str]
    description: str
    unit: str | None
    optional_args: list[str] | msgspec.UnsetType = msgspec.UNSET


class ChecksModeV1(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What checks may contain."""

    rule: str
    tools: list[CoveredToolV1]
    operators: list[str]
    max_checks: int
    max_expectations: int
    max_path_depth: int


class CoverageV1(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The coverage manifest: what can be asked here."""

    schema: Literal["answer-coverage/v1"]
    router_version: str
    router_sha256: str
    families: list[QuestionFamilyV1]
    not_covered: list[str]
    refusal_contract: str
    checks_mode: ChecksModeV1


def coverage_manifest(tools: Mapping[str, Tool], table: RouteTable) -> CoverageV1:
    """Return the manifest. A route whose tool is not declared is listed as not covered."""
    rows = [route.row for route in table.routes]
    undeclared = (
        f"route {row.id}: its tool {row.tool} is not declared"
        for row in rows
        if row.tool not in tools
    )
    return CoverageV1(
        schema="answer-coverage/v1",
        router_version="route/1",
        router_sha256=table.sha256,
        families=[
            QuestionFamilyV1(row.id, row.ask, row.say, row.tool)
            for row in rows
            if row.tool in tools
        ],
        not_covered=[*table.not_covered, *undeclared],
        refusal_contract=_REFUSAL_CONTRACT,
        checks_mode=ChecksModeV1(
            rule="answer-eval/1",
            tools=[
                CoveredToolV1(
                    tool.name,
                    list(tool.required_args),
                    tool.description,
                    tool.unit,
                    list(tool.optional_args) or msgspec.UNSET,
                )
                for _, tool in sorted(tools.items())
            ],
            operators=list(OPERATORS),
            max_checks=MAX_CHECKS,
            max_expectations=MAX_EXPECTATIONS,
            max_path_depth=MAX_PATH_DEPTH,
        ),
    )
