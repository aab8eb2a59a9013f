"""What an examination finds."""

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """How something was found. Missing is no fault by itself: an extra is a choice."""

    OK = "ok"
    MISSING = "missing"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class Package:
    """A library: the version that is installed, and whether Python can import it."""

    name: str
    needed: str
    version: str | None
    state: State
    detail: str | None
    next_step: str | None


@dataclass(frozen=True, slots=True)
class Extra:
    """A group of optional libraries, as `pip install 'affidavit[name]'` installs it."""

    name: str
    state: State
    packages: tuple[Package, ...]
    next_step: str | None


@dataclass(frozen=True, slots=True)
class Trial:
    """Something that was really tried; `detail` says what came of it."""

    name: str
    state: State
    detail: str
    next_step: str | None


@dataclass(frozen=True, slots=True)
class Examination:
    """The whole of it. It is well when the core works and nothing that is installed is broken."""

    ok: bool
    version: str
    python: str
    platform: str
    core: tuple[Package, ...]
    extras: tuple[Extra, ...]
    trials: tuple[Trial, ...]


def worst_of(states: tuple[State, ...]) -> State:
    """Return the worst of some states; nothing at all is ok."""
    order = (State.BROKEN, State.MISSING)
    return next((state for state in order if state in states), State.OK)
