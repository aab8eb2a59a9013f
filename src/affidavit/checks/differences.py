"""What two JSON values differ in, each difference named by its path."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from affidavit.base.json_limits import JsonValue
from affidavit.checks.values import shown

_ABSENT: Final = "nothing"


class DifferenceKind(StrEnum):
    """Which step of answer-eval.md, section 5, a difference breaks, and how."""

    SHAPE = "shape"
    CLOSURE = "closure"
    EVIDENCE_DIGEST = "evidence_digest"
    REPLAY = "replay"

    @property
    def step(self) -> int:
        """4 for the closure of the evidence, 5 for the replay."""
        return 4 if self in (DifferenceKind.CLOSURE, DifferenceKind.EVIDENCE_DIGEST) else 5


@dataclass(frozen=True, slots=True)
class Difference:
    """A place where a receipt is not what follows from it: what it says, and what follows.

    Where nothing can follow, `signed` says what is wrong and `recomputed` is None.
    """

    kind: DifferenceKind
    path: str
    signed: str
    recomputed: str | None

    def __str__(self) -> str:
        if self.recomputed is None:
            return f"{self.path}: {self.signed}"
        return f"{self.path}: the receipt says {self.signed}, and {self.recomputed} follows"


def differences(signed: JsonValue, recomputed: JsonValue, path: str = "") -> Iterator[Difference]:
    """Yield where two values differ. 1, 1.0 and true are three different values here."""
    if isinstance(signed, dict) and isinstance(recomputed, dict):
        yield from _between_objects(signed, recomputed, path)
    elif isinstance(signed, list) and isinstance(recomputed, list):
        for number, (one, other) in enumerate(zip(signed, recomputed, strict=False)):
            yield from differences(one, other, f"{path}[{number}]")
        if len(signed) != len(recomputed):
            yield _difference(path, shown(signed), shown(recomputed))
    elif repr(signed) != repr(recomputed):
        yield _difference(path, shown(signed), shown(recomputed))


def _between_objects(
    signed: dict[str, JsonValue], recomputed: dict[str, JsonValue], path: str
) -> Iterator[Difference]:
    for key in sorted(signed.keys() | recomputed.keys()):
        place = f"{path}.{key}" if path else key
        if key not in recomputed:
            yield _difference(place, shown(signed[key]), _ABSENT)
        elif key not in signed:
            yield _difference(place, _ABSENT, shown(recomputed[key]))
        else:
            yield from differences(signed[key], recomputed[key], place)


def _difference(path: str, signed: str, recomputed: str) -> Difference:
    return Difference(DifferenceKind.REPLAY, path, signed, recomputed)
