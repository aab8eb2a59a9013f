"""Runs a Python function as one trial: `python -m affidavit.tools.trial_function module:function`.

The function is called with `seed`, `trial`, `output` and `case`, as far as it has parameters of
these names. None and True are success, False is failure, and any other value is written as JSON to
the output folder. An exception ends the process with 2, so that the trial is not judged.
"""

import inspect
import json
import os
import sys
import traceback
from importlib import import_module
from pathlib import Path
from typing import Any, Final

_OUTPUT_FILE: Final = "output.json"
_NOT_JUDGED: Final = 2


def main(name: str) -> int:
    """Call the function and return the exit code of the trial."""
    module, _, function = name.partition(":")
    sys.path.insert(0, "")
    output = Path(os.environ["AFFIDAVIT_OUTPUT"])
    known: dict[str, Any] = {
        "seed": int(os.environ["AFFIDAVIT_SEED"]),
        "trial": int(os.environ["AFFIDAVIT_TRIAL"]),
        "output": output,
        "case": os.environ.get("AFFIDAVIT_CASE"),
    }
    try:
        called = getattr(import_module(module), function)
        parameters = inspect.signature(called).parameters
        value = called(**{key: known[key] for key in known if key in parameters})
        if value is None or isinstance(value, bool):
            return 1 if value is False else 0
        (output / _OUTPUT_FILE).write_text(json.dumps(value), "utf-8")
    except Exception:
        traceback.print_exc()
        return _NOT_JUDGED
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
