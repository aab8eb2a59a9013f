"""The judge by itself: scoring rows of claims and evidence, measuring it, calibrating it."""
