"""The table of hostile constructions, and what it expects of each."""

import json

from tests.vectors import vector_path


def cases(layer: str) -> set[str]:
    """Return the ids of a layer's cases."""
    return {entry["id"] for entry in _table() if entry["layer"] == layer}


def expected(case: str) -> set[str]:
    """Return the names of the faults that a case may be refused with."""
    outcome = next(entry["expect"] for entry in _table() if entry["id"] == case)
    kind, _, names = outcome.partition(":")
    assert kind == "reject"
    return {name.strip() for name in names.split("/")}


def outcome(case: str) -> set[str]:
    """Return the same, with "accept" for a case that has to be accepted."""
    found = next(entry["expect"] for entry in _table() if entry["id"] == case)
    return {found} if found == "accept" else expected(case)


def _table() -> list[dict[str, str]]:
    table: list[dict[str, str]] = json.loads(vector_path("adversarial.json").read_bytes())
    return table
