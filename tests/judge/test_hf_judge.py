"""The judge of a classifier, without one: labels, levels, windows. interop/hf.sh has a real one."""

from pathlib import Path

import pytest
from tests.judge.reading import chunk_of

from affidavit.app.judges import judge_named
from affidavit.base.errors import AffidavitError
from affidavit.judge.huggingface import (
    HfJudge,
    LabelProbabilities,
    closest_sentence,
    load_classifier,
    model_folder,
    pieces_for,
    weights_digest,
)
from affidavit.judge.huggingface_settings import HfSettings, LabelMeaning, Preset, meanings_of
from affidavit.judge.verifiers import VerifierForm, evidence_pieces, verifier_form
from affidavit.ledger.model import Span, SupportLevel

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

    def __init__(self, *shares: float, whole: bool = True, preset: Preset = "nli") -> None:
        self.shares, self.whole = shares, whole
        self.form: VerifierForm = verifier_form(preset, "t5")
        self.seen: list[tuple[str, str]] = []

    def count_tokens(self, text: str) -> int:
        return len(text)

    def score(self, evidence: str, claim: str) -> LabelProbabilities:
        self.seen.append((evidence, claim))
        return LabelProbabilities(self.shares, self.whole)


THREE: tuple[LabelMeaning, ...] = ("contradicts", "neither", "supports")
PARTS: tuple[LabelMeaning, ...] = ("supports", "partly", "neither")
LEVELS = {
    "entailed": (THREE, (0.1, 0.1, 0.8), SupportLevel.FULL, False, 0.8),
    "just entailed": (THREE, (0.1, 0.4, 0.5), SupportLevel.FULL, False, 0.5),
    "neutral": (THREE, (0.1, 0.8, 0.1), SupportLevel.NONE, False, 0.1),
    "contradicted": (THREE, (0.8, 0.1, 0.1), SupportLevel.NONE, True, 0.1),
    "in part": (PARTS, (0.3, 0.4, 0.3), SupportLevel.PARTIAL, False, 0.7),
    "one output, yes": (("supports",), (0.9,), SupportLevel.FULL, False, 0.9),
    "one output, no": (("supports",), (0.2,), SupportLevel.NONE, False, 0.2),
}


@pytest.mark.parametrize(
    ("meanings", "shares", "level", "contradicts", "support"),
    LEVELS.values(),
    ids=LEVELS.keys(),
)
def test_levels(
    meanings: tuple[LabelMeaning, ...],
    shares: tuple[float, ...],
    level: SupportLevel,
    contradicts: bool,
    support: float,
) -> None:
    judge = HfJudge(HfSettings(model="m"), Fixed(*shares), meanings, "sha256:0")
    (reading,) = judge.read(CLAIM, [CHUNK])
    assert (reading.support_level, reading.contradicts) == (level, contradicts)
    assert dict(reading.scores)["support"] == support
    # On the ledger's scale, what the model calls support is above the bound of the verdict.
    assert (reading.similarity > 0.85) == (support >= 0.5)
    assert reading.snippet == "Every employee has 15 days of leave."
    assert str(judge.identity) == "hf 2 (signed only, not re-derivable)"


def test_the_model_reads_the_window_and_a_cut_is_noted() -> None:
    model = Fixed(0.1, 0.1, 0.8, whole=False)
    (reading,) = HfJudge(HfSettings(model="m"), model, THREE, "sha256:0").read(CLAIM, [CHUNK])
    assert model.seen == [("Every employee has 15 days of leave.", CLAIM)]
    assert "was cut" in reading.notes


def test_where_no_word_is_shared_the_model_reads_the_chunk() -> None:
    chunk = chunk_of("Wolken ziehen.")
    (piece,) = pieces_for(CLAIM, chunk, Fixed(1.0))
    assert piece.text == chunk.text
    assert closest_sentence(CLAIM, chunk.text, piece.span) == Span(0, 0)


def test_a_page_is_no_claim() -> None:
    with pytest.raises(AffidavitError, match="AF250"):
        HfJudge(HfSettings(model="m"), Fixed(1.0), ("supports",), "d").read("x" * 10_001, [CHUNK])


LONG = "\n\n".join(
    [
        *(f"The weather of day {day} was fine, and nothing else is known." for day in range(60)),
        "Every employee has 15 days of leave.",
        *(f"The weather of night {day} was fine, and nothing else is known." for day in range(60)),
    ]
)
"""About 1,400 words."""
PIECES: dict[str, tuple[Preset, str, int]] = {
    "500 words": ("minicheck", "t5", 3),
    "400 tokens, here of one letter each": ("minicheck", "roberta", 20),
    "550 words and signs": ("factcg", "deberta-v2", 4),
    "all at once": ("hhem", "HHEMv2Config", 1),
    "all at once, too": ("lettucedetect", "modernbert", 1),
}


