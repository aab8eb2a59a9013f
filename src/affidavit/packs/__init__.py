"""Packs, lint, signals, completeness, closure and explanations. Pure."""
