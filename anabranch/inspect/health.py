"""Whether a lake can be read, written and scheduled: what was checked, what was found, what to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from anabranch.connection.lake_context import LakeContext
from anabranch.inspect.leading_scheduler import read_leading_scheduler
from anabranch.ledger.database_info import DatabaseInfo, read_database_info
from anabranch.ledger.stream_tables import read_streams
from anabranch.listing import Listing
from anabranch.streams.stream_table import ACTIVE, ERROR, INITIALIZING

OK, WARN, FAIL = "ok", "warn", "fail"
TOLERATED_DRIFT = timedelta(seconds=2)


@dataclass(frozen=True)
class Check:
    """One thing that was checked."""

    name: str
    outcome: str
    """`ok`, `warn`: it works, but see to it, or `fail`."""
    found: str
    hint: str | None = None


def run_health_checks(context: LakeContext) -> list[Check]:
    """Check catalog, warehouse, clocks, scheduler and stream tables. Changes nothing, starts no Spark."""
    with context.catalog.database.begin_read() as connection:
        vitals = read_database_info(connection)
        states = Counter(stream.status for stream in read_streams(connection).values())
    checks = [
        Check("catalog", OK, f"{context.catalog.database.format_url()}, schema at step {vitals.step}"),
        *_probe_warehouse_and_clocks(context, vitals),
        _probe_scheduler(context, sum(states.values())),
        _stream_tables_check(states),
    ]
    return Listing(checks)


def _probe_warehouse_and_clocks(context: LakeContext, vitals: DatabaseInfo) -> Iterator[Check]:
    probe = f"{context.warehouse.uri}/probe-{context.clock.new_id()}"
    before = context.clock.now()
    try:
        context.warehouse.write_bytes(probe, b"anabranch")
        info = context.warehouse.filesystem().get_file_info(context.warehouse.inner_path(probe))
        context.warehouse.delete(probe)
    except OSError as error:
        said = str(error).splitlines()[0][:300]
        yield Check("warehouse", FAIL, f"can't be written: {said}", "look at its permissions and free space.")
        return
    yield Check("warehouse", OK, f"{context.warehouse.uri} can be written")
    if info.mtime_ns is not None:
        written = datetime.fromtimestamp(info.mtime_ns / 1e9, UTC)
        yield _compare_clock("clock of the file system", written, before, context.clock.now())
    if vitals.time is not None:
        now = context.clock.now()
        yield _compare_clock("clock of the catalog", vitals.time, now - TOLERATED_DRIFT / 2, now)


def _compare_clock(name: str, theirs: datetime, earliest: datetime, latest: datetime) -> Check:
    """Another clock's time, against the span in which it was asked."""
    apart = max(earliest - theirs, theirs - latest, timedelta(0))
    if apart <= TOLERATED_DRIFT:
        return Check(name, OK, "agrees with this machine's")
    return Check(
        name,
        WARN,
        f"is {apart.total_seconds():,.0f} s apart from this machine's",
        "let both follow the same time server: schedules and leases go by the clock.",
    )


def _probe_scheduler(context: LakeContext, stream_tables: int) -> Check:
    if (leader := read_leading_scheduler(context)) is not None:
        until = f"{leader.leads_until:%Y-%m-%d %H:%M:%S}"
        return Check("scheduler", OK, f"one leads, in term {leader.term}; its lease runs until {until} UTC")
    if not stream_tables:
        return Check("scheduler", OK, "none runs, and there is nothing to schedule")
    return Check(
        "scheduler",
        WARN,
        "none runs: nothing is refreshed by itself",
        "start `anabranch run`, or lake.run().",
    )


def _stream_tables_check(states: Counter[str]) -> Check:
    found = f"{sum(states.values()):,}" + "".join(
        f", {count:,} {state}" for state, count in sorted(states.items()) if state != ACTIVE
    )
    stopped = [state for state in states if state not in (ACTIVE, INITIALIZING)]
    if not stopped:
        return Check("stream tables", OK, found)
    outcome = FAIL if states[ERROR] else WARN
    return Check("stream tables", outcome, found, "`anabranch status` says why.")
