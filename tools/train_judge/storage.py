"""How weights are stored: matrices as int8 with fp16 scales, vectors as fp16.

A matrix has one scale for every 64 weights of a row: with one per row, answers moved seven times
as far.

The word table is stored apart from the graph: it is as large as three layers, is only looked up,
and a file of the repository stays below 95 MB.
"""

import numpy as np

LIMIT = 127
GROUP = 64
LEAST_SCALE = 2.0**-14
"""The smallest normal fp16: a row of zeros needs a scale too."""

Weights = dict[str, np.ndarray]


def quantized(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return each row as whole steps of its own scale: symmetric, so that zero stays zero."""
    largest = np.abs(table).max(axis=1, keepdims=True)
    scales = np.maximum(largest / LIMIT, LEAST_SCALE).astype(np.float16)
    steps = np.rint(table / scales.astype(np.float32)).clip(-LIMIT, LIMIT)
    return steps.astype(np.int8), scales


def in_groups(matrix: np.ndarray) -> np.ndarray:
    """Return the rows of a matrix cut into groups that have a scale each, one below the other."""
    return matrix.reshape(-1, min(GROUP, matrix.shape[1]))


def as_stored(weights: Weights) -> Weights:
    """Return the weights as the file's arithmetic sees them: rounded to what is stored, in fp32."""
    stored = {}
    for name, value in weights.items():
        if value.ndim == 2 and name not in ("positions.weight", "distance.weight"):
            steps, scales = quantized(value if name == "words.weight" else in_groups(value))
            whole = steps.astype(np.float32) * scales.astype(np.float32)
            stored[name] = whole.reshape(value.shape)
        else:
            stored[name] = value.astype(np.float16).astype(np.float32)
    return stored


def words_file(table: np.ndarray) -> bytes:
    """Return the word table as a file: all rows as int8, then all scales as fp16."""
    steps, scales = quantized(table)
    return steps.tobytes() + scales.tobytes()
