"""Small changes of recursive tables, computed in this process: what an engine makes of them, without one."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest

import anabranch as ab
from anabranch.algebra.plan import Materialised, Plan
from anabranch.engine.local import fixpoint_rows, indexed_rows, interpret_fixpoint
from anabranch.engine.local.fixpoint_rows import FixpointRows
from anabranch.engine.local.held import Held
from anabranch.engine.local.interpret import TooDear
from anabranch.engine.local.kinds import BIGINT, INT, STRING, Elsewhere
from anabranch.errors import Damaged, EngineFailed, NoFixpoint
from anabranch.failpoints import FailpointReached, Failpoints
from tests.engines.lakes import duck_lake
from tests.recursion.draw import COLUMNS, Draw
from tests.recursion.graphs import COLUMNS as EDGES
from tests.recursion.graphs import IN_A_QUERY, NON_LINEAR, PROGRAMS, Edges, Program, graphs
from tests.recursion.memory import Diverges, least
from tests.recursion.on_duckdb import Given, KeptOnDuckDB, Tables
from tests.recursion.test_random_graphs import follow, follow_on_a_lake, look, rewrite
from tests.seeds import rotating_seeds

PROGRAMS_DRAWN, ROUNDS_DRAWN, MORE_PROGRAMS = 8, 5, 150
MANY_GRAPHS = 4

pytestmark = [pytest.mark.filterwarnings("ignore::anabranch.Notice"), pytest.mark.rotating(4)]


class Watched(FixpointRows):
    """Computes so many plans, and counts what became of them."""

    def __init__(self, sources: Any, members: Tables, most: int, plans: int, seen: Counter[str]) -> None:
        super().__init__(sources, members, most)
        self._plans, self.seen = plans, seen

    def compute(self, plan: Plan) -> Held:
        if not self._plans:
            self.seen["stopped"] += 1
            raise TooDear("enough")
        self._plans -= 1
        try:
            found = super().compute(plan)
        except Exception as error:
            self.seen[f"{type(error).__name__}: {error}"] += 1
            raise
        self.seen["computed"] += 1
        return found

    def look_up(self, *arguments: Any) -> Held | None:
        self.seen["look-ups in files"] += 1
        return super().look_up(*arguments)

    def find(self, *arguments: Any) -> Held:
        self.seen["look-ups in memory"] += 1
        return super().find(*arguments)


@dataclass
class Way:
    """How changes are computed: in this process, at most `plans` of them, where tables of more than `most`
    rows aren't read as a whole; rows of tables of more than `read` are looked up."""

    most: int = 50_000
    read: int = 1_000
    plans: int = 1_000_000
    seen: Counter[str] = field(default_factory=Counter)

    def __call__(self, sources: Given, members: Tables) -> FixpointRows:
        made: Any = sources
        return Watched(made, members, self.most, self.plans, self.seen)

    def keep(self, program: Program, edges: Edges) -> KeptOnDuckDB:
        """A program's tables over some edges, kept this way."""
        return KeptOnDuckDB(program.loops(), {"edges": dict(edges)}, locally=self)


