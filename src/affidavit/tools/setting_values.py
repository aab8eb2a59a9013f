"""Fills settings with the arguments of a check and with secrets from the environment.

`{city}` is a slot for the argument `city`. A setting that is only a slot gets the argument as it
is; within a longer text the argument must be a scalar. Slots are validated when the settings are
read: a slot whose argument the tool does not require is refused.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from affidavit.base.canonical import sorted_compact
from affidavit.base.json_values import JsonValue
from affidavit.base.text import is_worth_masking
from affidavit.checks.values import is_scalar, kind_of, scalar_text
from affidavit.tools.feed import CheckArguments, FailureReason, SourceFailedError
from affidavit.tools.settings import EnvironmentSecret, HeaderValue

_PLACEHOLDER: Final = re.compile(r"\{([^{}]*)\}")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")


def placeholders_in(setting: JsonValue) -> Iterator[str]:
    """Yield the names of the slots of a setting and its members."""
    if isinstance(setting, str):
        yield from _PLACEHOLDER.findall(setting)
    elif isinstance(setting, dict | list):
        for member in setting.values() if isinstance(setting, dict) else setting:
            yield from placeholders_in(member)


def find_placeholder_problem(setting: JsonValue, required: tuple[str, ...]) -> str | None:
    """Return what is wrong with the slots of a setting, or None."""
    for name in placeholders_in(setting):
        if not _NAME.fullmatch(name):
            return f"{{{name}}} is no slot: a slot is the name of an argument in braces"
        if name not in required:
            return f"{{{name}}} is not among required_args, and nothing could stand in for it"
    return None


def fill_arguments(setting: JsonValue, args: CheckArguments) -> JsonValue:
    """Return a setting with its slots filled."""
    if isinstance(setting, dict):
        return {key: fill_arguments(member, args) for key, member in setting.items()}
    if isinstance(setting, list):
        return [fill_arguments(member, args) for member in setting]
    if not isinstance(setting, str):
        return setting
    whole = _PLACEHOLDER.fullmatch(setting)
    return required_argument(whole[1], args) if whole else fill_text(setting, args)


def fill_text(setting: str, args: CheckArguments, spelled: Callable[[str], str] = str) -> str:
    """Return a text with its slots filled. `spelled` encodes a value."""
    return _PLACEHOLDER.sub(lambda slot: spelled(single_argument(slot[1], args)), setting)


def required_argument(name: str, args: CheckArguments) -> JsonValue:
    """Return an argument, or raise if the check does not have it."""
    if name not in args:
        raise SourceFailedError(FailureReason.ARGUMENT, f"the argument {name} is not given")
    return args[name]


def single_argument(name: str, args: CheckArguments) -> str:
    """Return a scalar argument as text."""
    value = required_argument(name, args)
    if not is_scalar(value):
        raise SourceFailedError(
            FailureReason.ARGUMENT, f"the argument {name} is {kind_of(value)}, not a single value"
        )
    return scalar_text(value)


_SENDABLE: Final = re.compile(r"[ -~]{1,4096}")


@dataclass(frozen=True, slots=True)
class OutgoingValues:
    """Texts to send, and the secrets in them. Its repr shows neither."""

    texts: Mapping[str, str] = field(repr=False)
    secrets: tuple[str, ...] = field(repr=False)


def resolve_secrets(
    settings: Mapping[str, HeaderValue], environment: Mapping[str, str]
) -> OutgoingValues:
    """Return the texts of settings, or raise if an environment variable is not set."""
    texts, secrets = {}, []
    for name, setting in settings.items():
        if isinstance(setting, EnvironmentSecret):
            value = environment_secret(setting, environment)
            secrets.append(value)
            texts[name] = setting.prefix + value
        else:
            texts[name] = setting
    return OutgoingValues(texts, tuple(secrets))


def environment_secret(setting: EnvironmentSecret, environment: Mapping[str, str]) -> str:
    """Return the value of an environment variable."""
    value = environment.get(setting.env, "").strip()
    if not _SENDABLE.fullmatch(value):
        problem = f"the environment variable {setting.env} holds nothing that can be sent"
        raise SourceFailedError(FailureReason.SECRET, problem)
    return value


def refuse_echo(raw: JsonValue, secrets: tuple[str, ...]) -> None:
    """Raise if an answer repeats a secret, which would then be published in a receipt."""
    hidden = list(filter(is_worth_masking, secrets))
    if not hidden:
        return
    text = sorted_compact(raw).decode("ascii")
    if any(json.dumps(secret)[1:-1] in text for secret in hidden):
        raise SourceFailedError(
            FailureReason.SECRET, "the answer repeats a secret that was sent to the source"
        )
