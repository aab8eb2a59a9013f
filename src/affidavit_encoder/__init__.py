"""The files of the encoder that the default judge reads: weights, tokenizer, manifest."""

__version__ = "0.1.0"
