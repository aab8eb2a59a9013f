"""The training of the judge's encoder, on networks of a few thousand weights."""

import json
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.repository import ROOT
from tools.train_judge.batches import Rows
from tools.train_judge.sources import NOT_ENTAILED, UNLABELLED

REASON = "torch is not installed; tools/train_judge/README.md says how to install it"
torch: Any = pytest.importorskip("torch", reason=REASON)
saved: Any = pytest.importorskip("safetensors.torch", reason=REASON)
# By name: the type checker has no torch to read these modules with.
network: Any = import_module("tools.train_judge.network")
probe: Any = import_module("tools.train_judge.probe")
train: Any = import_module("tools.train_judge.train")

TOKENIZER = min((ROOT / "src/affidavit/judge").rglob("tokenizer.json"))
SMALL = network.Shape(16, 2, 32, 30522, 260, 2, 1e-5, by_distance=True)
PLAIN = SMALL._replace(width=8, first_position=0, by_distance=False)
CLAIMS, EDITS = 0, 1
DEPTH = 4


@pytest.fixture(autouse=True)
def _small_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "MPNET", SMALL)
    monkeypatch.setattr(network, "MINILM", PLAIN)
    for shape in (SMALL, PLAIN):
        monkeypatch.setitem(network.SHAPES, shape.width, shape)


def make_rows(count: int, heads: tuple[int, ...] = (CLAIMS, EDITS)) -> Rows:
    """Return rows whose target can be read off their tokens."""
    rng = np.random.default_rng(5)
    lengths = rng.integers(4, 12, count)
    targets = rng.integers(0, 4, count)
    ids = np.repeat(100 + targets, lengths) + 10 * rng.integers(0, 3, lengths.sum())
    return Rows(
        ids.astype(np.uint16),
        np.cumsum([0, *lengths]),
        targets.astype(np.int8),
        rng.choice(heads, count).astype(np.int8),
    )


def make_network(depth: int = DEPTH, seed: int = 1, shape: Any = SMALL) -> Any:
    torch.manual_seed(seed)
    return network.CrossEncoder(depth, shape)


def make_run(frozen: int = 1, workers: int = 1, **settings: Any) -> Any:
    return train.Run(make_network(), frozen=frozen, peak=3e-3, workers=workers, **settings)


def weights_of(found: Any) -> dict[str, Any]:
    return {name: tensor.clone() for name, tensor in found.state_dict().items()}


def changed(before: dict[str, Any], after: Any) -> set[str]:
    return {name for name, tensor in after.state_dict().items() if not tensor.equal(before[name])}


def test_steps_lower_the_loss() -> None:
    run, rows = make_run(workers=2), make_rows(32)
    losses = [run.learn(rows, np.arange(32), 1.0) for _ in range(30)]
    assert losses[-1] < 0.7 * losses[0]


def test_two_workers_find_the_gradients_of_one() -> None:
    rows = make_rows(96)
    found = []
    for workers in (1, 2):
        run = make_run(workers=workers)
        run.add_gradients(rows, np.arange(96))
        found.append([p.grad for p in run.network.parameters() if p.requires_grad])
    assert all(torch.allclose(one, two, atol=1e-6) for one, two in zip(*found, strict=True))


def test_workers_share_the_weights_also_after_steps_and_a_restart(tmp_path: Path) -> None:
    run, rows = make_run(workers=2), make_rows(32)
    run.learn(rows, np.arange(32), 1.0)
    run.save(tmp_path / "state.pt")
    run.learn(rows, np.arange(32), 1.0)
    assert not changed(weights_of(run.network), run.replicas[1])
    run.restore(tmp_path / "state.pt")
    assert not changed(weights_of(run.network), run.replicas[1])


