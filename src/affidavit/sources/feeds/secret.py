"""Secrets of sources: taken from the environment when they are sent, and never shown."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from affidavit.base.canonical import sorted_compact
from affidavit.base.json_limits import JsonValue
from affidavit.http.secret import is_worth_hiding
from affidavit.sources.feeds.feed import Silence, SilentError
from affidavit.sources.feeds.settings import FromEnvironmentV1, Spoken

_SENDABLE: Final = re.compile(r"[ -~]{1,4096}")


@dataclass(frozen=True, slots=True)
class Outgoing:
    """Texts to send, and the secrets among them. It has no readable form."""

    texts: Mapping[str, str] = field(repr=False)
    secrets: tuple[str, ...] = field(repr=False)


def spoken_from(settings: Mapping[str, Spoken], environment: Mapping[str, str]) -> Outgoing:
    """Return the texts that settings stand for; a variable that is not set is a silence."""
    texts, secrets = {}, []
    for name, setting in settings.items():
        if isinstance(setting, FromEnvironmentV1):
            value = secret_from(setting, environment)
            secrets.append(value)
            texts[name] = setting.prefix + value
        else:
            texts[name] = setting
    return Outgoing(texts, tuple(secrets))


def secret_from(setting: FromEnvironmentV1, environment: Mapping[str, str]) -> str:
    """Return what an environment variable holds."""
    value = environment.get(setting.env, "").strip()
    if not _SENDABLE.fullmatch(value):
        problem = f"the environment variable {setting.env} holds nothing that can be sent"
        raise SilentError(Silence.SECRET, problem)
    return value


def refuse_echo(raw: JsonValue, secrets: tuple[str, ...]) -> None:
    """Raise if an answer repeats a secret: it would stand in a receipt for everyone to read."""
    hidden = list(filter(is_worth_hiding, secrets))
    if not hidden:
        return
    text = sorted_compact(raw).decode("ascii")
    if any(json.dumps(secret)[1:-1] in text for secret in hidden):
        raise SilentError(Silence.SECRET, "the answer repeats a secret that was sent to the source")
