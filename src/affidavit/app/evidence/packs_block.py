"""What a manifest says of the packs that a run is held to.

Origin: ADR-025, data contract 3: `x-assay.packs_applied` and `x-assay.mappings`. A mapping says
which part of a framework a rule speaks to; rules without a reference have none.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from affidavit.base.json_limits import JsonValue
from affidavit.packs.model import Pack

Entry: TypeAlias = dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class PacksBlock:
    """The two lists of the block, in the order of the packs and of their rules."""

    packs_applied: tuple[Entry, ...] = ()
    mappings: tuple[Entry, ...] = ()


NO_PACKS: Final = PacksBlock()


def packs_block(packs: Sequence[Pack]) -> PacksBlock:
    """Return the block for some packs."""
    return PacksBlock(tuple(map(_applied, packs)), tuple(_mappings(packs)))


def _applied(pack: Pack) -> Entry:
    entry: Entry = {
        "name": pack.name,
        "version": pack.version,
        "digest": pack.digest,
        "kind": pack.kind.value,
    }
    return entry if pack.source_url is None else {**entry, "source_url": pack.source_url}


def _mappings(packs: Sequence[Pack]) -> list[Entry]:
    return [
        {
            "rule": pack.canonical_id(rule),
            "framework": rule.framework or pack.name,
            "ref": rule.article_ref,
        }
        for pack in packs
        for rule in pack.rules
        if rule.article_ref is not None
    ]
