"""The options of a stream table: which there are, and which values they take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from anabranch.errors import InvalidOption
from anabranch.schedule.schedules import format_schedule, parse_schedule
from anabranch.settings import Settings
from anabranch.streams.stream_graph import consistency_of, policy_of
from anabranch.streams.stream_table import Options

WORDS: Mapping[str, tuple[str | None, ...]] = {
    "refresh_mode": ("auto", "differential", "full", "immediate"),
    "diamond_consistency": ("atomic", "none", None),
    "diamond_schedule_policy": ("fastest", "slowest", None),
    "bootstrap_gating": ("respect", "ignore"),
    "fuse": ("off", "on", "auto"),
}
MAX_CEILING = 1 << 62
MAX_SENSITIVITY = 1_000
NAMES = tuple(field.name for field in fields(Options))


def parse_options(given: Mapping[str, Any], settings: Settings, base: Options | None = None) -> Options:
    """The options in force once `given` are set, or the error that says which can't be."""
    for name in given:
        if name not in NAMES:
            raise InvalidOption(
                f"a stream table has no option {_format_value(name)}",
                hint=f"the options are {', '.join(NAMES)}.",
            )
    changed = {name: parse_option_value(name, value) for name, value in given.items()}
    options = replace(base or Options(), **changed)
    if options.refresh_mode == "immediate" and options.fuse != "off":
        raise InvalidOption(
            "an immediate stream table has no fuse",
            detail="its changes are part of the write that made them: they can't be held back.",
            hint="fuse = off, or another refresh_mode.",
        )
    if policy_of(options, settings) == "slowest" and consistency_of(options, settings) == "none":
        if options.diamond_schedule_policy is None:
            return options
        raise InvalidOption(
            "diamond_schedule_policy = slowest needs diamond_consistency = atomic",
            detail="without it the members of a diamond refresh on their own, each by its own schedule.",
        )
    return options


def parse_option_value(name: str, value: Any) -> Any:
    """One option's value as it is stored, or the error that says what it takes."""
    if name == "schedule":
        return format_schedule(parse_schedule(value))
    if name in WORDS:
        folded = value.strip().lower() if isinstance(value, str) else value
        if folded not in WORDS[name]:
            words = ", ".join(str(word) for word in WORDS[name] if word is not None)
            raise InvalidOption(
                f"{_format_value(value)} can't be the option {name}", hint=f"it takes {words}."
            )
        return folded
    if name == "fuse_ceiling" and value is None:
        return None
    limit = MAX_CEILING if name == "fuse_ceiling" else MAX_SENSITIVITY
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= limit:
        raise InvalidOption(
            f"{_format_value(value)} can't be the option {name}", hint=f"it takes a number from 1 to {limit}."
        )
    return value


def _format_value(value: object) -> str:
    text = ascii(value)
    return text if len(text) <= 60 else text[:57] + "..."
