"""Training of the judge's cross-encoder: data, network, run, measurement and export."""
