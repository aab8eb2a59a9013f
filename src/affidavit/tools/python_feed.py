"""A function of the user's own as a source: only the one that the config file names is called.

It runs in this process, with its rights, and gets the arguments as keywords. What it returns is
the raw result. What it raises is a silence: its type is named, its text is not, because that may
hold anything.
"""

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from affidavit.checks.facts import EvidenceSource, SourceAnswer
from affidavit.tools.feed import (
    CheckArguments,
    FailureReason,
    SourceFailedError,
    SourceRequest,
    require_json,
)
from affidavit.tools.observation_time import ObservationTime


@dataclass(frozen=True, slots=True)
class PythonFeed:
    """The function at `module:function`; the module is imported when it is first asked."""

    source: EvidenceSource
    call: str
    timing: ObservationTime
    max_bytes: int

    def ask(self, args: CheckArguments, request: SourceRequest) -> SourceAnswer:
        """Return what the function returns."""
        module, _, name = self.call.partition(":")
        function = self._function(module, name)
        try:
            value = function(**args)
        except Exception as error:
            problem = f"{self.call} raised {type(error).__name__}"
            raise SourceFailedError(FailureReason.FAILED, problem) from None
        raw = require_json(value, self.max_bytes)
        return SourceAnswer(self.source, raw, self.timing.moment(raw, request.asked_at))

    def _function(self, module: str, name: str) -> Any:
        try:
            function = getattr(import_module(module), name, None)
        except Exception as error:
            problem = f"{module} cannot be imported ({type(error).__name__})"
            raise SourceFailedError(FailureReason.NOT_INSTALLED, problem) from None
        if not callable(function):
            raise SourceFailedError(FailureReason.NOT_INSTALLED, f"{module} has no function {name}")
        return function
