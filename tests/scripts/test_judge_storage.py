"""How the judge's weights are stored: small, close to what was trained, and steady."""

import numpy as np
import pytest
from tools.train_judge.storage import LEAST_SCALE, LIMIT, as_stored, quantized

ROWS = {
    "ordinary numbers": [0.31, -0.02, 0.0011, -0.27],
    "one large number": [3.0, 0.001, -0.001, 0.0],
    "tiny numbers": [1e-6, -2e-6, 0.0, 3e-6],
    "nothing": [0.0, 0.0, 0.0, 0.0],
}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS.keys())
def test_a_row_comes_back_within_half_a_step(row: list[float]) -> None:
    table = np.array([row], dtype=np.float32)
    steps, scales = quantized(table)
    assert (steps.dtype, scales.dtype) == (np.dtype(np.int8), np.dtype(np.float16))
    assert scales.shape == (1, 1)
    scale = float(scales[0, 0])
    assert scale >= LEAST_SCALE
    # The scale itself is rounded to fp16, of which the largest step feels the most.
    allowed = scale * (0.5 + LIMIT * 2**-11)
    assert np.abs(steps.astype(np.float64) * scale - table).max() <= allowed


def test_rows_have_scales_of_their_own() -> None:
    _, scales = quantized(np.array([[1.0, 0.0], [0.01, 0.0]], dtype=np.float32))
    assert scales[0, 0] > 50 * scales[1, 0]


def test_storing_again_changes_nothing() -> None:
    drawn = np.random.default_rng(4).normal(0, 0.05, (200, 32)).astype(np.float32)
    once = as_stored({"words.weight": drawn, "pooler.bias": drawn[0]})
    twice = as_stored(once)
    assert all((once[name] == twice[name]).all() for name in once)
    assert 0 < np.abs(once["words.weight"] - drawn).max() < 0.001
