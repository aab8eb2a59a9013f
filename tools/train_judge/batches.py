"""The prepared rows, cut into padded batches of like length in a seeded order."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

BATCH = 32
POOL = 64


class Rows:
    """The prepared tokens, cut into padded batches."""

    def __init__(self, path: Path) -> None:
        with np.load(path) as saved:
            self.ids, self.starts = saved["ids"], saved["starts"]
            self.claims, self.targets = saved["claims"], saved["targets"]

    def __len__(self) -> int:
        return len(self.targets)

    def batch(self, places: np.ndarray) -> tuple[Tensor, Tensor, Tensor]:
        """Tokens, segments and mask of some rows, padded to the longest of them."""
        lengths = self.starts[places + 1] - self.starts[places]
        width = int(lengths.max())
        tokens = np.zeros((len(places), width), dtype=np.int64)
        for row, (place, length) in enumerate(zip(places, lengths, strict=True)):
            tokens[row, :length] = self.ids[self.starts[place] : self.starts[place] + length]
        columns = np.arange(width)
        mask = columns < lengths[:, None]
        segments = mask & (columns >= self.claims[places][:, None])
        parts = (tokens, segments.astype(np.int64), mask.astype(np.int64))
        return torch.from_numpy(parts[0]), torch.from_numpy(parts[1]), torch.from_numpy(parts[2])


def batch_order(rows: Rows, seed: int, skip: int) -> Iterator[np.ndarray]:
    """Batches of rows of like length, pass after pass, leaving out the first `skip`.

    Rows keep their prepared order in the first pass, so that an original and its edit meet in one
    pool; later passes shuffle whole pools.
    """
    lengths = np.diff(rows.starts)
    size = BATCH * POOL
    step, epoch = 0, 0
    while True:
        rng = np.random.default_rng([seed, epoch])
        pools = np.arange(0, len(rows), size)
        for pool in pools if epoch == 0 else rng.permutation(pools):
            members = np.arange(pool, min(pool + size, len(rows)))
            members = members[np.argsort(lengths[members], kind="stable")]
            cuts = [members[i : i + BATCH] for i in range(0, len(members), BATCH)]
            for index in rng.permutation(len(cuts)):
                if step >= skip:
                    yield cuts[index]
                step += 1
        epoch += 1
