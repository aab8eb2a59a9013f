"""The table of output formats: what each is called, its file endings, and who renders it.

A new format is one module with its renderers and one entry here; the options of every command are
made from this table. A renderer takes a result and returns text, bytes, or bytes in pieces. It is
imported when it is used, because PDF and HTML need libraries that other formats do not.
"""

from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from affidavit.ledger.record import ClaimOrder
    from affidavit.ledger.review import HumanDecision

ResultKind = Literal["gate", "ledger", "lint"]
"""A `decision.report.Report`, a `ledger.record.Ledger`, or a `lint_text.LintOutput`."""


@dataclass(frozen=True, slots=True)
class Format:
    """An output format with its renderers, each as `module:function`; None where there is none."""

    name: str
    suffixes: tuple[str, ...]
    media_type: str
    title: str
    _: KW_ONLY
    gate: str | None = None
    ledger: str | None = None
    lint: str | None = None
    draws_history: bool = False
    """The renderer of gate reports also takes the runs of a history."""
    orders_claims: bool = False
    """The renderer of ledgers also takes the `order` of the claims, and what people decided."""
    shows_unreadable: bool = False
    """The renderer of lints shows a bundle that cannot be read, so the run does not end there."""

    def renderer(self, kind: ResultKind) -> str | None:
        """Return the renderer of one kind of result."""
        return {"gate": self.gate, "ledger": self.ledger, "lint": self.lint}[kind]


FORMATS: Final = (
    Format(
        *("json", (".json",), "application/json", "JSON"),
        gate="affidavit.reports.gate_json:gate_report_chunks",
        ledger="affidavit.ledger.record:ledger_to_json",
        lint="affidavit.reports.lint_text:lint_json",
    ),
    Format(
        *("junit", (".xml",), "application/xml", "JUnit XML"),
        gate="affidavit.reports.gate_junit:gate_junit",
    ),
    Format(
        *("sarif", (".sarif",), "application/sarif+json", "SARIF"),
        gate="affidavit.reports.sarif:gate_sarif",
        lint="affidavit.reports.sarif:lint_sarif",
        shows_unreadable=True,
    ),
    Format(
        *("markdown", (".md",), "text/markdown", "Markdown"),
        gate="affidavit.reports.gate_markdown:gate_markdown",
        ledger="affidavit.reports.ledger_markdown:ledger_to_markdown",
        orders_claims=True,
    ),
    Format(
        *("html", (".html", ".htm"), "text/html", "one HTML page"),
        gate="affidavit.reports.gate_html:gate_html",
        ledger="affidavit.reports.ledger_page:ledger_html",
        draws_history=True,
        orders_claims=True,
    ),
    Format(
        *("pdf", (".pdf",), "application/pdf", "PDF"),
        ledger="affidavit.reports.ledger_page:ledger_pdf",
        orders_claims=True,
    ),
)


def formats_of(kind: ResultKind) -> tuple[Format, ...]:
    """Return the formats that a kind of result has."""
    return tuple(each for each in FORMATS if each.renderer(kind) is not None)


def format_names(kind: ResultKind) -> tuple[str, ...]:
    """Return the names of the formats that a kind of result has."""
    return tuple(each.name for each in formats_of(kind))


def find_format(kind: ResultKind, path: Path) -> Format | None:
    """Return the format that the ending of a path stands for."""
    suffix = path.suffix.lower()
    return next((each for each in formats_of(kind) if suffix in each.suffixes), None)


def render(
    kind: ResultKind,
    name: str,
    result: object,
    history: Iterable[Any] = (),
    *,
    order: "ClaimOrder" = "review",
    review: "Sequence[HumanDecision]" = (),
) -> Iterable[bytes]:
    """Return a result in a format; the other arguments are used where the format has them."""
    (chosen,) = (each for each in formats_of(kind) if each.name == name)
    module, _, function = (chosen.renderer(kind) or "").partition(":")
    draw = getattr(import_module(module), function)
    if kind == "gate" and chosen.draws_history:
        made = draw(result, history)
    elif kind == "ledger" and chosen.orders_claims:
        made = draw(result, order=order, review=review)
    else:
        made = draw(result)
    if isinstance(made, str):
        # A lone surrogate (a file name that is no text) has no UTF-8 and becomes an escape.
        return (made.encode("utf-8", "backslashreplace"),)
    return (made,) if isinstance(made, bytes) else made
