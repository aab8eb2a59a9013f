"""Affidavit shows what an AI answer rests on."""

__all__ = ["__version__"]

__version__ = "0.1.0"