@pytest.mark.parametrize(("preset", "kind", "count"), PIECES.values(), ids=PIECES.keys())
def test_long_evidence_is_read_in_the_pieces_of_the_preset(
    preset: Preset, kind: str, count: int
) -> None:
    form = verifier_form(preset, kind)
    pieces = evidence_pieces(LONG, form, len)
    assert len(pieces) == count
    assert " ".join(piece.text for piece in pieces).split() == LONG.split()
    for piece in pieces:
        assert piece.text.split() == LONG[piece.span.start : piece.span.end].split()


def test_a_sentence_that_is_longer_than_a_piece_is_a_piece_and_no_sentence_is_all_of_it() -> None:
    form = verifier_form("minicheck", "t5")
    long = "word " * 600 + "end."
    assert [piece.text for piece in evidence_pieces(f"{long}\n\nShort.", form, len)] == [
        long,
        "Short.",
    ]
    assert [piece.text for piece in evidence_pieces("--", form, len)] == ["--"]


def test_factcg_reads_each_sentence_on_a_line_of_its_own() -> None:
    (piece,) = evidence_pieces("It rains. It snows.", verifier_form("factcg", "deberta-v2"), len)
    assert piece.text == "It rains.\nIt snows."


class OnlyLeave(Fixed):
    """A model that supports a claim only by a piece that speaks of leave."""

    def score(self, evidence: str, claim: str) -> LabelProbabilities:
        super().score(evidence, claim)
        yes = 0.9 if "leave" in evidence else 0.2
        return LabelProbabilities((1 - yes, yes), is_whole=True, doubted=("15 days",))


def test_the_piece_that_supports_the_claim_most_counts() -> None:
    model = OnlyLeave(preset="minicheck")
    judge = HfJudge(HfSettings(model="m", preset="minicheck"), model, THREE[1:], "sha256:0")
    (reading,) = judge.read(CLAIM, [chunk_of(LONG)])
    assert len(model.seen) == 3
    assert reading.support_level is SupportLevel.FULL
    assert reading.snippet == "Every employee has 15 days of leave."
    assert LONG[reading.snippet_span.start : reading.snippet_span.end] == reading.snippet
    assert "for the best of 3 pieces" in reading.notes
    assert 'doubting "15 days"' in reading.notes


def test_a_preset_reads_all_of_a_short_chunk() -> None:
    model = Fixed(0.1, 0.9, preset="hhem")
    (reading,) = HfJudge(HfSettings(model="m"), model, THREE[1:], "d").read(CLAIM, [CHUNK])
    assert model.seen == [(CHUNK.text, CLAIM)]
    assert reading.snippet == "Every employee has 15 days of leave."


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


def test_a_configuration_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_bytes(b"no JSON")
    (tmp_path / "model.safetensors").write_bytes(b"")
    with pytest.raises(AffidavitError, match=r"AF261.*config\.json cannot be read"):
        load_classifier(HfSettings(model=str(tmp_path)), tmp_path)


FILES = {
    "labels that the preset knows": ('preset="minicheck"\nlabels={a="supports"}', "hf.labels"),
    "a foundation that nobody needs": ('foundation="google/flan-t5-base"', "hf.foundation"),
    "an unknown preset": ('preset="oracle"', "hf.preset"),
}


@pytest.mark.parametrize(("text", "field"), FILES.values(), ids=FILES.keys())
def test_settings_that_do_not_go_together(text: str, field: str, tmp_path: Path) -> None:
    file = tmp_path / "judge.toml"
    file.write_text(f'[hf]\nmodel="m"\n{text}', "utf-8")
    with pytest.raises(AffidavitError, match="AF253") as caught:
        judge_named(str(file))
    assert caught.value.where.field == field


def test_a_foundation_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "t5").mkdir()
    file = tmp_path / "judge.toml"
    file.write_text('[hf]\nmodel="hub/name"\npreset="hhem"\nfoundation="t5"', "utf-8")
    choice = judge_named(str(file))
    assert isinstance(choice, HfSettings)
    assert (choice.model, choice.foundation) == ("hub/name", str(tmp_path / "t5"))


def test_a_name_of_the_hub_is_not_fetched_unless_allowed() -> None:
    pytest.importorskip("huggingface_hub", reason="huggingface_hub is not installed")
    with pytest.raises(AffidavitError, match=r"AF261.*allow_download = true"):
        model_folder(HfSettings(model="nobody/nothing"))
