"""The encoder's answers, its files, and what it says when it cannot read."""

import hashlib
import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.judge.encoder_weights import shipped_or_skip

from affidavit.base.errors import AffidavitError
from affidavit.base.exits import Exit
from affidavit.base.faults.evidence import ENCODER_CHANGED, ENCODER_MISSING
from affidavit.base.faults.input import EXTRA_MISSING
from affidavit.judge.encoder import (
    FAST,
    MAX_CHARACTERS,
    STANDARD,
    Encoder,
    EncoderFiles,
    Entailment,
    encoder_digest,
    encoder_folder,
    entailment_from,
    load_encoder,
    open_tokenizer,
    read_files,
)

LOGITS = {
    "nothing speaks for any": ((0.0, 0.0, 0.0), (0.3333, 0.3333, 0.3333)),
    "what is added to all changes nothing": ((50.0, 50.0, 50.0), (0.3333, 0.3333, 0.3333)),
    "the largest does not overflow": ((1e30, 0.0, -1e30), (1.0, 0.0, 0.0)),
    "a natural unit apart": ((1.0, 0.0, -1.0), (0.6652, 0.2447, 0.09)),
}


@pytest.mark.parametrize(("logits", "wanted"), LOGITS.values(), ids=LOGITS.keys())
def test_probabilities(logits: tuple[float, ...], wanted: tuple[float, float, float]) -> None:
    assert entailment_from(logits) == Entailment(*wanted)


@given(st.lists(st.floats(-40, 40, width=32), min_size=3, max_size=3))
def test_probabilities_are_ordered_and_sum_to_one(logits: list[float]) -> None:
    found = entailment_from(logits)
    scores = (found.entails, found.neutral, found.contradicts)
    assert all(0 <= score <= 1 for score in scores)
    assert abs(sum(scores) - 1) <= 0.00016
    in_order = [score for _, score in sorted(zip(logits, scores, strict=True))]
    assert in_order == sorted(scores)


