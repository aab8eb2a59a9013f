"""Puts together what answering needs: tools, routes, an issuer, a key, a clock.

The table `[answer]` of the config file that declares the tools may say who answers and where the
route table lies; what the user names on the command line counts more.
"""

import os
import tomllib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from affidavit import __version__
from affidavit.app.answering import Desk
from affidavit.app.asking import Toolbox
from affidavit.base.canonical import sorted_compact
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import feeds as faults
from affidavit.base.files import read_bounded, write_atomically
from affidavit.base.json_limits import JsonValue
from affidavit.base.strict_yaml import yaml_document
from affidavit.checks.routes import RouteTable
from affidavit.checks.wire_places import joined_field, placed_problem
from affidavit.wiring.clock import now
from affidavit.wiring.keys import FOLDER
from affidavit.wiring.routes import NO_ROUTES, load_routes
from affidavit.wiring.tools_config import CONFIG_NAME, MAX_CONFIG_BYTES, find_config, load_toolbox

TABLE: Final = "answer"


class AnswerV1(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table `[answer]`. A path is relative to the file's folder."""

    issuer: str | None = None
    routes: str | None = None


@dataclass(frozen=True, slots=True)
class Setup:
    """The tools and routes of a project, and its issuer if it names one."""

    toolbox: Toolbox
    routes: RouteTable
    issuer: str | None
    config: str | None
    routes_file: str | None

    def desk(self, issuer: str) -> Desk:
        """Return the desk that answers in the name of an issuer."""
        served_by: dict[str, JsonValue] = {"provider": "affidavit", "version": __version__}
        return Desk(issuer, self.toolbox, self.routes, now, served_by)


def set_up(tools: Path | None, routes: Path | None, project: Path) -> Setup:
    """Return the setup that files declare: the tools file named, or the project's own."""
    config = str(tools) if tools else _own_config(project)
    toolbox = load_toolbox(config, os.environ)
    said = AnswerV1() if config is None else _answer_table(config)
    if routes is None and said.routes is not None:
        routes = Path(config or "").parent / said.routes
    table = NO_ROUTES if routes is None else load_routes(routes)
    return Setup(toolbox, table, said.issuer, config, None if routes is None else str(routes))


def receipt_path(project: Path, receipt_id: str) -> Path:
    """Return where a project keeps a receipt unless told otherwise."""
    return project / FOLDER / "receipts" / f"{receipt_id}.json"


def write_receipt(path: Path, receipt: dict[str, JsonValue]) -> None:
    """Keep a receipt: indented, with its members sorted."""
    text = msgspec.json.format(sorted_compact(receipt), indent=2)
    with suppress(OSError):  # The writing says why it is not possible, if it is not.
        path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, text + b"\n")


def _own_config(project: Path) -> str | None:
    try:
        return find_config(project)
    except AffidavitError as error:
        raise error.at(file=str(project / CONFIG_NAME)) from None


def _answer_table(config: str) -> AnswerV1:
    """Return what the file says of answers; the tools' loader has found it to be readable."""
    raw = read_bounded(config, MAX_CONFIG_BYTES)
    value: Any
    if config.lower().endswith(".toml"):
        value = tomllib.loads(raw.decode())
    else:
        value = yaml_document(raw).value
    try:
        return msgspec.convert(value.get(TABLE, {}), AnswerV1)
    except msgspec.ValidationError as error:
        problem, field = placed_problem(error)
        place = Where(config, field=joined_field(TABLE, field))
        raise AffidavitError(faults.TOOLS_FIELD, place, problem=problem) from None
