"""The YAML schema of a pack file.

Origin: Assay's pack engine 1.2, field by field. Unlike there, every unknown key is an error, so a
misspelt one cannot be ignored. docs/schemas/pack.schema.json is generated from these structs.
"""

from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

Text = Annotated[str, Meta(min_length=1)]
Name = Annotated[str, Meta(pattern=r"^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\Z", max_length=100)]
Paths = Annotated[tuple[str, ...], Meta(min_length=1)]
Positive = Annotated[int, Meta(ge=1)]


class EventCountV1(Struct, tag="event_count", forbid_unknown_fields=True):
    """At least `min` events."""

    min: Positive


class EventPairsV1(Struct, tag="event_pairs", forbid_unknown_fields=True):
    """Whatever starts also finishes."""

    start_pattern: Text
    finish_pattern: Text


class EventFieldPresentV1(Struct, tag="event_field_present", forbid_unknown_fields=True):
    """Some event has one of several fields; `any_of` with `in_data` is the older spelling."""

    paths_any_of: Paths | None = None
    any_of: Paths | None = None
    in_data: bool = False


class EventTypeExistsV1(Struct, tag="event_type_exists", forbid_unknown_fields=True):
    """Some event has a type that matches the pattern."""

    pattern: Text


class ManifestFieldV1(Struct, tag="manifest_field", forbid_unknown_fields=True):
    """The manifest has a field."""

    path: str
    required: bool = False


class JsonPathExistsV1(Struct, tag="json_path_exists", forbid_unknown_fields=True):
    """Some event has one of several fields, or one field with one value."""

    paths: Paths
    value_equals: Any | UnsetType = UNSET


class ClauseV1(Struct, forbid_unknown_fields=True):
    """A field with its value."""

    path: str
    equals: bool | int | float | str | None


class ConditionV1(Struct, forbid_unknown_fields=True):
    """All clauses must hold."""

    all: Annotated[tuple[ClauseV1, ...], Meta(min_length=1)]


class ThenV1(Struct, tag="json_path_exists", forbid_unknown_fields=True):
    """The field that must exist if the condition holds."""

    paths: Annotated[tuple[str, ...], Meta(min_length=1, max_length=1)]


class ConditionalV1(Struct, tag="conditional", forbid_unknown_fields=True):
    """If a condition holds, a field exists."""

    condition: ConditionV1
    then: ThenV1


class AuthorizationContextV1(
    Struct, tag="g3_authorization_context_present", forbid_unknown_fields=True
):
    """Some tool decision names its authority."""


class ExtensionV1(Struct, forbid_unknown_fields=True):
    """What ADR-025 adds to rules and packs under `x-assay`."""

    requires_signals: tuple[str, ...] = ()
    framework: Text | None = None


class RuleV1(Struct, forbid_unknown_fields=True):
    """One rule. Its check is converted later, because an unknown type is not an error."""

    id: Annotated[str, Meta(min_length=1, max_length=200)]
    severity: str
    description: Text
    check: dict[str, Any]
    article_ref: str | None = None
    help_markdown: str | None = None
    engine_min_version: str | None = None
    event_types: Paths | None = None
    x_assay: ExtensionV1 = msgspec.field(name="x-assay", default_factory=ExtensionV1)


class RequiresV1(Struct, forbid_unknown_fields=True):
    """The oldest versions that can run a pack."""

    assay_min_version: Text
    evidence_schema_version: str | None = None


class PackV1(Struct, forbid_unknown_fields=True):
    """A pack. Its rules are converted one by one, so that an error names the rule."""

    name: Name
    version: Text
    kind: str
    description: Text
    author: Text
    license: Text
    rules: Annotated[tuple[dict[str, Any], ...], Meta(min_length=1)]
    source_url: str | None = None
    disclaimer: str | None = None
    requires: RequiresV1 | None = None
    x_assay: ExtensionV1 = msgspec.field(name="x-assay", default_factory=ExtensionV1)


def _tag_of(struct: type[Struct]) -> str:
    return str(struct.__struct_config__.tag)


CHECKS: Final[dict[str, type[Struct]]] = {
    _tag_of(struct): struct
    for struct in (
        EventCountV1,
        EventPairsV1,
        EventFieldPresentV1,
        EventTypeExistsV1,
        ManifestFieldV1,
        JsonPathExistsV1,
        ConditionalV1,
        AuthorizationContextV1,
    )
}
