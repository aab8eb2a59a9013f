"""Slow tools."""

import threading
import time

RELEASED = threading.Event()
HELD = threading.Semaphore(0)
"""Released once by each call of `hold`."""


def wait(seconds: float = 1.0) -> dict[str, float]:
    """Return the requested value after a delay."""
    time.sleep(seconds)
    return {"waited": seconds}


def hold() -> dict[str, bool]:
    """Return when the test says so."""
    HELD.release()
    return {"released": RELEASED.wait(60)}
