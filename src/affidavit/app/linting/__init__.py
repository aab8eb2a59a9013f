"""Lint, explanations and replay of evidence bundles."""
