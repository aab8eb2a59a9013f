"""Rows as tokens, cut into padded batches of like length in a seeded order."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

MAX_TOKENS = 256
PADDING = 1
BATCH = 64
POOL = 32
Array = NDArray[np.int64]


def open_tokenizer(path: Path) -> Tokenizer:
    """The tokenizer as training and judge use it: pairs cut from the longer text, no padding."""
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS, strategy="longest_first")
    return tokenizer


@dataclass(frozen=True, slots=True)
class Rows:
    """Token ids end to end, the places where rows start, and each row's target and head."""

    ids: NDArray[np.uint16]
    starts: Array
    targets: NDArray[np.int8]
    heads: NDArray[np.int8]

    @classmethod
    def read(cls, path: Path) -> "Rows":
        """The rows of a prepared file."""
        with np.load(path) as saved:
            return cls(**saved)

    def write(self, path: Path) -> None:
        """Write a prepared file."""
        np.savez(path, **asdict(self))

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> Array:
        """The number of tokens of each row."""
        return np.diff(self.starts)

    def batch(self, places: Array) -> tuple[Array, Array]:
        """Tokens and mask of some rows, padded to the longest of them."""
        lengths = self.starts[places + 1] - self.starts[places]
        mask = np.arange(lengths.max()) < lengths[:, None]
        tokens = np.full(mask.shape, PADDING, dtype=np.int64)
        tokens[mask] = np.concatenate(
            [self.ids[self.starts[at] : self.starts[at + 1]] for at in places]
        )
        return tokens, mask.astype(np.int64)


def encode(
    tokenizer: Tokenizer,
    texts: Sequence[tuple[str, str]],
    targets: Sequence[int] = (),
    heads: Sequence[int] = (),
) -> Rows:
    """Rows of pairs of premise and claim; rows that are only read need no targets and heads."""
    encoded = [np.array(row.ids, dtype=np.uint16) for row in tokenizer.encode_batch(texts)]
    return Rows(
        np.concatenate(encoded),
        np.cumsum([0, *map(len, encoded)], dtype=np.int64),
        np.array(targets, dtype=np.int8),
        np.array(heads, dtype=np.int8),
    )


def batch_order(lengths: Array, seed: int, skip: int) -> Iterator[Array]:
    """Batches of rows of like length, pass after pass, leaving out the first `skip`.

    Rows keep their prepared order in the first pass, so that an original and its edit meet in one
    pool; later passes shuffle whole pools.
    """
    size = BATCH * POOL
    step, epoch = 0, 0
    while True:
        rng = np.random.default_rng([seed, epoch])
        pools = np.arange(0, len(lengths), size)
        for pool in pools if epoch == 0 else rng.permutation(pools):
            members = np.arange(pool, min(pool + size, len(lengths)))
            members = members[np.argsort(lengths[members], kind="stable")]
            cuts = [members[i : i + BATCH] for i in range(0, len(members), BATCH)]
            for index in rng.permutation(len(cuts)):
                if step >= skip:
                    yield cuts[index]
                step += 1
        epoch += 1