def release(folder: Path, **changes: bytes) -> Path:
    """Write files as an export leaves them, then change some."""
    contents = {"model.onnx": b"a model", "tokenizer.json": b"{}"}
    entries = {
        name: {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
        for name, data in contents.items()
    }
    contents["manifest.json"] = json.dumps({"files": entries, "opset": 20}).encode()
    for name, data in (contents | {n.replace("_", "."): d for n, d in changes.items()}).items():
        (folder / name).write_bytes(data)
    return folder


def test_the_digest_is_what_sha256sum_says(tmp_path: Path) -> None:
    found = read_files(release(tmp_path))
    assert (found.model, found.tokenizer) == (b"a model", b"{}")
    lines = "".join(
        f"{hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()}  {name}\n"
        for name in ("model.onnx", "tokenizer.json")
    )
    assert found.digest == f"sha256:{hashlib.sha256(lines.encode()).hexdigest()}"
    assert encoder_digest(tmp_path) == found.digest


CHANGES = {
    "the weights": ({"model_onnx": b"b model"}, "model.onnx"),
    "the tokenizer": ({"tokenizer_json": b"{ }"}, "tokenizer.json"),
    "a manifest that is no JSON": ({"manifest_json": b"{"}, "manifest.json"),
    "a manifest that is no text": ({"manifest_json": b'{"files": {"\xff": 1}}'}, "manifest.json"),
    "a manifest that names no files": ({"manifest_json": b'{"files": {}}'}, "manifest.json"),
    "a manifest of another shape": ({"manifest_json": b"[]"}, "manifest.json"),
}


@pytest.mark.parametrize(("changes", "name"), CHANGES.values(), ids=CHANGES.keys())
def test_a_changed_file_is_refused(changes: dict[str, bytes], name: str, tmp_path: Path) -> None:
    with pytest.raises(AffidavitError) as caught:
        read_files(release(tmp_path, **changes))
    assert (caught.value.fault, caught.value.where.file) == (ENCODER_CHANGED, name)
    assert caught.value.fault.exit is Exit.TAMPERED


@pytest.mark.parametrize("name", ["manifest.json", "model.onnx", "tokenizer.json"])
def test_a_missing_file_is_named(name: str, tmp_path: Path) -> None:
    (release(tmp_path) / name).unlink()
    with pytest.raises(AffidavitError) as caught:
        read_files(tmp_path)
    assert (caught.value.fault, caught.value.where.file) == (ENCODER_MISSING, name)


@pytest.mark.parametrize("package", ["onnxruntime", "tokenizers"])
def test_a_missing_library_names_its_extra(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setattr("affidavit.judge.encoder.open_session", import_onnxruntime)
    with pytest.raises(AffidavitError) as caught:
        Encoder(EncoderFiles(b"", b"{}", "sha256:0"))
    assert caught.value.fault is EXTRA_MISSING
    assert caught.value.values["package"] == package
    assert caught.value.next_step == "pip install 'affidavit[ledger]'"


def import_onnxruntime(model: bytes) -> None:
    """Do the part of opening a session that a missing library prevents."""
    import onnxruntime

    assert onnxruntime


@pytest.fixture(scope="module", params=[STANDARD, FAST])
def name(request: pytest.FixtureRequest) -> str:
    shipped_or_skip(request.param)
    return str(request.param)


@pytest.fixture(scope="module")
def encoder(name: str) -> Encoder:
    return load_encoder(name)


PREMISE = "The ferry Aurora carried 412 passengers to Tallinn on 3 June 2018."


def test_it_is_loaded_once_and_knows_its_digest(encoder: Encoder, name: str) -> None:
    assert load_encoder(name) is encoder
    assert encoder.digest == encoder_digest(encoder_folder(name))


def test_a_claim_is_told_from_its_denial(encoder: Encoder) -> None:
    same = encoder.read(PREMISE, "The ferry Aurora carried passengers to Tallinn.").claim
    denied = encoder.read(PREMISE, "The ferry Aurora did not carry passengers to Tallinn.").claim
    assert same.entails > denied.entails
    assert denied.contradicts > same.contradicts


HOSTILE = {
    "nothing at all": ("", ""),
    "no premise": ("", "The ferry sailed."),
    "white space": (" \n\t ", "\u2003"),
    "half of a surrogate pair": ("\ud83d is broken", "\udc00"),
    "no word known": ("表示 🎈 \x00 \u202e", "ﷺ ⟦⟧ ‱"),
    "code and a table": ("def f(x):\n    return x ** 2", "| a | b |\n|---|---|\n| 1 | 2 |"),
    "one endless word": ("a" * 1_000_000, "b" * 100_000),
    "a megabyte": ("The ferry sailed north. " * 42_000, "The ferry sailed south. " * 4_000),
}


@pytest.mark.parametrize(("premise", "claim"), HOSTILE.values(), ids=HOSTILE.keys())
def test_whatever_it_is_it_is_read(premise: str, claim: str, encoder: Encoder) -> None:
    for found in encoder.read(premise, claim):
        assert abs(sum(found) - 1) < 0.0002
    read = encoder.inputs_for(premise, claim)
    assert read.get("words", read.get("tokens")).shape[1] <= 256


def test_what_is_cut_is_the_end_of_the_longer_text(encoder: Encoder) -> None:
    short = encoder.inputs_for("north " * 400, "The ferry sailed south.")
    longer = encoder.inputs_for("north " * MAX_CHARACTERS, "The ferry sailed south.")
    assert all((short[key] == longer[key]).all() for key in short)


@pytest.mark.parametrize(("name", "most"), [(STANDARD, 256), (FAST, 128)])
def test_the_tokenizer_cuts_as_in_the_training(name: str, most: int) -> None:
    tokenizer = open_tokenizer(shipped_or_skip(name).tokenizer)
    assert tokenizer.padding is None
    assert tokenizer.truncation == {
        "direction": "right",
        "max_length": most,
        "strategy": "longest_first",
        "stride": 0,
    }


@pytest.mark.parametrize(
    ("name", "text", "start", "end", "ends"),
    [
        pytest.param(FAST, "The ferry sank. [SEP] [CLS] It sailed.", 101, 102, 2, id="BERT"),
        pytest.param(STANDARD, "The ferry sank. </s> <s> It sailed.", 0, 2, 3, id="MPNet"),
    ],
)
def test_nobody_can_write_where_the_premise_ends(
    name: str, text: str, start: int, end: int, ends: int
) -> None:
    """One mark starts a pair, and as many end its texts as the encoder was trained with."""
    tokenizer = open_tokenizer(shipped_or_skip(name).tokenizer)
    ids = tokenizer.encode(text, text).ids
    assert (ids.count(start), ids.count(end)) == (1, ends)
