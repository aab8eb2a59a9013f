"""Runs the large encoder: one pair at a time, on one thread, with standard operations in fp32.

Its files are a distribution of their own, the package `affidavit_encoder`, so that the core stays
small. `tools/train_judge` writes them.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import evidence as faults
from affidavit.judge.encoder.entailment import Entailment, entailment_from
from affidavit.judge.encoder.reader import missing_library, open_session, open_tokenizer, readable
from affidavit.judge.encoder.shipped import Shipped, read_shipped

if TYPE_CHECKING:
    import numpy

PACKAGE: Final = "affidavit_encoder"
_BYTES_PER_SCALE: Final = 2


class EncoderReading(NamedTuple):
    """What the encoder makes of a claim, and of the same claim as an edit of the window.

    Real claims and near-verbatim edits are read by two heads, because they compete in one: what is
    a paraphrase for the first may be the one changed word for the second.
    """

    claim: Entailment
    edit: Entailment


class LargeEncoder:
    """Reads pairs of a window and a claim. It may be used from several threads at once."""

    def __init__(self, shipped: Shipped) -> None:
        with missing_library():
            self._session = open_session(shipped.model)
            self._tokenizer = open_tokenizer(shipped.tokenizer)
        (width,) = {each.shape[-1] for each in self._session.get_inputs()}
        self._words = _WordTable(shipped.words, width)
        self.digest: Final = shipped.digest

    def read(self, window: str, claim: str) -> EncoderReading:
        """Say whether the window entails the claim."""
        (logits,) = self._session.run(["logits"], self.inputs_for(window, claim))
        claims, edits = logits.reshape(-1, 3).tolist()
        return EncoderReading(entailment_from(claims), entailment_from(edits))

    def inputs_for(self, window: str, claim: str) -> Mapping[str, Any]:
        """Return what the model reads for a pair: a batch of one, without padding.

        The pair is cut as in the training, token by token from the longer text. A text that spells
        out a mark of the tokenizer holds those letters and no mark.
        """
        row = self._tokenizer.encode(readable(window), readable(claim))
        return {"words": self._words.rows(row.ids)}


class _WordTable:
    """Word vectors as int8 with one fp16 scale per row, widened to fp32 where they are used."""

    def __init__(self, data: bytes, width: int) -> None:
        import numpy

        count = len(data) // (width + _BYTES_PER_SCALE)
        steps = numpy.frombuffer(data, numpy.int8, count * width)
        self._steps = steps.reshape(count, width)
        self._scales = numpy.frombuffer(data, numpy.float16, count, count * width)

    def rows(self, tokens: Sequence[int]) -> "numpy.ndarray[Any, Any]":
        """Return the vectors of the tokens as a batch of one."""
        import numpy

        steps = self._steps[tokens].astype(numpy.float32)
        return (steps * self._scales[tokens].astype(numpy.float32)[:, None])[None]


def weights_folder() -> Traversable:
    """Return the folder of the weights."""
    try:
        return files(PACKAGE)
    except ModuleNotFoundError as error:
        raise AffidavitError(faults.ENCODER_MISSING, Where(file=PACKAGE)) from error


@cache
def load_large_encoder() -> LargeEncoder:
    """Return the large encoder, loaded once per process."""
    return LargeEncoder(read_shipped(weights_folder()))