@contextmanager
def reading(rows: int) -> Iterator[None]:
    """Tables of more than so many rows are looked into."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fixpoint_rows, "READ_ROWS", rows)
        yield


def ways() -> dict[str, Way]:
    return {
        "all is read": Way(),
        "all is looked up": Way(read=0),
        "nothing is read": Way(most=0, read=0),
        "what is larger is looked up": Way(read=4),
    }


WAYS = list(ways())


# -- graphs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_what_is_kept_is_what_can_be_reached(program, way):
    chosen = ways()[way]
    with reading(chosen.read):
        for seed in range(3):
            follow(chosen.keep, program, seed)
    assert set(chosen.seen) <= {"computed", "look-ups in files", "look-ups in memory"}, chosen.seen
    assert chosen.seen["computed"] > 50
    assert bool(chosen.seen["look-ups in files"]) == (way != "all is read")


@pytest.mark.parametrize("plans", [0, 1, 2, 3, 5, 8, 13])
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_an_engine_goes_on_wherever_this_process_stops(program, plans):
    chosen = Way(read=0, plans=plans)
    with reading(0):
        follow(chosen.keep, program, plans)
    assert chosen.seen["stopped"]


# -- random programs ------------------------------------------------------------------------------


def live(seed: int, way: Way) -> None:
    """Follow a program through its changes, as far as it has a finite solution."""
    draw = Draw(seed)
    loops = draw.loops()
    database = draw.database()
    try:
        least(loops, COLUMNS, database)
        kept = KeptOnDuckDB(loops, database, locally=way)
        for number, after in enumerate(draw.changes(database, ROUNDS_DRAWN)):
            meant = least(loops, COLUMNS, after)
            kept.change(after)
            assert kept.contents == meant, (seed, number)
    except Diverges:
        return


@pytest.mark.parametrize("way", WAYS)
def test_random_recursive_tables_follow_random_changes(way):
    chosen = ways()[way]
    with reading(chosen.read):
        for seed in rotating_seeds(PROGRAMS_DRAWN):
            live(seed, chosen)
    assert chosen.seen["computed"] > PROGRAMS_DRAWN, chosen.seen


@pytest.mark.parametrize("plans", [1, 4, 9])
def test_random_recursive_tables_follow_random_changes_in_two_places(plans):
    chosen = Way(read=0, plans=plans)
    with reading(0):
        for seed in rotating_seeds(PROGRAMS_DRAWN):
            live(seed, chosen)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("way", WAYS)
def test_more_random_recursive_tables_follow_random_changes(way):
    chosen = ways()[way]
    with reading(chosen.read):
        for seed in range(MORE_PROGRAMS):
            live(seed, chosen)


# -- rules that are wrong -------------------------------------------------------------------------


def _all_but_one(self: Any, keys: Mapping[int, Any]) -> Held:
    found = indexed_find(self, keys)
    return Held(found.names, found.kinds, found.rows[1:])


def _first_part_only(self: Any, union: Any, parts: Any, wanted: Any) -> Held | None:
    return fetched_parts(self, union, parts[:1], wanted)


def _what_went_stays(plan: Any, left: Held, right: Held, constants: Any) -> Held:
    return left if plan.kind == "anti" else interpreted_join(plan, left, right, constants)


def _last_batch_only(self: Any, names: Any) -> Held:
    return self.kept(names[-1])


indexed_find = indexed_rows.IndexedRows.find
fetched_parts = interpret_fixpoint.FixpointInterpreter._fetched_parts
interpreted_join = interpret_fixpoint.joined
WRONG: dict[str, tuple[object, str, object]] = {
    "one row isn't found": (indexed_rows.IndexedRows, "find", _all_but_one),
    "of a union one part is looked into": (
        interpret_fixpoint.FixpointInterpreter,
        "_fetched_parts",
        _first_part_only,
    ),
    "what went is found again": (interpret_fixpoint, "joined", _what_went_stays),
    "earlier batches are forgotten": (FixpointRows, "unite", _last_batch_only),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_computation_is_caught(what, monkeypatch):
    target, name, wrong = WRONG[what]
    monkeypatch.setattr(target, name, wrong)
    with reading(0), pytest.raises((AssertionError, NoFixpoint, Damaged)):
        follow_all(Way(read=0))


def follow_all(way: Way) -> None:
    for seed in range(MANY_GRAPHS):
        for program in PROGRAMS.values():
            follow(way.keep, program, seed)


# -- rows in memory -------------------------------------------------------------------------------


def test_columns_of_a_batch_are_read_in_any_order_and_found_by_any_of_them() -> None:
    sources: Any = SimpleNamespace(context=SimpleNamespace(engine=None))
    rows = FixpointRows(sources, {"r": sources}, 10)
    rows.keep("few", Held(("a", "b"), (INT, STRING), [(1, "x"), (2, "y"), (2, "z"), (None, "n")]))
    swapped = Materialised("few", (("second", "b"), ("first", "a")), weighted=False)
    assert rows.rows(swapped) == Held(
        ("second", "first"), (STRING, INT), [("x", 1), ("y", 2), ("z", 2), ("n", None)]
    )
    assert rows.find(swapped, {"a": (INT, [2, 7, None])}).rows == [("y", 2), ("z", 2), ("n", None)]
    assert rows.find(swapped, {"a": (BIGINT, [2]), "b": (STRING, ["z", "x"])}).rows == [("z", 2)]
    with pytest.raises(Elsewhere):
        rows.find(swapped, {"a": (STRING, ["2"])})


def test_rows_are_counted_until_they_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fixpoint_rows, "FIRST_ROWS", 3)
    monkeypatch.setattr(fixpoint_rows, "ROWS_PER_PLAN", 1)
    sources: Any = SimpleNamespace(context=SimpleNamespace(engine=None))
    rows = FixpointRows(sources, {"r": sources}, 10)
    rows.keep("two", Held(("a",), (INT,), [(1,), (2,)]))
    leaf = Materialised("two", (("a", "a"),), weighted=False)
    for _ in range(3):  # one more each time, and two of them go
        assert len(rows.compute(leaf)) == 2
    assert not rows.is_spent
    with pytest.raises(TooDear):
        rows.compute(leaf)
    assert rows.is_spent


# -- through a lake -------------------------------------------------------------------------------


@pytest.mark.parametrize("program", [*PROGRAMS.values(), IN_A_QUERY], ids=[*PROGRAMS, "in_a_query"])
def test_a_refresh_of_few_rows_asks_no_engine(place, clock, program):
    history = graphs(3, 6)
    before = next(history)
    with duck_lake(place, clock=clock, allow_circular="true") as lake:
        create(lake, program, before)
        for after in history:
            rewrite(lake, before, after)
            clock.advance(60)
            asked = lake.statements_run
            assert lake.tick().failed == ()
            assert lake.statements_run == asked
            look(lake, program, after, before)
            before = after


def test_a_refresh_asks_the_engine_alone_if_it_should(place, clock):
    with duck_lake(place, clock=clock, allow_circular="true", driver_rows=0) as lake:
        create(lake, NON_LINEAR, chain(5))
        lake.insert("edges", [(5, 6)])
        clock.advance(60)
        asked = lake.statements_run
        assert lake.tick().failed == ()
        assert lake.statements_run > asked + 3
        look(lake, NON_LINEAR, chain(5) + Counter([(5, 6)]), "after")


@pytest.mark.parametrize("first", [0, 3, 10, 30, 100])
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_a_change_that_grows_is_computed_by_the_engine_from_there(place, clock, program, first, monkeypatch):
    monkeypatch.setattr(fixpoint_rows, "FIRST_ROWS", first)
    monkeypatch.setattr(fixpoint_rows, "ROWS_PER_PLAN", 0)
    with duck_lake(place, clock=clock, allow_circular="true") as lake:
        follow_on_a_lake(lake, clock, program, first, rounds=4)


def test_what_this_process_cant_compute_is_the_engines_and_the_rest_stays_here(place, clock):
    """`sqrt` isn't computed here: the step is the engine's, which of its rows are new is looked up."""
    text = (
        "WITH RECURSIVE r AS (SELECT a, b FROM edges UNION SELECT r.a, e.b FROM r JOIN edges e "
        "ON r.b = e.a AND sqrt(r.a) >= 0) SELECT a, b FROM r"
    )
    with duck_lake(place, clock=clock) as lake:
        lake.create_table("edges", EDGES)
        lake.insert("edges", list(chain(8)))
        lake.create_stream_table("reach", text, refresh_mode="differential")
        lake.insert("edges", [(8, 9), (0, 1)])
        asked = lake.statements_run
        lake.refresh_stream_table("reach")
        asked, iterations = lake.statements_run - asked, lake.refresh_history("reach")[0].fixpoint_iteration
        assert 0 < asked <= iterations + 2
        look(lake, NON_LINEAR, chain(8) + Counter([(8, 9), (0, 1)]), "after")


@pytest.mark.parametrize("iteration", [1, 2, 3])
def test_a_refresh_that_fails_in_between_changes_nothing(place, clock, iteration):
    failpoints, hits = Failpoints(), Counter[str]()

    def fail() -> None:
        hits["iterations"] += 1
        if hits["iterations"] == iteration:
            raise FailpointReached

    before, after = chain(9), chain(9) - Counter([(4, 5)]) + Counter([(3, 6), (9, 10), (10, 0)])
    with duck_lake(place, clock=clock, failpoints=failpoints, allow_circular="true") as lake:
        create(lake, NON_LINEAR, before)
        rewrite(lake, before, after)
        failpoints.arm("refresh.after_iteration", fail)
        with pytest.raises(EngineFailed, match="FailpointReached"):
            lake.refresh_stream_table("reach")
        look(lake, NON_LINEAR, before, "what was there is there")
        failpoints.disarm("refresh.after_iteration")
        lake.refresh_stream_table("reach")
        look(lake, NON_LINEAR, after, "then it is refreshed")
        assert lake.verify("reach").ok


def test_values_of_other_types_are_followed_here_too(place, clock):
    """Texts, dates, decimals and NULLs are keys as numbers are; fractions are the engine's."""
    text = (
        "WITH RECURSIVE r AS (SELECT a, b, d, n FROM edges UNION "
        "SELECT r.a, e.b, e.d, e.n FROM r JOIN edges e ON r.b = e.a) SELECT * FROM r"
    )
    rows = [("a", "b", dt.date(2024, 1, 1), Decimal("1.50")), ("b", "c", None, Decimal("2.00"))]
    new = [("c", "d", dt.date(2024, 1, 3), None), ("b", "a", None, Decimal("1.50")), (None, "a", None, None)]
    with reading(0), duck_lake(place, clock=clock) as lake:
        lake.create_table("edges", "a STRING, b STRING, d DATE, n DECIMAL(9,2)")
        lake.insert("edges", rows)
        lake.create_stream_table("reach", text, refresh_mode="differential")
        for step in (lambda: lake.insert("edges", new), lambda: lake.delete("edges", where="a = 'b'")):
            step()
            asked = lake.statements_run
            lake.refresh_stream_table("reach")
            assert lake.statements_run == asked
            assert lake.verify("reach").ok
        assert lake.arrow("reach").num_rows == 4


def create(lake: ab.Lake, program: Program, edges: Edges) -> None:
    lake.create_table("edges", EDGES)
    lake.insert("edges", list(edges.elements()))
    lake.create_stream_tables(
        [
            {"name": name, "query": query, "schedule": "1m", "refresh_mode": "differential"}
            for name, query in program.queries.items()
        ]
    )


def chain(nodes: int) -> Edges:
    return Counter((node, node + 1) for node in range(nodes))
