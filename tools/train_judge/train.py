"""Train the cross-encoder, resumable at every checkpoint.

    python -m tools.train_judge.train PREPARED TOKENIZER OUT --start WEIGHTS [--layers 0,2,4,7,9,11]
        [--teacher WEIGHTS] [--freeze N] [--cool FROM,TO]

The same command goes on from OUT/state.pt. The rate is constant after a warm-up, so a training has
no length: the average of the weights is good at any step, and a cool-down may be added at the end.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from copy import deepcopy
from math import ceil
from pathlib import Path

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn import functional

from tools.train_judge.batches import BATCH, MAX_TOKENS, Array, Rows, batch_order
from tools.train_judge.network import CrossEncoder, load_network, start_from
from tools.train_judge.probe import Probe, thread_pool
from tools.train_judge.sources import NOT_ENTAILED, UNLABELLED

SEED = 1
WARM_UP_STEPS = 150
HEAD_FACTOR = 5.0
DECAY = 0.01
CLIP = 1.0
MEMORY = 0.99
PART_TOKENS = 2800  # The most that a worker reads at once, padding included.
LOG_EVERY = 25
EMBEDDINGS = ("words.", "positions.", "embedding_norm.", "distance.")


def open_network(path: Path, layers: Sequence[int] | None = None) -> CrossEncoder:
    """Read weights of ours, or the public checkpoint with new heads; `layers` keeps only some."""
    with safe_open(path, "pt") as file:
        is_ours = "classify.0.weight" in set(file.keys())
    return load_network(path, layers) if is_ours else start_from(path, layers or range(12))


def freeze(network: CrossEncoder, layers: int) -> None:
    """Fix the embeddings and the bottom layers: few pairs must not move rare words."""
    fixed = (*EMBEDDINGS, *(f"layers.{number}." for number in range(layers)))
    for name, parameter in network.named_parameters():
        parameter.requires_grad_(not name.startswith(fixed))


def trained(network: CrossEncoder) -> dict[str, nn.Parameter]:
    """The parameters that are not frozen."""
    return {name: p for name, p in network.named_parameters() if p.requires_grad}


def hard_loss(logits: Tensor, targets: Tensor, heads: Tensor) -> Tensor:
    """Cross-entropy of each row by its own head, summed.

    Rows known only as not entailed ask for neutral or contradicted together; those without a
    label ask for nothing.
    """
    logs = logits[torch.arange(len(heads)), heads].log_softmax(-1)
    exact = -logs.gather(1, targets.clamp(max=2)[:, None])[:, 0]
    either = -logs[:, 1:].logsumexp(-1)
    losses = torch.where(targets == NOT_ENTAILED, either, exact)
    return losses.masked_fill(targets == UNLABELLED, 0.0).sum()


def soft_loss(logits: Tensor, wanted: Tensor) -> Tensor:
    """Divergence from a teacher's probabilities, the mean of both heads, summed over rows."""
    logs, wanted = logits.log_softmax(-1), wanted.log_softmax(-1)
    return functional.kl_div(logs, wanted, reduction="sum", log_target=True) / logits.shape[1]


def rate(step: int, cool: Sequence[int] | None) -> float:
    """Share of the peak rate: rises over the warm-up, then constant; falls to 0 while it cools."""
    share = min(1.0, (step + 1) / WARM_UP_STEPS)
    if cool and step > cool[0]:
        share *= max(0.0, (cool[1] - step) / (cool[1] - cool[0]))
    return share


