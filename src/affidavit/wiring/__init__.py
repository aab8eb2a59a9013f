"""The one place that picks adapters: which judge, which store, which clock, which folder."""
