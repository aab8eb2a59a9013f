"""A function of the user's own as a source: only the one that the config file names is called.

It runs in this process, with its rights, and gets the arguments as keywords. What it returns is
the raw result. What it raises is a silence: its type is named, its text is not, because that may
hold anything.
"""

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from affidavit.checks.facts import Source
from affidavit.sources.feeds.feed import Args, Errand, Reply, Silence, SilentError
from affidavit.sources.feeds.observed import Timing
from affidavit.sources.feeds.results import as_json


@dataclass(frozen=True, slots=True)
class PythonFeed:
    """The function at `module:function`; the module is imported when it is first asked."""

    source: Source
    call: str
    timing: Timing
    max_bytes: int

    def ask(self, args: Args, errand: Errand) -> Reply:
        """Return what the function returns."""
        module, _, name = self.call.partition(":")
        function = self._function(module, name)
        try:
            value = function(**args)
        except Exception as error:
            problem = f"{self.call} raised {type(error).__name__}"
            raise SilentError(Silence.FAILED, problem) from None
        raw = as_json(value, self.max_bytes)
        return Reply(raw, self.timing.moment(raw, errand.asked_at))

    def _function(self, module: str, name: str) -> Any:
        try:
            function = getattr(import_module(module), name, None)
        except Exception as error:
            problem = f"{module} cannot be imported ({type(error).__name__})"
            raise SilentError(Silence.NOT_INSTALLED, problem) from None
        if not callable(function):
            raise SilentError(Silence.NOT_INSTALLED, f"{module} has no function {name}")
        return function
