"""How weights are stored: word vectors as int8 with one fp16 scale per row, all else as fp16.

The word table is half of all weights and is only looked up, never multiplied as a matrix, so that
its rows can be widened where they are gathered. Storing a stored table again changes nothing.
"""

import numpy as np

LIMIT = 127
LEAST_SCALE = 2.0**-14
"""The smallest normal fp16: a row of zeros needs a scale too."""

Weights = dict[str, np.ndarray]


def quantized(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each row as whole steps of its own scale: symmetric, so that zero stays zero."""
    largest = np.abs(table).max(axis=1, keepdims=True)
    scales = np.maximum(largest / LIMIT, LEAST_SCALE).astype(np.float16)
    steps = np.rint(table / scales.astype(np.float32)).clip(-LIMIT, LIMIT)
    return steps.astype(np.int8), scales


def as_stored(weights: Weights) -> Weights:
    """The weights as the file's arithmetic sees them: rounded to what is stored, in fp32."""
    stored = {name: value.astype(np.float16).astype(np.float32) for name, value in weights.items()}
    steps, scales = quantized(weights["words.weight"])
    stored["words.weight"] = steps.astype(np.float32) * scales.astype(np.float32)
    return stored
