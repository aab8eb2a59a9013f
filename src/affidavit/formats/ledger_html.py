"""The ledger as one HTML file that works offline: no font, script or style comes from elsewhere."""

from affidavit.formats.ledger_view import ledger_view
from affidavit.ledger.record import Ledger


def ledger_html(ledger: Ledger, version: str) -> str:
    """Return the report as one file. Everything that came from outside is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("affidavit.formats"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    template = environment.get_template("ledger.html.j2")
    return template.render(report=ledger_view(ledger, version))
