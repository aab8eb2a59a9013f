"""Write a trained network as ONNX: weights stored in fp16, every operation computed in fp32.

    python -m tools.train_judge.export WEIGHTS TOKENIZER OUT [--data PATH ...] [--start PATH]

The graph is built operation by operation, with a fixed opset, so that the bytes depend on the
weights and this file alone, not on an exporter's version. Inputs are one or more rows of int64
`tokens`, `segments` and `mask`; the output is `logits`, three per row. A parity test against torch
runs before anything is kept; manifest.json names every digest.
"""

import argparse
import hashlib
import json
import math
import shutil
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer

from tools.train_judge import network as shape
from tools.train_judge.network import CrossEncoder, load_network

OPSET, IR_VERSION = 17, 8
MAX_BYTES = 50_000_000
TOLERANCE = 2e-3
SAME_WEIGHTS_TOLERANCE = 1e-4
HEAD_WIDTH = shape.WIDTH // shape.HEADS
PARTS = ("query", "key", "value")


class Graph:
    """Nodes and initialisers in the order of their making."""

    def __init__(self, weights: dict[str, np.ndarray]) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, onnx.TensorProto] = {}
        self.weights = dict(weights)

    def add(self, kind: str, *inputs: str, **settings: object) -> str:
        """One operation; returns the name of its output."""
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **settings))
        return name

    def weight(self, name: str, transposed: bool = False) -> str:
        """A trained tensor: kept as fp16, cast to fp32 where it is used."""
        value = self.weights[name]
        half = np.ascontiguousarray(value.T if transposed else value, dtype=np.float16)
        self.constants[name] = numpy_helper.from_array(half, name)
        return self.add("Cast", name, to=TensorProto.FLOAT)

    def constant(self, name: str, value: np.ndarray) -> str:
        """A fixed number or shape."""
        self.constants[name] = numpy_helper.from_array(value, name)
        return name

    def linear(self, name: str, value: str) -> str:
        """`value` times the matrix plus the bias."""
        product = self.add("MatMul", value, self.weight(f"{name}.weight", transposed=True))
        return self.add("Add", product, self.weight(f"{name}.bias"))

    def norm(self, name: str, value: str) -> str:
        """Layer normalisation over the last axis."""
        scale, bias = self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
        return self.add("LayerNormalization", value, scale, bias, axis=-1, epsilon=shape.EPSILON)

    def gelu(self, value: str) -> str:
        """x / 2 * (1 + erf(x / sqrt 2)), spelled out because opset 17 has no Gelu."""
        inner = self.add("Erf", self.add("Mul", value, "root_half"))
        return self.add("Mul", self.add("Mul", value, "half"), self.add("Add", inner, "one"))

    def heads(self, value: str, *order: int) -> str:
        """Split the last axis into heads and bring them forward."""
        return self.add("Transpose", self.add("Reshape", value, "by_head"), perm=list(order))

    def part(self, prefix: str, which: int, value: str) -> str:
        """Query (0), key (1) or value (2): one third of the joined matrix."""
        rows = slice(which * shape.WIDTH, (which + 1) * shape.WIDTH)
        for kind in ("weight", "bias"):
            joined = self.weights[f"{prefix}.query_key_value.{kind}"]
            self.weights[f"{prefix}.{PARTS[which]}.{kind}"] = joined[rows]
        return self.linear(f"{prefix}.{PARTS[which]}", value)

    def layer(self, prefix: str, hidden: str, bias: str, kept: str) -> str:
        """One transformer block, as `network.Layer`; `kept` are the rows of `hidden` to go on."""
        query = self.heads(self.part(prefix, 0, kept), 0, 2, 1, 3)
        key = self.heads(self.part(prefix, 1, hidden), 0, 2, 3, 1)
        value = self.heads(self.part(prefix, 2, hidden), 0, 2, 1, 3)
        scores = self.add("Add", self.add("Mul", self.add("MatMul", query, key), "scale"), bias)
        mixed = self.add("MatMul", self.add("Softmax", scores, axis=-1), value)
        mixed = self.add("Reshape", self.add("Transpose", mixed, perm=[0, 2, 1, 3]), "by_width")
        attended = self.add("Add", kept, self.linear(f"{prefix}.attended", mixed))
        hidden = self.norm(f"{prefix}.attended_norm", attended)
        inner = self.gelu(self.linear(f"{prefix}.widen", hidden))
        narrowed = self.add("Add", hidden, self.linear(f"{prefix}.narrow", inner))
        return self.norm(f"{prefix}.output_norm", narrowed)


def build(weights: dict[str, np.ndarray]) -> onnx.ModelProto:
    """The whole network as an ONNX model."""
    graph = Graph(weights)
    for name, number in (("one", 1.0), ("half", 0.5), ("root_half", math.sqrt(0.5))):
        graph.constant(name, np.array(number, dtype=np.float32))
    graph.constant("scale", np.array(1 / math.sqrt(HEAD_WIDTH), dtype=np.float32))
    graph.constant("hide", np.array(-10000.0, dtype=np.float32))
    graph.constant("by_head", np.array([0, 0, shape.HEADS, HEAD_WIDTH], dtype=np.int64))
    graph.constant("by_width", np.array([0, 0, shape.WIDTH], dtype=np.int64))
    graph.constant("first", np.array([0], dtype=np.int64))
    graph.constant("axis_1", np.array([1], dtype=np.int64))
    graph.constant("axes_1_2", np.array([1, 2], dtype=np.int64))
    graph.constant("zero", np.array([0], dtype=np.int64))
    hidden = _embed(graph)
    present = graph.add("Cast", graph.add("Unsqueeze", "mask", "axes_1_2"), to=TensorProto.FLOAT)
    bias = graph.add("Mul", graph.add("Sub", "one", present), "hide")
    for index in range(shape.LAYERS - 1):
        hidden = graph.layer(f"layers.{index}", hidden, bias, hidden)
    first = graph.add("Gather", hidden, "first", axis=1)
    head = graph.layer(f"layers.{shape.LAYERS - 1}", hidden, bias, first)
    pooled = graph.add("Tanh", graph.linear("pooler", graph.add("Squeeze", head, "axis_1")))
    logits = graph.linear("classifier", pooled)
    graph.nodes.append(helper.make_node("Identity", [logits], ["logits"]))
    return _model(graph)


