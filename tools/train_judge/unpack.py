"""Turn the judge's shipped files back into weights that a training can start from.

    python -m tools.train_judge.unpack MODEL.onnx WORDS OUT.safetensors

Checkpoints are too large to keep. The shipped files hold every matrix as int8 with its scales,
the word table in a file of its own (all rows, then all scales): enough to go on from.
"""

import argparse
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper
from safetensors.numpy import save_file

from tools.train_judge.network import SHAPES

Weights = dict[str, np.ndarray]


def unpack(model: Path, words: Path) -> Weights:
    """The weights in fp32, by the network's names."""
    tensors = onnx.load(model).graph.initializer
    # The graph's own constants have names without a dot.
    stored = {t.name: numpy_helper.to_array(t).astype(np.float32) for t in tensors if "." in t.name}
    shape = SHAPES[len(stored["embedding_norm.weight"])]
    weights = {"words.weight": _read_words(words, shape.width)}
    for name, value in stored.items():
        if name.endswith(".steps"):
            layer = name.removesuffix(".steps")
            # The graph multiplies from the right, so it holds matrices transposed, in groups.
            matrix = value * stored[f"{layer}.scales"]
            weights[f"{layer}.weight"] = matrix.reshape(-1, matrix.shape[-1]).T.copy()
        elif not name.endswith(".scales"):
            weights[name] = value
    # Only the positions that the judge can reach are stored.
    behind = shape.positions - shape.first_position - len(weights["positions.weight"])
    padding = ((shape.first_position, behind), (0, 0))
    weights["positions.weight"] = np.pad(weights["positions.weight"], padding)
    return weights


def _read_words(path: Path, width: int) -> np.ndarray:
    data = path.read_bytes()
    rows = len(data) // (width + 2)
    steps = np.frombuffer(data, np.int8, rows * width).reshape(rows, width)
    scales = np.frombuffer(data, np.float16, rows, rows * width)[:, None]
    return steps.astype(np.float32) * scales.astype(np.float32)


def main() -> None:
    """Write the weights of two shipped files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("words", type=Path)
    parser.add_argument("out", type=Path)
    given = parser.parse_args()
    save_file(unpack(given.model, given.words), given.out)


if __name__ == "__main__":
    main()
