"""The network as an ONNX graph: stored small, every operation computed in fp32.

Built operation by operation with a fixed opset, so that the bytes depend on the weights and this
file alone, not on an exporter's version. All operations are ONNX's own: the fused ones of one
runtime were measured and are no faster, because 85% of the time is plain matrix products.
"""

import math

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tools.train_judge import network as shape
from tools.train_judge.storage import Weights, quantized

OPSET, IR_VERSION = 20, 9
HEAD_WIDTH = shape.WIDTH // shape.HEADS
PARTS = ("query", "key", "value")


class Graph:
    """Nodes and initialisers in the order of their making."""

    def __init__(self, weights: Weights) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, onnx.TensorProto] = {}
        self.weights = dict(weights)

    def add(self, kind: str, *inputs: str, **settings: object) -> str:
        """One operation; returns the name of its output."""
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **settings))
        return name

    def constant(self, name: str, value: np.ndarray) -> str:
        """A stored tensor."""
        self.constants[name] = numpy_helper.from_array(np.ascontiguousarray(value), name)
        return name

    def widened(self, value: str) -> str:
        """The same numbers in fp32."""
        return self.add("Cast", value, to=TensorProto.FLOAT)

    def weight(self, name: str) -> str:
        """A trained tensor, a matrix the way round that it is multiplied."""
        return self.widened(self.constant(name, self.weights[name].T.astype(np.float16)))

    def rows_of(self, table: str, places: str) -> str:
        """Rows of a table; only those are widened, never the whole."""
        return self.widened(self.add("Gather", table, places))

    def linear(self, name: str, value: str) -> str:
        """`value` times the matrix plus the bias."""
        product = self.add("MatMul", value, self.weight(f"{name}.weight"))
        return self.add("Add", product, self.weight(f"{name}.bias"))

    def norm(self, name: str, value: str) -> str:
        """Layer normalisation over the last axis."""
        scale, bias = self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
        return self.add("LayerNormalization", value, scale, bias, axis=-1, epsilon=shape.EPSILON)

    def part(self, prefix: str, which: int, value: str, *order: int) -> str:
        """Query (0), key (1) or value (2), a third of the joined matrix, with the heads forward."""
        rows = slice(which * shape.WIDTH, (which + 1) * shape.WIDTH)
        for kind in ("weight", "bias"):
            joined = self.weights[f"{prefix}.query_key_value.{kind}"]
            self.weights[f"{prefix}.{PARTS[which]}.{kind}"] = joined[rows]
        made = self.linear(f"{prefix}.{PARTS[which]}", value)
        return self.add("Transpose", self.add("Reshape", made, "by_head"), perm=list(order))

    def layer(self, prefix: str, hidden: str, bias: str, kept: str) -> str:
        """One transformer block, as `network.Layer`; `kept` are the rows of `hidden` to go on."""
        query = self.part(prefix, 0, kept, 0, 2, 1, 3)
        key = self.part(prefix, 1, hidden, 0, 2, 3, 1)
        value = self.part(prefix, 2, hidden, 0, 2, 1, 3)
        scores = self.add("Add", self.add("Mul", self.add("MatMul", query, key), "scale"), bias)
        mixed = self.add("MatMul", self.add("Softmax", scores, axis=-1), value)
        mixed = self.add("Reshape", self.add("Transpose", mixed, perm=[0, 2, 1, 3]), "by_width")
        attended = self.add("Add", kept, self.linear(f"{prefix}.attended", mixed))
        hidden = self.norm(f"{prefix}.attended_norm", attended)
        inner = self.add("Gelu", self.linear(f"{prefix}.widen", hidden))
        narrowed = self.add("Add", hidden, self.linear(f"{prefix}.narrow", inner))
        return self.norm(f"{prefix}.output_norm", narrowed)


def build(weights: Weights) -> onnx.ModelProto:
    """The whole network: int64 `tokens`, `segments` and `mask` in, three `logits` per row out."""
    graph = Graph(weights)
    for name, number in (("one", 1.0), ("scale", 1 / math.sqrt(HEAD_WIDTH)), ("hide", -10000.0)):
        graph.constant(name, np.array(number, dtype=np.float32))
    for name, numbers in (
        ("by_head", [0, 0, shape.HEADS, HEAD_WIDTH]),
        ("by_width", [0, 0, shape.WIDTH]),
        ("zero", [0]),
        ("axis_1", [1]),
        ("axes_1_2", [1, 2]),
    ):
        graph.constant(name, np.array(numbers, dtype=np.int64))
    hidden = _embed(graph)
    present = graph.widened(graph.add("Unsqueeze", "mask", "axes_1_2"))
    bias = graph.add("Mul", graph.add("Sub", "one", present), "hide")
    for index in range(shape.LAYERS - 1):
        hidden = graph.layer(f"layers.{index}", hidden, bias, hidden)
    first = graph.add("Gather", hidden, "zero", axis=1)
    head = graph.layer(f"layers.{shape.LAYERS - 1}", hidden, bias, first)
    pooled = graph.add("Tanh", graph.linear("pooler", graph.add("Squeeze", head, "axis_1")))
    logits = graph.linear("classifier", pooled)
    graph.nodes.append(helper.make_node("Identity", [logits], ["logits"]))
    return _model(graph)


def _embed(graph: Graph) -> str:
    steps, scales = quantized(graph.weights["words.weight"])
    graph.constant("words.steps", steps)
    graph.constant("words.scales", scales)
    for name in ("positions", "segments"):
        graph.constant(f"{name}.weight", graph.weights[f"{name}.weight"].astype(np.float16))
    words = graph.add(
        "Mul", graph.rows_of("words.steps", "tokens"), graph.rows_of("words.scales", "tokens")
    )
    segments = graph.rows_of("segments.weight", "segments")
    length = graph.add("Gather", graph.add("Shape", "tokens"), "axis_1")
    places = graph.widened(graph.add("Slice", "positions.weight", "zero", length))
    total = graph.add("Add", graph.add("Add", words, places), segments)
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
