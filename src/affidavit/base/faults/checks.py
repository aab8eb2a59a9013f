"""AF30x and AF31x: checks over tool evidence, facts, routes."""

from affidavit.base.errors import Fault
from affidavit.base.exits import Exit

CHECK_FIELD = Fault(
    "AF300",
    "check.field",
    "check {check} is not understood: {problem}",
    "docs/checks.md lists every field of a check",
)
CHECK_ID_TWICE = Fault(
    "AF301",
    "check.id_twice",
    "two checks have the id {check!r}",
    "give every check an id of its own",
)
CHECK_OPERATOR = Fault(
    "AF302",
    "check.operator",
    "check {check} names the operator {operator!r}, which does not exist",
    "use one of: {known}",
)
CHECK_OPERAND = Fault(
    "AF303",
    "check.operand",
    "check {check}: {operator} takes {takes}",
    "docs/checks.md shows every operator with an example",
)
CHECK_PATH = Fault(
    "AF304",
    "check.path",
    "check {check}: {problem}",
    "write keys and indices with dots between them, such as results.0.magnitude",
)
CHECKS_NONE = Fault(
    "AF305",
    "checks.none",
    "there is no check, so there is nothing to answer",
    "give a list of one or more checks",
)
CHECKS_NOT_A_LIST = Fault(
    "AF306",
    "checks.not_a_list",
    "the checks are {kind}, not a list",
    "write them as a list of objects, each with an id and a tool",
)
CHECK_EXPECTATIONS = Fault(
    "AF307",
    "check.expectations",
    "check {check} has {count} expectations; from 1 to {limit} are allowed",
    "split the check in two, or omit `expect` to record the value without a verdict",
)
FACT_TIME = Fault(
    "AF308",
    "fact.time",
    "the evidence for check {check} was assessed at {assessed}, not at the answer's time {at}",
    "this is a defect of the caller; assess every fact at the time of the answer, and report it",
    Exit.UNKNOWN,
)
FACT_FOREIGN = Fault(
    "AF309",
    "fact.foreign",
    "the evidence for check {check} answers another tool or other arguments",
    "this is a defect of the caller; report it",
    Exit.UNKNOWN,
)
ROUTES_FIELD = Fault(
    "AF310",
    "routes.field",
    "the route table is not understood: {problem}",
    "docs/checks.md shows a whole route table",
)
ROUTE_ID_TWICE = Fault(
    "AF311",
    "route.id_twice",
    "two routes have the id {route!r}",
    "give every route an id of its own",
)
ROUTE_PATTERN = Fault(
    "AF312",
    "route.pattern",
    "route {route}: the pattern {pattern!r} {problem}",
    "write words and slots, such as: latest version of {{product}}",
)
ROUTE_OPERATOR = Fault(
    "AF313",
    "route.operator",
    "route {route}: {problem}",
    "use an operator that compares with one value, such as eq or semver_eq",
)
QUESTION_SIZE = Fault(
    "AF314",
    "question.size",
    "the question has {problem}",
    "ask it in one sentence",
)
