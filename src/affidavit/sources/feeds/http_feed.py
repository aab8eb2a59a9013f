"""JSON over HTTP(S) as a source: an address with slots, or any address on an allowed host.

An answer counts if its status is 200, its type is JSON in UTF-8 without compression, and its body
is strict JSON: two equal keys or NaN make it none.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote, unquote, urlencode, urlsplit

from affidavit.base.errors import AffidavitError
from affidavit.base.json_limits import DOCUMENT_LIMITS, JsonLimits, JsonValue
from affidavit.base.strict_json import decode
from affidavit.checks.facts import Source
from affidavit.http.outcome import Answer
from affidavit.sources.feeds.addresses import AllowList
from affidavit.sources.feeds.feed import Args, Errand, Reply, Silence, SilentError
from affidavit.sources.feeds.http_exchange import Wanted, fetched
from affidavit.sources.feeds.observed import Timing, find_http_date
from affidavit.sources.feeds.secret import Outgoing, refuse_echo, spoken_from
from affidavit.sources.feeds.settings import FromEnvironmentV1, Spoken
from affidavit.sources.feeds.slots import filled_text, single_argument

_JSON_TYPE: Final = re.compile(r"application/(?:[a-z0-9.-]+\+)?json", re.IGNORECASE)
_STANDING: Final = {
    "Accept": "application/json",
    "Accept-Encoding": "identity",
    "Connection": "close",
    "User-Agent": "affidavit",
}


@dataclass(frozen=True, slots=True)
class Caller:
    """How a source is asked over HTTP: what may be reached, what is sent, how much may come."""

    allowed: AllowList
    max_bytes: int
    headers: Mapping[str, Spoken] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)

    def get(
        self, url: str, errand: Errand, secrets: tuple[str, ...] = ()
    ) -> tuple[JsonValue, Answer]:
        """Return the JSON at an address and the answer that it came with."""
        headers = spoken_from(self.headers, self.environment)
        plain, secret = self._told_apart(headers)
        wanted = Wanted(url, _STANDING | plain, secret, self.max_bytes)
        answer = fetched(wanted, self.allowed, errand)
        raw = json_from(answer, self.max_bytes)
        refuse_echo(raw, (*secrets, *headers.secrets))
        return raw, answer

    def _told_apart(self, headers: Outgoing) -> tuple[dict[str, str], dict[str, str]]:
        plain: dict[str, str] = {}
        secret: dict[str, str] = {}
        for name, text in headers.texts.items():
            is_secret = isinstance(self.headers[name], FromEnvironmentV1)
            (secret if is_secret else plain)[name] = text
        return plain, secret


@dataclass(frozen=True, slots=True)
class HttpFeed:
    """One address, with slots in its path and its query."""

    source: Source
    url: str
    query: Mapping[str, Spoken]
    caller: Caller
    timing: Timing

    def ask(self, args: Args, errand: Errand) -> Reply:
        """Return what the server answers."""
        settings = {
            name: filled_text(said, args) if isinstance(said, str) else said
            for name, said in self.query.items()
        }
        outgoing = spoken_from(settings, self.caller.environment)
        url = filled_url(self.url, args)
        if outgoing.texts:
            url += ("&" if "?" in url else "?") + urlencode(outgoing.texts, quote_via=quote)
        raw, answer = self.caller.get(url, errand, outgoing.secrets)
        return Reply(raw, http_moment(self.timing, raw, answer, errand))


@dataclass(frozen=True, slots=True)
class AnyUrlFeed:
    """Any address on a host of the allow-list: the argument `url` names it."""

    source: Source
    caller: Caller
    timing: Timing

    def ask(self, args: Args, errand: Errand) -> Reply:
        """Return what the server answers."""
        raw, answer = self.caller.get(single_argument("url", args), errand)
        return Reply(raw, http_moment(self.timing, raw, answer, errand))


def filled_url(url: str, args: Args) -> str:
    """Return an address with its slots filled; an argument is never more than a part of it."""
    made = filled_text(url, args, lambda value: quote(value, safe=""))
    steps = unquote(urlsplit(made).path).split("/")
    if "." in steps or ".." in steps:
        raise SilentError(Silence.ARGUMENT, "an argument would lead to another place of the server")
    return made


def http_moment(timing: Timing, raw: JsonValue, answer: Answer, errand: Errand) -> str | None:
    """Return when an HTTP answer was observed, by the rule of `observed`."""
    return timing.moment(
        raw,
        errand.asked_at,
        modified=find_http_date(answer.headers.get("last-modified")),
        answered=find_http_date(answer.headers.get("date")),
    )


def json_from(answer: Answer, max_bytes: int) -> JsonValue:
    """Return the JSON of an answer, or raise the silence."""
    kind, _, parameters = answer.headers.get("content-type", "").partition(";")
    if not _JSON_TYPE.fullmatch(kind.strip()):
        said = kind.strip().lower() if re.fullmatch(r"[\w.+/-]{1,60}", kind.strip()) else "nothing"
        raise SilentError(Silence.CONTENT, f"the answer says it is {said}, not JSON")
    charset = re.search(r"charset\s*=\s*\"?([\w-]+)", parameters, re.IGNORECASE)
    if charset and charset[1].lower() not in ("utf-8", "utf8"):
        raise SilentError(Silence.CONTENT, "the answer says that its text is not UTF-8")
    if answer.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise SilentError(Silence.CONTENT, "the answer is compressed, which was not asked for")
    try:
        return decode(answer.body, JsonLimits(max_bytes, DOCUMENT_LIMITS.max_depth))
    except AffidavitError as error:
        problem = f"the body is not strict JSON ({error.fault.name})"
        raise SilentError(Silence.MALFORMED, problem) from None
