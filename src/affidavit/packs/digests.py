"""The two digests of a pack: of what lint runs, and of what the file says.

Both are Assay's. Lint's is over the parsed pack: what is absent is null, severities have one
spelling, an unknown check is only called unsupported, and `x-assay` is not part of it. The
registry's is over the YAML as JSON, so that every key counts.
"""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from affidavit.base.canonical import jcs
from affidavit.base.digest import digest_of
from affidavit.base.json_limits import JsonValue
from affidavit.packs import wire_schema as v1
from affidavit.packs.model import Rule

_UNSUPPORTED: Final = {"type": "unsupported"}


def registry_digest(document: JsonValue) -> str:
    """Return the digest of the whole document."""
    return digest_of(jcs(document))


def lint_digest(pack: v1.PackV1, wires: Sequence[v1.RuleV1], rules: Sequence[Rule]) -> str:
    """Return the digest of a pack as it was parsed, with its rules in both forms."""
    stated: dict[str, Any] = {
        "name": pack.name,
        "version": pack.version,
        "kind": pack.kind,
        "description": pack.description,
        "author": pack.author,
        "license": pack.license,
        "source_url": pack.source_url,
        "disclaimer": pack.disclaimer,
        "requires": None if pack.requires is None else msgspec.to_builtins(pack.requires),
        "rules": [_stated_rule(*pair) for pair in zip(wires, rules, strict=True)],
    }
    return digest_of(jcs(stated))


def _stated_rule(wire: v1.RuleV1, rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "severity": rule.severity.value,
        "description": rule.description,
        "article_ref": rule.article_ref,
        "help_markdown": rule.help_markdown,
        "check": _stated_check(wire.check),
        "engine_min_version": rule.engine_min_version,
        "event_types": wire.event_types,
    }


def _stated_check(value: dict[str, Any]) -> dict[str, Any]:
    struct = v1.CHECKS.get(str(value.get("type")))
    if struct is None:
        return dict(_UNSUPPORTED)
    stated: dict[str, Any] = msgspec.to_builtins(msgspec.convert(value, struct))
    if struct is v1.JsonPathExistsV1:
        stated.setdefault("value_equals", None)
    return stated
