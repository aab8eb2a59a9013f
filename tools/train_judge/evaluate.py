"""Measure a network on held-out rows and print one table.

    python -m tools.train_judge.evaluate ROWS.jsonl TOKENIZER WEIGHTS... [--json OUT]

Rows come from `heldout`. Figures are of the network alone at the fixed threshold 0.5; the judge's
lexical layer and combiner are measured with the product itself.
"""

import argparse
import json
from pathlib import Path

import torch

from tools.train_judge.network import load_network
from tools.train_judge.probe import Probe, wilson


def main() -> None:
    """Score every weights file on the same rows and set the figures side by side."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", type=Path)
    parser.add_argument("tokenizer", type=Path)
    parser.add_argument("weights", type=Path, nargs="+")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    probe = Probe(given.rows, given.tokenizer)
    tables = {str(path): probe.measure(load_network(path)) for path in given.weights}
    if given.json:
        given.json.write_text(json.dumps(tables, indent=1), encoding="utf-8")
    print_tables(tables)


def print_tables(tables: dict[str, dict[str, dict[str, float]]]) -> None:
    """One line per group and one column per network; shares carry their 95% interval."""
    for number, name in enumerate(tables, 1):
        print(f"[{number}] {name}")
    for group, first in next(iter(tables.values())).items():
        cells = []
        for table in tables.values():
            found = table[group]
            if "bacc" in found:
                cells.append(f"bacc {found['bacc']:.3f}  auroc {found['auroc']:.3f}")
            else:
                low, high = wilson(found["supported"], int(found["n"]))
                shares = f"supported {found['supported']:.3f} [{low:.3f}, {high:.3f}]"
                cells.append(f"{shares}  contradicted {found['contradicted']:.3f}")
        print(f"{group:22} n={first['n']:5}  " + " | ".join(cells))


if __name__ == "__main__":
    main()
