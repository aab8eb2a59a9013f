"""Builds a tiny model of each published verifier's architecture, and compares the judge with it.

The weights are random, with a fixed seed. What the judge must give is computed here a second time,
by the steps of each project's own inference code and without a line of ours.
"""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

ROOT = Path(__file__).resolve().parent.parent
SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
CLAIM = "Employees receive 15 days of leave."
SHORT = "Visitors sign in. Every employee has 15 days of paid leave."
FILLER = [f"The weather of day {day} was fine and nothing else is known." for day in range(90)]
SENTENCES = [*FILLER[:45], *SHORT.replace("in. ", "in.\n").split("\n"), *FILLER[45:]]
LONG = "\n".join([*FILLER[:45], SHORT, *FILLER[45:]])
UNKNOWN = "<unk>"
Recipe = Callable[[Any, Any, str, str], float]
"""From tokenizer, network, evidence and claim to the probability of support."""
Measure = Callable[[Any, str], int]
"""From tokenizer and sentence to the length that counts for a piece."""


def letters(eos: str, special: list[str], ends: str, pair: str | None = None) -> Any:
    """Return a tokenizer of single letters, with the control tokens of an architecture."""
    signs = [*special, *(f"<extra_{number}>" for number in range(120)), "\u2581"]
    signs += [chr(code) for code in range(33, 127)]
    vocabulary = {sign: number for number, sign in enumerate(signs)}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[], unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single=ends,
        pair=pair or ends,
        special_tokens=[(sign, number) for number, sign in enumerate(special)],
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=eos,
        pad_token=special[0],
        unk_token=UNKNOWN,
        additional_special_tokens=[each for each in special if each not in (eos, UNKNOWN)],
    )


def t5_letters() -> Any:
    """Return the tokenizer of a T5: padding is 0, and a text ends with `</s>`."""
    return letters("</s>", ["<pad>", "</s>", UNKNOWN], "$A </s>", "$A </s> $B </s>")


def bert_letters() -> Any:
    """Return the tokenizer of a DeBERTa or a ModernBERT, whose texts end with `[SEP]`."""
    special = ["[PAD]", "[CLS]", "[SEP]", UNKNOWN]
    return letters("[SEP]", special, "[CLS] $A [SEP]", "[CLS] $A [SEP] $B [SEP]")


def roberta_letters() -> Any:
    """Return the tokenizer of a RoBERTa, whose texts end with `</s>`."""
    special = ["<pad>", "<s>", "</s>", UNKNOWN]
    return letters("</s>", special, "<s> $A </s>", "<s> $A </s> </s> $B </s>")


def t5_config() -> Any:
    """Return the configuration of a FLAN-T5, small."""
    return transformers.T5Config(
        vocab_size=256,
        d_model=32,
        d_kv=16,
        d_ff=64,
        num_layers=2,
        num_heads=2,
        feed_forward_proj="gated-gelu",
        tie_word_embeddings=False,
        decoder_start_token_id=0,
        initializer_factor=0.2,
    )


def deberta_config() -> Any:
    """Return the configuration of a DeBERTa-v3, small: the places of tokens are relative."""
    return transformers.DebertaV2Config(
        vocab_size=256,
        intermediate_size=64,
        relative_attention=True,
        position_buckets=64,
        norm_rel_ebd="layer_norm",
        share_att_key=True,
        pos_att_type=["p2c", "c2p"],
        position_biased_input=False,
        type_vocab_size=0,
        num_labels=2,
        initializer_range=0.2,
        **SIZES,
    )


def save(folder: Path, tokenizer: Any, network: Any) -> None:
    """Save a model as the hub has it."""
    tokenizer.save_pretrained(folder)
    network.save_pretrained(folder)


def build_minicheck_t5(folder: Path) -> tuple[Any, Any]:
    """Build the architecture of MiniCheck-Flan-T5-Large."""
    parts = t5_letters(), transformers.T5ForConditionalGeneration(t5_config())
    save(folder, *parts)
    return parts


def build_minicheck_roberta(folder: Path) -> tuple[Any, Any]:
    """Build the architecture of MiniCheck-RoBERTa-Large."""
    config = transformers.RobertaConfig(
        vocab_size=256,
        intermediate_size=64,
        max_position_embeddings=514,
        pad_token_id=0,
        num_labels=2,
        initializer_range=0.2,
        **SIZES,
    )
    parts = roberta_letters(), transformers.RobertaForSequenceClassification(config)
    save(folder, *parts)
    return parts


