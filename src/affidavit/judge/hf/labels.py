"""What the labels of a classifier mean. A label that nobody can name stops the run: a guess here
would turn every verdict around.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final, NoReturn

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import judge as faults
from affidavit.judge.hf.settings import Meaning

_LETTERS: Final = re.compile("[^a-z]+")


def _table(words: str, meaning: Meaning) -> dict[str, Meaning]:
    return dict.fromkeys(words.split(), meaning)


KNOWN: Final[Mapping[str, Meaning]] = {
    **_table(
        "attributable consistent entail entailed entailment entails faithful support supported"
        " supports verified",
        "supports",
    ),
    **_table("partial partially_supported partially_supports partly_supported", "partly"),
    **_table(
        "hallucinated hallucination inconsistent nei neutral no_entailment non_entailment"
        " not_attributable not_consistent not_entailed not_entailment not_enough_evidence"
        " not_enough_info not_faithful not_found not_supported unfaithful unrelated unsupported"
        " unverifiable",
        "neither",
    ),
    **_table(
        "contradict contradicted contradiction contradictory contradicts refute refuted refutes",
        "contradicts",
    ),
}
"""Names of labels, in lower case, other signs as `_`, as published models write them.

What a two-class model calls inconsistent or hallucinated may be absent or in conflict: `neither`.
"""


def meanings_of(names: Iterable[str], said: Mapping[str, Meaning]) -> tuple[Meaning, ...]:
    """Return what each label means, in the model's order: by the user's word, else by its name."""
    labels = tuple(names)
    if strangers := sorted(set(said) - set(labels)):
        _refuse(f"the model has no label {strangers[0]!r}", labels)
    found = [said.get(name) or KNOWN.get(_spelled(name)) for name in labels]
    meanings = tuple(meaning for meaning in found if meaning is not None)
    if len(meanings) != len(labels):
        _refuse(f"{labels[found.index(None)]!r} is not known", labels)
    if "supports" not in meanings:
        _refuse("none of them means that the claim is supported", labels)
    if len(labels) > 1 and set(meanings) == {"supports"}:
        _refuse("all of them mean the same", labels)
    return meanings


def _spelled(name: str) -> str:
    return _LETTERS.sub("_", name.lower()).strip("_")


def _refuse(problem: str, labels: tuple[str, ...]) -> NoReturn:
    shown = ", ".join(map(repr, labels))
    raise AffidavitError(faults.MODEL_LABELS, problem=problem, labels=shown)
