"""How an exchange ends: with an answer, or with why there is none. Both are values."""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from http.client import IncompleteRead

from affidavit.base.places import excerpt


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server answered. `headers` are by lower-case name."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Stage(Enum):
    """How far it came. From `ASKING` on the server may have worked, and may charge for it."""

    CONNECTING = auto()
    SECURING = auto()
    ASKING = auto()


class Trouble(Enum):
    """What went wrong."""

    LATE = auto()
    CERTIFICATE = auto()
    DROPPED = auto()
    CUT = auto()
    TOO_LONG = auto()
    BROKEN = auto()
    NOT_HTTP = auto()


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """Why no whole answer came. `detail` is in the system's words, never in the server's."""

    trouble: Trouble
    stage: Stage
    detail: str

    @property
    def was_sent(self) -> bool:
        """Whether the server may have got the request."""
        return self.stage is Stage.ASKING

    @property
    def words(self) -> str:
        """The detail as people are told it."""
        if self.trouble is Trouble.CERTIFICATE:
            return f"the server's certificate does not hold: {self.detail}"
        return self.detail


def no_answer_from(error: Exception, stage: Stage) -> NoAnswer:
    """Return what an error of the network or of http.client says."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return NoAnswer(Trouble.CERTIFICATE, stage, error.verify_message)
    said = error.strerror if isinstance(error, OSError) else None
    return NoAnswer(_trouble_of(error), stage, excerpt(said or type(error).__name__, 120))


def _trouble_of(error: Exception) -> Trouble:
    match error:
        case TimeoutError():
            return Trouble.LATE
        case ConnectionError():
            return Trouble.DROPPED
        case IncompleteRead():
            return Trouble.CUT
        case OSError():
            return Trouble.BROKEN
        case _:
            return Trouble.NOT_HTTP