def build_deberta(folder: Path) -> tuple[Any, Any]:
    """Build the architecture of MiniCheck-DeBERTa-v3-Large and FactCG-DeBERTa-v3-Large."""
    parts = bert_letters(), transformers.DebertaV2ForSequenceClassification(deberta_config())
    save(folder, *parts)
    return parts


def build_hhem(folder: Path) -> tuple[Any, Any]:
    """Build HHEM-2.1-Open: weights with a prefix, code that must not run, and a foundation."""
    tokenizer, network = t5_letters(), transformers.T5ForTokenClassification(t5_config())
    foundation = folder.parent / "foundation"
    foundation.mkdir()
    tokenizer.save_pretrained(foundation)
    t5_config().save_pretrained(foundation)
    folder.mkdir()
    weights = {
        f"t5.{name}": tensor.clone()
        for name, tensor in network.state_dict().items()
        if not name.endswith("embed_tokens.weight")
    }
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    config = {
        "model_type": "HHEMv2Config",
        "architectures": ["HHEMv2ForSequenceClassification"],
        "auto_map": {"AutoConfig": "trap.HHEMv2Config", "AutoModel": "trap.HHEMv2Model"},
        "foundation": "google/flan-t5-base",
    }
    (folder / "config.json").write_text(json.dumps(config), "utf-8")
    (folder / "trap.py").write_text("raise SystemExit('code of a model was executed')\n", "utf-8")
    return tokenizer, network


def build_lettucedetect(folder: Path) -> tuple[Any, Any]:
    """Build the architecture of lettucedect-base-modernbert-en-v1."""
    config = transformers.ModernBertConfig(
        vocab_size=256,
        intermediate_size=64,
        max_position_embeddings=8192,
        pad_token_id=0,
        cls_token_id=1,
        sep_token_id=2,
        num_labels=2,
        initializer_range=0.2,
        initializer_cutoff_factor=3.0,
        **SIZES,
    )
    parts = bert_letters(), transformers.ModernBertForTokenClassification(config)
    save(folder, *parts)
    return parts


def minicheck_t5(tokenizer: Any, network: Any, evidence: str, claim: str) -> float:
    """MiniCheck, inference.py: one step of the decoder, tokens 3 (no) and 209 (yes)."""
    text = "predict: " + tokenizer.eos_token.join([evidence, claim])
    inputs = tokenizer(text, return_tensors="pt")
    start = torch.zeros((1, 1), dtype=torch.long)
    logits = network(**inputs, decoder_input_ids=start).logits.squeeze(1)
    return float(torch.softmax(logits[:, torch.tensor([3, 209])], dim=-1)[0, 1])


def minicheck_encoder(tokenizer: Any, network: Any, evidence: str, claim: str) -> float:
    """MiniCheck, inference.py: one text with the end token between, label 1 is support."""
    inputs = tokenizer(tokenizer.eos_token.join([evidence, claim]), return_tensors="pt")
    return float(torch.softmax(network(**inputs).logits, dim=1)[0, 1])


def hhem(tokenizer: Any, network: Any, evidence: str, claim: str) -> float:
    """HHEM-2.1-Open, modeling_hhem_v2.py: the first token's label 1 is consistent."""
    prompt = "<pad> Determine if the hypothesis is true given the premise?\n\nPremise: {text1}"
    text = (prompt + "\n\nHypothesis: {text2}").format(text1=evidence, text2=claim)
    logits = network(**tokenizer([text], return_tensors="pt")).logits[:, 0, :]
    return float(torch.softmax(logits, dim=-1)[0, 1])


def factcg(tokenizer: Any, network: Any, evidence: str, claim: str) -> float:
    """FactCG, inference.py: an instruction, sentences on lines of their own, label 1 is yes."""
    lines = evidence.replace("in. Every", "in.\nEvery")
    text = (
        f"{lines}\n\nChoose your answer: based on the paragraph above can we conclude that "
        f'"{claim}"?\n\nOPTIONS:\n- Yes\n- No\nI think the answer is '
    )
    return float(torch.softmax(network(**tokenizer(text, return_tensors="pt")).logits, -1)[0, 1])


def lettucedetect(tokenizer: Any, network: Any, evidence: str, claim: str) -> float:
    """LettuceDetect, detectors/transformer.py: label 1 marks a token; one is enough."""
    prompt = f"Summarize the following text:\npassage 1: {evidence}\noutput:"
    inputs = tokenizer(prompt, claim, truncation="only_first", max_length=4096, return_tensors="pt")
    shares = torch.softmax(network(**inputs).logits, dim=-1)[0, :, 1]
    length = len(tokenizer(claim, add_special_tokens=False)["input_ids"])
    return 1 - float(shares[-length - 1 : -1].max())


