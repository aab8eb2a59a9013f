"""Checks of answers in tests: `assert_grounded`, `assert_gate` and the fixture `affidavit`.

Every pytest run in the environment loads this module, so it imports nothing heavy.
"""

from affidavit.pytest_plugin.assertions import assert_gate, assert_grounded

__all__ = ["assert_gate", "assert_grounded"]
