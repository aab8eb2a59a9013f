"""The table `[hf]` of a judge file, and the meaning of the labels of a classifier."""

import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Final, Literal, NoReturn

import msgspec

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import evidence as faults

# The table `[hf]` of a judge's file.

SettingText = Annotated[str, msgspec.Meta(min_length=1, max_length=1000)]
LabelMeaning = Literal["supports", "partly", "neither", "contradicts"]
Preset = Literal["nli", "minicheck", "hhem", "factcg", "lettucedetect"]
"""The published verifiers whose prompt, labels and pieces are known; `nli` is any classifier."""


class HfSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table `[hf]`.

    `model` is a folder, relative to the file, or the name of a model on the hub. A model is only
    downloaded with `allow_download`; otherwise the local copy of the hub is used. `foundation` is
    the model whose tokenizer and configuration a model without its own uses.
    """

    model: SettingText
    preset: Preset = "nli"
    foundation: SettingText | None = None
    revision: SettingText | None = None
    allow_download: bool = False
    labels: dict[str, LabelMeaning] = {}
    max_tokens: Annotated[int, msgspec.Meta(ge=16, le=100_000)] | None = None
    """By default what the preset was trained for."""
    supported_from: Annotated[float, msgspec.Meta(gt=0, le=1)] = 0.5
    contradicted_from: Annotated[float, msgspec.Meta(gt=0, le=1)] = 0.5

    def __hash__(self) -> int:
        return hash((self.model, self.revision, self.preset, tuple(sorted(self.labels.items()))))


def hf_settings(wire: HfSettings) -> HfSettings:
    """Return the settings if they are valid together; otherwise raise the field."""
    if wire.preset != "nli" and wire.labels:
        _refuse_field("labels", f"the preset {wire.preset!r} says what the outputs mean")
    if wire.preset != "hhem" and wire.foundation is not None:
        _refuse_field("foundation", "only a model of the preset 'hhem' has a foundation")
    return wire


def _refuse_field(field: str, problem: str) -> NoReturn:
    raise AffidavitError(faults.JUDGE_FIELD, Where(field=f"hf.{field}"), problem=problem)


# The meaning of a classifier's labels. An unknown label stops the run: a guess could invert every
# verdict.

_LETTERS: Final = re.compile("[^a-z]+")


def _label_table(words: str, meaning: LabelMeaning) -> dict[str, LabelMeaning]:
    return dict.fromkeys(words.split(), meaning)


KNOWN_LABELS: Final[Mapping[str, LabelMeaning]] = {
    **_label_table(
        "attributable consistent entail entailed entailment entails faithful support supported"
        " supports verified",
        "supports",
    ),
    **_label_table("partial partially_supported partially_supports partly_supported", "partly"),
    **_label_table(
        "hallucinated hallucination inconsistent nei neutral no_entailment non_entailment"
        " not_attributable not_consistent not_entailed not_entailment not_enough_evidence"
        " not_enough_info not_faithful not_found not_supported unfaithful unrelated unsupported"
        " unverifiable",
        "neither",
    ),
    **_label_table(
        "contradict contradicted contradiction contradictory contradicts refute refuted refutes",
        "contradicts",
    ),
}
"""Names of labels, in lower case, other signs as `_`, as published models write them.

What a two-class model calls inconsistent or hallucinated may be absent or in conflict: `neither`.
"""


def meanings_of(
    names: Iterable[str], configured: Mapping[str, LabelMeaning]
) -> tuple[LabelMeaning, ...]:
    """Return the meaning of each label, in the model's order: configured, or known by name."""
    labels = tuple(names)
    if unknown := sorted(set(configured) - set(labels)):
        _refuse(f"the model has no label {unknown[0]!r}", labels)
    found = [configured.get(name) or KNOWN_LABELS.get(_normalized_label(name)) for name in labels]
    meanings = tuple(meaning for meaning in found if meaning is not None)
    if len(meanings) != len(labels):
        _refuse(f"{labels[found.index(None)]!r} is not known", labels)
    if "supports" not in meanings:
        _refuse("none of them means that the claim is supported", labels)
    if len(labels) > 1 and set(meanings) == {"supports"}:
        _refuse("all of them mean the same", labels)
    return meanings


def _normalized_label(name: str) -> str:
    return _LETTERS.sub("_", name.lower()).strip("_")


def _refuse(problem: str, labels: tuple[str, ...]) -> NoReturn:
    shown = ", ".join(map(repr, labels))
    raise AffidavitError(faults.MODEL_LABELS, problem=problem, labels=shown)
