"""Score held-out rows with a network and reduce the scores to figures.

    python -m tools.train_judge.probe PREPARED TOKENIZER WEIGHTS... [--wide] [--workers N]

Figures are of the network alone at the fixed threshold 0.5; the judge as a whole is measured by
`tools.judge_bench`.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from tools.train_judge.batches import Array, Rows, encode, open_tokenizer
from tools.train_judge.network import CLAIMS, EDITS, ENTAILS, CrossEncoder, load_network
from tools.train_judge.sources import EVALUATION_ONLY

BATCH = 8
THRESHOLD = 0.5
HELD_STEP = 4  # Every fourth held-out pair: 450, a standard error of about .02.
Scores = NDArray[np.float64]


def thread_pool(workers: int) -> ThreadPoolExecutor:
    """Threads that compute on one core each."""
    return ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(1,))


def score(network: CrossEncoder, rows: Rows, pool: Executor) -> Scores:
    """Probabilities of the three classes by each head: rows x heads x classes."""

    def read(places: Array) -> Scores:
        with torch.inference_mode():
            tokens, mask = map(torch.from_numpy, rows.batch(places))
            return network(tokens, mask).softmax(-1).numpy()

    order = np.argsort(rows.lengths, kind="stable")
    parts = [order[begin : begin + BATCH] for begin in range(0, len(order), BATCH)]
    return np.concatenate(list(pool.map(read, parts)))[np.argsort(order)]


def area_under_curve(scores: Scores, truth: Array) -> float:
    """Chance that a supported row scores above another; ties count half (Mann-Whitney)."""
    values, places = np.unique(scores, return_inverse=True)
    counts = np.bincount(places, minlength=len(values))
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[places]
    yes = int(truth.sum())
    no = len(truth) - yes
    return float((ranks[truth == 1].sum() - yes * (yes + 1) / 2) / (yes * no))


class Probe:
    """The probe's rows of a prepared folder, tokenised once, measured as often as wanted."""

    def __init__(self, prepared: Path, tokenizer: Path, wide: bool = False) -> None:
        dev = _read_lines(prepared / "dev.jsonl")
        held = _read_lines(prepared / "held.jsonl")[::HELD_STEP]
        self.groups = [row["group"] for row in dev]
        self.truth = np.array([row["truth"] for row in dev])
        self.sources = [source for source, _, _, _ in held]
        self.targets = np.array([target for _, target, _, _ in held])
        premise = "wide" if wide else "premise"
        texts = [(row.get(premise, row["premise"]), row["claim"]) for row in dev]
        texts += [(premise, claim) for _, _, claim, premise in held]
        self.rows = encode(open_tokenizer(tokenizer), texts)

    def measure(self, network: CrossEncoder, pool: Executor) -> dict[str, Any]:
        """AUROC and balanced accuracy of sets, shares of edits called supported, NLI accuracy.

        Sets and held-out pairs are read by the head for claims, edits and their originals by both.
        `auroc` is the mean of the sets on which a choice may rest, `auroc_apart` of the others.
        """
        scores = score(network, self.rows, pool)
        support, held = scores[: len(self.truth), :, ENTAILS], scores[len(self.truth) :, CLAIMS]
        sets, edits = {}, {}
        for name, places in _places(self.groups).items():
            truth, called = self.truth[places], support[places] >= THRESHOLD
            if 0 < truth.sum() < len(truth):
                balanced = np.mean([np.mean(called[truth == t, CLAIMS] == t) for t in (0, 1)])
                area = area_under_curve(support[places, CLAIMS], truth)
                sets[name] = {"auroc": round(area, 4), "bacc": round(float(balanced), 4)}
            else:
                edits[name] = {"claims": _mean(called[:, CLAIMS]), "edits": _mean(called[:, EDITS])}
        right = held.argmax(-1) == self.targets
        return {
            "auroc": _mean(sets[name]["auroc"] for name in sets.keys() - EVALUATION_ONLY),
            "auroc_apart": _mean(sets[name]["auroc"] for name in sets.keys() & EVALUATION_ONLY),
            "accuracy": _mean(right),
            "sets": sets,
            "edits": edits,
            "held": {name: _mean(right[at]) for name, at in _places(self.sources).items()},
        }


def _read_lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _places(names: Sequence[str]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    for place, name in enumerate(names):
        found[name].append(place)
    return found


def _mean(values: Iterable[float]) -> float:
    return round(float(np.mean(list(values))), 4)


def main() -> None:
    """Measure every weights file on the same rows, one line of JSON each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("prepared", type=Path)
    parser.add_argument("tokenizer", type=Path)
    parser.add_argument("weights", type=Path, nargs="+")
    parser.add_argument("--wide", action="store_true", help="read the wide windows of the sets")
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    probe = Probe(given.prepared, given.tokenizer, given.wide)
    with thread_pool(given.workers) as pool:
        for path in given.weights:
            found = probe.measure(load_network(path), pool)
            print(json.dumps({"weights": str(path), **found}), flush=True)


if __name__ == "__main__":
    main()
