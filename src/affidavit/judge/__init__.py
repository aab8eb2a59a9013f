"""Scorers of a claim against evidence, behind one small protocol."""

import sys
from types import ModuleType
from typing import Any


class _CallableModule(ModuleType):
    """Keeps `affidavit.judge(claim, evidence)` working once this package is imported.

    The import system then binds `affidavit.judge` to the package, in place of the function.
    """

    def __call__(self, *values: Any, **options: Any) -> Any:
        import affidavit

        return affidavit._judge(*values, **options)


sys.modules[__name__].__class__ = _CallableModule
