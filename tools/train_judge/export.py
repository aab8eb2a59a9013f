"""Write a trained network as the four files that the judge ships.

    python -m tools.train_judge.export WEIGHTS TOKENIZER OUT [--rows FILE] [--data PATH ...]
        [--start PATH] [--code FOLDER] [--setting NAME=VALUE ...]

OUT gets `model.onnx`, `words.int8` (the table of word vectors), `tokenizer.json` (truncation set as
in the training, no padding) and `manifest.json` (digests of data, code, start and weights, the
settings of the training, and how far the file's answers are from those of torch). Nothing is
written before the answers agree. The same weights give the same bytes.
"""

import argparse
import hashlib
import json
from itertools import islice
from pathlib import Path

import numpy as np
import onnxruntime
import torch
from tokenizers import Tokenizer

from tools.train_judge.batches import MAX_TOKENS, open_tokenizer
from tools.train_judge.graph import OPSET, build
from tools.train_judge.network import CrossEncoder, load_network
from tools.train_judge.storage import as_stored, words_file

MAX_BYTES = 95_000_000
STORED_TOLERANCE = 0.06  # Of one probability near an even chance; the mean moves by 0.003.
ARITHMETIC_TOLERANCE = 1e-5
MAX_ROWS = 500
Pairs = list[tuple[str, str]]

OWN_PAIRS = [
    ("The bridge opened in 1932 and is 503 metres long.", "The bridge opened in 1932."),
    ("The bridge opened in 1932 and is 503 metres long.", "The bridge is 503 feet long."),
    ("Alice Moreau hired Ben Okafor in May.", "Ben Okafor hired Alice Moreau in May."),
    ("", "Nothing is said."),
    ("Ünïcode, 表, and emoji 🎈 are read too. " * 30, "A long premise is cut."),
]


def pairs_of(path: Path | None) -> Pairs:
    """Our own pairs, and rows spread evenly over a file of `premise` and `claim`."""
    if path is None:
        return OWN_PAIRS
    with path.open(encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    step = max(1, len(rows) // MAX_ROWS)
    return OWN_PAIRS + [(row["premise"], row["claim"]) for row in islice(rows, 0, None, step)]


def tokens_of(tokenizer: Tokenizer, pairs: Pairs) -> list[list[int]]:
    """Return the token ids of each pair."""
    return [tokenizer.encode(*pair).ids for pair in pairs]


def softmax(logits: np.ndarray) -> np.ndarray:
    """Return probabilities, in float64."""
    raised = np.exp(logits.astype(np.float64) - logits.max(axis=-1, keepdims=True))
    return raised / raised.sum(axis=-1, keepdims=True)


def answers_of_file(model: bytes, words: np.ndarray, tokens: list[list[int]]) -> np.ndarray:
    """Return the probabilities by the exported model."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    rows = [session.run(["logits"], {"words": words[row][None]})[0] for row in tokens]
    return softmax(np.concatenate(rows))


def answers_of_torch(network: CrossEncoder, tokens: list[list[int]]) -> np.ndarray:
    """Return the probabilities by torch in fp32."""
    with torch.inference_mode():
        rows = [network(ids, torch.ones_like(ids)) for ids in (torch.tensor([r]) for r in tokens)]
    return softmax(torch.cat(rows).numpy())


def differences(found: np.ndarray, wanted: np.ndarray) -> dict[str, float]:
    """How far two sets of answers are apart: largest, mean, and how many change the first class."""
    apart = np.abs(found - wanted)
    return {
        "pairs": len(apart),
        "largest": round(float(apart.max()), 4),
        "mean": round(float(apart.mean()), 5),
        "other_class": int((found.argmax(-1) != wanted.argmax(-1)).sum()),
    }


def sha256(data: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def digests(paths: list[Path]) -> dict[str, str]:
    """Digests by name, folders opened one level; a name that comes twice or not is refused."""
    assert all(path.exists() for path in paths), paths
    files = [f for path in paths for f in (sorted(path.iterdir()) if path.is_dir() else [path])]
    found: dict[str, str] = {}
    for file in (file for file in files if file.is_file()):
        assert file.name not in found, f"two files are named {file.name}"
        found[file.name] = sha256(file.read_bytes())
    return found


def export(
    weights: Path, tokenizer: Tokenizer, pairs: Pairs
) -> tuple[dict[str, bytes], dict[str, object]]:
    """Return the files of the weights, and how far their answers are from those of torch."""
    network = load_network(weights).eval()
    tensors = {name: tensor.numpy() for name, tensor in network.state_dict().items()}
    model = build(tensors, MAX_TOKENS).SerializeToString(deterministic=True)
    words = words_file(tensors["words.weight"])
    assert len(model) < MAX_BYTES, len(model)
    tokens = tokens_of(tokenizer, pairs)
    stored_tensors = as_stored(tensors)
    found = answers_of_file(model, stored_tensors["words.weight"], tokens)
    stored = differences(found, answers_of_torch(network, tokens))
    network.load_state_dict({n: torch.from_numpy(v) for n, v in stored_tensors.items()})
    arithmetic = float(np.abs(found - answers_of_torch(network, tokens)).max())
    print("against the trained weights:", stored)
    print(f"against the stored weights: {arithmetic:.1e}")
    assert stored["largest"] < STORED_TOLERANCE, stored
    assert arithmetic < ARITHMETIC_TOLERANCE, arithmetic
    return {"model.onnx": model, "words.int8": words}, {"against_trained": stored}


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("weights", type=Path)
    parser.add_argument("tokenizer", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--rows", type=Path, help="rows of premise and claim to compare answers on")
    parser.add_argument("--data", type=Path, nargs="*", default=[], help="files the training read")
    parser.add_argument("--start", type=Path, help="weights the training started from")
    parser.add_argument("--code", type=Path, default=Path(__file__).parent, help="its code")
    parser.add_argument("--setting", action="append", default=[], metavar="NAME=VALUE")
    return parser.parse_args()


def main() -> None:
    """Export, compare and describe."""
    given = arguments()
    torch.set_num_threads(1)
    tokenizer = open_tokenizer(given.tokenizer)
    files, measured = export(given.weights, tokenizer, pairs_of(given.rows))
    files["tokenizer.json"] = tokenizer.to_str(pretty=False).encode()
    manifest = {
        "files": {name: {"sha256": sha256(d), "bytes": len(d)} for name, d in files.items()},
        "heads": ["claim", "edit"],
        "labels": ["entails", "neutral", "contradicts"],
        "max_tokens": MAX_TOKENS,
        "opset": OPSET,
        "measured": measured,
        "training": {
            "settings": dict(setting.split("=", 1) for setting in given.setting),
            "weights": digests([given.weights]),
            "start": digests([given.start] if given.start else []),
            "data": digests(given.data),
            "code": digests([*sorted(given.code.glob("*.py")), *given.code.glob("words")]),
        },
    }
    text = json.dumps(manifest, indent=1, sort_keys=True) + "\n"
    given.out.mkdir(parents=True, exist_ok=True)
    for name, data in (files | {"manifest.json": text.encode()}).items():
        (given.out / name).write_bytes(data)
    print(f"{given.out}: {sum(map(len, files.values())):,} bytes")


if __name__ == "__main__":
    main()
