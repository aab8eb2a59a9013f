"""Measure the judge, or fit its combiner.

    python -m tools.judge_bench [--fast] [--fit] [--write] [--frozen [JUDGE]] [--rows N]
        [--edits N] [--jobs N]

Without options the table is printed and nothing is written. `--write` keeps the figures in the
judge's card, `--fit` first writes a combiner that was fitted on all sets but those kept apart.
`--fast` is about the fast judge; its figures are printed and not kept in the card. `--frozen` runs
only our own labelled sets through the product, with any judge that `check` takes.
"""

import argparse
import json
import os
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Final

from affidavit.app.judges import DEFAULT_JUDGE
from affidavit.judge.encoder import FAST, STANDARD
from affidavit.judge.standard.combiner import shipped_combiner
from affidavit.judge.standard.judge import StandardJudge
from tools.judge_bench import frozen, machine
from tools.judge_bench.fitting import fit_combiner, judge_signals
from tools.judge_bench.measuring import Figure, measure_edits, measure_set, measured_sets
from tools.judge_bench.rows import (
    FITTED,
    VARIABLE,
    Row,
    data_folder,
    edit_rows,
    held_rows,
    set_rows,
    written_rows,
)
from tools.judge_bench.signals import Signals, all_signals
from tools.judge_bench.writing import combiner_toml

PACKAGE: Final = Path(__file__).resolve().parents[2] / "src" / "affidavit" / "judge"
FITTED_HALF, MEASURED_HALF = 0, 1


def main() -> int:
    """Read the rows once, then fit, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fast", action="store_true")
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--frozen", nargs="?", const=DEFAULT_JUDGE, metavar="JUDGE")
    parser.add_argument("--rows", type=int, default=1500, help="rows per set at most")
    parser.add_argument("--edits", type=int, default=250, help="edits of each kind")
    parser.add_argument("--held", type=int, default=60, help="held-out pairs of each set and class")
    parser.add_argument("--written", type=int, default=600, help="held-out written claims")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    if given.frozen:
        for name in frozen.SETS:
            outcomes = frozen.run(name, given.frozen, given.jobs)
            print(f"{name}\n{frozen.table(outcomes)}\n{frozen.sums(outcomes)}\n")
        return 0
    encoder = FAST if given.fast else STANDARD
    folder = data_folder()
    if folder is None:
        print(f"Not measured: the sets are not here. {VARIABLE} may name their folder.")
        return 3
    rows = {name: list(set_rows(folder, name, given.rows)) for name in measured_sets()}
    edits = [list(edit_rows(folder, half, given.edits)) for half in (0, 1)]
    signals = {name: _signals(encoder, name, found, given.jobs) for name, found in rows.items()}
    fitted_edits = _signals(encoder, "edits to fit on", edits[FITTED_HALF], given.jobs)
    held_out = [*held_rows(folder, given.held), *written_rows(folder, given.written)]
    held = _signals(encoder, "held-out pairs", held_out, given.jobs)
    fitting = [*(each for name in FITTED for each in signals[name]), *fitted_edits, *held]
    if given.fit:
        text = combiner_toml(fit_combiner(fitting).table)
        (PACKAGE / "standard" / "data" / f"{encoder}.toml").write_text(text, encoding="utf-8")
        shipped_combiner.cache_clear()
    results = {name: measure_set(name, fitting, signals[name]) for name in signals}
    measured = _signals(encoder, "edits to measure", edits[MEASURED_HALF], given.jobs)
    mixed = [row for found in zip(*rows.values(), strict=False) for row in found]
    figures = [
        *(figure for result in results.values() for figure in result.figures),
        *measure_edits(judge_signals(shipped_combiner(encoder), measured)),
        machine.measure_movement(encoder, mixed),
        machine.measure_speed(encoder, mixed),
        machine.measure_size(encoder),
    ]
    _print(figures)
    if given.write and not given.fast:
        identity = StandardJudge().identity
        card = {
            "schema": "affidavit/judge-card/1",
            "judge": {
                "name": identity.name,
                "version": identity.version,
                "digest": identity.digest,
            },
            "figures": [_wire(figure) for figure in figures],
            "calibration": [
                {"set": name, "bins": [asdict(each) for each in result.bins]}
                for name, result in results.items()
            ],
        }
        text = json.dumps(card, indent=1, sort_keys=True) + "\n"
        (PACKAGE / "card.json").write_text(text, encoding="utf-8")
    return 0


def _signals(encoder: str, name: str, rows: list[Row], jobs: int) -> list[Signals]:
    begun = time.monotonic()
    found = list(all_signals(encoder, rows, jobs))
    print(f"{name}: {len(found)} rows, {time.monotonic() - begun:.0f} s", file=sys.stderr)
    return found


def _wire(figure: Figure) -> dict[str, object]:
    return {
        key: round(value, 4) if isinstance(value, float) else value
        for key, value in asdict(figure).items()
    }


def _print(figures: list[Figure]) -> None:
    said = {True: "met", False: "missed", None: ""}
    print(f"{'set':34}{'n':>6}  {'figure':36}{'value':>8}  {'95% interval':15}{'target':>7}")
    for each in figures:
        value = f"{each.value:.3f}"
        interval = f"{each.low:.3f} to {each.high:.3f}" if each.low is not None else ""
        target = "" if each.target is None else f"{each.target:g}"
        line = f"{each.set:34}{each.n:6d}  {each.figure:36}{value:>8}  {interval:15}{target:>7}"
        print(f"{line}  {said[each.is_met]}".rstrip())


if __name__ == "__main__":
    sys.exit(main())
