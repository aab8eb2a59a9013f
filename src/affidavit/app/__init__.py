"""Use cases: each takes plain values, does one job through the packages below, returns a result."""
