"""A tool that takes its time."""

import time


def wait(seconds: float = 1.0) -> dict[str, float]:
    """Return what it was asked for, later."""
    time.sleep(seconds)
    return {"waited": seconds}
