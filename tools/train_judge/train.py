"""Train the cross-encoder for a fixed number of steps, resumable at every checkpoint.

    python -m tools.train_judge.train PREPARED START TOKENIZER OUT --steps N [--peak 8e-5]

Running the same command again goes on from the last checkpoint in OUT. The schedule counts steps,
not minutes, so a run can be repeated; with the same number of threads it gives the same weights.
"""

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor
from torch.nn import functional

from tools.train_judge.batches import BATCH, Rows, batch_order
from tools.train_judge.network import CrossEncoder, load_network
from tools.train_judge.probe import Probe
from tools.train_judge.sources import NOT_ENTAILED

WARM_UP, HELD = 0.05, 0.25
HEAD_FACTOR = 5.0
DECAY = 0.01
CLIP = 1.0
MEMORY = 0.995
LOG_EVERY = 20


def loss_of(logits: Tensor, targets: Tensor) -> Tensor:
    """Cross-entropy; rows known only as not entailed ask for neutral or contradicted together."""
    logs = functional.log_softmax(logits, dim=-1)
    binary = targets == NOT_ENTAILED
    exact = -logs.gather(1, targets.masked_fill(binary, 0)[:, None])[:, 0]
    either = -torch.logsumexp(logs[:, 1:], dim=-1)
    return torch.where(binary, either, exact).mean()


def rate(step: int, steps: int) -> float:
    """Share of the peak rate: warm up over 5%, hold to a quarter, then fall to 0 in a line."""
    done = step / steps
    if done < WARM_UP:
        return done / WARM_UP
    return 1.0 if done < HELD else (1.0 - done) / (1.0 - HELD)


def make_optimizer(network: CrossEncoder, peak: float) -> torch.optim.Optimizer:
    """AdamW, the head learning faster; no decay on biases and norms."""
    groups: dict[tuple[float, float], list[torch.nn.Parameter]] = {}
    for name, parameter in network.named_parameters():
        if parameter.requires_grad:
            head = HEAD_FACTOR if name.startswith(("pooler", "classifier")) else 1.0
            decay = DECAY if parameter.ndim > 1 else 0.0
            groups.setdefault((head, decay), []).append(parameter)
    return torch.optim.AdamW(
        [
            {"params": chosen, "lr": peak * head, "peak": peak * head, "weight_decay": decay}
            for (head, decay), chosen in groups.items()
        ],
        fused=True,
    )


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Write beside the place and rename, so that a reader or a restart never meets half a file."""
    beside = path.with_suffix(".part")
    write(beside)
    with beside.open("rb") as written:
        os.fsync(written.fileno())
    beside.replace(path)


class Average:
    """A running mean of the weights: good at any step, without waiting for the rate to fall."""

    def __init__(self, network: CrossEncoder) -> None:
        self.weights = {name: tensor.clone() for name, tensor in network.state_dict().items()}

    def network(self) -> CrossEncoder:
        """A network with the averaged weights."""
        averaged = CrossEncoder()
        averaged.load_state_dict(self.weights)
        return averaged

    def update(self, network: CrossEncoder, step: int) -> None:
        """Move towards the present weights; young averages move faster."""
        share = 1.0 - min(MEMORY, step / (step + 10.0))
        trained = {name: p for name, p in network.named_parameters() if p.requires_grad}
        with torch.no_grad():
            torch._foreach_lerp_(
                [self.weights[name] for name in trained], list(trained.values()), share
            )


class Run:
    """A training under way: the network, its average, the optimizer and the step reached."""

    def __init__(self, start: Path, peak: float) -> None:
        self.network = load_network(start)
        self.network.freeze_tables()
        self.optimizer = make_optimizer(self.network, peak)
        self.average = Average(self.network)
        self.step = 0

    def learn(self, inputs: tuple[Tensor, Tensor, Tensor], targets: Tensor, steps: int) -> float:
        """One step; returns the loss before it."""
        for group in self.optimizer.param_groups:
            group["lr"] = group["peak"] * rate(self.step + 1, steps)
        loss = loss_of(self.network(*inputs), targets)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), CLIP)
        self.optimizer.step()
        self.average.update(self.network, self.step)
        self.step += 1
        return loss.item()

    def save(self, out: Path) -> None:
        """Everything a restart needs in one file; the weights and their average in two others."""
        weights, average = self.network.state_dict(), self.average.weights
        state = {
            "network": weights,
            "average": average,
            "optimizer": self.optimizer.state_dict(),
            "step": self.step,
        }
        write_whole(out / "weights.safetensors", lambda path: save_file(weights, path))
        write_whole(out / "average.safetensors", lambda path: save_file(average, path))
        write_whole(out / "state.pt", lambda path: torch.save(state, path))

    def restore(self, path: Path) -> None:
        """Go back to a saved step."""
        state = torch.load(path, weights_only=True)
        self.network.load_state_dict(state["network"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.average.weights = state["average"]
        self.step = state["step"]


def log(out: Path, **values: object) -> None:
    """One line of JSON for the log file and the terminal."""
    line = json.dumps(values)
    print(line, flush=True)
    with (out / "log.jsonl").open("a", encoding="utf-8") as file:
        file.write(line + "\n")


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("prepared", type=Path)
    parser.add_argument("start", type=Path, help="safetensors file to start from")
    parser.add_argument("tokenizer", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--peak", type=float, default=8e-5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--stop", type=int, help="end at this step, the schedule unfinished")
    parser.add_argument("--every", type=int, default=200, help="steps between checkpoints")
    return parser.parse_args()


def main() -> None:
    """Run, or go on with, one training."""
    given = arguments()
    torch.set_num_threads(given.threads)
    torch.manual_seed(given.seed)
    given.out.mkdir(parents=True, exist_ok=True)
    rows = Rows(given.prepared / "pairs.npz")
    probe = Probe(given.prepared / "probe.jsonl", given.tokenizer)
    run = Run(given.start, given.peak)
    if (given.out / "state.pt").exists():
        run.restore(given.out / "state.pt")
    found = probe.measure(run.average.network())
    log(given.out, event="start", step=run.step, steps=given.steps, rows=len(rows), **found)
    losses: list[float] = []
    since = time.monotonic()
    last = given.stop or given.steps
    for places in batch_order(rows, given.seed, run.step):
        if run.step >= last:
            break
        targets = torch.from_numpy(rows.targets[places].astype(np.int64))
        losses.append(run.learn(rows.batch(places), targets, given.steps))
        if run.step % LOG_EVERY == 0 or run.step == last:
            speed = round(len(losses) * BATCH / (time.monotonic() - since), 1)
            log(given.out, step=run.step, loss=round(float(np.mean(losses)), 4), per_second=speed)
            losses, since = [], time.monotonic()
        if run.step % given.every == 0 or run.step == last:
            run.save(given.out)
            log(given.out, event="probe", step=run.step, **probe.measure(run.average.network()))
            since = time.monotonic()


if __name__ == "__main__":
    main()
