"""The trained encoder: whether a premise entails a claim, contradicts it, or neither.

`load_encoder().read(premise, claim)` returns three probabilities. A premise is a window of one
to three sentences of a source. Text beyond 128 tokens is not read.
"""

from affidavit.judge.encoder.entailment import Entailment
from affidavit.judge.encoder.reader import Encoder, load_encoder
from affidavit.judge.encoder.shipped import encoder_digest

__all__ = ["Encoder", "Entailment", "encoder_digest", "load_encoder"]
