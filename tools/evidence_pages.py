"""Generates the pages and schemas of bundles, packs, signals and reports."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, get_args

import msgspec

from affidavit.app.attestation_checks import TrustPolicyV1
from affidavit.app.bundle_disclosure import ProofV2, RevealedV1
from affidavit.decision.report import Report
from affidavit.gates import report as gate_report
from affidavit.packs.closure import score_gain
from affidavit.packs.reader import CHECKS, PackV1, RuleV1
from affidavit.packs.report import ClosureReport, LintReport
from affidavit.packs.signals import REGISTRY, REGISTRY_VERSION, TOTAL_WEIGHT, Carrier
from affidavit.seal.bundle.events import EventV1
from affidavit.seal.bundle.manifest import BundleManifestV1
from affidavit.seal.statement import AttestationPredicateV1
from affidavit.soak.report import SoakDetails, SoakReportV1
from affidavit.soak.surface import SurfaceReport

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_REFERENCE: Final = "#/$defs/{name}"


_INTRODUCTION: Final = """\
# Signals ({version})

A signal is a kind of evidence that a bundle can have about a run. It is detected by event type and
field, never guessed. Packs name the signals that they require ([packs.md](packs.md)); `affidavit
evidence lint` tells which of them a bundle has ([lint.md](lint.md)).

## States

| State | When |
| --- | --- |
| captured | every event that must show it does; or the run declares why it had none |
| redacted | the same, but at least one value is a commitment, `{{"$redacted": ...}}` |
| missing | an event that must show it does not; or our recorder wrote no event with it |
| unknown | no event of the bundle could have shown it |

A signal needs content. A null, a blank text, an empty list or object counts as absent, and so does
one that holds nothing else. Only the input of a tool may be an empty object, because a tool may
take no arguments.

A run without any tool calls declares so when it finishes, with the reason:
`absent_signals: {{"tool_calls": "it has no tools"}}` in the data of `affidavit.run.finished`.
Recorded events outweigh the declaration. It counts for nothing without a reason, in a run that
shows nothing of what it did, and for what every run has: code and environment.

## Weights

Closure is the sum of the weights of the captured signals over {total}, the sum of all weights
(`weighted_ratio_v1`), rounded to six decimals: the shortest decimal text of the number, half to
even. A signal of weight 0 counts only for completeness.

The confidence is about the record: high if every run that started has finished and no signal is
unknown, medium if one of the two holds, low otherwise. If part of the score rests on declarations,
it is at most medium; if most of the score does, it is low."""


def schemas() -> Mapping[Path, str]:
    """Return each JSON schema by its path."""
    made = {
        "pack": pack_schema(),
        "lint-report": _schema_of(LintReport),
        "closure-report": _schema_of(ClosureReport),
        "bundle-manifest": _schema_of(BundleManifestV1),
        "bundle-event": _schema_of(EventV1),
        "bundle-proof": _schema_of(ProofV2),
        "bundle-revealed": _schema_of(RevealedV1),
        "gate-report": gate_report_schema(),
        "attestation": _schema_of(AttestationPredicateV1),
        "trust-policy": _schema_of(TrustPolicyV1),
        "soak-report": _schema_of(SoakReportV1),
        "soak-details": _schema_of(SoakDetails),
        "surface-report": _schema_of(SurfaceReport),
    }
    return {
        Path(f"docs/schemas/{name}.schema.json"): _text(schema) for name, schema in made.items()
    }


def _text(schema: Mapping[str, Any]) -> str:
    # Python writes the end of a text as `\\Z`, JSON Schema as `$`.
    return json.dumps(schema, indent=2).replace("\\\\Z", "$") + "\n"


def _schema_of(struct: type[msgspec.Struct]) -> dict[str, Any]:
    (reference,), parts = msgspec.json.schema_components((struct,), ref_template=_REFERENCE)
    return {"$schema": DIALECT, "title": struct.__name__, **reference, "$defs": parts}


def gate_report_schema() -> dict[str, Any]:
    """Return the schema of a gate report: the common fields, and those of each kind.

    Reading is lenient about what a stored report leaves out; what we write always has it.
    """
    structs = (
        Report,
        *get_args(gate_report.Offender),
        *get_args(gate_report.Details),
    )
    (report, *_), parts = msgspec.json.schema_components(structs, ref_template=_REFERENCE)
    made = parts["Report"]
    always = ("reasons", "inputs", "metrics", "gates", "offenders", "warnings")
    made["required"] = [*made["required"], *always]
    parts["ReportInput"]["required"] = ["path", "digest", "rows", "skipped"]
    parts["Figure"]["required"] = sorted(parts["Figure"]["properties"])
    made["properties"]["offenders"]["items"] = _any_of(get_args(gate_report.Offender))
    made["properties"]["details"] = _any_of(get_args(gate_report.Details))
    made["properties"]["parts"]["additionalProperties"] = report
    return {"$schema": DIALECT, "title": "Report", **report, "$defs": parts}


def _any_of(structs: tuple[type[msgspec.Struct], ...]) -> dict[str, Any]:
    return {"anyOf": [{"$ref": _REFERENCE.format(name=each.__name__)} for each in structs]}


def pack_schema() -> dict[str, Any]:
    """Return the schema of a pack, which allows checks of unknown types."""
    structs = (PackV1, RuleV1, *CHECKS.values())
    references, parts = msgspec.json.schema_components(structs, ref_template=_REFERENCE)
    rule = parts["RuleV1"]["properties"]
    unknown = {
        "type": "object",
        "required": ["type"],
        "properties": {"type": {"type": "string", "not": {"enum": sorted(CHECKS)}}},
    }
    rule["check"] = {"anyOf": [*references[2:], unknown]}
    rule["severity"] = {"type": "string", "pattern": "^([Ee]rror|[Ww]arn(ing)?|[Ii]nfo)$"}
    parts["PackV1"]["properties"]["rules"]["items"] = references[1]
    signals = {"type": "array", "items": {"enum": sorted(REGISTRY)}, "default": []}
    parts["ExtensionV1"]["properties"]["requires_signals"] = signals
    return {"$schema": DIALECT, "title": "PackV1", **references[0], "$defs": parts}


def signal_lines() -> Iterator[str]:
    """Yield the page of the signal registry."""
    yield from _INTRODUCTION.format(version=REGISTRY_VERSION, total=TOTAL_WEIGHT).splitlines()
    for signal in REGISTRY.values():
        yield from ("", f"## {signal.name}", "", f"{signal.says[0].upper()}{signal.says[1:]}.", "")
        adds = f" (adds {score_gain(signal.name)})" if signal.weight else ""
        yield f"- Weight: {signal.weight}{adds}"
        yield f"- To capture it: {signal.advice}."
        yield ""
        yield "| Event type | Fields | If they are absent |"
        yield "| --- | --- | --- |"
        yield from map(_carrier_line, signal.carriers)


def _carrier_line(carrier: Carrier) -> str:
    groups = (" or ".join(f"`/data/{path}`" for path in group) for group in carrier.needs)
    fields = " and ".join(groups) or "the event itself"
    gap = "it is missing" if carrier.expected else "nothing follows"
    return f"| `{carrier.event_type}` | {fields} | {gap} |"
