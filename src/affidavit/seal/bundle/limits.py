"""How large a bundle may be.

Origin: the limits object of the soak report in ADR-025, with its eight names. The defaults are
Assay's, so that a bundle that one tool accepts is not too large for the other. A limit is the
largest accepted value.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Final

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import bundles as faults
from affidavit.base.json_values import MAX_DEPTH, JsonLimits
from affidavit.base.text import excerpt

# Assay's limits on the keys of one object and on the length of a text.
_MAX_KEYS: Final = 10_000
_MAX_STRING: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class BundleLimits:
    """The eight limits. `max_line_bytes` excludes the line feed; paths are in bytes."""

    max_bundle_bytes: int = 100 * 1024 * 1024
    max_decode_bytes: int = 1024 * 1024 * 1024
    max_manifest_bytes: int = 10 * 1024 * 1024
    max_events_bytes: int = 500 * 1024 * 1024
    max_events: int = 100_000
    max_line_bytes: int = 1024 * 1024
    max_path_len: int = 256
    max_json_depth: int = 64

    def for_json(self, max_bytes: int) -> JsonLimits:
        """Return the limits of one JSON text of the bundle."""
        return JsonLimits(max_bytes, self.max_json_depth, _MAX_KEYS, _MAX_STRING)

    def as_wire(self) -> dict[str, int]:
        """Return the limits as reports have them."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


DEFAULT_LIMITS: Final = BundleLimits()
LIMIT_NAMES: Final = tuple(field.name for field in fields(BundleLimits))


def limits_from_wire(value: object, defaults: BundleLimits = DEFAULT_LIMITS) -> BundleLimits:
    """Return the defaults with the overrides of a JSON object.

    An unknown name is an error: a misspelt limit would otherwise be ignored in silence.
    """
    if not isinstance(value, Mapping):
        raise _invalid_limits("they are not a JSON object")
    for name, number in value.items():
        if name not in LIMIT_NAMES:
            raise _invalid_limits(f"no limit is called {excerpt(str(name))!a}")
        if type(number) is not int or number < 1:
            raise _invalid_limits("it is not a whole number above zero", name)
    if value.get("max_json_depth", 1) > MAX_DEPTH:
        raise _invalid_limits(f"{MAX_DEPTH} levels can be read at most", "max_json_depth")
    return replace(defaults, **value)


def _invalid_limits(problem: str, field: str | None = None) -> AffidavitError:
    known = ", ".join(LIMIT_NAMES)
    return AffidavitError(faults.BUNDLE_LIMITS, Where(field=field), problem=problem, known=known)
