"""A slow tool."""

import time


def wait(seconds: float = 1.0) -> dict[str, float]:
    """Return the requested value after a delay."""
    time.sleep(seconds)
    return {"waited": seconds}
