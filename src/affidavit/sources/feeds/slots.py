"""Slots: where a setting takes an argument of the check. `{city}` is the argument `city`.

A setting that is one slot and nothing else takes the argument as it is; within a longer text it
must be a single value. Which slots a setting has is known when it is read, so a tool whose settings
need an argument that it does not require is refused before anything is asked.
"""

import re
from collections.abc import Callable, Iterator
from typing import Final

from affidavit.base.json_limits import JsonValue
from affidavit.checks.values import is_single, kind_of, text_of
from affidavit.sources.feeds.feed import Args, Silence, SilentError

_SLOT: Final = re.compile(r"\{([^{}]*)\}")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")


def slots_in(setting: JsonValue) -> Iterator[str]:
    """Yield the names of the slots of a setting, with those of its members."""
    if isinstance(setting, str):
        yield from _SLOT.findall(setting)
    elif isinstance(setting, dict):
        for member in setting.values():
            yield from slots_in(member)
    elif isinstance(setting, list):
        for member in setting:
            yield from slots_in(member)


def find_slot_problem(setting: JsonValue, required: tuple[str, ...]) -> str | None:
    """Return what is wrong with the slots of a setting, or None."""
    for name in slots_in(setting):
        if not _NAME.fullmatch(name):
            return f"{{{name}}} is no slot: a slot is the name of an argument in braces"
        if name not in required:
            return f"{{{name}}} is not among required_args, and nothing could stand in for it"
    return None


def filled(setting: JsonValue, args: Args) -> JsonValue:
    """Return a setting with its slots filled."""
    if isinstance(setting, dict):
        return {key: filled(member, args) for key, member in setting.items()}
    if isinstance(setting, list):
        return [filled(member, args) for member in setting]
    if not isinstance(setting, str):
        return setting
    whole = _SLOT.fullmatch(setting)
    return argument(whole[1], args) if whole else filled_text(setting, args)


def filled_text(setting: str, args: Args, spelled: Callable[[str], str] = str) -> str:
    """Return a text with its slots filled; `spelled` is how a value is written there."""
    return _SLOT.sub(lambda slot: spelled(single_argument(slot[1], args)), setting)


def argument(name: str, args: Args) -> JsonValue:
    """Return an argument; a check without it was not meant for this tool."""
    if name not in args:
        raise SilentError(Silence.ARGUMENT, f"the argument {name} is not given")
    return args[name]


def single_argument(name: str, args: Args) -> str:
    """Return an argument as text; a list or an object has none."""
    value = argument(name, args)
    if not is_single(value):
        raise SilentError(
            Silence.ARGUMENT, f"the argument {name} is {kind_of(value)}, not a single value"
        )
    return text_of(value)
