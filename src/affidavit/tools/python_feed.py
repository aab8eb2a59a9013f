"""A Python function as a source: the one that the config file names.

It runs in this process with its permissions, and gets the arguments as keywords. Its return value
is the raw result. An exception is a failure; its type is named, but not its text, which may contain
anything.
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
    """The function at `module:function`. Its module is imported on first use."""

    source: EvidenceSource
    call: str
    timing: ObservationTime
    max_bytes: int

    def ask(self, args: CheckArguments, request: SourceRequest) -> SourceAnswer:
        """Return the result of the function."""
        module, _, name = self.call.partition(":")
        function = self._function(module, name)
        try:
            value = function(**args)
        except Exception as error:
            problem = f"{self.call} raised {type(error).__name__}"
            raise SourceFailedError(FailureReason.FAILED, problem) from None
        raw = require_json(value, self.max_bytes)
        # A function that a second module only imports is the same source.
        identity = f"python:{getattr(function, '__module__', None) or module}"
        moment = self.timing.moment(raw, request.asked_at)
        return SourceAnswer(self.source, raw, moment, (identity,))

    def _function(self, module: str, name: str) -> Any:
        try:
            function = getattr(import_module(module), name, None)
        except Exception as error:
            problem = f"{module} cannot be imported ({type(error).__name__})"
            raise SourceFailedError(FailureReason.NOT_INSTALLED, problem) from None
        if not callable(function):
            raise SourceFailedError(FailureReason.NOT_INSTALLED, f"{module} has no function {name}")
        return function
