"""The network as an ONNX graph: stored small, every operation computed in fp32.

Built operation by operation with a fixed opset, so that the bytes depend on the weights and this
file alone, not on an exporter's version. All operations are ONNX's own. The word vectors come in
as an input, one row per token, because their table is a file of its own (see storage.py). There is
no mask: a pair is read alone, without padding.
"""

import math
from collections.abc import Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tools.train_judge.network import JUDGING_HEADS, SHAPES, distance_buckets
from tools.train_judge.storage import Weights, in_groups, quantized

OPSET, IR_VERSION = 20, 9


class Graph:
    """Nodes and initialisers in the order of their making."""

    def __init__(self, weights: Weights) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, onnx.TensorProto] = {}
        self.weights = weights
        self.shape = SHAPES[weights["words.weight"].shape[1]]

    def add(self, kind: str, *inputs: str, **settings: object) -> str:
        """Add one operation and return the name of its output."""
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **settings))
        return name

    def constant(self, name: str, value: np.ndarray) -> str:
        """Add a stored tensor."""
        self.constants[name] = numpy_helper.from_array(value.copy(order="C"), name)
        return name

    def numbers(self, values: Sequence[int]) -> str:
        """Add a row of whole numbers, stored once."""
        return self.constant(f"shape_{'_'.join(map(str, values))}", np.array(values, np.int64))

    def widened(self, value: str) -> str:
        """Return the same numbers in fp32."""
        return self.add("Cast", value, to=TensorProto.FLOAT)

    def vector(self, name: str) -> str:
        """Add a trained vector or a small table, stored as fp16."""
        return self.widened(self.constant(name, self.weights[name].astype(np.float16)))

    def linear(self, name: str, value: str) -> str:
        """Multiply by a matrix, stored as int8, and add the bias."""
        weight = self.weights[f"{name}.weight"]
        steps, scales = quantized(in_groups(weight))
        rows = len(weight)
        groups = self.add(
            "Mul",
            self.widened(self.constant(f"{name}.steps", _upright(steps.reshape(rows, -1), scales))),
            self.widened(self.constant(f"{name}.scales", scales.reshape(rows, -1).T[:, None])),
        )
        matrix = self.add("Reshape", groups, self.numbers(weight.shape[::-1]))
        return self.add("Add", self.add("MatMul", value, matrix), self.vector(f"{name}.bias"))

    def norm(self, name: str, value: str) -> str:
        """Add layer normalisation over the last axis."""
        scale, bias = self.vector(f"{name}.weight"), self.vector(f"{name}.bias")
        return self.add(
            "LayerNormalization", value, scale, bias, axis=-1, epsilon=self.shape.epsilon
        )

    def layer(self, prefix: str, hidden: str, bias: str | None) -> str:
        """Add one transformer block, as `network.Layer`."""
        joined = self.linear(f"{prefix}.query_key_value", hidden)
        parts = self.add("Reshape", joined, "by_part")  # rows, length, part, head, width
        query, key, value = (
            self.add("Gather", parts, self.constant(f"part_{at}", np.array(at, np.int64)), axis=2)
            for at in range(3)
        )
        query = self.add("Transpose", query, perm=[0, 2, 1, 3])
        key = self.add("Transpose", key, perm=[0, 2, 3, 1])
        value = self.add("Transpose", value, perm=[0, 2, 1, 3])
        scores = self.add("Mul", self.add("MatMul", query, key), "scale")
        scores = scores if bias is None else self.add("Add", scores, bias)
        mixed = self.add("MatMul", self.add("Softmax", scores, axis=-1), value)
        mixed = self.add("Reshape", self.add("Transpose", mixed, perm=[0, 2, 1, 3]), "by_width")
        attended = self.add("Add", hidden, self.linear(f"{prefix}.attended", mixed))
        hidden = self.norm(f"{prefix}.attended_norm", attended)
        inner = self.add("Gelu", self.linear(f"{prefix}.widen", hidden))
        narrowed = self.add("Add", hidden, self.linear(f"{prefix}.narrow", inner))
        return self.norm(f"{prefix}.output_norm", narrowed)


def build(weights: Weights, max_tokens: int) -> onnx.ModelProto:
    """Return the network: word vectors in, `logits` of rows x heads x three classes out."""
    graph = Graph(weights)
    shape = graph.shape
    head_width = shape.width // shape.heads
    graph.constant("scale", np.array(1 / math.sqrt(head_width), dtype=np.float32))
    for name, numbers in (
        ("by_part", [0, 0, 3, shape.heads, head_width]),
        ("by_width", [0, 0, shape.width]),
        ("zeros", [0, 0]),
        ("zero", [0]),
        ("axes", [0, 1]),
        ("axis_1", [1]),
    ):
        graph.constant(name, np.array(numbers, dtype=np.int64))
    length = graph.add("Gather", graph.add("Shape", "words"), "axis_1")
    hidden = _embed(graph, length, max_tokens)
    bias = _distance_bias(graph, length, max_tokens) if shape.by_distance else None
    layers = 1 + max(int(n.split(".")[1]) for n in weights if n.startswith("layers."))
    for index in range(layers):
        hidden = graph.layer(f"layers.{index}", hidden, bias)
    mean = graph.add("ReduceMean", hidden, "axis_1", keepdims=0)
    heads = [
        graph.linear(f"classify.{at}", graph.add("Tanh", graph.linear(f"pool.{at}", mean)))
        for at in range(JUDGING_HEADS)
    ]
    stacked = graph.add("Concat", *(graph.add("Unsqueeze", h, "axis_1") for h in heads), axis=1)
    graph.nodes.append(helper.make_node("Identity", [stacked], ["logits"]))
    return _model(graph)


def _upright(steps: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """Return a matrix as it is multiplied: groups of inputs, inputs of a group, outputs."""
    return steps.T.reshape(-1, steps.size // scales.size, len(steps))


def _embed(graph: Graph, length: str, max_tokens: int) -> str:
    first = graph.shape.first_position
    table = graph.weights["positions.weight"][first : first + max_tokens]
    stored = graph.widened(graph.constant("positions.weight", table.astype(np.float16)))
    places = graph.add("Slice", stored, "zero", length, "zero")
    return graph.norm("embedding_norm", graph.add("Add", "words", places))


def _distance_bias(graph: Graph, length: str, max_tokens: int) -> str:
    """Add the learned bias by distance: rows and columns of tokens, a bucket each, per head."""
    buckets = distance_buckets(max_tokens).numpy().astype(np.int64)
    corner = graph.add("Concat", length, length, axis=0)
    table = graph.constant("buckets", buckets)
    places = graph.add("Slice", table, "zeros", corner, "axes")
    gathered = graph.add("Gather", graph.vector("distance.weight"), places)
    return graph.add("Unsqueeze", graph.add("Transpose", gathered, perm=[2, 0, 1]), "zero")


def _model(graph: Graph) -> onnx.ModelProto:
    words = ["rows", "length", graph.shape.width]
    inputs = [helper.make_tensor_value_info("words", TensorProto.FLOAT, words)]
    logits = ["rows", JUDGING_HEADS, 3]
    outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, logits)]
    made = helper.make_graph(graph.nodes, "judge", inputs, outputs, list(graph.constants.values()))
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", OPSET)])
    model.ir_version, model.producer_name = IR_VERSION, "affidavit"
    onnx.checker.check_model(model, full_check=True)
    return model
