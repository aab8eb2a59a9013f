"""The ledger as one HTML file that works offline: no font, script or style comes from elsewhere."""

from affidavit.formats.ledger_view import ledger_view
from affidavit.formats.page_templates import page_templates
from affidavit.ledger.record import Ledger


def ledger_html(ledger: Ledger, version: str) -> str:
    """Return the report as one file. Everything that came from outside is escaped."""
    template = page_templates().get_template("ledger.html.j2")
    return template.render(report=ledger_view(ledger, version))
