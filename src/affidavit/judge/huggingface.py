"""The judge of a Hugging Face model: a classifier, or a published verifier with its own prompt.

No code of the model folder is executed. Only safetensors are loaded: the older format of weights is
a pickle, which can execute anything.
"""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec
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
from affidavit.judge.thresholded import similarity_of
from affidavit.judge.verifiers import (
    EvidencePiece,
    VerifierForm,
    VerifierHead,
    evidence_pieces,
    verifier_form,
)
from affidavit.ledger.model import Chunk, JudgeIdentity, Reading, Span, SupportLevel

WEIGHTS: Final = "*.safetensors"
CONFIGURATION: Final = ("*.json", "*.txt", "*.model")
PATTERNS: Final = (WEIGHTS, *CONFIGURATION)
"""The files of a model: weights, configuration, vocabulary."""
_HHEM_FOUNDATION: Final = "google/flan-t5-base"
_HHEM_PREFIX: Final = "t5."
_MARKED_FROM: Final = 0.5
_SPARE_TOKENS: Final = 8  # A cut can change how the tokens around it are split.


class LabelProbabilities(Struct, frozen=True):
    """The model's probability for each of its labels, and whether it saw the whole evidence.

    `doubted` are the words of the claim that a model marks as not in the evidence.
    """

    shares: tuple[float, ...]
    is_whole: bool
    doubted: tuple[str, ...] = ()


