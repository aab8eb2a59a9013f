"""The judge of a Hugging Face sequence classifier.

No code of the model folder is executed. Only safetensors are loaded: the older format of weights is
a pickle, which can execute anything.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Protocol

from msgspec import Struct

from affidavit.base.canonical import jcs
from affidavit.base.digest import digest_of
from affidavit.base.errors import AffidavitError
from affidavit.base.faults import evidence as faults
from affidavit.base.files import digest_file
from affidavit.base.text import excerpt
from affidavit.judge.huggingface_settings import HfSettings, LabelMeaning, meanings_of
from affidavit.judge.lexical.windows import select_window
from affidavit.judge.protocol import require_claim
from affidavit.ledger.model import Chunk, JudgeIdentity, Reading, Span, SupportLevel

PATTERNS: Final = ("*.safetensors", "*.json", "*.txt", "*.model")
"""The files of a model: weights, configuration, vocabulary."""


class LabelProbabilities(Struct, frozen=True):
    """The model's probability for each of its labels, and whether it saw the whole evidence."""

    shares: tuple[float, ...]
    is_whole: bool


class Classifier:
    """A loaded model. It reads one pair at a time: a batch would change the last digits."""

    def __init__(self, tokenizer: Any, network: Any, max_tokens: int) -> None:
        self._tokenizer = tokenizer
        self._network = network
        self._max_tokens = max_tokens

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the labels, in the model's order."""
        names = self._network.config.id2label
        return tuple(str(names[number]) for number in sorted(names))

    def score(self, evidence: str, claim: str) -> LabelProbabilities:
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
            # One output is a yes or no; several outputs are shares of one.
            shares = logits.sigmoid() if len(logits) == 1 else logits.softmax(-1)
            values = tuple(round(float(share), 4) for share in shares)
        except (RuntimeError, ValueError, TypeError, IndexError, KeyError) as error:
            problem = excerpt(" ".join(str(error).split()), 200)
            raise AffidavitError(faults.MODEL_FAILED, problem=problem) from None
        if not all(0 <= value <= 1 for value in values):
            raise AffidavitError(faults.MODEL_FAILED, problem="its scores are no numbers")
        return LabelProbabilities(values, len(whole) <= self._max_tokens)


def model_folder(settings: HfSettings) -> Path:
    """Return the folder of a model: the named one, or the local copy of the hub."""
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
    # The errors of the hub's library differ by version and network; all of them mean that the
    # model is not available.
    except Exception as error:
        missing = "it is neither a folder nor in the hub's store on this machine"
        problem = type(error).__name__ if settings.allow_download else missing
        raise _missing(settings, problem) from None


def load_classifier(settings: HfSettings, folder: Path) -> Classifier:
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
    """Return the digest of a model's files, by name, and of its labels and thresholds."""
    files = sorted({path for pattern in PATTERNS for path in folder.glob(pattern)})
    return digest_of(jcs([[path.name, digest_file(path)] for path in files] + [list(besides)]))


def _require_files(settings: HfSettings, folder: Path) -> None:
    if not (folder / "config.json").is_file():
        raise _missing(settings, "config.json is missing")
    if not any(folder.glob("*.safetensors")):
        raise _missing(settings, "it has no weights as safetensors")


def _missing(settings: HfSettings, problem: str) -> AffidavitError:
    return AffidavitError(faults.MODEL_MISSING, model=settings.model, problem=problem)


VERSION: Final = "1"


class PairScorer(Protocol):
    """The interface of a model."""

    def score(self, evidence: str, claim: str) -> LabelProbabilities:
        """Return the probabilities of the labels."""
        ...


class ScoredWindow(Struct, frozen=True):
    """The part of a chunk that the model reads, and the sentence that is shown."""

    text: str
    span: Span


class HfJudge:
    """Reads the window of each chunk that is closest to the claim."""

    def __init__(
        self,
        settings: HfSettings,
        model: PairScorer,
        meanings: tuple[LabelMeaning, ...],
        digest: str,
    ) -> None:
        self._settings = settings
        self._model = model
        self._meanings = meanings
        self._digest = digest

    @property
    def reads_english_only(self) -> bool:
        """Whether likeness of words in another language would be taken for support."""
        return False

    @property
    def identity(self) -> JudgeIdentity:
        """Name, version, and the digest of weights, vocabulary, labels and thresholds."""
        return JudgeIdentity("hf", VERSION, self._digest, rederivable=False)

    def read(self, claim: str, chunks: Sequence[Chunk]) -> tuple[Reading, ...]:
        """Return one reading per chunk, in the order of the chunks."""
        require_claim(claim)
        return tuple(self._reading(claim, chunk) for chunk in chunks)

    def _reading(self, claim: str, chunk: Chunk) -> Reading:
        shown = window_for(claim, chunk)
        scored = self._model.score(shown.text, claim)
        shares = dict.fromkeys(("supports", "partly", "neither", "contradicts"), 0.0)
        for meaning, share in zip(self._meanings, scored.shares, strict=True):
            shares[meaning] += share
        if len(self._meanings) == 1:
            shares["neither"] = 1 - shares["supports"]
        backing = round(shares["supports"] + shares["partly"], 4)
        level = self._level(shares["supports"], backing)
        return Reading(
            chunk_id=chunk.id,
            support_level=level,
            contradicts=shares["contradicts"] >= self._settings.contradicted_from,
            similarity=min(backing, 1.0),
            contradiction=min(round(shares["contradicts"], 4), 1.0),
            directness=1.0,
            snippet=chunk.text[shown.span.start : shown.span.end],
            snippet_span=shown.span,
            notes=_reading_notes(shares, scored),
            scores=tuple(
                sorted((name, min(round(share, 4), 1.0)) for name, share in shares.items())
            ),
        )

    def _level(self, full: float, backing: float) -> SupportLevel:
        if full >= self._settings.supported_from:
            return SupportLevel.FULL
        return (
            SupportLevel.PARTIAL if backing >= self._settings.supported_from else SupportLevel.NONE
        )


def hf_judge(settings: HfSettings) -> HfJudge:
    """Return the judge of these settings; its weights are loaded now."""
    folder = model_folder(settings)
    model = load_classifier(settings, folder)
    meanings = meanings_of(model.labels, settings.labels)
    thresholds = (settings.max_tokens, settings.supported_from, settings.contradicted_from)
    digest = weights_digest(folder, (VERSION, *meanings, *thresholds))
    return HfJudge(settings, model, meanings, digest)


def window_for(claim: str, chunk: Chunk) -> ScoredWindow:
    """Return the window that the model reads, or the whole chunk if no word is shared."""
    window = select_window(claim, chunk.text)
    if not window.spans:
        return ScoredWindow(chunk.text, Span(0, 0))
    # The earlier sentence on a tie.
    best = max(
        window.spans,
        key=lambda span: (
            select_window(claim, chunk.text[span.start : span.end]).recall,
            -span.start,
        ),
    )
    return ScoredWindow(window.text, best)


def _reading_notes(shares: dict[str, float], scored: LabelProbabilities) -> str:
    parts = [f"{name} {share:.2f}" for name, share in shares.items() if share]
    if not scored.is_whole:
        parts.append("the evidence was cut to what the model can read")
    return f"the model gives {', '.join(parts)}"
