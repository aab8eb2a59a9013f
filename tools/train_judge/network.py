"""The cross-encoder: an MPNet or MiniLM encoder with two 3-way heads, in plain torch.

Head 0 reads real claims, head 1 near-verbatim edits: the two compete in one head. Written out
rather than taken from a model library, so that the training environment stays small and the
exported graph holds exactly these operations.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional

ENTAILS, NEUTRAL, CONTRADICTS = 0, 1, 2
CLAIMS, EDITS = 0, 1
JUDGING_HEADS = 2
BUCKETS, FARTHEST = 32, 128


class Shape(NamedTuple):
    """The sizes of an encoder, and whether attention has a learned bias by distance."""

    width: int
    heads: int
    inner: int
    vocabulary: int
    positions: int
    first_position: int
    epsilon: float
    by_distance: bool


MPNET = Shape(768, 12, 3072, 30527, 514, 2, 1e-5, by_distance=True)
MINILM = Shape(384, 12, 1536, 30522, 512, 0, 1e-12, by_distance=False)
SHAPES = {shape.width: shape for shape in (MPNET, MINILM)}


def distance_buckets(length: int) -> Tensor:
    """Return the bucket of each pair of places: near distances apart, far ones by logarithm."""
    places = torch.arange(length)
    distance = places[:, None] - places[None, :]
    half = BUCKETS // 2
    exact = half // 2
    side = (distance < 0).long() * half
    distance = distance.abs()
    far = torch.log(distance.clamp(min=1).float() / exact) / math.log(FARTHEST / exact)
    far = (exact + (far * (half - exact)).long()).clamp(max=half - 1)
    return side + torch.where(distance < exact, distance, far)


class Layer(nn.Module):
    """One transformer block with normalisation after each residual."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        width = shape.width
        self.heads = shape.heads
        self.query_key_value = nn.Linear(width, 3 * width)
        self.attended = nn.Linear(width, width)
        self.attended_norm = nn.LayerNorm(width, eps=shape.epsilon)
        self.widen = nn.Linear(width, shape.inner)
        self.narrow = nn.Linear(shape.inner, width)
        self.output_norm = nn.LayerNorm(width, eps=shape.epsilon)

    def forward(self, hidden: Tensor, bias: Tensor) -> Tensor:
        """Attend, then transform. `bias` is added to the attention scores."""
        rows, length, _ = hidden.shape
        parts = self.query_key_value(hidden).view(rows, length, 3, self.heads, -1)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        # The fused attention of torch takes half as long again on a CPU, most of it going back.
        scores = query * query.shape[-1] ** -0.5 @ key.transpose(-1, -2) + bias
        mixed = scores.softmax(-1).to(value.dtype) @ value
        hidden = self.attended_norm(hidden + self.attended(mixed.transpose(1, 2).flatten(2)))
        return self.output_norm(hidden + self.narrow(functional.gelu(self.widen(hidden))))


class CrossEncoder(nn.Module):
    """Token ids and mask in; logits of rows x heads x (entails, neutral, contradicts) out."""

    def __init__(self, layers: int = 12, shape: Shape = MPNET) -> None:
        super().__init__()
        width = shape.width
        self.first_position = shape.first_position
        self.words = nn.Embedding(shape.vocabulary, width)
        self.positions = nn.Embedding(shape.positions, width)
        self.embedding_norm = nn.LayerNorm(width, eps=shape.epsilon)
        self.distance = nn.Embedding(BUCKETS, shape.heads) if shape.by_distance else None
        self.layers = nn.ModuleList(Layer(shape) for _ in range(layers))
        self.pool = nn.ModuleList(nn.Linear(width, width) for _ in range(JUDGING_HEADS))
        self.classify = nn.ModuleList(nn.Linear(width, 3) for _ in range(JUDGING_HEADS))

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Classify each row of a padded batch (int64 ids; mask 1 at real tokens)."""
        length = tokens.shape[1]
        places = torch.arange(self.first_position, self.first_position + length)
        hidden = self.embedding_norm(self.words(tokens) + self.positions(places))
        bias = (1.0 - mask[:, None, None, :].float()) * -10000.0
        if self.distance is not None:
            bias = bias + self.distance(distance_buckets(length)).permute(2, 0, 1)[None]
        for layer in self.layers:
            hidden = layer(hidden, bias)
        present = mask[..., None].float()
        mean = (hidden * present).sum(1) / present.sum(1)
        heads = zip(self.pool, self.classify, strict=True)
        return torch.stack([classify(torch.tanh(pool(mean))) for pool, classify in heads], 1)


_PARTS = {
    "attended": "attention.attn.o",
    "attended_norm": "attention.LayerNorm",
    "widen": "intermediate.dense",
    "narrow": "output.dense",
    "output_norm": "output.LayerNorm",
}


def start_from(path: Path, layers: Sequence[int] = range(12)) -> CrossEncoder:
    """Return a network with the trunk of a public checkpoint, or of some of its layers."""
    theirs = load_file(path)
    return _from_minilm(theirs) if "segments.weight" in theirs else _from_mpnet(theirs, layers)


def _from_minilm(theirs: dict[str, Tensor]) -> CrossEncoder:
    """All tokens are of the first segment here: its vector is added to every position."""
    state = {name: value.float() for name, value in theirs.items()}
    state["positions.weight"] = state["positions.weight"] + state["segments.weight"][0]
    torch.manual_seed(1)  # The heads are new.
    network = CrossEncoder(_depth(state), MINILM)
    known = network.state_dict()
    network.load_state_dict(known | {name: state[name] for name in known.keys() & state.keys()})
    return network


def _from_mpnet(theirs: dict[str, Tensor], layers: Sequence[int]) -> CrossEncoder:
    state = {
        "words.weight": theirs["embeddings.word_embeddings.weight"],
        "positions.weight": theirs["embeddings.position_embeddings.weight"],
        "embedding_norm.weight": theirs["embeddings.LayerNorm.weight"],
        "embedding_norm.bias": theirs["embeddings.LayerNorm.bias"],
        "distance.weight": theirs["encoder.relative_attention_bias.weight"],
    }
    for at, number in enumerate(layers):
        source = f"encoder.layer.{number}"
        for kind in ("weight", "bias"):
            joined = [theirs[f"{source}.attention.attn.{part}.{kind}"] for part in "qkv"]
            state[f"layers.{at}.query_key_value.{kind}"] = torch.cat(joined)
            for ours, name in _PARTS.items():
                state[f"layers.{at}.{ours}.{kind}"] = theirs[f"{source}.{name}.{kind}"]
    torch.manual_seed(1)  # The heads are new.
    network = CrossEncoder(len(layers), MPNET)
    network.load_state_dict(network.state_dict() | state)
    return network


def load_network(path: Path, layers: Sequence[int] | None = None) -> CrossEncoder:
    """Read a network of ours from a safetensors file; `layers` keeps only some, for a student."""
    state = load_file(path)
    kept = range(_depth(state)) if layers is None else layers
    chosen = {name: value for name, value in state.items() if not name.startswith("layers.")}
    for at, number in enumerate(kept):
        prefix = f"layers.{number}."
        chosen |= {
            f"layers.{at}.{name.removeprefix(prefix)}": value
            for name, value in state.items()
            if name.startswith(prefix)
        }
    network = CrossEncoder(len(kept), SHAPES[state["words.weight"].shape[1]])
    network.load_state_dict({name: value.float() for name, value in chosen.items()})
    return network


def _depth(state: dict[str, Tensor]) -> int:
    return 1 + max(int(name.split(".")[1]) for name in state if name.startswith("layers."))
