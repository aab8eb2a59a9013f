"""The outside world as evidence: document readers, chunks, the index."""