def words(tokenizer: Any, sentence: str) -> int:
    """Count what white space separates."""
    return len(sentence.split())


def words_and_signs(tokenizer: Any, sentence: str) -> int:
    """Count words and full stops apart, as the word tokenizer of FactCG does with these texts."""
    return len(sentence.replace(".", " .").split())


def tokens(tokenizer: Any, sentence: str) -> int:
    """Count the tokens of the model."""
    return len(tokenizer(sentence, add_special_tokens=False)["input_ids"])


def pieces(tokenizer: Any, most: int, measure: Measure) -> list[str]:
    """Return the long evidence in pieces of whole sentences."""
    found: list[list[str]] = [[]]
    for sentence in SENTENCES:
        if sum(measure(tokenizer, each) for each in [*found[-1], sentence]) > most:
            found.append([])
        found[-1].append(sentence)
    return ["\n".join(piece).replace("in.\nEvery", "in. Every") for piece in found]


MODELS: dict[
    str, tuple[str, Callable[[Path], tuple[Any, Any]], Recipe, tuple[int, Measure] | None]
] = {
    "minicheck-t5": ("minicheck", build_minicheck_t5, minicheck_t5, (500, words)),
    "minicheck-roberta": ("minicheck", build_minicheck_roberta, minicheck_encoder, (400, tokens)),
    "minicheck-deberta": ("minicheck", build_deberta, minicheck_encoder, (400, tokens)),
    "hhem": ("hhem", build_hhem, hhem, None),
    "factcg": ("factcg", build_deberta, factcg, (550, words_and_signs)),
    "lettucedetect": ("lettucedetect", build_lettucedetect, lettucedetect, None),
}


def score(project: Path, settings: str, *evidence: str) -> list[dict[str, Any]]:
    """Return what `judge score` gives for the claim and each evidence."""
    judge, rows = project / "judge.toml", project / "rows.jsonl"
    judge.write_text(settings, "utf-8")
    lines = [
        json.dumps({"id": str(number), "claim": CLAIM, "evidence": text})
        for number, text in enumerate(evidence)
    ]
    rows.write_text("\n".join(lines), "utf-8")
    command = [
        *(sys.executable, "-m", "affidavit", "judge", "score", str(rows)),
        *("--judge", str(judge), "--yes"),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"the judge ended with {done.returncode}\n{done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def require(holds: bool, what: str, shown: object) -> None:
    """Exit if a condition does not hold."""
    if not holds:
        raise SystemExit(f"does not hold: {what}\n{shown}")
    print(f"holds: {what}")


def main(place: str) -> None:
    """Compare each preset with its recipe, on short evidence and on evidence of several pieces."""
    for number, (name, (preset, build, recipe, parted)) in enumerate(MODELS.items()):
        project = Path(place) / name
        project.mkdir()
        torch.manual_seed(number)
        tokenizer, network = build(project / "model")
        network.eval()
        more = 'foundation = "foundation"' if preset == "hhem" else ""
        if parted:
            # These tokens are letters: a piece has more of them than the default.
            more = "max_tokens = 8192"
        settings = f'[hf]\nmodel = "model"\npreset = "{preset}"\n{more}\n'
        hostile = SHORT.replace("15 days", f"15{tokenizer.eos_token}days")
        given = [row["support"] for row in score(project, settings, SHORT, LONG, hostile)]
        parts = pieces(tokenizer, *parted) if parted else [LONG]
        with torch.no_grad():
            short = recipe(tokenizer, network, SHORT, CLAIM)
            best = max(recipe(tokenizer, network, part, CLAIM) for part in parts)
            eos = tokenizer.eos_token
            plain = recipe(tokenizer, network, hostile.replace(eos, f"{eos[0]} {eos[1:]}"), CLAIM)
        require(0.01 < short < 0.99, f"{name}: a result that can differ", short)
        require(abs(given[0] - short) < 0.0002, f"{name}: {given[0]} by its recipe", short)
        what = f"{name}: {given[1]} by its recipe for the best of {len(parts)} pieces"
        require(abs(given[1] - best) < 0.0002, what, best)
        what = f"{name}: a control token in the evidence is plain text"
        require(abs(given[2] - plain) < 0.0002, what, plain)


if __name__ == "__main__":
    main(sys.argv[1])
