"""The trained reader: does this premise entail this claim, contradict it, or leave it open?

`load_encoder().read(premise, claim)` answers with three probabilities. A premise is a window of a
source, of one to three sentences: what does not fit into 128 tokens is not read.
"""

from affidavit.judge.encoder.entailment import Entailment
from affidavit.judge.encoder.reader import Encoder, load_encoder
from affidavit.judge.encoder.shipped import encoder_digest

__all__ = ["Encoder", "Entailment", "encoder_digest", "load_encoder"]
