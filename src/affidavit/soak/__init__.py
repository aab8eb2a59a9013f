"""Soak: trials, pass^k, sequential stopping, the decision, fault plans, the surface and drift."""
