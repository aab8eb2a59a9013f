"""The chat judge: a model behind a server, whose verdict counts only with a verbatim quote."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from affidavit.base.canonical import jcs
from affidavit.base.digest import digest_of
from affidavit.base.errors import AffidavitError
from affidavit.base.faults import evidence as faults
from affidavit.judge.chat.client import ChatClient, ChatEndpoint, ReplyCache
from affidavit.judge.chat.reply import (
    INSTRUCTIONS,
    PROMPT_VERSION,
    REPLY_SCHEMA,
    ParsedReply,
    UnreadableReply,
    messages_for,
    parse_reply,
    reading_from,
    request_body,
)
from affidavit.judge.chat.settings import ChatSettings, CostAccount, CostEstimate, api_key_from
from affidavit.judge.lexical.windows import select_window
from affidavit.judge.protocol import require_claim
from affidavit.ledger.model import Chunk, JudgeIdentity, Reading

VERSION: Final = "1"
_CUT_OFF_REASON: Final = "length"


class ReplyCounts(msgspec.Struct, frozen=True, kw_only=True):
    """The outcomes of the pairs that were read."""

    requests: int
    cached: int
    unreadable: int
    refused: int
    spent: str | None


class ChatJudge:
    """Asks a model about each passage; replies are cached."""

    def __init__(self, settings: ChatSettings, client: ChatClient, cache: ReplyCache) -> None:
        self.settings = settings
        self._client = client
        self._cache = cache
        self.spending = client.spending
        self._cached = self._unreadable = self._refused = 0

    @property
    def reads_english_only(self) -> bool:
        """Whether likeness of words in another language would be taken for support."""
        return False

    @property
    def identity(self) -> JudgeIdentity:
        """Name, version, and the digest of the request; a reply cannot be reproduced."""
        asked = {
            "settings": self.settings.reply_settings(),
            "prompt": [PROMPT_VERSION, INSTRUCTIONS],
            "schema": REPLY_SCHEMA,
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

    def estimate(self, pairs: Iterable[tuple[str, Sequence[Chunk]]]) -> CostEstimate:
        """Return the requests and cost of reading these pairs, without the cached replies."""
        count, pending = 0, {}
        response_format = self.settings.formats[0]
        for claim, chunks in pairs:
            for chunk in chunks:
                count += 1
                messages, _ = self._messages(claim, chunk)
                key = self._key(messages)
                if key not in pending and not self._cache.has(key):
                    pending[key] = len(
                        msgspec.json.encode(request_body(self.settings, messages, response_format))
                    )
        return self.spending.estimate(count, list(pending.values()))

    def tally(self) -> ReplyCounts:
        """Return the counts so far."""
        cost = self.spending.cost
        spent = None
        if cost is not None:
            spent = ("" if self.spending.is_exact else "at most ") + self.spending.amount(cost)
        return ReplyCounts(
            requests=self.spending.requests,
            cached=self._cached,
            unreadable=self._unreadable,
            refused=self._refused,
            spent=spent,
        )

    def _outcome(
        self, claim: str, chunk: Chunk
    ) -> tuple[ParsedReply | UnreadableReply, str | None]:
        messages, remark = self._messages(claim, chunk)
        key = self._key(messages)
        entry = self._cache.find(key)
        if entry is None:
            entry = self._client.ask(messages)
            self._cache.keep(key, entry)
        else:
            self._cached += 1
        outcome = parse_reply(entry.content)
        if isinstance(outcome, UnreadableReply):
            self._unreadable += 1
            if entry.ending == _CUT_OFF_REASON:
                limit = self.settings.max_output_tokens
                outcome = UnreadableReply(f"it was cut at {limit} tokens; {outcome.problem}")
        if entry.format != self.settings.formats[0]:
            remark = "; ".join(filter(None, (remark, f"asked as {entry.format}")))
        return outcome, remark

    def _messages(self, claim: str, chunk: Chunk) -> tuple[list[dict[str, str]], str | None]:
        """Return the messages, and a remark if the model does not see the whole chunk."""
        text, limit, remark = chunk.text, self.settings.max_evidence_characters, None
        if len(text) > limit:
            text = (select_window(claim, text).text or text)[:limit]
            remark = f"the model saw {len(text)} of {len(chunk.text)} characters, the closest ones"
        heading = " / ".join(chunk.heading_path)
        return messages_for(*map(_sendable, (claim, heading, text))), remark

    def _key(self, messages: list[dict[str, str]]) -> str:
        return digest_of(
            jcs(
                {
                    "asked": self.settings.reply_settings(),
                    "messages": messages,
                    "schema": REPLY_SCHEMA,
                }
            )
        )

    def _require_some(
        self, outcomes: list[tuple[ParsedReply | UnreadableReply, str | None]]
    ) -> None:
        """Refuse the verdict not_found if no reply about the claim could be read."""
        problems = [each.problem for each, _ in outcomes if isinstance(each, UnreadableReply)]
        if problems and len(problems) == len(outcomes):
            raise AffidavitError(
                faults.REPLIES_UNREADABLE,
                count=len(problems),
                problem=problems[0],
                cache=self._cache.folder,
            )


def chat_judge(settings: ChatSettings, folder: Path, environment: Mapping[str, str]) -> ChatJudge:
    """Return the judge of these settings. Its key, if any, comes from the environment."""
    variable = settings.api_key_env
    key = None if variable is None else api_key_from(variable, environment)
    client = ChatClient(settings, ChatEndpoint(settings, key), CostAccount(settings))
    return ChatJudge(settings, client, ReplyCache(folder))


def _sendable(text: str) -> str:
    """Return a text with a UTF-8 form: a lone surrogate becomes U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
