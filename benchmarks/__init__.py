"""What is measured against a target; `python -m benchmarks.run` runs it."""
