"""The knobs of a lake: their names, defaults and limits.

A value comes from the first of: the arguments of `connect`, the environment (`ANABRANCH_…`), what
`lake.set` stored in the lake, the default.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

from anabranch.durations import format_duration, parse_duration
from anabranch.errors import InvalidSetting, UnknownSetting

ENVIRONMENT_PREFIX = "ANABRANCH_"


@dataclass(frozen=True)
class SettingType:
    """What a setting takes: in words, and how its text is read."""

    words: str
    read: Callable[[str], Any]


@dataclass(frozen=True)
class Setting:
    """One knob: its default, what it takes, and what it is for."""

    name: str
    default: str
    takes: SettingType
    meaning: str
    at_opening: bool = False
    """Whether a stored value counts only from the next opening of the lake on."""

    def read(self, text: str) -> Any:
        """The value that a text stands for, or a ValueError that says what it must be."""
        return self.takes.read(text)


def _read_flag(text: str) -> bool:
    folded = text.strip().lower()
    if folded in ("true", "on", "yes", "1"):
        return True
    if folded in ("false", "off", "no", "0"):
        return False
    raise ValueError("it must be true or false")


def _whole_number(low: int, high: int) -> SettingType:
    def read(text: str) -> int:
        value = int(text)
        if not low <= value <= high:
            raise ValueError(f"it must be from {low} to {high}")
        return value

    return SettingType(f"a whole number from {low:,} to {_format_limit(high)}", read)


def _format_limit(limit: int) -> str:
    """A limit that nobody counts to, as a power of two."""
    power = limit.bit_length() - 1
    return f"2^{power}" if power >= 40 and limit == 1 << power else f"{limit:,}"


def _or_none(taken: SettingType) -> SettingType:
    """What `taken` takes, or the word `none`."""
    return SettingType(
        f"{taken.words}, or none", lambda text: None if text.strip().lower() == "none" else taken.read(text)
    )


def _duration(low: str, high: str) -> SettingType:
    def read(text: str) -> timedelta:
        value = parse_duration(text)
        if not parse_duration(low) <= value <= parse_duration(high):
            raise ValueError(f"it must be from {low} to {high}")
        return value

    return SettingType(f"a duration from {low} to {high}", read)


def _one_of(*words: str) -> SettingType:
    def read(text: str) -> str:
        if (folded := text.strip().lower()) not in words:
            raise ValueError("it must be " + " or ".join(words))
        return folded

    return SettingType(" or ".join(words), read)


def _read_zone(text: str) -> str:
    try:
        ZoneInfo(text)
    except Exception as error:
        raise ValueError("it must be a time zone such as UTC or Europe/Vienna") from error
    return text


_FLAG = SettingType("true or false", _read_flag)
_ZONE = SettingType("a time zone such as UTC or Europe/Vienna", _read_zone)

_SETTINGS = (
    Setting("time_zone", "UTC", _ZONE, "the time zone in which queries read and show timestamps", True),
    Setting(
        "snapshot_retention",
        "7d",
        _duration("0s", "3650d"),
        "how long old versions stay readable, for time travel",
    ),
    Setting(
        "orphan_grace", "24h", _duration("0s", "3650d"), "how long a file that nobody needs is left alone"
    ),
    Setting("pin_lifetime", "1h", _duration("1s", "30d"), "how long an unused pinned snapshot holds"),
    Setting("catalog_timeout", "60s", _duration("1s", "1h"), "how long to wait for the catalog database"),
    Setting("commit_retries", "20", _whole_number(0, 1000), "how often a write starts over after a conflict"),
    Setting(
        "diamond_consistency",
        "atomic",
        _one_of("atomic", "none"),
        "whether tables of a diamond publish together",
    ),
    Setting(
        "diamond_schedule_policy",
        "fastest",
        _one_of("fastest", "slowest"),
        "whether a diamond waits for its first or its last due member",
    ),
    Setting(
        "tick_watermark_enabled", "true", _FLAG, "whether a tick reads everything at the lsn it began with"
    ),
    Setting("allow_circular", "false", _FLAG, "whether stream tables may read each other in a circle"),
    Setting(
        "max_fixpoint_iterations",
        "100",
        _whole_number(1, 1_000_000),
        "after how many passes a cycle or recursion is given up",
    ),
    Setting(
        "tick_interval",
        "1s",
        _duration("10ms", "1h"),
        "how often a scheduler that waits looks whether it leads",
    ),
    Setting(
        "default_schedule",
        "1m",
        _duration("1s", "3650d"),
        "how often `calculated` refreshes what nobody reads",
    ),
    Setting(
        "max_consecutive_failures",
        "5",
        _whole_number(1, 1000),
        "how many scheduled failures in a row suspend a stream table",
    ),
    Setting(
        "retry_backoff", "1s", _duration("1ms", "1d"), "the wait after a first failure; it doubles each time"
    ),
    Setting("retry_backoff_cap", "60s", _duration("1ms", "30d"), "the longest wait after a failure"),
    Setting(
        "fuse_default_ceiling",
        "none",
        _or_none(_whole_number(1, 1 << 62)),
        "how many pending changes a fuse without a ceiling of its own lets through",
    ),
    Setting("parallelism", "4", _whole_number(1, 64), "how many stream tables are refreshed side by side"),
    Setting(
        "history_retention", "30d", _duration("0s", "3650d"), "how long the history of refreshes is kept"
    ),
    Setting(
        "gate_stale_after",
        "1h",
        _duration("1s", "3650d"),
        "how long a gate may be shut before a Notice tells",
    ),
    Setting(
        "scheduler_lease",
        "30s",
        _duration("100ms", "1d"),
        "how long a scheduler that fell silent still leads",
    ),
    Setting(
        "inner_state",
        "auto",
        _one_of("auto", "never", "always"),
        "which counts, sums and averages inside of a query are stored, hidden beside its result, "
        "so that a change is added to them: those of few groups (auto), none, or all",
    ),
    Setting(
        "driver_rewrite_bytes",
        str(64 << 20),
        _whole_number(0, 1 << 40),
        "up to how many bytes of Parquet a row-level write rewrites without a Spark job",
    ),
    Setting(
        "driver_rows",
        "50000",
        _whole_number(0, 1 << 20),
        "up to how many rows of a table a refresh reads without a Spark job, if little changed; "
        "0: only a small stored result, to finish what Spark has left of a change, "
        "and rows that are looked up for Spark",
    ),
    Setting(
        "driver_lookup_bytes",
        str(1 << 30),
        _whole_number(0, 1 << 40),
        "up to how many bytes of Parquet a refresh looks into for a few rows without a Spark job; "
        "an eighth of it on an object store; 0: Spark reads what it needs of large tables itself",
    ),
    Setting(
        "driver_column_bytes",
        str(8 << 30),
        _whole_number(0, 1 << 44),
        "up to how many bytes of this machine's disk columns take that were looked into, kept for next time",
    ),
)

SETTINGS: Mapping[str, Setting] = {setting.name: setting for setting in _SETTINGS}


def read_setting(name: str, value: object) -> Any:
    """The typed value of a setting, or a typed error that says what it takes."""
    setting = SETTINGS.get(name) if isinstance(name, str) else None
    if setting is None:
        raise UnknownSetting(
            f"there is no setting {_format_value(name)}",
            hint="the settings are " + ", ".join(sorted(SETTINGS)) + ".",
        )
    try:
        return setting.read(setting_text(value))
    except ValueError as error:
        raise InvalidSetting(
            f"{_format_value(value)} can't be the setting {name}", detail=f"{error}."
        ) from error


def _format_value(value: object) -> str:
    text = ascii(value)
    return text if len(text) <= 60 else text[:57] + "..."


def setting_text(value: object) -> str:
    """A value as it is stored."""
    return format_duration(value) if isinstance(value, timedelta) else str(value)


class Settings:
    """The settings in force, by the order of precedence above."""

    def __init__(
        self,
        arguments: Mapping[str, object],
        environment: Mapping[str, str] | None = None,
        stored: Mapping[str, str] | None = None,
    ) -> None:
        environment = os.environ if environment is None else environment
        self._values = {name: setting.read(setting.default) for name, setting in SETTINGS.items()}
        self._origins: dict[str, str] = {}
        for name, kept in (stored or {}).items():
            if name in SETTINGS:
                self._values[name] = read_setting(name, kept)
                self._origins[name] = "lake"
        for name in SETTINGS:
            if (text := environment.get(ENVIRONMENT_PREFIX + name.upper())) is not None:
                self._values[name] = read_setting(name, text)
                self._origins[name] = "environment"
        for name, value in arguments.items():
            self._values[name] = read_setting(name, value)
            self._origins[name] = "argument"

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def origin(self, name: str) -> str:
        """Where a value comes from: `argument`, `environment`, `lake` or `default`."""
        return self._origins.get(name, "default")

    def store(self, name: str, value: object) -> str:
        """Take a value that the lake stores; its text. Arguments and environment stay in force."""
        typed = read_setting(name, value)
        if self.origin(name) in ("lake", "default") and not SETTINGS[name].at_opening:
            self._values[name] = typed
            self._origins[name] = "lake"
        return setting_text(value)