def _embed(graph: Graph) -> str:
    # Rows are gathered in fp16 and only those are cast: the table itself is never widened.
    for name in ("words", "positions", "segments"):
        table = graph.weights[f"{name}.weight"].astype(np.float16)
        graph.constants[f"{name}.weight"] = numpy_helper.from_array(table, f"{name}.weight")
    words = graph.add("Gather", "words.weight", "tokens")
    segments = graph.add("Gather", "segments.weight", "segments")
    length = graph.add("Gather", graph.add("Shape", "tokens"), "axis_1")
    places = graph.add("Slice", "positions.weight", "zero", length)
    parts = [graph.add("Cast", part, to=TensorProto.FLOAT) for part in (words, places, segments)]
    total = graph.add("Add", graph.add("Add", parts[0], parts[1]), parts[2])
    return graph.norm("embedding_norm", total)


def _model(graph: Graph) -> onnx.ModelProto:
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["rows", "length"])
        for name in ("tokens", "segments", "mask")
    ]
    outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["rows", 3])]
    made = helper.make_graph(graph.nodes, "judge", inputs, outputs, list(graph.constants.values()))
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", OPSET)])
    model.ir_version, model.producer_name = IR_VERSION, "affidavit"
    onnx.checker.check_model(model, full_check=True)
    return model


PARITY_PAIRS = (
    ("The bridge opened in 1932 and is 503 metres long.", "The bridge opened in 1932."),
    ("The bridge opened in 1932 and is 503 metres long.", "The bridge is 503 feet long."),
    ("Alice Moreau hired Ben Okafor in May.", "Ben Okafor hired Alice Moreau in May."),
    ("", "Nothing is said."),
    ("Ünïcode, 表, and emoji 🎈 are read too. " * 30, "A long premise is cut."),
)


def parity(path: Path, tokenizer: Tokenizer, network: CrossEncoder) -> float:
    """Largest difference of a probability between the written file and torch, row by row."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    worst = 0.0
    for pair in PARITY_PAIRS:
        row = tokenizer.encode(*pair)
        feed = {"tokens": row.ids, "segments": row.type_ids, "mask": row.attention_mask}
        arrays = {name: np.array([values], dtype=np.int64) for name, values in feed.items()}
        found = torch.from_numpy(session.run(["logits"], arrays)[0]).softmax(-1)
        with torch.inference_mode():
            tensors = (torch.from_numpy(arrays[name]) for name in ("tokens", "segments", "mask"))
            wanted = network(*tensors).softmax(-1)
        worst = max(worst, float((found - wanted).abs().max()))
    return worst


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def digest_all(paths: list[Path]) -> dict[str, str]:
    """Digests by name, folders opened one level."""
    files = [f for path in paths for f in (sorted(path.iterdir()) if path.is_dir() else [path])]
    return {file.name: digest(file) for file in files if file.is_file()}


def main() -> None:
    """Export, test and describe."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("weights", type=Path)
    parser.add_argument("tokenizer", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--data", type=Path, nargs="*", default=[], help="files the training read")
    parser.add_argument("--start", type=Path, help="weights the training started from")
    given = parser.parse_args()
    torch.set_num_threads(1)
    given.out.mkdir(parents=True, exist_ok=True)
    network = load_network(given.weights).eval()
    weights = {name: tensor.numpy() for name, tensor in network.state_dict().items()}
    path = given.out / "judge.onnx"
    path.write_bytes(build(weights).SerializeToString(deterministic=True))
    shutil.copyfile(given.tokenizer, given.out / "tokenizer.json")
    tokenizer = Tokenizer.from_file(str(given.tokenizer))
    tokenizer.no_padding()
    tokenizer.enable_truncation(128, strategy="longest_first")
    against_training = parity(path, tokenizer, network)
    halved = {
        n: torch.from_numpy(w.astype(np.float16).astype(np.float32)) for n, w in weights.items()
    }
    network.load_state_dict(halved)
    against_same = parity(path, tokenizer, network)
    assert against_training < TOLERANCE, against_training
    assert against_same < SAME_WEIGHTS_TOLERANCE, against_same
    assert path.stat().st_size < MAX_BYTES, path.stat().st_size
    folder = Path(__file__).parent
    manifest = {
        "labels": ["entails", "neutral", "contradicts"],
        "opset": OPSET,
        "bytes": path.stat().st_size,
        "parity": {"trained": against_training, "same_weights": against_same},
        "exported": digest_all([path, given.out / "tokenizer.json"]),
        "weights": digest_all([given.weights]),
        "start": digest_all([given.start] if given.start else []),
        "data": digest_all(given.data),
        "code": digest_all([*sorted(folder.glob("*.py")), folder / "words"]),
    }
    text = json.dumps(manifest, indent=1, sort_keys=True) + "\n"
    (given.out / "manifest.json").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
