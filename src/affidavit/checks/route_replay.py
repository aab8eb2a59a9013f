"""Question mode replayed: with the route table at hand, the question must give the same checks.

A receipt holds the digest of its table, not the table, so this needs one more input than `replay`.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from affidavit.base.errors import AffidavitError
from affidavit.checks.body import Body
from affidavit.checks.differences import Difference, DifferenceKind, differences
from affidavit.checks.routes import RouteTable, find_route
from affidavit.checks.unit import Check


def route_differences(receipt: Mapping[str, Any], table: RouteTable) -> tuple[Difference, ...]:
    """Return where a receipt's route and checks are not what its question gives by this table.

    The receipt has passed `replay`; one without a question has no route, and so no differences.
    """
    if "route" not in receipt:
        return ()
    signed: Body = {
        "route": {key: receipt["route"][key] for key in ("router_sha256", "route_id", "form")},
        "checks": [
            {key: check[key] for key in Check.__struct_fields__ if key in check}
            for check in receipt["checks"]
        ],
    }
    try:
        compiled = find_route(table, receipt["question"])
    except AffidavitError as error:
        return (Difference(DifferenceKind.REPLAY, "question", error.message, None),)
    if compiled is None:
        problem = "no route of this table matches it"
        return (Difference(DifferenceKind.REPLAY, "question", problem, None),)
    recomputed: Body = {
        "route": {
            "router_sha256": table.sha256,
            "route_id": compiled.route_id,
            "form": "declarative" if compiled.is_declarative else "interrogative",
        },
        "checks": [msgspec.to_builtins(check) for check in compiled.checks],
    }
    return tuple(differences(signed, recomputed))