def make_optimizer(network: CrossEncoder, peak: float) -> torch.optim.Optimizer:
    """AdamW, the heads learning faster; no decay on biases and norms."""
    groups: dict[tuple[float, float], list[nn.Parameter]] = {}
    for name, parameter in trained(network).items():
        factor = HEAD_FACTOR if name.startswith(("pool.", "classify.")) else 1.0
        decay = DECAY if parameter.ndim > 1 else 0.0
        groups.setdefault((factor, decay), []).append(parameter)
    return torch.optim.AdamW(
        [
            {"params": chosen, "lr": 0.0, "peak": peak * factor, "weight_decay": decay}
            for (factor, decay), chosen in groups.items()
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


def save_weights(network: CrossEncoder, path: Path) -> None:
    """Write the weights as fp16: what is shipped is coarser."""
    weights = {name: tensor.half() for name, tensor in network.state_dict().items()}
    write_whole(path, lambda beside: save_file(weights, beside))


class Run:
    """A training under way: the network, its average, the optimizer and the step reached.

    Each worker is a thread on one core with a replica of the network, which shares the weights and
    has gradients of its own.
    """

    def __init__(
        self,
        network: CrossEncoder,
        teacher: CrossEncoder | None = None,
        *,
        frozen: int,
        peak: float,
        workers: int,
        half: bool = False,
    ) -> None:
        freeze(network, frozen)
        self.network, self.teacher, self.step, self.half = network, teacher, 0, half
        self.optimizer = make_optimizer(network, peak)
        self.average = {name: p.detach().clone() for name, p in trained(network).items()}
        self.pool = thread_pool(workers)
        self.replicas = [network, *(deepcopy(network) for _ in range(workers - 1))]
        for replica in self.replicas[1:]:
            for own, shared in zip(replica.parameters(), network.parameters(), strict=True):
                own.data = shared.data

    def learn(self, rows: Rows, places: Array, share: float) -> float:
        """One step at a share of the peak rate; returns the loss before it."""
        loss = self.add_gradients(rows, places)
        for group in self.optimizer.param_groups:
            group["lr"] = group["peak"] * share
        nn.utils.clip_grad_norm_(self.network.parameters(), CLIP)
        self.optimizer.step()
        # A young average moves faster.
        memory = min(MEMORY, (self.step + 1) / (self.step + 11))
        present = [parameter.detach() for parameter in trained(self.network).values()]
        torch._foreach_lerp_(list(self.average.values()), present, 1 - memory)
        self.step += 1
        return loss

    def add_gradients(self, rows: Rows, places: Array) -> float:
        """Compute the gradients of a batch; all workers take its parts from one iterator."""
        # As many equal parts for one worker as for another: a step lasts as long as its slowest.
        rounds = ceil(
            len(places) * int(rows.lengths[places].max()) / PART_TOKENS / len(self.replicas)
        )
        parts = iter(np.array_split(places, min(len(places), rounds * len(self.replicas))))

        def work(replica: CrossEncoder) -> float:
            replica.zero_grad(set_to_none=True)
            total = 0.0
            for part in parts:
                loss = self.loss(replica, rows, part) / len(places)
                loss.backward()
                total += loss.item()
            return total

        total = sum(self.pool.map(work, self.replicas))
        for replica in self.replicas[1:]:
            for own, other in zip(self.network.parameters(), replica.parameters(), strict=True):
                if other.grad is not None:
                    own.grad = other.grad if own.grad is None else own.grad.add_(other.grad)
        return total

    def loss(self, network: CrossEncoder, rows: Rows, places: Array) -> Tensor:
        """The loss of some rows, summed: by their labels, and by the teacher if there is one."""
        tokens, mask = map(torch.from_numpy, rows.batch(places))
        targets = torch.from_numpy(rows.targets[places].astype(np.int64))
        heads = torch.from_numpy(rows.heads[places].astype(np.int64))
        # The weights stay fp32; processors with bf16 instructions multiply four times as fast.
        with torch.autocast("cpu", torch.bfloat16, enabled=self.half):
            logits = network(tokens, mask).float()
            loss = hard_loss(logits, targets, heads)
            if self.teacher is not None:
                with torch.no_grad():
                    wanted = self.teacher(tokens, mask).float()
                loss = loss + soft_loss(logits, wanted)
        return loss

    def averaged(self) -> CrossEncoder:
        """A network with the averaged weights."""
        network = deepcopy(self.network)
        network.load_state_dict(self.average, strict=False)
        return network

    def save(self, path: Path) -> None:
        """Write everything that a restart needs."""
        state = {
            "net": self.network.state_dict(),
            "opt": self.optimizer.state_dict(),
            "ema": self.average,
            "step": self.step,
        }
        write_whole(path, lambda beside: torch.save(state, beside))

    def restore(self, path: Path) -> None:
        """Go back to a saved step, with the peak rate that this run was given."""
        state = torch.load(path, weights_only=True)
        peaks = [group["peak"] for group in self.optimizer.param_groups]
        self.network.load_state_dict(state["net"])
        self.optimizer.load_state_dict(state["opt"])
        for group, peak in zip(self.optimizer.param_groups, peaks, strict=True):
            group["peak"] = peak
        self.average, self.step = state["ema"], state["step"]


def log(out: Path, **values: object) -> None:
    """One line of JSON for the log file and the terminal."""
    line = json.dumps(values)
    print(line, flush=True)
    with (out / "log.jsonl").open("a", encoding="utf-8") as file:
        file.write(line + "\n")


def train(run: Run, rows: Rows, probe: Probe, given: argparse.Namespace) -> None:
    """Take steps until the end, writing the log, checkpoints and averages on the way."""
    last = min(given.stop, given.cool[1]) if given.cool else given.stop
    losses: list[float] = []
    since = time.monotonic()
    chosen = np.flatnonzero(rows.lengths <= given.longest)
    for cut in batch_order(rows.lengths[chosen], SEED, run.step):
        if run.step >= last:
            return
        losses.append(run.learn(rows, chosen[cut], rate(run.step, given.cool)))
        is_last = run.step == last
        if run.step % LOG_EVERY == 0 or is_last:
            speed = round(len(losses) * BATCH / (time.monotonic() - since), 1)
            log(given.out, step=run.step, loss=round(float(np.mean(losses)), 4), per_second=speed)
            losses, since = [], time.monotonic()
        if run.step % given.save == 0 or is_last:
            run.save(given.out / "state.pt")
        if run.step % given.probe == 0 or is_last:
            network = run.averaged()
            save_weights(network, given.out / "average.safetensors")
            log(given.out, event="probe", step=run.step, **probe.measure(network, run.pool))
            since = time.monotonic()


def numbers(text: str) -> list[int]:
    """Whole numbers with commas between them."""
    return [int(part) for part in text.split(",")]


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("prepared", type=Path)
    parser.add_argument("tokenizer", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--start", type=Path, required=True, help="weights to start from")
    parser.add_argument("--layers", type=numbers, help="keep only these layers of the start")
    parser.add_argument("--teacher", type=Path, help="weights whose answers are learned too")
    parser.add_argument("--freeze", type=int, default=4, help="bottom layers that stay fixed")
    parser.add_argument("--peak", type=float, default=4e-5, help="rate of learning")
    parser.add_argument("--cool", type=numbers, help="FROM,TO: let the rate fall to 0, then end")
    parser.add_argument("--stop", type=int, default=sys.maxsize, help="end at this step")
    parser.add_argument("--longest", type=int, default=MAX_TOKENS, help="tokens of a row at most")
    parser.add_argument("--workers", type=int, default=2, help="threads, one per core")
    parser.add_argument("--half", action="store_true", help="multiply in bf16")
    parser.add_argument("--save", type=int, default=50, help="steps between checkpoints")
    parser.add_argument("--probe", type=int, default=250, help="steps between measurements")
    return parser.parse_args()


def main() -> None:
    """Run, or go on with, one training."""
    given = arguments()
    torch.set_num_threads(given.workers)
    given.out.mkdir(parents=True, exist_ok=True)
    rows = Rows.read(given.prepared / "pairs.npz")
    assert given.teacher or UNLABELLED not in rows.targets, "rows without labels need a --teacher"
    run = Run(
        open_network(given.start, given.layers),
        open_network(given.teacher) if given.teacher else None,
        frozen=given.freeze,
        peak=given.peak,
        workers=given.workers,
        half=given.half,
    )
    if (given.out / "state.pt").exists():
        run.restore(given.out / "state.pt")
    log(given.out, event="start", step=run.step, rows=len(rows))
    train(run, rows, Probe(given.prepared, given.tokenizer), given)


if __name__ == "__main__":
    main()
