"""The ledger as a PDF that an auditor would file, set by typst."""

import json
from importlib import resources

from affidavit.formats.ledger_view import ledger_view
from affidavit.ledger.record import Ledger


def ledger_pdf(ledger: Ledger, version: str) -> bytes:
    """Return the report as a PDF. The same ledger gives the same bytes: typst reads no clock."""
    import typst

    template = resources.files("affidavit.formats") / "templates" / "ledger.typ"
    report = json.dumps(ledger_view(ledger, version), ensure_ascii=False)
    pdf = typst.compile(
        template.read_bytes(), sys_inputs={"report": report}, ignore_system_fonts=True
    )
    if not isinstance(pdf, bytes):
        raise TypeError("typst returned pages where one document was asked for")
    return pdf
