"""Checks of answers in tests: `assert_grounded`, `assert_gate` and the fixture `affidavit`.

Nothing heavy is imported before an assertion is made: every pytest of an environment loads this.
"""

from affidavit.pytest_plugin.assertions import assert_gate, assert_grounded

__all__ = ["assert_gate", "assert_grounded"]
