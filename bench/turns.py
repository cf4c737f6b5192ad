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
from bench import duck
from bench.harness import Size
from bench.spent import profiled
from bench.tpch import create_stream, stream_name, texts_of, tpch_lake
from tests.tpch.rounds import KEYS

MODES = ("full", "differential", "auto")
NO_DATA = "NO_DATA"

Change = Callable[[ab.Lake, int], int]
"""Change the tables for the round of that number; how many rows that is."""


@dataclass(frozen=True)
class Turn:
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
class Turns:
    """The measured turns of one query, a list for each mode, and the peer's seconds."""

    query: str
    strategy: str
    by_mode: dict[str, list[Turn]] = field(default_factory=lambda: {mode: [] for mode in MODES})
    peer: list[float] = field(default_factory=list)
    disagreements: int = 0
    """Rounds after which the peer had another number of rows."""


@dataclass(frozen=True)
class Course:
    """How many rounds warm up, how many are measured, and who takes part."""

    rounds: int
    warm_up: int = 1
    modes: tuple[str, ...] = MODES
    full_rounds: int | None = None
    """Refresh the full ones in so many of the last rounds alone: they may take nearly all of the time."""

    @property
    def with_full(self) -> int:
        """In how many rounds the full ones take part."""
        return self.rounds if self.full_rounds is None else min(self.full_rounds, self.rounds)

    def taking_part(self, number: int) -> list[str]:
        """The modes of a round, in their order: what comes first finds colder files and caches.

        >>> Course(rounds=3).taking_part(0), Course(rounds=3).taking_part(2)
        (['differential', 'auto'], ['auto', 'full', 'differential'])
        >>> [len(Course(rounds=3, full_rounds=1).taking_part(number)) for number in range(4)]
        [2, 2, 2, 3]
        """
        full = number >= self.warm_up + self.rounds - self.with_full
        turned = [self.modes[(number + place) % len(self.modes)] for place in range(len(self.modes))]
        return [mode for mode in turned if full or mode != "full"]


def take_turns(folder: Path, size: Size, change: Change, course: Course) -> list[Turns]:
    """Measure the rounds of a course, after those that warm up."""
    with tpch_lake(folder, size.scale) as lake:
        texts, modes = texts_of(size.queries), course.modes
        found = {name: Turns(name, _created(lake, name, text, modes)) for name, text in texts.items()}
        for number in range(course.warm_up + course.rounds):
            _round(lake, texts, found, change, number, course)
        for name in texts:
            _check_rows(lake, name, modes)
        print("  all results are those of the full refresh", flush=True)
    return list(found.values())


def _created(lake: ab.Lake, name: str, text: str, modes: tuple[str, ...]) -> str:
    """Create the stream tables of a query; how it is kept, stored table by stored table."""
    for mode in modes:
        create_stream(lake, name, mode, initialize=mode != "full")
    parts = lake._parts
    differential = TableName.parse(stream_name(name, "differential"))
    definition = lake._definitions.get(differential, text, "differential", parts.catalog.moment())
    strategy = " + ".join(piece.maintained.strategy for piece in definition.pieces)  # type: ignore[union-attr]
    print(f"  {name} is kept by {strategy}", flush=True)
    return strategy


def _round(
    lake: ab.Lake,
    texts: dict[str, str],
    found: dict[str, Turns],
    change: Change,
    number: int,
    course: Course,
) -> None:
    changed = change(lake, number)
    warm_up = number < course.warm_up
    print(f"  round {number}: {changed:,} rows changed{', to warm up' if warm_up else ''}", flush=True)
    order = course.taking_part(number)
    with TemporaryDirectory() as clean, duck.opened(lake, KEYS, Path(clean)) as connection:
        for name, text in texts.items():
            turns = [_turn(lake, name, mode) for mode in order]
            seconds, rows = duck.computed(connection, text, Path(clean) / f"{name}.parquet")
            found[name].disagreements += _disagrees(lake, name, rows)
            if not warm_up:
                found[name].peer.append(seconds)
                for turn in turns:
                    found[name].by_mode[turn.mode].append(turn)
            shown = ", ".join(f"{turn.mode} {turn.seconds:.2f} s" for turn in sorted(turns, key=_place))
            print(f"    {name} {shown}{_chosen(turns)}, DuckDB {seconds:.2f} s", flush=True)
            order = order[1:] + order[:1]


def _turn(lake: ab.Lake, name: str, mode: str) -> Turn:
    """Refresh one; the full one also if nothing that it reads has changed: that is what it is there for."""
    record = []

    def work() -> None:
        record.append(lake.refresh_stream_table(stream_name(name, mode), full=mode == "full"))

    spent, jobs = profiled(lake._parts, work)
    return Turn(mode, record[0].action, record[0].reason or "", spent, jobs)


def _disagrees(lake: ab.Lake, name: str, found: int) -> bool:
    """Whether the peer has another number of rows.

    Its averages are floating point where Spark's are decimal, so a row at the edge of a filter may differ.
    """
    stored = lake._parts.catalog.moment().version(TableName.parse(stream_name(name, "differential"))).rows
    if found != stored:
        print(f"    {name} has {stored} rows, in DuckDB {found}", flush=True)
    return found != stored


def _check_rows(lake: ab.Lake, name: str, modes: tuple[str, ...]) -> None:
    """All have the rows of the full one, which was computed from the same versions."""
    expected = _sorted(lake.arrow(stream_name(name, "full")))
    for mode in modes:
        assert _sorted(lake.arrow(stream_name(name, mode))).equals(expected), f"{name} differs in mode {mode}"


def _sorted(rows: pa.Table) -> pa.Table:
    return rows.sort_by([(column, "ascending") for column in rows.column_names]).combine_chunks()


def _place(turn: Turn) -> int:
    return MODES.index(turn.mode)


def _chosen(turns: list[Turn]) -> str:
    return "".join(f" ({turn.action.lower()})" for turn in turns if turn.mode == "auto")
