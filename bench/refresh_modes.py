"""Three stream tables for each query of TPC-H, refreshed in turns: full, differential, and as `auto` chooses.

All are real stream tables in one lake, on the same storage and in the same session; a refresh is what a user
calls, commit and history included. Beside them DuckDB computes the same text from nothing, over the same
rows. The first fill of the others warms the full ones up, the first rounds the others, and `auto` learns what
a refresh of either kind takes. After every round rows are counted against DuckDB's; in the end all must have
the rows of the full one, which is the text computed from nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa

import anabranch as ab
from anabranch.names import TableName
from bench import duckdb_peer
from bench.harness import Size
from bench.plain_spark import PlainSpark
from bench.profile_refresh import profile_work
from bench.tpch import create_stream, open_tpch_lake, read_queries, stream_name
from tests.tpch.rounds import KEYS

MODES = ("full", "differential", "auto")
NO_DATA = "NO_DATA"

Change = Callable[[ab.Lake, int], int]
"""Change the tables for the round of that number; how many rows that is."""


@dataclass(frozen=True)
class TimedRefresh:
    """One refresh: how it was done and why, its seconds, what they were spent on, its jobs."""

    mode: str
    action: str
    reason: str
    spent: dict[str, float]
    spark_jobs: int

    @property
    def seconds(self) -> float:
        """All of them."""
        return sum(self.spent.values())


@dataclass
class QueryTimings:
    """The measured turns of one query, a list for each mode, and the peer's seconds."""

    query: str
    strategy: str
    by_mode: dict[str, list[TimedRefresh]] = field(default_factory=lambda: {mode: [] for mode in MODES})
    peer: list[float] = field(default_factory=list)
    plain: list[float] = field(default_factory=list)
    """Plain Spark's seconds, if it takes part."""
    disagreements: int = 0
    """Rounds after which the peer had another number of rows."""


@dataclass(frozen=True)
class RoundPlan:
    """How many rounds warm up, how many are measured, and who takes part."""

    rounds: int
    warm_up: int = 1
    modes: tuple[str, ...] = MODES
    full_rounds: int | None = None
    """Refresh the full ones in so many of the last rounds alone: they may take nearly all of the time."""
    with_plain: bool = False
    """Whether plain Spark takes part, over compacted Parquet files."""

    @property
    def full_round_count(self) -> int:
        """In how many rounds the full ones take part."""
        return self.rounds if self.full_rounds is None else min(self.full_rounds, self.rounds)

    def modes_in_round(self, number: int) -> list[str]:
        """The modes of a round, in their order: what comes first finds colder files and caches.

        >>> RoundPlan(rounds=3).modes_in_round(0), RoundPlan(rounds=3).modes_in_round(2)
        (['differential', 'auto'], ['auto', 'full', 'differential'])
        >>> [len(RoundPlan(rounds=3, full_rounds=1).modes_in_round(number)) for number in range(4)]
        [2, 2, 2, 3]
        """
        full = number >= self.warm_up + self.rounds - self.full_round_count
        turned = [self.modes[(number + place) % len(self.modes)] for place in range(len(self.modes))]
        return [mode for mode in turned if full or mode != "full"]


def measure_modes(folder: Path, size: Size, change: Change, course: RoundPlan) -> list[QueryTimings]:
    """Measure the rounds of a course, after those that warm up."""
    with open_tpch_lake(folder, size.scale) as lake:
        texts, modes = read_queries(size.queries), course.modes
        found = {
            name: QueryTimings(name, _create_stream_tables(lake, name, text, modes))
            for name, text in texts.items()
        }
        for number in range(course.warm_up + course.rounds):
            _run_round(lake, texts, found, change, number, course)
        for name in texts:
            check_rows(lake, name, modes)
        print("  all results are those of the full refresh", flush=True)
    return list(found.values())


def _create_stream_tables(lake: ab.Lake, name: str, text: str, modes: tuple[str, ...]) -> str:
    """Create the stream tables of a query; how it is kept, stored table by stored table."""
    for mode in modes:
        create_stream(lake, name, mode, initialize=mode != "full")
    context = lake._context
    differential = TableName.parse(stream_name(name, "differential"))
    definition = lake._definitions.get(differential, text, "differential", context.catalog.lake_version())
    strategy = " + ".join(piece.maintained.strategy for piece in definition.stored_tables)  # type: ignore[union-attr]
    print(f"  {name} is kept by {strategy}", flush=True)
    return strategy


def _run_round(
    lake: ab.Lake,
    texts: dict[str, str],
    found: dict[str, QueryTimings],
    change: Change,
    number: int,
    course: RoundPlan,
) -> None:
    changed = change(lake, number)
    warm_up = number < course.warm_up
    print(f"  round {number}: {changed:,} rows changed{', to warm up' if warm_up else ''}", flush=True)
    order = course.modes_in_round(number)
    with TemporaryDirectory() as clean, duckdb_peer.open_connection(lake, KEYS, Path(clean)) as connection:
        plain_spark = PlainSpark(lake, Path(clean), KEYS) if course.with_plain else None
        for name, text in texts.items():
            turns = [_time_refresh(lake, name, mode) for mode in order]
            plain = [plain_spark.measure_query(text)[0]] if plain_spark else []
            seconds, rows = duckdb_peer.measure_query(connection, text, Path(clean) / f"{name}.parquet")
            found[name].disagreements += _has_other_row_count(lake, name, rows)
            if not warm_up:
                found[name].peer.append(seconds)
                found[name].plain += plain
                for turn in turns:
                    found[name].by_mode[turn.mode].append(turn)
            shown = ", ".join(f"{turn.mode} {turn.seconds:.2f} s" for turn in sorted(turns, key=_mode_order))
            shown += _format_auto_action(turns) + "".join(f", plain Spark {one:.2f} s" for one in plain)
            print(f"    {name} {shown}, DuckDB {seconds:.2f} s", flush=True)
            order = order[1:] + order[:1]


def _time_refresh(lake: ab.Lake, name: str, mode: str) -> TimedRefresh:
    """Refresh one; the full one also if nothing that it reads has changed: that is what it is there for."""
    record = []

    def refresh() -> None:
        record.append(lake.refresh_stream_table(stream_name(name, mode), full=mode == "full"))

    spent, jobs = profile_work(lake._context, refresh)
    return TimedRefresh(mode, record[0].action, record[0].reason or "", spent, jobs)


def _has_other_row_count(lake: ab.Lake, name: str, found: int) -> bool:
    """Whether the peer has another number of rows.

    Its averages are floating point where Spark's are decimal, so a row at the edge of a filter may differ.
    """
    stored = (
        lake._context.catalog.lake_version().version(TableName.parse(stream_name(name, "differential"))).rows
    )
    if found != stored:
        print(f"    {name} has {stored} rows, in DuckDB {found}", flush=True)
    return found != stored


def check_rows(lake: ab.Lake, name: str, modes: tuple[str, ...]) -> None:
    """All have the rows of the full one, which was computed from the same versions."""
    expected = sort_rows(lake.arrow(stream_name(name, "full")))
    for mode in modes:
        assert sort_rows(lake.arrow(stream_name(name, mode))).equals(expected), (
            f"{name} differs in mode {mode}"
        )


def sort_rows(rows: pa.Table) -> pa.Table:
    return rows.sort_by([(column, "ascending") for column in rows.column_names]).combine_chunks()


def _mode_order(turn: TimedRefresh) -> int:
    return MODES.index(turn.mode)


def _format_auto_action(turns: list[TimedRefresh]) -> str:
    return "".join(f" ({turn.action.lower()})" for turn in turns if turn.mode == "auto")
