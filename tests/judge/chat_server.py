"""A chat endpoint on this machine that does as it is told. It proves how faults end; what a real
model does is tried in interop/chat.sh.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.faulty_server import Behaviour, Faulty

from affidavit.judge.chat.client import ChatClient, ChatEndpoint, ReplyCache
from affidavit.judge.chat.judge import ChatJudge
from affidavit.judge.chat.settings import ApiKeySecret, ChatSettings, CostAccount


def reply_of(verdict: str = "supported", **changes: object) -> str:
    """Return what a model that does as it is told writes."""
    reply = {"verdict": verdict, "support": 0.95, "contradiction": 0.01, "quote": "15 days"}
    return json.dumps({**reply, "reason": "it says so", **changes})


def completion(content: str | None, ending: str = "stop", usage: object = None) -> bytes:
    """Return the body of a chat completion."""
    choice = {"index": 0, "message": {"content": content}, "finish_reason": ending}
    counted = {"prompt_tokens": 100, "completion_tokens": 10} if usage is None else usage
    body: dict[str, object] = {"id": "1", "choices": [choice], "usage": counted}
    return json.dumps(body).encode()


def says(content: str | None, ending: str = "stop", usage: object = None) -> Behaviour:
    return lambda handler: handler.answer(200, completion(content, ending, usage))


@dataclass
class FakeClock:
    """Time that passes only by sleeping."""

    now: float = 1000.0
    slept: list[float] = field(default_factory=list)

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float, /) -> None:
        self.slept.append(seconds)
        self.now += seconds


def settings_for(server: Faulty, **changes: Any) -> ChatSettings:
    return ChatSettings(base_url=server.base_url, model="m", **{"timeout_s": 600, **changes})


def judge_at(
    settings: ChatSettings, folder: Path, clock: FakeClock | None = None, key: str | None = None
) -> ChatJudge:
    endpoint = ChatEndpoint(settings, None if key is None else ApiKeySecret(key))
    client = ChatClient(settings, endpoint, CostAccount(settings), clock or FakeClock())
    return ChatJudge(settings, client, ReplyCache(folder / "chat"))