def test_embeddings_and_bottom_layers_stay_as_they_came() -> None:
    run, rows = make_run(frozen=2), make_rows(32)
    before = weights_of(run.network)
    run.learn(rows, np.arange(32), 1.0)
    found = changed(before, run.network)
    fixed = ("words.", "positions.", "embedding_norm.", "distance.", "layers.0.", "layers.1.")
    assert not [name for name in found if name.startswith(fixed)]
    assert {name.split(".")[1] for name in found if name.startswith("layers.")} == {"2", "3"}


@pytest.mark.parametrize(("own", "other"), [(CLAIMS, EDITS), (EDITS, CLAIMS)])
def test_a_head_is_trained_by_its_own_rows_alone(own: int, other: int) -> None:
    run = make_run()
    run.add_gradients(make_rows(32, heads=(own,)), np.arange(32))
    for part in (run.network.pool, run.network.classify):
        assert part[own].weight.grad.any()
        assert not part[other].weight.grad.any()
        assert not part[other].bias.grad.any()


def test_a_row_known_as_not_entailed_may_be_either() -> None:
    logits = torch.tensor([[[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]]])
    shares = logits[0, 0].softmax(-1)
    heads = torch.tensor([CLAIMS])
    for target, wanted in {0: shares[0], 2: shares[2], NOT_ENTAILED: shares[1] + shares[2]}.items():
        loss = train.hard_loss(logits, torch.tensor([target]), heads)
        assert loss.item() == pytest.approx(-wanted.log().item())
    assert train.hard_loss(logits, torch.tensor([UNLABELLED]), heads).item() == 0


def test_a_student_learns_its_teachers_answers_from_rows_without_labels() -> None:
    teacher = make_network(seed=9)
    with torch.no_grad():
        for layer in teacher.classify:
            layer.weight.mul_(8)
    rows = make_rows(32)
    rows.targets[:] = UNLABELLED
    run = make_run(teacher=teacher)
    tokens, mask = map(torch.from_numpy, rows.batch(np.arange(32)))

    def distance() -> float:
        with torch.no_grad():
            apart = teacher(tokens, mask).softmax(-1) - run.network(tokens, mask).softmax(-1)
        return float(apart.abs().mean((0, 2)).max())

    before = distance()
    for _ in range(40):
        run.learn(rows, np.arange(32), 1.0)
    assert distance() < 0.5 * before


def test_a_student_has_the_chosen_layers(tmp_path: Path) -> None:
    whole = make_network(depth=12)
    train.save_weights(whole, tmp_path / "ours.safetensors")
    student = train.open_network(tmp_path / "ours.safetensors", [0, 2, 4, 7, 9, 11])
    for at, number in enumerate([0, 2, 4, 7, 9, 11]):
        kept, taken = student.layers[at].widen.weight, whole.layers[number].widen.weight
        assert torch.equal(kept, taken.half().float())
    assert len(student.layers) == 6
    assert torch.equal(student.pool[1].weight, whole.pool[1].weight.half().float())


def public_checkpoint(depth: int) -> dict[str, Any]:
    """Return random weights under the names of the public checkpoint."""
    torch.manual_seed(3)
    width, inner = SMALL.width, SMALL.inner
    tensors = {
        "embeddings.word_embeddings.weight": torch.rand(SMALL.vocabulary, width),
        "embeddings.position_embeddings.weight": torch.rand(SMALL.positions, width),
        "encoder.relative_attention_bias.weight": torch.rand(32, SMALL.heads),
    }
    shapes: dict[str, tuple[int, ...]] = {"embeddings.LayerNorm": (width,)}
    for layer in (f"encoder.layer.{number}" for number in range(depth)):
        shapes |= {f"{layer}.attention.attn.{part}": (width, width) for part in "qkvo"}
        shapes |= {f"{layer}.{part}.LayerNorm": (width,) for part in ("attention", "output")}
        shapes[f"{layer}.intermediate.dense"] = (inner, width)
        shapes[f"{layer}.output.dense"] = (width, inner)
    for name, shape in shapes.items():
        tensors |= {f"{name}.weight": torch.rand(shape), f"{name}.bias": torch.rand(shape[:1])}
    return tensors


