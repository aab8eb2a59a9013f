"""Score rows with a network and reduce the scores to figures per group."""

import json
import math
from collections import defaultdict
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer

from tools.train_judge.network import CONTRADICTS, ENTAILS, CrossEncoder

MAX_TOKENS = 128
BATCH = 32
THRESHOLD = 0.5


def area_under_curve(scores: np.ndarray, truth: np.ndarray) -> float:
    """Chance that a supported row scores above another; ties count half (Mann-Whitney)."""
    values, places = np.unique(scores, return_inverse=True)
    counts = np.bincount(places, minlength=len(values))
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[places]
    yes = int(truth.sum())
    no = len(truth) - yes
    return float((ranks[truth == 1].sum() - yes * (yes + 1) / 2) / (yes * no))


def wilson(share: float, number: int) -> tuple[float, float]:
    """95% interval of a share (Wilson's score interval)."""
    z = 1.959964
    centre = share + z * z / (2 * number)
    spread = z * math.sqrt(share * (1 - share) / number + z * z / (4 * number * number))
    scale = 1 + z * z / number
    return (centre - spread) / scale, (centre + spread) / scale


class Probe:
    """A file of rows, tokenised once, measured as often as wanted."""

    def __init__(self, rows: Path, tokenizer: Path) -> None:
        lines = rows.read_text(encoding="utf-8").splitlines()
        self.rows = [json.loads(line) for line in lines]
        encoder = Tokenizer.from_file(str(tokenizer))
        encoder.no_padding()
        encoder.enable_truncation(MAX_TOKENS, strategy="longest_first")
        self.encoded = encoder.encode_batch([(row["premise"], row["claim"]) for row in self.rows])

    def scores(self, network: CrossEncoder) -> np.ndarray:
        """Probabilities of the three classes for every row, in the file's order."""
        order = sorted(range(len(self.rows)), key=lambda place: len(self.encoded[place].ids))
        result = np.zeros((len(self.rows), 3))
        network.eval()
        for begin in range(0, len(order), BATCH):
            places = order[begin : begin + BATCH]
            width = len(self.encoded[places[-1]].ids)
            tokens, segments, mask = (
                torch.zeros(len(places), width, dtype=torch.int64) for _ in range(3)
            )
            for row, place in enumerate(places):
                found = self.encoded[place]
                tokens[row, : len(found.ids)] = torch.tensor(found.ids)
                segments[row, : len(found.ids)] = torch.tensor(found.type_ids)
                mask[row, : len(found.ids)] = 1
            with torch.inference_mode():
                result[places] = network(tokens, segments, mask).softmax(-1).numpy()
        network.train()
        return result

    def measure(self, network: CrossEncoder) -> dict[str, dict[str, float]]:
        """Figures of every group: balanced accuracy and AUROC of sets, shares of edits."""
        return figures(self.rows, self.scores(network))


def figures(rows: list[dict[str, object]], scores: np.ndarray) -> dict[str, dict[str, float]]:
    """Per group with both truths: balanced accuracy, AUROC, n. Else: shares called each way."""
    groups: dict[str, list[int]] = defaultdict(list)
    for place, row in enumerate(rows):
        groups[str(row["group"])].append(place)
    result: dict[str, dict[str, float]] = {}
    for name, places in groups.items():
        truth = np.array([rows[place]["truth"] for place in places])
        support = scores[places, ENTAILS]
        called = support >= THRESHOLD
        if 0 < truth.sum() < len(truth):
            balanced = (called[truth == 1].mean() + (~called[truth == 0]).mean()) / 2
            area = area_under_curve(support, truth)
            found = {"bacc": float(balanced), "auroc": area}
        else:
            against = scores[places].argmax(-1) == CONTRADICTS
            found = {"supported": float(called.mean()), "contradicted": float(against.mean())}
        result[name] = {key: round(value, 4) for key, value in found.items()} | {"n": len(places)}
    return result