class Classifier:
    """A loaded model. It reads one pair at a time: a batch would change the last digits."""

    def __init__(self, tokenizer: Any, network: Any, form: VerifierForm, max_tokens: int) -> None:
        self.form = form
        self._tokenizer = tokenizer
        self._network = network
        self._max_tokens = max_tokens

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the labels, in the model's order."""
        names = self._network.config.id2label
        return tuple(str(names[number]) for number in sorted(names))

    def count_tokens(self, text: str) -> int:
        """Return how many tokens a text has."""
        return len(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    def score(self, evidence: str, claim: str) -> LabelProbabilities:
        """Return the probabilities for the claim given the evidence; only the evidence is cut."""
        import torch

        try:
            with torch.inference_mode():
                scored = self._score(self._plain(evidence), self._plain(claim))
        except (RuntimeError, ValueError, TypeError, IndexError, KeyError) as error:
            problem = excerpt(" ".join(str(error).split()), 200)
            raise AffidavitError(faults.MODEL_FAILED, problem=problem) from None
        if not all(0 <= value <= 1 for value in scored.shares):
            raise AffidavitError(faults.MODEL_FAILED, problem="its scores are no numbers")
        return scored

    def _score(self, evidence: str, claim: str) -> LabelProbabilities:
        match self.form.head:
            case VerifierHead.PAIR:
                encoded, is_whole = self._pair(evidence, claim)
                logits = self._network(**encoded).logits[0]
            case VerifierHead.MARKING:
                return self._marked(evidence, claim)
            case VerifierHead.TEXT:
                encoded, is_whole = self._text(evidence, claim)
                logits = self._network(**encoded).logits[0]
            case VerifierHead.LEADING:
                encoded, is_whole = self._text(evidence, claim)
                logits = self._network(**encoded).logits[0, 0]
            case VerifierHead.ANSWER:
                encoded, is_whole = self._text(evidence, claim)
                # The decoder begins with the token of padding, whose number is 0.
                begin = encoded["input_ids"].new_zeros((1, 1))
                answer = self._network(**encoded, decoder_input_ids=begin).logits[0, 0]
                logits = answer[list(self.form.answer_tokens)]
        # One output is a yes or no; several outputs are shares of one.
        logits = logits.double()
        shares = logits.sigmoid() if len(logits) == 1 else logits.softmax(-1)
        return LabelProbabilities(tuple(round(float(share), 4) for share in shares), is_whole)

    def _marked(self, evidence: str, claim: str) -> LabelProbabilities:
        """Return the shares by the most doubtful token of the claim, and the doubted words."""
        encoded, is_whole = self._pair(evidence, claim, return_offsets_mapping=True)
        places = encoded.pop("offset_mapping")[0].tolist()
        shares = self._network(**encoded).logits[0].double().softmax(-1)[:, 1].tolist()
        texts = encoded.sequence_ids(0)
        marks = [
            (start, end, share)
            for text, (start, end), share in zip(texts, places, shares, strict=True)
            if text == 1 and start < end
        ]
        worst = round(max((share for *_, share in marks), default=1.0), 4)
        doubted: list[str] = []
        for is_doubted, run in groupby(marks, key=lambda mark: mark[2] >= _MARKED_FROM):
            if is_doubted:
                tokens = list(run)
                doubted.append(claim[tokens[0][0] : tokens[-1][1]].strip())
        return LabelProbabilities((round(1 - worst, 4), worst), is_whole, tuple(doubted))

    def _pair(self, evidence: str, claim: str, **options: bool) -> tuple[Any, bool]:
        """Return evidence and claim as the model reads them, and whether nothing was cut."""
        first = self.form.prompt.format(evidence=evidence)
        whole = len(self._tokenizer(first, claim)["input_ids"]) <= self._max_tokens
        encoded = self._tokenizer(
            first,
            claim,
            truncation="only_first",
            max_length=self._max_tokens,
            return_tensors="pt",
            **options,
        )
        return encoded, whole

    def _text(self, evidence: str, claim: str) -> tuple[Any, bool]:
        """Return the prompt with both as the model reads it, and whether nothing was cut."""
        whole = self._tokenizer(self._prompt(evidence, claim), return_tensors="pt")
        if whole["input_ids"].shape[1] <= self._max_tokens:
            return whole, True
        frame = len(self._tokenizer(self._prompt("", claim))["input_ids"])
        room = max(self._max_tokens - frame - _SPARE_TOKENS, 0)
        places = self._tokenizer(evidence, add_special_tokens=False, return_offsets_mapping=True)
        end = places["offset_mapping"][room][0]
        return self._tokenizer(self._prompt(evidence[:end], claim), return_tensors="pt"), False

    def _prompt(self, evidence: str, claim: str) -> str:
        eos = self._tokenizer.eos_token
        return self.form.prompt.format(evidence=evidence, claim=claim, eos=eos)

    def _plain(self, text: str) -> str:
        """Return a text in which no word is a control token: a source must not end its own part."""
        for token in self._tokenizer.all_special_tokens:
            text = text.replace(token, f"{token[:1]} {token[1:]}")
        return text


def model_folder(
    settings: HfSettings, name: str | None = None, patterns: Sequence[str] = PATTERNS
) -> Path:
    """Return the folder of a model: the named one, or the local copy of the hub."""
    named = name or settings.model
    folder = Path(named)
    if folder.is_dir():
        return folder
    from huggingface_hub import snapshot_download

    try:
        return Path(
            snapshot_download(
                named,
                revision=settings.revision if name is None else None,
                allow_patterns=list(patterns),
                local_files_only=not settings.allow_download,
            )
        )
    # The errors of the hub's library differ by version and network; all of them mean that the
    # model is not available.
    except Exception as error:
        missing = "it is neither a folder nor in the hub's store on this machine"
        problem = type(error).__name__ if settings.allow_download else missing
        raise _missing(named, problem) from None


def foundation_folder(settings: HfSettings) -> Path | None:
    """Return the folder with the tokenizer and the configuration, if the model has none itself."""
    if settings.preset != "hhem":
        return None
    return model_folder(settings, settings.foundation or _HHEM_FOUNDATION, CONFIGURATION)


def load_classifier(
    settings: HfSettings, folder: Path, foundation: Path | None = None
) -> Classifier:
    """Return the classifier of a folder."""
    _require_files(settings, folder)
    form = verifier_form(settings.preset, _model_type(settings, folder))
    from transformers import AutoTokenizer

    local = {"local_files_only": True, "trust_remote_code": False}
    try:
        tokenizer = AutoTokenizer.from_pretrained(str(foundation or folder), **local)
        if foundation is None:
            network, lacking = _load_network(form, folder, local)
        else:
            network, lacking = _load_token_classifier(folder, foundation, local)
    except (OSError, ValueError, RuntimeError, KeyError, ImportError, AttributeError) as error:
        problem = excerpt(" ".join(str(error).split()), 200).rstrip(".")
        raise _missing(settings.model, problem) from None
    _require_fit(settings, form, network, lacking)
    network.eval()
    wanted = settings.max_tokens or form.max_tokens
    return Classifier(tokenizer, network, form, min(wanted, _longest(network.config) or wanted))


def weights_digest(folder: Path, besides: Sequence[object]) -> str:
    """Return the digest of a model's files, by name, and of its labels and thresholds."""
    files = sorted({path for pattern in PATTERNS for path in folder.glob(pattern)})
    return digest_of(jcs([[path.name, digest_file(path)] for path in files] + [list(besides)]))


def _load_network(
    form: VerifierForm, folder: Path, local: dict[str, bool]
) -> tuple[Any, Sequence[str]]:
    """Return the network, and the names of the weights that its files lack."""
    import transformers

    kinds = {
        VerifierHead.ANSWER: "AutoModelForSeq2SeqLM",
        VerifierHead.MARKING: "AutoModelForTokenClassification",
    }
    kind = getattr(transformers, kinds.get(form.head, "AutoModelForSequenceClassification"))
    network, found = kind.from_pretrained(
        str(folder), use_safetensors=True, output_loading_info=True, **local
    )
    return network, sorted(found["missing_keys"])


def _load_token_classifier(
    folder: Path, foundation: Path, local: dict[str, bool]
) -> tuple[Any, Sequence[str]]:
    """Return the network of HHEM-2.1-Open, and the names of the weights that its files lack.

    Its folder holds weights and a class of its own, which is not executed: it only wraps a T5
    encoder with a classifier of tokens, and the sizes of both are in its foundation.
    """
    from safetensors.torch import load_file
    from transformers import AutoConfig, T5ForTokenClassification

    network = T5ForTokenClassification(AutoConfig.from_pretrained(str(foundation), **local))
    weights = {
        name.removeprefix(_HHEM_PREFIX): tensor
        for path in sorted(folder.glob(WEIGHTS))
        for name, tensor in load_file(path).items()
    }
    lacking, unknown = network.load_state_dict(weights, strict=False)
    network.tie_weights()
    # The embedding of the encoder is the shared one.
    own = [name for name in lacking if not name.endswith("embed_tokens.weight")]
    return network, sorted([*own, *unknown])


def _require_fit(
    settings: HfSettings, form: VerifierForm, network: Any, lacking: Sequence[str]
) -> None:
    """Refuse a model with other outputs than its preset: its scores would mean nothing.

    Weights that are not in the files would be random numbers.
    """
    problem = ""
    if lacking:
        problem = f"the weights do not match, for example {lacking[0]}"
    elif form.answer_tokens:
        if network.config.vocab_size <= max(form.answer_tokens):
            problem = f"its vocabulary has {network.config.vocab_size} tokens"
    elif form.meanings and len(form.meanings) != network.config.num_labels:
        problem = f"it has {network.config.num_labels} labels, not {len(form.meanings)}"
    if problem:
        raise AffidavitError(faults.MODEL_UNFIT, preset=settings.preset, problem=problem)


def _longest(config: Any) -> int | None:
    """Return the most tokens that a network can read; None if their places are relative."""
    if not getattr(config, "position_biased_input", True):
        return None
    places: int | None = getattr(config, "max_position_embeddings", None)
    # RoBERTa counts places from behind the token of padding.
    is_offset = places is not None and "roberta" in config.model_type
    return places - config.pad_token_id - 1 if places and is_offset else places


class _ModelConfig(Struct, frozen=True):
    model_type: str = ""


def _model_type(settings: HfSettings, folder: Path) -> str:
    try:
        data = (folder / "config.json").read_bytes()
        return msgspec.json.decode(data, type=_ModelConfig).model_type
    except (OSError, msgspec.DecodeError):
        raise _missing(settings.model, "config.json cannot be read") from None


def _require_files(settings: HfSettings, folder: Path) -> None:
    if not (folder / "config.json").is_file():
        raise _missing(settings.model, "config.json is missing")
    if not any(folder.glob(WEIGHTS)):
        raise _missing(settings.model, "it has no weights as safetensors")


def _missing(model: str, problem: str) -> AffidavitError:
    return AffidavitError(faults.MODEL_MISSING, model=model, problem=problem)


VERSION: Final = "2"


class PairScorer(Protocol):
    """The interface of a model."""

    @property
    def form(self) -> VerifierForm:
        """How the model is asked."""
        ...

    def count_tokens(self, text: str) -> int:
        """Return how many tokens a text has."""
        ...

    def score(self, evidence: str, claim: str) -> LabelProbabilities:
        """Return the probabilities of the labels."""
        ...


class HfJudge:
    """Reads the window of each chunk that is closest to the claim, or all of it in pieces."""

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
        pieces = pieces_for(claim, chunk, self._model)
        scores = [self._model.score(piece.text, claim) for piece in pieces]
        found = list(map(self._shares, scores))
        # The piece that supports the claim most, the earlier one on a tie.
        best = max(range(len(found)), key=lambda place: (found[place]["supports"], -place))
        shares = found[best]
        shown = closest_sentence(claim, chunk.text, pieces[best].span)
        backing = min(round(shares["supports"] + shares["partly"], 4), 1.0)
        contradiction = min(round(shares["contradicts"], 4), 1.0)
        kept = {name: min(round(share, 4), 1.0) for name, share in shares.items()}
        return Reading(
            chunk_id=chunk.id,
            support_level=self._level(shares["supports"], backing),
            contradicts=shares["contradicts"] >= self._settings.contradicted_from,
            similarity=similarity_of(backing, self._settings.supported_from),
            contradiction=contradiction,
            directness=1.0,
            snippet=chunk.text[shown.start : shown.end],
            snippet_span=shown,
            notes=_reading_notes(shares, scores[best], len(pieces)),
            scores=tuple(sorted({**kept, "support": backing}.items())),
        )

    def _shares(self, scored: LabelProbabilities) -> dict[str, float]:
        shares = dict.fromkeys(("supports", "partly", "neither", "contradicts"), 0.0)
        for meaning, share in zip(self._meanings, scored.shares, strict=True):
            shares[meaning] += share
        if len(self._meanings) == 1:
            shares["neither"] = 1 - shares["supports"]
        return shares

    def _level(self, full: float, backing: float) -> SupportLevel:
        if full >= self._settings.supported_from:
            return SupportLevel.FULL
        return (
            SupportLevel.PARTIAL if backing >= self._settings.supported_from else SupportLevel.NONE
        )


def hf_judge(settings: HfSettings) -> HfJudge:
    """Return the judge of these settings; its weights are loaded now."""
    folder, foundation = model_folder(settings), foundation_folder(settings)
    model = load_classifier(settings, folder, foundation)
    meanings = model.form.meanings or meanings_of(model.labels, settings.labels)
    besides: list[object] = [VERSION, settings.preset, *meanings]
    besides += [settings.max_tokens, settings.supported_from, settings.contradicted_from]
    if foundation is not None:
        besides.append(weights_digest(foundation, ()))
    return HfJudge(settings, model, meanings, weights_digest(folder, besides))


def pieces_for(claim: str, chunk: Chunk, model: PairScorer) -> tuple[EvidencePiece, ...]:
    """Return the parts of a chunk that the model reads: its window, or all of it.

    The window is the whole chunk if no word is shared.
    """
    if not model.form.reads_window:
        return evidence_pieces(chunk.text, model.form, model.count_tokens)
    text = select_window(claim, chunk.text).text or chunk.text
    return (EvidencePiece(text, Span(0, len(chunk.text))),)


def closest_sentence(claim: str, text: str, part: Span) -> Span:
    """Return the sentence of a part that shares most with a claim; an empty span if none does."""
    within = text[part.start : part.end]
    spans = select_window(claim, within).spans
    if not spans:
        return Span(part.start, part.start)
    # The earlier sentence on a tie.
    best = max(
        spans,
        key=lambda span: (select_window(claim, within[span.start : span.end]).recall, -span.start),
    )
    return Span(part.start + best.start, part.start + best.end)


def _reading_notes(shares: dict[str, float], scored: LabelProbabilities, pieces: int) -> str:
    parts = [f"{name} {share:.2f}" for name, share in shares.items() if share]
    if pieces > 1:
        parts.append(f"for the best of {pieces} pieces")
    if scored.doubted:
        parts.append("doubting " + ", ".join(f'"{words}"' for words in scored.doubted))
    if not scored.is_whole:
        parts.append("the evidence was cut to what the model can read")
    return f"the model gives {', '.join(parts)}"
