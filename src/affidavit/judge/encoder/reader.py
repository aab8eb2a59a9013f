"""Runs the encoder: one pair at a time, on one thread, with standard operations in fp32."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from affidavit.base.errors import AffidavitError
from affidavit.base.faults.input import EXTRA_MISSING
from affidavit.judge.encoder.entailment import Entailment, entailment_from
from affidavit.judge.encoder.shipped import Shipped, read_shipped

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

EXTRA: Final = "ledger"
MAX_CHARACTERS: Final = 20_000
"""Of each text; 128 tokens end long before, unless a text is made to have none."""

_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class Encoder:
    """Reads pairs of a premise and a claim. It may be used from several threads at once."""

    def __init__(self, shipped: Shipped) -> None:
        with missing_library():
            self._session = open_session(shipped.model)
            self._tokenizer = open_tokenizer(shipped.tokenizer)
        self._digest = shipped.digest

    @property
    def digest(self) -> str:
        """Which encoder this is: a digest over the model and the tokenizer, both checked."""
        return self._digest

    def read(self, premise: str, claim: str) -> Entailment:
        """Say whether the premise entails the claim."""
        (logits,) = self._session.run(["logits"], self.inputs_for(premise, claim))
        return entailment_from(logits[0].tolist())

    def inputs_for(self, premise: str, claim: str) -> Mapping[str, Any]:
        """Return what the model reads for a pair: a batch of one, without padding.

        The pair is cut to 128 tokens as in the training, token by token from the longer text. A
        text that spells out a mark of the tokenizer, such as [SEP], holds those letters and no
        mark: nobody can write where the premise ends.
        """
        import numpy

        row = self._tokenizer.encode(readable(premise), readable(claim))
        columns = {"tokens": row.ids, "segments": row.type_ids, "mask": row.attention_mask}
        return {name: numpy.array([ids], dtype=numpy.int64) for name, ids in columns.items()}


@cache
def load_encoder() -> Encoder:
    """Return the encoder that ships with Affidavit, loaded once per process."""
    return Encoder(read_shipped())


def open_session(model: bytes) -> "InferenceSession":
    """Open a model with everything fixed that could change a score or the load of the machine.

    Only the basic optimisations: they fold constants and leave the operations as they were
    exported, and the fused ones of higher levels are no faster on this model.
    """
    import onnxruntime

    onnxruntime.disable_telemetry_events()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.use_deterministic_compute = True
    # Patterns of memory are remembered per length of input, and there are 128 lengths.
    options.enable_mem_pattern = False
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def open_tokenizer(data: bytes) -> "Tokenizer":
    """Open a tokenizer whose marks cannot be written in a text."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_buffer(data)
    tokenizer.encode_special_tokens = True
    return tokenizer


def readable(text: str) -> str:
    """Return the part of a text that the tokenizer takes."""
    # Half of a surrogate pair has no UTF-8 form, which the tokenizer needs.
    return _SURROGATE.sub("\ufffd", text[:MAX_CHARACTERS])


@contextmanager
def missing_library() -> Iterator[None]:
    """Name the extra where a library of the encoder is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        raise AffidavitError(
            EXTRA_MISSING, feature="the judge's encoder", package=package, extra=EXTRA
        ) from error