def test_the_public_checkpoint_is_a_start(tmp_path: Path) -> None:
    tensors = public_checkpoint(12)
    saved.save_file(tensors, tmp_path / "model.safetensors")
    whole = train.open_network(tmp_path / "model.safetensors")
    student = train.open_network(tmp_path / "model.safetensors", [1, 8])
    values = tensors["encoder.layer.8.attention.attn.v.weight"]
    for layer in (whole.layers[8], student.layers[1]):
        assert torch.equal(layer.query_key_value.weight[-SMALL.width :], values)
    assert (len(whole.layers), len(student.layers)) == (12, 2)


def test_padding_changes_no_answer() -> None:
    found, rows = make_network(), make_rows(8)
    with torch.no_grad():
        together = found(*map(torch.from_numpy, rows.batch(np.arange(8))))
        for place in range(8):
            alone = found(*map(torch.from_numpy, rows.batch(np.array([place]))))
            assert torch.allclose(alone[0], together[place], atol=1e-5)


RATES = {
    "the warm-up rises": (149, None, 0.5),
    "then it is constant": (90_000, None, 1.0),
    "constant until it cools": (1000, (1000, 2000), 1.0),
    "half way down": (1500, (1000, 2000), 0.5),
    "nothing at the end": (2000, (1000, 2000), 0.0),
}


@pytest.mark.parametrize(("step", "cool", "wanted"), RATES.values(), ids=RATES.keys())
def test_rate(step: int, cool: tuple[int, int] | None, wanted: float) -> None:
    assert train.rate(step, cool) == pytest.approx(wanted)


AREAS = {
    "all in order": ([0.9, 0.8, 0.2, 0.1], 1.0),
    "all the wrong way": ([0.1, 0.2, 0.8, 0.9], 0.0),
    "ties count half": ([0.5, 0.5, 0.5, 0.5], 0.5),
    "one pair of four is wrong": ([0.9, 0.3, 0.4, 0.1], 0.75),
}


@pytest.mark.parametrize(("scores", "wanted"), AREAS.values(), ids=AREAS.keys())
def test_area_under_curve(scores: list[float], wanted: float) -> None:
    assert probe.area_under_curve(np.array(scores), np.array([1, 1, 0, 0])) == wanted


def write_prepared(folder: Path) -> None:
    """Write a prepared folder of a few rows."""
    make_rows(200).write(folder / "pairs.npz")
    words = ("alpha", "beta", "gamma", "delta")
    row = {"premise": "It rained.", "wide": "It rained all day."}
    dev = [
        row | {"group": group, "truth": truth, "claim": f"{word} {truth}"}
        for group, truths in {"wice_dev": (0, 1), "qags": (0, 1), "edit_number": (0,)}.items()
        for truth in truths
        for word in words
    ]
    held = [["snli_100k", place % 3, f"claim {place}", "It rained."] for place in range(12)]
    for name, lines in (("dev", dev), ("held", held)):
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / f"{name}.jsonl").write_text(text, "utf-8")


def run_command(monkeypatch: pytest.MonkeyPatch, folder: Path, out: str, stop: int) -> None:
    places = [str(folder), str(TOKENIZER), str(folder / out)]
    options = f"--freeze 1 --workers 1 --save 4 --probe 4 --stop {stop}".split()
    start = ["--start", str(folder / "start.safetensors")]
    monkeypatch.setattr("sys.argv", ["train", *places, *options, *start])
    train.main()


def test_a_resumed_training_ends_where_an_unbroken_one_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_prepared(tmp_path)
    train.save_weights(make_network(), tmp_path / "start.safetensors")
    run_command(monkeypatch, tmp_path, "whole", 10)
    for stop in (3, 10):
        run_command(monkeypatch, tmp_path, "broken", stop)
    one, other = (torch.load(tmp_path / out / "state.pt") for out in ("whole", "broken"))
    assert one["step"] == other["step"] == 10
    for part in ("net", "ema"):
        assert all(tensor.equal(other[part][name]) for name, tensor in one[part].items())
    lines = (tmp_path / "broken" / "log.jsonl").read_text("utf-8").splitlines()
    events = [json.loads(line) for line in lines]
    assert [e["step"] for e in events if e.get("event") == "start"] == [0, 3]
    assert [e["step"] for e in events if e.get("event") == "probe"] == [3, 4, 8, 10]


