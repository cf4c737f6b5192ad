"""When a stream table should be refreshed, as people write it.

    "30s", "1h30m"                      every so often after the last refresh
    "*/5 * * * *", "@daily"             when a clock says so, in UTC
    "0 6 * * MON-FRI Europe/Vienna"     … or in a time zone
    "calculated"                        as often as those who read it need
    None                                only by hand

In a zone that changes its clocks, cron keeps the habits of Debian's: an hour of day that is skipped counts
when the clocks have gone forward, one that comes twice counts the first time; `*` hours and minutes go on
through both.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property, lru_cache
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from anabranch.durations import format_duration, parse_duration
from anabranch.errors import InvalidSchedule

MIN_PERIOD = timedelta(seconds=1)
MAX_CRON_LENGTH = 200
FIRINGS_COMPARED = 12
AT_ONCE = datetime(1970, 1, 1, tzinfo=UTC)
"""When a table is due that was never refreshed."""

ALIASES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
}
HINT = 'write a duration ("30s", "5m"), cron ("*/5 * * * *", "@daily"), "calculated", or None for by hand.'

_ZONE = re.compile(r"[A-Za-z][A-Za-z0-9_+\-]*(?:/[A-Za-z0-9_+\-]+)*")
# A time from which firings are compared: any will do, as long as it is always the same.
_SAMPLE = datetime(2024, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Every:
    """`period` after the last refresh."""

    period: timedelta

    def __post_init__(self) -> None:
        if self.period < MIN_PERIOD:
            raise InvalidSchedule(
                f"a schedule of {format_duration(self.period)} is too short",
                hint=f"{format_duration(MIN_PERIOD)} is the least.",
            )

    def __str__(self) -> str:
        return format_duration(self.period)

    @property
    def shortest_gap(self) -> timedelta:
        """What counts when schedules are compared."""
        return self.period


@dataclass(frozen=True)
class Cron:
    """At the times that a cron expression of five fields, or its alias, names in a time zone."""

    expression: str
    zone: str = "UTC"

    def __post_init__(self) -> None:
        if len(self.expression) > MAX_CRON_LENGTH:
            raise InvalidSchedule(
                f"a cron expression of {len(self.expression)} characters is too long",
                hint=f"{MAX_CRON_LENGTH} are allowed.",
            )
        if len(self._fields.split()) != 5:
            raise _invalid_cron(self.expression, "it must have five fields.")
        try:
            self._in_zone(_SAMPLE)
            next(CronSim(self._fields, _SAMPLE))
        except CronSimError as wrong:
            raise _invalid_cron(self.expression, f"{wrong}.") from None
        except StopIteration:
            raise _invalid_cron(self.expression, "it names a day that never comes.") from None

    def __str__(self) -> str:
        return self.expression if self.zone == "UTC" else f"{self.expression} {self.zone}"

    def next_firing(self, moment: datetime) -> datetime:
        """The first firing later than `moment`, in UTC."""
        # Where an hour comes twice, the next firing in local time may lie before `moment`.
        firings = (found.astimezone(UTC) for found in CronSim(self._fields, self._in_zone(moment)))
        return next(found for found in firings if found > moment)

    @cached_property
    def shortest_gap(self) -> timedelta:
        """What counts when schedules are compared: the shortest time between a few firings in a row."""
        firings = islice(CronSim(self._fields, _SAMPLE), FIRINGS_COMPARED)
        return min(later - sooner for sooner, later in pairwise(firings))

    @property
    def _fields(self) -> str:
        return ALIASES.get(self.expression, self.expression)

    def _in_zone(self, moment: datetime) -> datetime:
        if self.zone == "UTC":
            return moment
        try:
            if not _ZONE.fullmatch(self.zone):
                raise ValueError(self.zone)
            return moment.astimezone(ZoneInfo(self.zone))
        except (KeyError, ValueError, OSError):
            raise InvalidSchedule(
                f"there is no time zone {self.zone[:40]!a}",
                hint="write its name as in Europe/Vienna, after the five fields of cron.",
            ) from None


@dataclass(frozen=True)
class Calculated:
    """As often as the tightest schedule of the stream tables that read it."""

    def __str__(self) -> str:
        return "calculated"


@dataclass(frozen=True)
class ByHand:
    """Never by itself."""

    def __str__(self) -> str:
        return "by hand"


Timed = Every | Cron
Effective = Every | Cron | ByHand
Schedule = Every | Cron | Calculated | ByHand


def parse_schedule(value: object) -> Schedule:
    """The schedule that `value` says, or an `InvalidSchedule`.

    >>> parse_schedule("1h30m"), parse_schedule("@daily Europe/Vienna")
    (Every(period=datetime.timedelta(seconds=5400)), Cron(expression='@daily', zone='Europe/Vienna'))
    """
    if value is None:
        return ByHand()
    if not isinstance(value, str):
        raise InvalidSchedule(f"a schedule must be text or None, not {type(value).__name__}", hint=HINT)
    return _parse_text(value)


@lru_cache(maxsize=1024)
def _parse_text(value: str) -> Schedule:
    words = value.split()
    match words:
        case [word] if word.lower() == "calculated":
            return Calculated()
        case [alias, *zone] if alias.startswith("@") and len(zone) <= 1:
            if alias.lower() not in ALIASES:
                raise _invalid_cron(alias, f"known are {', '.join(ALIASES)}.")
            return Cron(alias.lower(), *zone)
        case [_, _, _, _, _]:
            return Cron(" ".join(words))
        case [_, _, _, _, _, zone]:
            return Cron(" ".join(words[:5]), zone)
    try:
        period = parse_duration(value)
    except ValueError:
        raise InvalidSchedule(f"{value[:40]!a} is not a schedule", hint=HINT) from None
    return Every(period)


def format_schedule(schedule: Schedule) -> str | None:
    """What `parse_schedule` reads back."""
    return None if isinstance(schedule, ByHand) else str(schedule)


def next_due(schedule: Timed, last: datetime | None) -> datetime:
    """The first time, in UTC, at which a table that was refreshed at `last` should be refreshed again."""
    if last is None:
        return AT_ONCE
    if last.tzinfo is None:
        raise ValueError("a moment needs its zone")
    match schedule:
        case Every(period):
            return last.astimezone(UTC) + period
        case Cron():
            return schedule.next_firing(last.astimezone(UTC))


def _invalid_cron(expression: str, detail: str) -> InvalidSchedule:
    return InvalidSchedule(
        f"{expression[:40]!a} is not a cron expression",
        detail=detail,
        hint="minute, hour, day of month, month, day of week: */5 * * * * is every five minutes.",
    )
