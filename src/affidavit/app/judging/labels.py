"""What the labels of public data sets and of users mean for a judge.

| label | supported | contradicted |
|---|---|---|
| supported, entailment, supports, true, 1 | yes | no |
| partial, weak | no, but partly | not said |
| refuted, contradicted, contradiction, refutes | no | yes |
| neutral, not_found, not enough info | no | no |
| not_supported, false, 0 | no | not said |

Case does not matter, and a space or a hyphen is an underscore. Partial support counts as not
supported. What a label does not say is left out of that figure, and never guessed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import judging as faults


@dataclass(frozen=True, slots=True)
class LabelMeaning:
    """What a label says of a claim. `name` is how a report calls it."""

    name: str
    is_supported: bool
    is_partial: bool
    is_contradicted: bool | None


SUPPORTED: Final = LabelMeaning("supported", True, False, False)
PARTIAL: Final = LabelMeaning("partial", False, True, None)
REFUTED: Final = LabelMeaning("refuted", False, False, True)
NEUTRAL: Final = LabelMeaning("neutral", False, False, False)
NOT_SUPPORTED: Final = LabelMeaning("not_supported", False, False, None)

MEANINGS: Final = (SUPPORTED, PARTIAL, REFUTED, NEUTRAL, NOT_SUPPORTED)
"""In the order in which a report lists them."""

_SPELLINGS: Final[Mapping[str, LabelMeaning]] = MappingProxyType(
    {
        **dict.fromkeys(("supported", "entailment", "supports", "true", "1"), SUPPORTED),
        **dict.fromkeys(("partial", "weak"), PARTIAL),
        **dict.fromkeys(("refuted", "contradicted", "contradiction", "refutes"), REFUTED),
        **dict.fromkeys(("neutral", "not_found", "not_enough_info"), NEUTRAL),
        **dict.fromkeys(("not_supported", "false", "0"), NOT_SUPPORTED),
    }
)


def meaning_of(label: str | None, line: int) -> LabelMeaning:
    """Return what a row's label means; raise if there is none, or nobody knows it."""
    key = (label or "").strip().lower().replace(" ", "_").replace("-", "_")
    found = _SPELLINGS.get(key)
    if found is None:
        problem = "the row has no label" if not key else f"no label is spelled {label!r}"
        raise AffidavitError(
            faults.LABEL_UNKNOWN,
            Where(line=line, field="label"),
            problem=problem,
            known=", ".join(_SPELLINGS),
        )
    return found
