"""route/1: an ordered table that turns a question into checks; the first match wins.

Origin: answer-eval.md, section 6. A text that asserts a value (a `say` pattern with `{value}`) is
adjudicated; a question (an `ask` pattern) asserts nothing and observes. Whoever loads the table
from YAML passes in where each line stands. The T rules of docs/checks.md.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import msgspec

from affidavit.base.canonical import sorted_compact
from affidavit.base.digest import sha256_hex
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import checks as faults
from affidavit.base.json_limits import JsonValue
from affidavit.base.places import excerpt
from affidavit.checks.patterns import (
    MAX_QUESTION_LETTERS,
    Pattern,
    find_slot_name,
    find_slots,
    is_interrogative,
    pattern_of,
    words_of,
)
from affidavit.checks.unit import Check, CheckId, ToolName, check_from_wire
from affidavit.checks.wire_places import joined_field, placed_problem

VALUE_SLOT: Final = "value"

LineOf: TypeAlias = Callable[[str], int | None]
"""The line of a field such as `routes[2].ask`, if whoever loaded the table knows it."""


class RouteRowV1(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One row of the table. `args` are constants, or a slot such as `{product}`."""

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


@dataclass(frozen=True, slots=True)
class Route:
    """A row, with its patterns ready to match."""

    row: RouteRowV1
    asks: tuple[Pattern, ...]
    says: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class RouteTable:
    """The routes in their order, and the digest that pins them: 64 hexadecimal digits."""

    routes: tuple[Route, ...]
    not_covered: tuple[str, ...]
    sha256: str


@dataclass(frozen=True, slots=True)
class Compiled:
    """What a question became, by which route, and whether it asserted a value."""

    checks: tuple[Check, ...]
    route_id: str
    is_declarative: bool


def routes_from_wire(
    value: JsonValue, file: str | None = None, line_of: LineOf = lambda field: None
) -> RouteTable:
    """Return the table of a decoded file, or raise what is wrong with it, with line and field."""

    def place(field: str) -> Where:
        return Where(file, line_of(field), field or None)

    try:
        digest = sha256_hex(sorted_compact(value))
        wire = msgspec.convert(value, RoutesV1)
    except msgspec.ValidationError as error:
        problem, field = placed_problem(error)
        raise AffidavitError(faults.ROUTES_FIELD, place(field), problem=problem) from None
    except AffidavitError as error:
        raise AffidavitError(error.fault, place(error.where.field or ""), **error.values) from None
    seen: set[str] = set()
    routes = []
    for number, row in enumerate(wire.routes):
        field = f"routes[{number}]"
        if row.id in seen:
            raise AffidavitError(faults.ROUTE_ID_TWICE, place(f"{field}.id"), route=row.id)
        seen.add(row.id)
        try:
            routes.append(_route_of(row))
        except AffidavitError as error:
            where = place(joined_field(field, error.where.field or ""))
            raise AffidavitError(error.fault, where, **error.values) from None
    return RouteTable(tuple(routes), tuple(wire.not_covered), digest)


def find_route(table: RouteTable, text: str) -> Compiled | None:
    """Return the checks that a text compiles to by the first route that matches, or None."""
    if len(text) > MAX_QUESTION_LETTERS:
        problem = f"{len(text)} letters, and {MAX_QUESTION_LETTERS} are allowed"
        raise AffidavitError(faults.QUESTION_SIZE, problem=problem)
    words = words_of(text)
    if not words:
        raise AffidavitError(faults.QUESTION_SIZE, problem="no words")
    asks_only = is_interrogative(text)
    for route in table.routes:
        # What asserts is looked at first: the slot of an `ask` pattern would swallow the assertion.
        for pattern in () if asks_only else route.says:
            if (slots := find_slots(pattern, words)) is not None:
                return Compiled((_check(route.row, slots),), route.row.id, True)
        for pattern in route.asks:
            if (slots := find_slots(pattern, words)) is not None:
                return Compiled((_check(route.row, slots),), route.row.id, False)
    return None


def _check(row: RouteRowV1, slots: dict[str, str]) -> Check:
    """Return the check of a row: it adjudicates if a value was asserted, else it observes."""
    wire: dict[str, Any] = {
        "id": row.id,
        "tool": row.tool,
        "args": {name: _filled(given, slots) for name, given in row.args.items()},
    }
    expect: dict[str, Any] = {} if row.path is None else {"path": row.path}
    if VALUE_SLOT in slots:
        expect |= {"op": row.op, "value": slots[VALUE_SLOT]}
        wire["expect"] = expect if row.tol is None else {**expect, "tol": row.tol}
    else:
        wire["observe"] = True
        if row.path is not None:
            wire["expect"] = {**expect, "op": "exists"}
    return check_from_wire(wire, f"of route {row.id}")


def _filled(given: JsonValue, slots: dict[str, str]) -> JsonValue:
    name = find_slot_name(given)
    return given if name is None else slots.get(name, given)


def _route_of(row: RouteRowV1) -> Route:
    if not row.ask and not row.say:
        raise AffidavitError(
            faults.ROUTES_FIELD, problem=f"route {row.id} has neither `ask` nor `say`"
        )
    route = Route(row, _patterns(row, "ask"), _patterns(row, "say"))
    _require_check(row)
    return route


def _patterns(row: RouteRowV1, form: Literal["ask", "say"]) -> tuple[Pattern, ...]:
    used = {name for given in row.args.values() if (name := find_slot_name(given)) is not None}
    wanted = used | {VALUE_SLOT} if form == "say" else used
    patterns = []
    for number, text in enumerate(row.ask if form == "ask" else row.say):
        pattern = pattern_of(text)
        problem = pattern if isinstance(pattern, str) else _slot_problem(pattern, wanted)
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


def _slot_problem(pattern: Pattern, wanted: set[str]) -> str | None:
    """Return the first slot that is missing or that nothing uses, in words."""
    for slot in sorted(wanted - set(pattern.slots)):
        return f"has no slot {{{slot}}}"
    for slot in sorted(set(pattern.slots) - wanted):
        return f"has the slot {{{slot}}}, which nothing uses here"
    return None


def _require_check(row: RouteRowV1) -> None:
    """Raise if the row would compile to a check that makes no sense."""
    try:
        _check(row, {})
        if row.say:
            _check(row, {VALUE_SLOT: "1"})
    except AffidavitError as error:
        raise AffidavitError(
            faults.ROUTE_OPERATOR, Where(field="op"), route=row.id, problem=error.message
        ) from None
