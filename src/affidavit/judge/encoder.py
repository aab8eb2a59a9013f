"""The trained reader: does a window entail a claim, contradict it, or leave it open?

`load_encoder("standard").read(window, claim)` answers with probabilities. The files of the fast
encoder are in `encoders/fast`, those of the standard one in the package `affidavit_encoder`: the
model, its tokenizer, for a large one its table of word vectors, and the manifest that names the
digests of all of them and of the data, code and weights they were made from. `tools/train_judge`
writes them.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from math import exp, fsum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from msgspec import DecodeError, Struct, json

from affidavit.base.digest import digest_of, sha256_hex
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import evidence as faults
from affidavit.base.faults.input import EXTRA_MISSING

if TYPE_CHECKING:
    import numpy
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

STANDARD: Final = "standard"
FAST: Final = "fast"
MODEL: Final = "model.onnx"
TOKENIZER: Final = "tokenizer.json"
WORDS: Final = "words.int8"
MANIFEST: Final = "manifest.json"
EXTRA: Final = "ledger"
WEIGHTS_PACKAGE: Final = "affidavit_encoder"
DECIMALS: Final = 4
MAX_CHARACTERS: Final = 20_000
"""Of each text; 256 tokens end long before, unless a text is made to have none."""

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_BYTES_PER_SCALE: Final = 2


class Entailment(NamedTuple):
    """Three probabilities, each rounded to 4 decimals by itself, so that their sum may miss 1.

    Threads, batches, orders and processors move a score by about 1e-6. Rounding hides that from
    all but the few scores that lie on an edge, which move by one unit in the last place; whoever
    compares a score with a threshold leaves a dead band of more than that around it.
    """

    entails: float
    neutral: float
    contradicts: float


class EncoderReading(NamedTuple):
    """What the encoder makes of a claim, and of the same claim as an edit of the window.

    Real claims and near-verbatim edits are read by two heads, because they compete in one: what is
    a paraphrase for the first may be the one changed word for the second. An encoder with one head
    gives both the same answer.
    """

    claim: Entailment
    edit: Entailment


def entailment_from(logits: Sequence[float]) -> Entailment:
    """Turn three logits into probabilities.

    Softmax in float64, the largest logit taken off first so that nothing overflows; then Python's
    `round`, which rounds the exact binary value, halves to even.
    """
    largest = max(logits)
    raised = [exp(logit - largest) for logit in logits]
    total = fsum(raised)
    return Entailment(*(round(value / total, DECIMALS) for value in raised))


class EncoderFiles(Struct, frozen=True):
    """The bytes of the files, which are those of the manifest, and one digest over them."""

    model: bytes
    tokenizer: bytes
    digest: str
    words: bytes | None = None


class Encoder:
    """Reads pairs of a window and a claim. It may be used from several threads at once."""

    def __init__(self, source: EncoderFiles) -> None:
        with _libraries():
            self._session = open_session(source.model)
            self._tokenizer = open_tokenizer(source.tokenizer)
            self._words = None if source.words is None else _WordTable(source.words, self._session)
        self.digest: Final = source.digest

    def read(self, window: str, claim: str) -> EncoderReading:
        """Say whether the window entails the claim."""
        (logits,) = self._session.run(["logits"], self.inputs_for(window, claim))
        by_head = logits.reshape(-1, 3).tolist()
        return EncoderReading(entailment_from(by_head[0]), entailment_from(by_head[-1]))

    def inputs_for(self, window: str, claim: str) -> Mapping[str, Any]:
        """Return what the model reads for a pair: a batch of one, without padding.

        The pair is cut as in the training, token by token from the longer text. A text that spells
        out a mark of the tokenizer, such as [SEP], holds those letters and no mark: nobody can
        write where the window ends.
        """
        import numpy

        row = self._tokenizer.encode(_readable(window), _readable(claim))
        if self._words is not None:
            return {"words": self._words.rows(row.ids)}
        columns = {"tokens": row.ids, "segments": row.type_ids, "mask": row.attention_mask}
        return {name: numpy.array([ids], dtype=numpy.int64) for name, ids in columns.items()}


class _WordTable:
    """Word vectors as int8 with one fp16 scale per row, widened to fp32 where they are used."""

    def __init__(self, data: bytes, session: "InferenceSession") -> None:
        import numpy

        (width,) = {each.shape[-1] for each in session.get_inputs()}
        count = len(data) // (width + _BYTES_PER_SCALE)
        steps = numpy.frombuffer(data, numpy.int8, count * width)
        self._steps = steps.reshape(count, width)
        self._scales = numpy.frombuffer(data, numpy.float16, count, count * width)

    def rows(self, tokens: Sequence[int]) -> "numpy.ndarray[Any, Any]":
        """Return the vectors of the tokens as a batch of one."""
        import numpy

        steps = self._steps[tokens].astype(numpy.float32)
        return (steps * self._scales[tokens].astype(numpy.float32)[:, None])[None]


def open_session(model: bytes) -> "InferenceSession":
    """Open a model with everything fixed that could change a score or the load of the machine.

    Only the basic optimisations: they fold constants and leave the operations as they were
    exported, and the fused ones of higher levels are no faster on these models.
    """
    import onnxruntime

    onnxruntime.disable_telemetry_events()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.use_deterministic_compute = True
    # Memory patterns are remembered per length of input, and there are 256 lengths.
    options.enable_mem_pattern = False
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def open_tokenizer(data: bytes) -> "Tokenizer":
    """Open a tokenizer whose marks cannot be written in a text."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_buffer(data)
    tokenizer.encode_special_tokens = True
    return tokenizer


