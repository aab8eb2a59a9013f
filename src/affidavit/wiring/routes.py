"""Route tables from YAML files, with the line of whatever is wrong."""

from pathlib import Path
from typing import Final

from affidavit.base.errors import AffidavitError
from affidavit.base.files import read_bounded
from affidavit.base.strict_yaml import yaml_document
from affidavit.checks.routes import RouteTable, routes_from_wire

MAX_ROUTES_BYTES: Final = 1024 * 1024
NO_ROUTES: Final = routes_from_wire({"version": "route/1", "routes": []})


def load_routes(path: Path) -> RouteTable:
    """Return the route table of a YAML (or JSON) file."""
    file = str(path)
    raw = read_bounded(path, MAX_ROUTES_BYTES)
    try:
        document = yaml_document(raw)
    except AffidavitError as error:
        raise error.at(file=file) from None
    return routes_from_wire(document.value, file, document.line_of)
