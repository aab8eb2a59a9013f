"""The chat judge: a model behind a server, believed as far as its quotes stand in the passage."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from affidavit.base.canonical import jcs
from affidavit.base.digest import digest_of
from affidavit.base.errors import AffidavitError
from affidavit.base.faults import judge as faults
from affidavit.judge.chat.cache import ReplyCache, ReplyEntryV1
from affidavit.judge.chat.client import ChatClient
from affidavit.judge.chat.endpoint import Endpoint
from affidavit.judge.chat.evidence import reading_from
from affidavit.judge.chat.prompt import INSTRUCTIONS, PROMPT_VERSION, SCHEMA, messages_for
from affidavit.judge.chat.reply import Understood, Unreadable, understand
from affidavit.judge.chat.request import body_of
from affidavit.judge.chat.secret import secret_from
from affidavit.judge.chat.settings import ChatV1
from affidavit.judge.chat.spending import Estimate, Spending
from affidavit.judge.claim_limit import require_claim
from affidavit.judge.lexical import select_window
from affidavit.ledger.model import Chunk, JudgeIdentity, Reading

VERSION: Final = "1"
_CUT: Final = "length"


@dataclass(frozen=True, slots=True)
class Tally:
    """What became of the pairs that were read."""

    requests: int
    cached: int
    unreadable: int
    refused: int
    spent: str | None


class ChatJudge:
    """Asks a model about each passage; replies are kept and not asked for again."""

    def __init__(self, settings: ChatV1, client: ChatClient, cache: ReplyCache) -> None:
        self.settings = settings
        self._client = client
        self._cache = cache
        self.spending = client.spending
        self._cached = self._unreadable = self._refused = 0

    @property
    def identity(self) -> JudgeIdentity:
        """Name, version, and the digest of what is asked of whom; nobody can reproduce a reply."""
        asked = {
            "settings": self.settings.asked_with(),
            "prompt": [PROMPT_VERSION, INSTRUCTIONS],
            "schema": SCHEMA,
            "rules": VERSION,
        }
        return JudgeIdentity("chat", VERSION, digest_of(jcs(asked)), rederivable=False)

    def read(self, claim: str, chunks: Sequence[Chunk]) -> tuple[Reading, ...]:
        """Return one reading per chunk, in the order of the chunks."""
        require_claim(claim)
        try:
            outcomes = [self._outcome(claim, chunk) for chunk in chunks]
        finally:
            self._client.close()
        self._require_some(outcomes)
        readings = tuple(
            reading_from(outcome, chunk, remark)
            for chunk, (outcome, remark) in zip(chunks, outcomes, strict=True)
        )
        self._refused += sum(dict(reading.scores).get("refused", 0) == 1 for reading in readings)
        return readings

    def estimate(self, pairs: Iterable[tuple[str, Sequence[Chunk]]]) -> Estimate:
        """Return what reading these pairs would ask for and cost, without the kept replies."""
        count, pending = 0, {}
        form = self.settings.formats[0]
        for claim, chunks in pairs:
            for chunk in chunks:
                count += 1
                messages, _ = self._messages(claim, chunk)
                key = self._key(messages)
                if key not in pending and not self._cache.has(key):
                    pending[key] = len(msgspec.json.encode(body_of(self.settings, messages, form)))
        return self.spending.estimate(count, list(pending.values()))

    def tally(self) -> Tally:
        """Return what happened so far."""
        cost = self.spending.cost
        spent = None
        if cost is not None:
            spent = ("" if self.spending.is_exact else "at most ") + self.spending.amount(cost)
        return Tally(self.spending.requests, self._cached, self._unreadable, self._refused, spent)

    def _outcome(self, claim: str, chunk: Chunk) -> tuple[Understood | Unreadable, str | None]:
        messages, remark = self._messages(claim, chunk)
        key = self._key(messages)
        entry = self._cache.find(key)
        if entry is None:
            answered = self._client.ask(messages)
            completion = answered.completion
            entry = ReplyEntryV1(completion.content, completion.ending, answered.format)
            self._cache.keep(key, entry)
        else:
            self._cached += 1
        outcome = understand(entry.content)
        if isinstance(outcome, Unreadable):
            self._unreadable += 1
            if entry.ending == _CUT:
                limit = self.settings.max_output_tokens
                outcome = Unreadable(f"it was cut at {limit} tokens; {outcome.problem}")
        if entry.format != self.settings.formats[0]:
            remark = "; ".join(filter(None, (remark, f"asked as {entry.format}")))
        return outcome, remark

    def _messages(self, claim: str, chunk: Chunk) -> tuple[list[dict[str, str]], str | None]:
        """Return what is asked, and a remark if the model does not see the whole chunk."""
        text, limit, remark = chunk.text, self.settings.max_evidence_characters, None
        if len(text) > limit:
            text = (select_window(claim, text).text or text)[:limit]
            remark = f"the model saw {len(text)} of {len(chunk.text)} characters, the closest ones"
        heading = " / ".join(chunk.heading_path)
        return messages_for(*map(_sendable, (claim, heading, text))), remark

    def _key(self, messages: list[dict[str, str]]) -> str:
        return digest_of(
            jcs({"asked": self.settings.asked_with(), "messages": messages, "schema": SCHEMA})
        )

    def _require_some(self, outcomes: list[tuple[Understood | Unreadable, str | None]]) -> None:
        """Refuse to call a claim not found when no reply about it could be read."""
        problems = [each.problem for each, _ in outcomes if isinstance(each, Unreadable)]
        if problems and len(problems) == len(outcomes):
            raise AffidavitError(
                faults.REPLIES_UNREADABLE,
                count=len(problems),
                problem=problems[0],
                cache=self._cache.folder,
            )


def chat_judge(settings: ChatV1, folder: Path, environment: Mapping[str, str]) -> ChatJudge:
    """Return the judge of some settings. Its key comes from the environment, if it needs one."""
    variable = settings.api_key_env
    key = None if variable is None else secret_from(variable, environment)
    client = ChatClient(settings, Endpoint(settings, key), Spending(settings))
    return ChatJudge(settings, client, ReplyCache(folder))


def _sendable(text: str) -> str:
    """Return a text that has a UTF-8 form: half of a surrogate pair becomes U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
