"""Scorers of a claim against evidence, behind one small protocol."""
