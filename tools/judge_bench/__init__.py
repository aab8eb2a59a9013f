"""Fits the judge's combiner and measures the judge: the rows, their signals, the fit, the table."""
