"""Train the cross-encoder for a fixed number of steps, resumable at every checkpoint.

    python -m tools.train_judge.train PREPARED START TOKENIZER OUT --steps N [--peak 8e-5]

Running the same command again goes on from the last checkpoint in OUT. The schedule counts steps,
not minutes, so a run can be repeated; with the same number of threads it gives the same weights.
"""

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor
from torch.nn import functional

from tools.train_judge.network import CrossEncoder, load_network
from tools.train_judge.probe import Probe
from tools.train_judge.sources import NOT_ENTAILED

BATCH = 32
POOL = 64
WARM_UP, HELD = 0.05, 0.25
HEAD_FACTOR = 5.0
DECAY = 0.01
CLIP = 1.0


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


def checkpoint(
    out: Path, network: CrossEncoder, optimizer: torch.optim.Optimizer, step: int
) -> None:
    """Everything a restart needs in one file, and the weights alone in another."""
    state = {"network": network.state_dict(), "optimizer": optimizer.state_dict(), "step": step}
    write_whole(out / "state.pt", lambda path: torch.save(state, path))
    weights = {name: tensor.contiguous() for name, tensor in network.state_dict().items()}
    write_whole(out / "weights.safetensors", lambda path: save_file(weights, path))


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
    parser.add_argument("--dropout", type=float, default=0.0)
    return parser.parse_args()


def main() -> None:
    """Run, or go on with, one training."""
    given = arguments()
    torch.set_num_threads(given.threads)
    torch.manual_seed(given.seed)
    given.out.mkdir(parents=True, exist_ok=True)
    rows = Rows(given.prepared / "pairs.npz")
    probe = Probe(given.prepared / "probe.jsonl", given.tokenizer)
    network = load_network(given.start, given.dropout)
    network.freeze_tables()
    optimizer = make_optimizer(network, given.peak)
    step = 0
    if (given.out / "state.pt").exists():
        state = torch.load(given.out / "state.pt", weights_only=True)
        network.load_state_dict(state["network"])
        optimizer.load_state_dict(state["optimizer"])
        step = state["step"]
    log(
        given.out,
        event="start",
        step=step,
        steps=given.steps,
        rows=len(rows),
        **probe.measure(network),
    )
    losses: list[float] = []
    since = time.monotonic()
    last = given.stop or given.steps
    for places in batch_order(rows, given.seed, step):
        if step >= last:
            break
        for group in optimizer.param_groups:
            group["lr"] = group["peak"] * rate(step + 1, given.steps)
        targets = torch.from_numpy(rows.targets[places].astype(np.int64))
        loss = loss_of(network(*rows.batch(places)), targets)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), CLIP)
        optimizer.step()
        losses.append(loss.item())
        step += 1
        if step % 20 == 0 or step == last:
            speed = len(losses) * BATCH / (time.monotonic() - since)
            log(
                given.out,
                step=step,
                loss=round(float(np.mean(losses)), 4),
                per_second=round(speed, 1),
            )
            losses, since = [], time.monotonic()
        if step % given.every == 0 or step == last:
            checkpoint(given.out, network, optimizer, step)
            log(given.out, event="probe", step=step, **probe.measure(network))
            since = time.monotonic()


if __name__ == "__main__":
    main()
