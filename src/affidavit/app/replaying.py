"""A receipt's table beside the one that follows from its evidence.

No key is needed: a replay says whether the verdicts follow, not who signed them.
"""

from dataclasses import dataclass

from affidavit.base.errors import AffidavitError
from affidavit.base.exits import Exit
from affidavit.base.faults import answers as faults
from affidavit.base.json_limits import JsonValue
from affidavit.checks.body import Body
from affidavit.checks.differences import Difference
from affidavit.checks.replay import replay
from affidavit.checks.route_replay import route_differences
from affidavit.checks.routes import RouteTable
from affidavit.seal.receipt import Receipt

ANSWER = "the answer"


@dataclass(frozen=True, slots=True)
class Told:
    """A verdict and its confidence, as signed or as recomputed."""

    verdict: JsonValue
    confidence: JsonValue


@dataclass(frozen=True, slots=True)
class ReplayedRow:
    """One check, or the answer as a whole: what is signed, what follows, and why."""

    name: str
    signed: Told
    recomputed: Told
    explain: str

    @property
    def is_same(self) -> bool:
        """Say whether what is signed follows."""
        return self.signed == self.recomputed


@dataclass(frozen=True, slots=True)
class ReplayedReceipt:
    """Both tables, row by row, and every difference. Without rows nothing follows at all."""

    receipt_id: str
    rows: tuple[ReplayedRow, ...]
    differences: tuple[Difference, ...]

    @property
    def exit(self) -> Exit:
        """Yes: the receipt is exactly what follows from it."""
        return Exit.TAMPERED if self.differences else Exit.YES


def replay_receipt(receipt: Receipt, routes: RouteTable | None = None) -> ReplayedReceipt:
    """Make a receipt's body again: from checks and evidence, and with a table from its question."""
    done = replay(receipt.value, receipt.forms.content)
    found = done.differences
    rows = () if done.rebuilt is None else _rows(dict(receipt.value), done.rebuilt)
    if routes is not None and done.rebuilt is not None:
        _require_its_table(done.rebuilt, routes)
        found = (*found, *route_differences(receipt.value, routes))
    return ReplayedReceipt(receipt.id, rows, found)


def _require_its_table(body: Body, routes: RouteTable) -> None:
    signed = body["route"]["router_sha256"] if "route" in body else routes.sha256
    if signed != routes.sha256:
        raise AffidavitError(faults.ROUTES_OTHER, signed=signed, found=routes.sha256)


def _rows(signed: Body, made: Body) -> tuple[ReplayedRow, ...]:
    # A body is made again only from one whose shape was read, so both have the same checks.
    rows = [
        ReplayedRow(new["id"], _told(old), _told(new), new["explain"])
        for old, new in zip(signed.get("checks", ()), made.get("checks", ()), strict=True)
    ]
    return (*rows, ReplayedRow(ANSWER, _told(signed), _told(made), ""))


def _told(entry: Body) -> Told:
    return Told(entry["verdict"], entry["confidence"])
