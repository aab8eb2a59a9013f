"""Checks over tool evidence: operators, verdicts, confidence, facts, routes, replay. Pure."""
