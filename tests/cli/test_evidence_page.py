"""The page on bundles has every event type, every code beside Assay's, and every limit."""

from tests.repository import ROOT

from affidavit.app.evidence.event_types import PREFIX, TYPES
from affidavit.base.faults import CATALOG
from affidavit.seal.bundle.assay_codes import ASSAY_CODES, OURS_ALONE
from affidavit.seal.bundle.limits import DEFAULT_LIMITS


def test_the_page_has_every_event_type() -> None:
    page = (ROOT / "docs" / "bundles.md").read_text("utf-8")
    for each in TYPES:
        fields = ", ".join(
            [f"`{name}`" for name in each.required] + [f"`{name}`?" for name in each.optional]
        )
        assert f"| `{each.name}` | {each.says} | {fields} |" in page
        assert each.name.startswith(PREFIX)


def test_the_page_has_every_code_beside_assays() -> None:
    page = (ROOT / "docs" / "bundles.md").read_text("utf-8")
    by_name = {fault.name: fault for fault in CATALOG.values()}
    for name in (*ASSAY_CODES, *OURS_ALONE):
        fault, theirs = by_name[name], ASSAY_CODES.get(name, "(accepted)")
        assert f"| {fault.code} `{name}` | {theirs} | {int(fault.exit)} |" in page
    for name, default in DEFAULT_LIMITS.as_wire().items():
        assert f"| `{name}` | {default} |" in page
