"""Loads a classifier from a folder of the Hugging Face kind. No code of the folder is run.

Only weights as safetensors are read: the older kind is a pickle, which may do anything.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from affidavit.base.canonical import jcs
from affidavit.base.digest import digest_of
from affidavit.base.errors import AffidavitError
from affidavit.base.faults import judge as faults
from affidavit.base.files import digest_file
from affidavit.base.places import excerpt
from affidavit.judge.hf.settings import HfV1

PATTERNS: Final = ("*.safetensors", "*.json", "*.txt", "*.model")
"""The files that a model consists of: weights, configuration, vocabulary."""


@dataclass(frozen=True, slots=True)
class Scored:
    """The model's probability for each of its labels, and whether it saw the whole evidence."""

    shares: tuple[float, ...]
    is_whole: bool


class Classifier:
    """A loaded model. One pair at a time: a batch's neighbours would change the last digits."""

    def __init__(self, tokenizer: Any, network: Any, max_tokens: int) -> None:
        self._tokenizer = tokenizer
        self._network = network
        self._max_tokens = max_tokens

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the labels, in the model's order."""
        names = self._network.config.id2label
        return tuple(str(names[number]) for number in sorted(names))

    def score(self, evidence: str, claim: str) -> Scored:
        """Return the probabilities for the claim given the evidence; only the evidence is cut."""
        import torch

        try:
            whole = self._tokenizer(evidence, claim)["input_ids"]
            encoded = self._tokenizer(
                evidence,
                claim,
                truncation="only_first",
                max_length=self._max_tokens,
                return_tensors="pt",
            )
            with torch.inference_mode():
                logits = self._network(**encoded).logits[0].double()
            # One output is a yes or no; several are shares of one.
            shares = logits.sigmoid() if len(logits) == 1 else logits.softmax(-1)
            values = tuple(round(float(share), 4) for share in shares)
        except (RuntimeError, ValueError, TypeError, IndexError, KeyError) as error:
            problem = excerpt(" ".join(str(error).split()), 200)
            raise AffidavitError(faults.MODEL_FAILED, problem=problem) from None
        if not all(0 <= value <= 1 for value in values):
            raise AffidavitError(faults.MODEL_FAILED, problem="its scores are no numbers")
        return Scored(values, len(whole) <= self._max_tokens)


def folder_of(settings: HfV1) -> Path:
    """Return the folder of a model: the one that is named, or the hub's copy on this machine."""
    folder = Path(settings.model)
    if folder.is_dir():
        return folder
    from huggingface_hub import snapshot_download

    try:
        return Path(
            snapshot_download(
                settings.model,
                revision=settings.revision,
                allow_patterns=list(PATTERNS),
                local_files_only=not settings.allow_download,
            )
        )
    # What the hub's library raises differs by version, by network and by name; all of it means
    # that the model is not here.
    except Exception as error:
        missing = "it is neither a folder nor in the hub's store on this machine"
        problem = type(error).__name__ if settings.allow_download else missing
        raise _missing(settings, problem) from None


def load(settings: HfV1, folder: Path) -> Classifier:
    """Return the classifier of a folder."""
    _require_files(settings, folder)
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    local = {"local_files_only": True, "trust_remote_code": False}
    try:
        tokenizer = AutoTokenizer.from_pretrained(str(folder), **local)
        network = AutoModelForSequenceClassification.from_pretrained(
            str(folder), use_safetensors=True, **local
        )
    except (OSError, ValueError, RuntimeError, KeyError, ImportError, AttributeError) as error:
        problem = excerpt(" ".join(str(error).split()), 200).rstrip(".")
        raise _missing(settings, problem) from None
    network.eval()
    longest = getattr(network.config, "max_position_embeddings", None) or settings.max_tokens
    return Classifier(tokenizer, network, min(settings.max_tokens, longest))


def weights_digest(folder: Path, besides: Sequence[object]) -> str:
    """Return the digest of a model's files, by name, and of what else decides its verdicts."""
    files = sorted({path for pattern in PATTERNS for path in folder.glob(pattern)})
    return digest_of(jcs([[path.name, digest_file(path)] for path in files] + [list(besides)]))


def _require_files(settings: HfV1, folder: Path) -> None:
    if not (folder / "config.json").is_file():
        raise _missing(settings, "config.json is missing")
    if not any(folder.glob("*.safetensors")):
        raise _missing(settings, "it has no weights as safetensors")


def _missing(settings: HfV1, problem: str) -> AffidavitError:
    return AffidavitError(faults.MODEL_MISSING, model=settings.model, problem=problem)
