"""Builds a tiny BERT with random weights, and judges a sample with it on the command line."""

import json
import subprocess
import sys
from pathlib import Path

import torch
from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

ROOT = Path(__file__).resolve().parent.parent
SAMPLE = ROOT / "samples" / "leave"


def build(folder: Path, labels: list[str]) -> None:
    """Save a classifier with these labels."""
    folder.mkdir()
    signs = [chr(code) for code in range(33, 127)]
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *signs, *(f"##{sign}" for sign in signs)]
    (folder / "vocab.txt").write_text("\n".join(words), "utf-8")
    BertTokenizerFast(vocab_file=str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = BertConfig(
        vocab_size=len(words),
        intermediate_size=64,
        id2label=dict(enumerate(labels)),
        label2id={label: number for number, label in enumerate(labels)},
        **sizes,
    )
    BertForSequenceClassification(config).save_pretrained(folder)


def check(project: Path, settings: str) -> subprocess.CompletedProcess[str]:
    """Run the check with a judge of these settings."""
    judge = project / "judge.toml"
    judge.write_text(settings, "utf-8")
    command = [
        *(sys.executable, "-m", "affidavit", "check", str(SAMPLE / "answer.md"), "--json"),
        *("--sources", str(SAMPLE / "sources"), "--project", str(project), "--judge", str(judge)),
    ]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def require(holds: bool, what: str, shown: object) -> None:
    """Exit if a condition does not hold."""
    if not holds:
        raise SystemExit(f"does not hold: {what}\n{shown}")
    print(f"holds: {what}")


def main(place: str) -> None:
    """Judge with three models: three labels, one output, and unknown labels."""
    project = Path(place)
    build(project / "nli", ["contradiction", "neutral", "entailment"])
    first = check(project, '[hf]\nmodel = "nli"')
    require(first.returncode in (0, 1, 3), f"the run ends ({first.returncode})", first.stderr)
    ledger = json.loads(first.stdout)
    require(ledger["judge"]["name"] == "hf", "the ledger names the judge", ledger["judge"])
    require(ledger["judge"]["rederivable"] is False, "and marks it", ledger["judge"])
    readings = [reading for entry in ledger["entries"] for reading in entry["readings"]]
    shares = ("supports", "partly", "neither", "contradicts")
    sums = [sum(reading["scores"][share] for share in shares) for reading in readings]
    require(all(abs(each - 1) < 0.001 for each in sums), f"{len(sums)} readings sum to 1", sums)
    again = json.loads(check(project, '[hf]\nmodel = "nli"').stdout)
    require(again["entries"] == ledger["entries"], "a second run gives the same readings", "")
    cascade = check(project, '[cascade]\nmargin = 0.5\n[hf]\nmodel = "nli"')
    told = "claims were uncertain and sent to hf" in cascade.stderr
    require(told, "a cascade tells how many claims it sent", cascade.stderr)
    mixed = json.loads(cascade.stdout)
    require(mixed["judge"]["name"] == "standard+hf", "and names both judges", mixed["judge"])
    build(project / "one", ["LABEL_0"])
    single = check(project, '[hf]\nmodel = "one"\nlabels = { LABEL_0 = "supports" }')
    require(single.returncode in (0, 1, 3), "a model with one output", single.stderr)
    build(project / "two", ["LABEL_0", "LABEL_1"])
    unclear = check(project, '[hf]\nmodel = "two"')
    require(unclear.returncode == 2 and "AF262" in unclear.stderr, "unclear labels", unclear.stderr)
    preset = check(project, '[hf]\nmodel = "nli"\npreset = "factcg"')
    require(preset.returncode == 2 and "AF264" in preset.stderr, "another preset", preset.stderr)
    absent = check(project, '[hf]\nmodel = "nobody/nothing"')
    require(absent.returncode == 2 and "AF261" in absent.stderr, "no download", absent.stderr)


if __name__ == "__main__":
    main(sys.argv[1])
