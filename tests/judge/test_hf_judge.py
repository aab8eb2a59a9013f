"""The judge of a classifier, without one: labels, levels, windows. interop/hf.sh has a real one."""

from pathlib import Path

import pytest
from tests.judge.reading import chunk_of

from affidavit.base.errors import AffidavitError
from affidavit.judge.huggingface import (
    HfJudge,
    LabelProbabilities,
    load_classifier,
    model_folder,
    weights_digest,
    window_for,
)
from affidavit.judge.huggingface_settings import HfSettings, LabelMeaning, meanings_of
from affidavit.ledger.model import SupportLevel

CLAIM = "Employees get 15 days of leave"
CHUNK = chunk_of(
    "The weather was fine. Every employee has 15 days of leave. Nothing else is known."
)

LABELS: dict[str, tuple[list[str], dict[str, LabelMeaning], tuple[str, ...]]] = {
    "as most models write them": (
        ["contradiction", "neutral", "entailment"],
        {},
        ("contradicts", "neither", "supports"),
    ),
    "in capitals, with signs": (
        ["SUPPORTED", "NOT ENOUGH INFO", "Refutes"],
        {},
        ("supports", "neither", "contradicts"),
    ),
    "two classes": (["not_entailment", "entailment"], {}, ("neither", "supports")),
    "three, one of them partial": (
        ["supported", "partially_supported", "not_supported"],
        {},
        ("supports", "partly", "neither"),
    ),
    "numbers, with the user's word": (
        ["LABEL_0", "LABEL_1"],
        {"LABEL_0": "neither", "LABEL_1": "supports"},
        ("neither", "supports"),
    ),
    "the user's word against the name": (
        ["entailment", "neutral"],
        {"entailment": "neither", "neutral": "supports"},
        ("neither", "supports"),
    ),
    "one output": (["LABEL_0"], {"LABEL_0": "supports"}, ("supports",)),
}


@pytest.mark.parametrize(("names", "said", "wanted"), LABELS.values(), ids=LABELS.keys())
def test_what_labels_mean(
    names: list[str], said: dict[str, LabelMeaning], wanted: tuple[str, ...]
) -> None:
    assert meanings_of(names, said) == wanted


UNCLEAR: dict[str, tuple[list[str], dict[str, LabelMeaning]]] = {
    "numbers": (["LABEL_0", "LABEL_1"], {}),
    "a label left out": (["LABEL_0", "LABEL_1"], {"LABEL_1": "supports"}),
    "a label that is not there": (["entailment", "neutral"], {"yes": "supports"}),
    "no support": (["neutral", "contradiction"], {}),
    "nothing but support": (["entailment", "supported"], {}),
}


@pytest.mark.parametrize(("names", "said"), UNCLEAR.values(), ids=UNCLEAR.keys())
def test_labels_that_stop_the_run(names: list[str], said: dict[str, LabelMeaning]) -> None:
    with pytest.raises(AffidavitError, match="AF262") as caught:
        meanings_of(names, said)
    assert all(repr(name) in str(caught.value) for name in names)


class Fixed:
    """A model that always gives the same shares, and remembers what it saw."""

    def __init__(self, *shares: float, whole: bool = True) -> None:
        self.shares, self.whole = shares, whole
        self.seen: list[tuple[str, str]] = []

    def score(self, evidence: str, claim: str) -> LabelProbabilities:
        self.seen.append((evidence, claim))
        return LabelProbabilities(self.shares, self.whole)


THREE: tuple[LabelMeaning, ...] = ("contradicts", "neither", "supports")
PARTS: tuple[LabelMeaning, ...] = ("supports", "partly", "neither")
LEVELS = {
    "entailed": (THREE, (0.1, 0.1, 0.8), SupportLevel.FULL, False, 0.8),
    "neutral": (THREE, (0.1, 0.8, 0.1), SupportLevel.NONE, False, 0.1),
    "contradicted": (THREE, (0.8, 0.1, 0.1), SupportLevel.NONE, True, 0.1),
    "in part": (PARTS, (0.3, 0.4, 0.3), SupportLevel.PARTIAL, False, 0.7),
    "one output, yes": (("supports",), (0.9,), SupportLevel.FULL, False, 0.9),
    "one output, no": (("supports",), (0.2,), SupportLevel.NONE, False, 0.2),
}


@pytest.mark.parametrize(
    ("meanings", "shares", "level", "contradicts", "similarity"),
    LEVELS.values(),
    ids=LEVELS.keys(),
)
def test_levels(
    meanings: tuple[LabelMeaning, ...],
    shares: tuple[float, ...],
    level: SupportLevel,
    contradicts: bool,
    similarity: float,
) -> None:
    judge = HfJudge(HfSettings(model="m"), Fixed(*shares), meanings, "sha256:0")
    (reading,) = judge.read(CLAIM, [CHUNK])
    assert (reading.support_level, reading.contradicts) == (level, contradicts)
    assert reading.similarity == similarity
    assert reading.snippet == "Every employee has 15 days of leave."
    assert str(judge.identity) == "hf 1 (signed only, not re-derivable)"


def test_the_model_reads_the_window_and_a_cut_is_noted() -> None:
    model = Fixed(0.1, 0.1, 0.8, whole=False)
    (reading,) = HfJudge(HfSettings(model="m"), model, THREE, "sha256:0").read(CLAIM, [CHUNK])
    assert model.seen == [("Every employee has 15 days of leave.", CLAIM)]
    assert "was cut" in reading.notes


def test_where_no_word_is_shared_the_model_reads_the_chunk() -> None:
    shown = window_for(CLAIM, chunk_of("Wolken ziehen."))
    assert (shown.text, shown.span.end) == ("Wolken ziehen.", 0)


def test_a_page_is_no_claim() -> None:
    with pytest.raises(AffidavitError, match="AF250"):
        HfJudge(HfSettings(model="m"), Fixed(1.0), ("supports",), "d").read("x" * 10_001, [CHUNK])


def test_the_digest_covers_every_file_and_the_labels(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    (tmp_path / "config.json").write_bytes(b"{}")
    digests = {weights_digest(tmp_path, ["supports"]), weights_digest(tmp_path, ["neither"])}
    (tmp_path / "vocab.txt").write_bytes(b"a")
    digests.add(weights_digest(tmp_path, ["supports"]))
    (tmp_path / "model.safetensors").write_bytes(b"Weights")
    digests.add(weights_digest(tmp_path, ["supports"]))
    (tmp_path / "notes.md").write_bytes(b"not part of the model")
    digests.add(weights_digest(tmp_path, ["supports"]))
    assert len(digests) == 4


def test_a_folder_without_a_model(tmp_path: Path) -> None:
    settings = HfSettings(model=str(tmp_path))
    assert model_folder(settings) == tmp_path
    with pytest.raises(AffidavitError, match=r"AF261.*config\.json is missing"):
        load_classifier(settings, tmp_path)
    (tmp_path / "config.json").write_bytes(b"{}")
    (tmp_path / "pytorch_model.bin").write_bytes(b"a pickle is not opened")
    with pytest.raises(AffidavitError, match=r"AF261.*safetensors"):
        load_classifier(settings, tmp_path)


def test_a_name_of_the_hub_is_not_fetched_unless_allowed() -> None:
    pytest.importorskip("huggingface_hub", reason="huggingface_hub is not installed")
    with pytest.raises(AffidavitError, match=r"AF261.*allow_download = true"):
        model_folder(HfSettings(model="nobody/nothing"))
