"""The cross-encoder: a BERT encoder of 6 layers x 384 with a 3-way head, in plain torch.

Written out rather than taken from a model library, so that the training environment stays small
and the exported graph holds exactly these operations. Tensor names are those of the usual BERT
checkpoints, so that any of them can be the start.
"""

import math
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

ENTAILS, NEUTRAL, CONTRADICTS = 0, 1, 2
WIDTH, LAYERS, HEADS, INNER = 384, 6, 12, 1536
VOCABULARY, POSITIONS = 30522, 512
EPSILON = 1e-12


class Layer(nn.Module):
    """One transformer block with normalisation after each residual, as in BERT."""

    def __init__(self) -> None:
        super().__init__()
        self.query_key_value = nn.Linear(WIDTH, 3 * WIDTH)
        self.attended = nn.Linear(WIDTH, WIDTH)
        self.attended_norm = nn.LayerNorm(WIDTH, eps=EPSILON)
        self.widen = nn.Linear(WIDTH, INNER)
        self.narrow = nn.Linear(INNER, WIDTH)
        self.output_norm = nn.LayerNorm(WIDTH, eps=EPSILON)

    def forward(self, hidden: Tensor, bias: Tensor) -> Tensor:
        """Attend, then transform; `bias` is 0 at real tokens and very negative at padding."""
        query, key, value = self.query_key_value(hidden).chunk(3, dim=-1)
        return self._finish(hidden, query, key, value, bias)

    def first_only(self, hidden: Tensor, bias: Tensor) -> Tensor:
        """The same for the first token alone: the head reads no other, and 1/7 of the work goes."""
        first = hidden[:, :1]
        weight, offset = self.query_key_value.weight, self.query_key_value.bias
        query = nn.functional.linear(first, weight[:WIDTH], offset[:WIDTH])
        key_value = nn.functional.linear(hidden, weight[WIDTH:], offset[WIDTH:])
        key, value = key_value.chunk(2, dim=-1)
        return self._finish(first, query, key, value, bias)

    def _finish(
        self, hidden: Tensor, query: Tensor, key: Tensor, value: Tensor, bias: Tensor
    ) -> Tensor:
        query, key, value = (_by_head(part) for part in (query, key, value))
        scores = query @ key.transpose(-1, -2) / math.sqrt(WIDTH // HEADS) + bias
        mixed = (scores.softmax(-1) @ value).transpose(1, 2).flatten(2)
        hidden = self.attended_norm(hidden + self.attended(mixed))
        inner = nn.functional.gelu(self.widen(hidden))
        return self.output_norm(hidden + self.narrow(inner))


def _by_head(part: Tensor) -> Tensor:
    return part.unflatten(-1, (HEADS, WIDTH // HEADS)).transpose(1, 2)


class CrossEncoder(nn.Module):
    """Token ids, segments and mask in; logits for entails, neutral, contradicts out."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, WIDTH)
        self.positions = nn.Embedding(POSITIONS, WIDTH)
        self.segments = nn.Embedding(2, WIDTH)
        self.embedding_norm = nn.LayerNorm(WIDTH, eps=EPSILON)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.pooler = nn.Linear(WIDTH, WIDTH)
        self.classifier = nn.Linear(WIDTH, 3)

    def forward(self, tokens: Tensor, segments: Tensor, mask: Tensor) -> Tensor:
        """Classify each row of a padded batch (int64 ids; mask 1 at real tokens)."""
        places = torch.arange(tokens.shape[1], device=tokens.device)
        hidden = self.words(tokens) + self.positions(places) + self.segments(segments)
        hidden = self.embedding_norm(hidden)
        bias = (1.0 - mask[:, None, None, :].to(hidden.dtype)) * -10000.0
        for layer in self.layers[:-1]:
            hidden = layer(hidden, bias)
        first = self.layers[-1].first_only(hidden, bias)
        pooled = torch.tanh(self.pooler(first[:, 0]))
        return self.classifier(pooled)

    def freeze_tables(self) -> None:
        """Word and position vectors stay as they came: few pairs must not move rare words."""
        self.words.weight.requires_grad_(False)
        self.positions.weight.requires_grad_(False)


def _renamed(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Our names and joined query-key-value matrices, from the names of a usual BERT checkpoint."""
    plain = {
        "words.weight": "bert.embeddings.word_embeddings.weight",
        "positions.weight": "bert.embeddings.position_embeddings.weight",
        "segments.weight": "bert.embeddings.token_type_embeddings.weight",
    }
    state = {ours: tensors[theirs] for ours, theirs in plain.items()}
    pairs = {
        "embedding_norm": "bert.embeddings.LayerNorm",
        "pooler": "bert.pooler.dense",
        "classifier": "classifier",
    }
    for index in range(LAYERS):
        theirs = f"bert.encoder.layer.{index}"
        pairs[f"layers.{index}.attended"] = f"{theirs}.attention.output.dense"
        pairs[f"layers.{index}.attended_norm"] = f"{theirs}.attention.output.LayerNorm"
        pairs[f"layers.{index}.widen"] = f"{theirs}.intermediate.dense"
        pairs[f"layers.{index}.narrow"] = f"{theirs}.output.dense"
        pairs[f"layers.{index}.output_norm"] = f"{theirs}.output.LayerNorm"
        for kind in ("weight", "bias"):
            names = [f"{theirs}.attention.self.{part}.{kind}" for part in ("query", "key", "value")]
            state[f"layers.{index}.query_key_value.{kind}"] = torch.cat([tensors[n] for n in names])
    for ours, theirs in pairs.items():
        for kind in ("weight", "bias"):
            state[f"{ours}.{kind}"] = tensors[f"{theirs}.{kind}"]
    return state


def load_network(path: Path) -> CrossEncoder:
    """Read a network from a safetensors file with our names, or with those of a BERT checkpoint.

    A sentence encoder has no classifier and leaves the prefix `bert.` out; it gets an empty one.
    """
    tensors = load_file(path)
    if "embeddings.word_embeddings.weight" in tensors:
        tensors = {f"bert.{name}": tensor for name, tensor in tensors.items()}
        tensors |= {"classifier.weight": torch.zeros(3, WIDTH), "classifier.bias": torch.zeros(3)}
    network = CrossEncoder()
    network.load_state_dict(tensors if "words.weight" in tensors else _renamed(tensors))
    return network