def test_a_probe_tells_sets_edits_and_held_out_pairs_apart(tmp_path: Path) -> None:
    write_prepared(tmp_path)
    found, pool = make_network(), ThreadPoolExecutor(1)
    with torch.no_grad():
        found.classify[EDITS].weight.zero_()
        found.classify[EDITS].bias.copy_(torch.tensor([5.0, 0.0, 0.0]))
        found.classify[CLAIMS].bias.copy_(torch.tensor([-9.0, 9.0, 0.0]))
    figures = probe.Probe(tmp_path, TOKENIZER).measure(found, pool)
    assert set(figures["sets"]) == {"wice_dev", "qags"}
    assert figures["sets"]["wice_dev"]["bacc"] == 0.5
    assert figures["auroc"] == figures["sets"]["wice_dev"]["auroc"]
    assert figures["auroc_apart"] == figures["sets"]["qags"]["auroc"]
    assert figures["edits"] == {"edit_number": {"claims": 0.0, "edits": 1.0}}
    assert figures["accuracy"] == figures["held"]["snli_100k"] == pytest.approx(1 / 3, abs=1e-4)


def test_rows_without_labels_need_a_teacher(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_prepared(tmp_path)
    rows = make_rows(40)
    rows.targets[3] = UNLABELLED
    rows.write(tmp_path / "pairs.npz")
    with pytest.raises(AssertionError, match="need a --teacher"):
        run_command(monkeypatch, tmp_path, "out", 1)


@pytest.mark.parametrize("shape", [SMALL, PLAIN], ids=["with distances", "without"])
def test_shipped_files_are_a_start_again(
    shape: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    onnx: Any = pytest.importorskip("onnx", reason="onnx is not installed")
    unpack, graph, storage = (
        import_module(f"tools.train_judge.{name}") for name in ("unpack", "graph", "storage")
    )
    trained = {n: t.numpy() for n, t in make_network(shape=shape).state_dict().items()}
    onnx.save(graph.build(trained, 64), tmp_path / "model.onnx")
    (tmp_path / "words").write_bytes(storage.words_file(trained["words.weight"]))
    argv = ["unpack", *(str(tmp_path / name) for name in ("model.onnx", "words", "w.safetensors"))]
    monkeypatch.setattr("sys.argv", argv)
    unpack.main()
    found = train.open_network(tmp_path / "w.safetensors").state_dict()
    for name, value in trained.items():
        kept = slice(shape.first_position, shape.first_position + 64)
        read = kept if name == "positions.weight" else slice(None)
        assert np.abs(found[name].numpy()[read] - value[read]).max() <= 0.01 * np.abs(value).max()


def test_a_checkpoint_with_segments_is_a_start_without(tmp_path: Path) -> None:
    tensors = {n: t.clone() for n, t in make_network(shape=PLAIN).state_dict().items()}
    tensors = {n: t for n, t in tensors.items() if not n.startswith(("pool.", "classify."))}
    tensors["segments.weight"] = torch.rand(2, PLAIN.width)
    saved.save_file(tensors, tmp_path / "model.safetensors")
    found = train.open_network(tmp_path / "model.safetensors")
    places = tensors["positions.weight"] + tensors["segments.weight"][0]
    assert torch.equal(found.positions.weight, places)
    assert len(found.layers) == DEPTH


def test_half_precision_learns_too() -> None:
    run, rows = make_run(half=True), make_rows(32)
    losses = [run.learn(rows, np.arange(32), 1.0) for _ in range(30)]
    assert losses[-1] < 0.8 * losses[0]
