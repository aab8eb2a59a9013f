"""Two packs that say different things under one name: nothing is run."""

from collections.abc import Sequence

from affidavit.base.errors import AffidavitError
from affidavit.base.faults.packs import PACK_COLLISION
from affidavit.packs.model import Pack


def refuse_collisions(packs: Sequence[Pack]) -> tuple[Pack, ...]:
    """Return the packs, each once, or raise if a rule's full name stands in two of them.

    A pack that is named twice is the same pack: its digests and its source are equal.
    """
    kept: list[Pack] = []
    owner: dict[str, Pack] = {}
    for pack in packs:
        if pack in kept:
            continue
        for rule in pack.rules:
            name = pack.canonical_id(rule)
            first = owner.setdefault(name, pack)
            if first is not pack:
                raise AffidavitError(
                    PACK_COLLISION, rule=name, first=first.source, second=pack.source
                )
        kept.append(pack)
    return tuple(kept)