def _readable(text: str) -> str:
    # Half of a surrogate pair has no UTF-8 form, which the tokenizer needs.
    return _SURROGATE.sub("\ufffd", text[:MAX_CHARACTERS])


@contextmanager
def _libraries() -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        raise AffidavitError(
            EXTRA_MISSING, feature="the judge's encoder", package=package, extra=EXTRA
        ) from error


class _FileEntry(Struct, frozen=True):
    sha256: str


class _Manifest(Struct, frozen=True):
    files: dict[str, _FileEntry]


def encoder_folder(name: str) -> Traversable:
    """Return the folder of an encoder. The standard one is a distribution of its own."""
    if name == FAST:
        return files(__package__) / "encoders" / FAST
    try:
        return files(WEIGHTS_PACKAGE)
    except ModuleNotFoundError as error:
        raise AffidavitError(faults.ENCODER_MISSING, Where(file=WEIGHTS_PACKAGE)) from error


@cache
def load_encoder(name: str) -> Encoder:
    """Return an encoder that ships with Affidavit, loaded once per process."""
    return Encoder(read_files(encoder_folder(name)))


def read_files(folder: Traversable) -> EncoderFiles:
    """Read the files of an encoder and refuse them if one byte is not as released."""
    digests = _manifest_digests(folder)
    contents = {name: _checked(folder, name, digests[name]) for name in digests}
    return EncoderFiles(
        contents[MODEL], contents[TOKENIZER], _digest_over(digests), contents.get(WORDS)
    )


def encoder_digest(folder: Traversable) -> str:
    """Return the digest that names an encoder, without reading the weights or checking them."""
    return _digest_over(_manifest_digests(folder))


def _digest_over(digests: Mapping[str, str]) -> str:
    """One digest over the files, to be had by hand: `sha256sum FILES | sha256sum`, in ABC order."""
    return digest_of("".join(f"{digests[name]}  {name}\n" for name in sorted(digests)).encode())


def _manifest_digests(folder: Traversable) -> Mapping[str, str]:
    data = _read(folder, MANIFEST)
    try:
        entries = json.decode(data, type=_Manifest).files
        names = (MODEL, TOKENIZER, WORDS) if WORDS in entries else (MODEL, TOKENIZER)
        return {name: entries[name].sha256 for name in names}
    except (DecodeError, KeyError, UnicodeDecodeError) as error:
        raise AffidavitError(faults.ENCODER_CHANGED, Where(file=MANIFEST)) from error


def _checked(folder: Traversable, name: str, wanted: str) -> bytes:
    data = _read(folder, name)
    if sha256_hex(data) != wanted:
        raise AffidavitError(faults.ENCODER_CHANGED, Where(file=name))
    return data


def _read(folder: Traversable, name: str) -> bytes:
    try:
        return (folder / name).read_bytes()
    except OSError as error:
        raise AffidavitError(faults.ENCODER_MISSING, Where(file=name)) from error
