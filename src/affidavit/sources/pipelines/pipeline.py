"""What every pipeline has in common: it is asked a question, and answers or does not."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from affidavit.base.json_limits import JsonValue

MAX_ANSWER_BYTES: Final = 4 * 1024 * 1024
SLOTS: Final = ("question", "qid", "seed", "jitter")
"""What a body or a command line may have in braces; other braces are its own."""
_SLOT: Final = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True, slots=True)
class Question:
    """A question as it is asked: with its jitter applied, under a seed."""

    qid: str
    text: str
    seed: int
    jitter: str

    @property
    def args(self) -> Mapping[str, JsonValue]:
        """The question by the names of its slots."""
        return dict(zip(SLOTS, (self.text, self.qid, self.seed, self.jitter), strict=True))


class NoAnswerError(Exception):
    """No answer came. `in_transport` tells whether the way there failed, so that it may be retried.

    A pipeline that took too long or refused may have worked on the question: that was its run.
    """

    def __init__(self, problem: str, *, in_transport: bool = False) -> None:
        super().__init__(problem)
        self.problem = problem
        self.in_transport = in_transport


class Pipeline(Protocol):
    """Answers questions, from several threads at once."""

    @property
    def identity(self) -> str:
        """What decides over the answers besides the question; it holds no secret."""
        ...

    def ask(self, question: Question) -> bytes:
        """Return what was answered, or raise NoAnswerError."""
        ...

    def close(self) -> None:
        """End what is still running."""
        ...


def slots_in(setting: JsonValue) -> Iterator[str]:
    """Yield the words in braces of a setting, with those of its members."""
    if isinstance(setting, str):
        yield from _SLOT.findall(setting)
    elif isinstance(setting, dict | list):
        for member in setting.values() if isinstance(setting, dict) else setting:
            yield from slots_in(member)


def filled(setting: JsonValue, question: Question) -> JsonValue:
    """Return a setting with its slots filled; one that is nothing but a slot keeps its kind."""
    if isinstance(setting, dict):
        return {key: filled(member, question) for key, member in setting.items()}
    if isinstance(setting, list):
        return [filled(member, question) for member in setting]
    if not isinstance(setting, str):
        return setting
    whole = _SLOT.fullmatch(setting)
    if whole is not None and whole[1] in SLOTS:
        return question.args[whole[1]]
    return filled_text(setting, question)


def filled_text(setting: str, question: Question) -> str:
    """Return a text with its slots filled."""
    args = question.args
    return _SLOT.sub(lambda slot: str(args.get(slot[1], slot[0])), setting)
