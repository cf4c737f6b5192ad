"""Stream tables that read each other: one fixed point, one commit, and nothing that supports itself."""

from __future__ import annotations

import warnings

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

import anabranch as ab
from anabranch.errors import (
    CircularDefinition,
    EngineFailed,
    FuseError,
    HasDependents,
    InvalidOption,
    NoFixpoint,
    NotMonotone,
    RefreshHeld,
)
from anabranch.ledger.ledger import CATALOG_NAME
from tests.engines.lakes import duck_lake
from tests.streams.shop import one, rows

pytestmark = pytest.mark.rotating(2)

STEPS = "SELECT DISTINCT e.a, r.b FROM edges e JOIN reach r ON e.b = r.a"
REACH = "SELECT a, b FROM edges UNION SELECT a, b FROM steps"
ALL_SIX = {(1, 2), (2, 3), (3, 4), (1, 3), (2, 4), (1, 4)}


def connect(lake: ab.Lake, **options: object) -> None:
    """`steps` and `reach`, made from each other."""
    lake.create_stream_tables(
        [
            {"name": "steps", "query": STEPS, **options},
            {"name": "reach", "query": REACH, **options},
        ]
    )


def content(lake: ab.Lake, name: str) -> set[tuple[object, ...]]:
    found = rows(lake, name)
    assert set(found.values()) <= {1}
    return set(found)


def refreshed(lake: ab.Lake, clock: ab.ManualClock, name: str = "reach") -> set[tuple[object, ...]]:
    clock.advance(60)
    lake.tick()
    for each in lake.status():
        assert lake.verify(each.name).ok, each
    return content(lake, name)


# -- what comes and goes --------------------------------------------------------------------------


def test_all_pairs_that_are_connected_are_found(lake):
    connect(lake)
    assert content(lake, "reach") == ALL_SIX
    assert content(lake, "steps") == {(1, 3), (2, 4), (1, 4)}


def test_after_a_delete_exactly_what_can_be_derived_is_left(lake, clock):
    connect(lake)
    lake.delete("edges", where="a = 2")
    assert refreshed(lake, clock) == {(1, 2), (3, 4)}


def test_what_has_another_derivation_stays(lake, clock):
    connect(lake)
    lake.insert("edges", [(1, 3)])
    refreshed(lake, clock)
    lake.delete("edges", where="a = 2")
    assert refreshed(lake, clock) == {(1, 2), (3, 4), (1, 3), (1, 4)}


def test_two_that_only_support_each_other_are_emptied(lake, clock):
    lake.create_stream_tables(
        [
            {"name": "one", "query": "SELECT a FROM edges UNION SELECT a FROM other"},
            {"name": "other", "query": "SELECT a FROM edges UNION SELECT a FROM one"},
        ]
    )
    assert content(lake, "one") == content(lake, "other") == {(1,), (2,), (3,)}
    lake.truncate("edges")
    assert refreshed(lake, clock, "one") == refreshed(lake, clock, "other") == set()


def test_as_many_rows_that_come_as_go_are_not_taken_for_rest(lake, clock):
    connect(lake)
    with lake.transaction() as tx:
        tx.delete("edges", where="a = 1")
        tx.insert("edges", [(4, 5)])
    assert refreshed(lake, clock) == {(2, 3), (3, 4), (4, 5), (2, 4), (3, 5), (2, 5)}
    assert one(lake, "reach").rows == 6


def test_a_loop_in_the_data_ends_and_comes_apart_again(lake, clock):
    connect(lake)
    lake.insert("edges", [(4, 1)])
    assert len(refreshed(lake, clock)) == 16
    lake.delete("edges", where="a = 4")
    assert refreshed(lake, clock) == ALL_SIX


def test_a_table_that_reads_itself_is_a_cycle_too(lake, clock):
    text = "SELECT a, b FROM edges UNION SELECT l.a, r.b FROM pairs l JOIN pairs r ON l.b = r.a"
    lake.create_stream_table("pairs", text)
    assert content(lake, "pairs") == ALL_SIX
    lake.delete("edges", where="a = 2")
    assert refreshed(lake, clock, "pairs") == {(1, 2), (3, 4)}
    lake.drop_stream_table("pairs")


def test_without_distinct_every_derivation_counts(lake, clock):
    lake.create_stream_tables(
        [
            {"name": "steps", "query": "SELECT e.a, p.b FROM edges e JOIN paths p ON e.b = p.a"},
            {"name": "paths", "query": "SELECT a, b FROM edges UNION ALL SELECT a, b FROM steps"},
        ]
    )
    lake.insert("edges", [(1, 3), (1, 2)])
    clock.advance(60)
    lake.tick()
    assert lake.verify("paths").ok
    assert rows(lake, "paths")[(1, 4)] == 3
    lake.delete("edges", where="a = 2")
    clock.advance(60)
    lake.tick()
    assert lake.verify("paths").ok
    assert rows(lake, "paths") == {(1, 2): 2, (1, 3): 1, (1, 4): 1, (3, 4): 1}


def test_a_cycle_of_three_and_two_cycles_in_order(lake, clock):
    lake.create_stream_tables(
        [
            {"name": "x", "query": "SELECT a, b FROM edges UNION SELECT z.a, z.b FROM z"},
            {"name": "y", "query": "SELECT x.a, x.b FROM x"},
            {"name": "z", "query": "SELECT DISTINCT y.a, e.b FROM y JOIN edges e ON y.b = e.a"},
            {"name": "u", "query": "SELECT b AS a FROM x WHERE a = 1 UNION SELECT a FROM v"},
            {"name": "v", "query": "SELECT DISTINCT a + 10 AS a FROM u WHERE a < 20"},
        ]
    )
    cycles = lake.scc_status()
    assert [cycle.members for cycle in cycles] == [("u", "v"), ("x", "y", "z")]
    assert content(lake, "x") == ALL_SIX
    assert content(lake, "u") == {(2,), (3,), (4,), (12,), (13,), (14,), (22,), (23,), (24,)}
    lake.delete("edges", where="a = 3")
    assert refreshed(lake, clock, "x") == {(1, 2), (2, 3), (1, 3)}
    assert content(lake, "u") == {(2,), (3,), (12,), (13,), (22,), (23,)}


def test_an_aggregate_over_a_cycle_and_one_that_feeds_it(lake, clock):
    lake.create_table("visits", "node INT, n INT")
    lake.insert("visits", [(1, 5), (1, 5), (2, 1)])
    lake.create_stream_table("busy", "SELECT node, sum(n) AS n FROM visits GROUP BY node HAVING sum(n) > 3")
    lake.create_stream_tables(
        [
            {
                "name": "reached",
                "query": "SELECT node FROM busy UNION SELECT e.b FROM hops e",
            },
            {"name": "hops", "query": "SELECT e.a, e.b FROM edges e JOIN reached r ON e.a = r.node"},
        ]
    )
    lake.create_stream_table("how_many", "SELECT count(*) AS n, max(node) AS far FROM reached")
    assert content(lake, "reached") == {(1,), (2,), (3,), (4,)}
    assert content(lake, "how_many") == {(4, 4)}
    with lake.transaction() as tx:
        tx.delete("visits", where="node = 1")
        tx.insert("visits", [(3, 10)])
    assert refreshed(lake, clock, "reached") == {(3,), (4,)}
    assert content(lake, "how_many") == {(2, 4)}


def test_a_cycle_that_feeds_a_diamond_is_one_table_to_it(lake, clock):
    lake.create_stream_tables(
        [
            {"name": "steps", "query": STEPS},
            {"name": "reach", "query": REACH},
            {"name": "outgoing", "query": "SELECT a, count(*) AS n FROM reach GROUP BY a"},
            {"name": "back", "query": "SELECT b, count(*) AS n FROM steps GROUP BY b"},
            {
                "name": "meet",
                "query": "SELECT o.a, o.n, b.n AS m FROM outgoing o LEFT JOIN back b ON o.a = b.b",
            },
        ]
    )
    lake.insert("edges", [(4, 1)])
    refreshed(lake, clock, "reach")
    assert content(lake, "meet") == {(node, 4, 4) for node in (1, 2, 3, 4)}
    version = {each.name: each.lsn for each in lake.tables()}
    assert version["steps"] == version["reach"] < version["meet"]
    assert version["outgoing"] == version["back"] == version["meet"]


# -- what is accepted, and what isn't --------------------------------------------------------------


def test_cycles_are_refused_unless_they_are_allowed(place, clock):
    with duck_lake(place, clock=clock) as plain:
        plain.create_table("edges", "a INT, b INT")
        with pytest.raises(CircularDefinition, match="circular") as refused:
            connect(plain)
        assert '"reach" feeds "steps" feeds "reach"' in str(refused.value)
        assert plain.status() == []
        plain.set("allow_circular", True)
        connect(plain)


OUT_OF_BOUNDS = {
    "an aggregate (max)": "SELECT a, max(b) AS b FROM reach GROUP BY a",
    "EXCEPT": "SELECT a, b FROM edges EXCEPT SELECT a, b FROM reach",
    "an anti join (NOT EXISTS, NOT IN)": (
        "SELECT a, b FROM edges e WHERE NOT EXISTS (SELECT 1 FROM reach r WHERE r.a = e.b)"
    ),
    "a window function": (
        "SELECT a, CAST(row_number() OVER (PARTITION BY a ORDER BY b) AS INT) AS b FROM reach"
    ),
    "ORDER BY … LIMIT": "SELECT a, b FROM reach ORDER BY a, b LIMIT 3",
    "the side of a left join that may be NULL": (
        "SELECT e.a, r.b FROM edges e LEFT JOIN reach r ON e.b = r.a"
    ),
    "a full outer join": "SELECT e.a, r.b FROM edges e FULL JOIN reach r ON e.b = r.a",
    "INTERSECT ALL": "SELECT a, b FROM edges INTERSECT ALL SELECT a, b FROM reach",
}


@pytest.mark.parametrize("operator", OUT_OF_BOUNDS)
def test_what_may_take_rows_away_is_refused_by_name(lake, operator):
    before = lake.lsn
    with pytest.raises(NotMonotone) as refused:
        lake.create_stream_tables(
            [
                {"name": "steps", "query": OUT_OF_BOUNDS[operator]},
                {"name": "reach", "query": REACH},
            ]
        )
    assert refused.value.message == f'"steps" reads itself through {operator}'
    assert (lake.lsn, lake.status()) == (before, [])


def test_a_scalar_subquery_over_a_member_is_refused(lake):
    with pytest.raises(NotMonotone, match="aggregate"):
        lake.create_stream_tables(
            [
                {"name": "steps", "query": "SELECT a, (SELECT max(b) FROM reach) AS b FROM edges"},
                {"name": "reach", "query": REACH},
            ]
        )


IN_BOUNDS = {
    "filter": "SELECT a, b FROM reach WHERE a < b",
    "inner join": STEPS,
    "union all": "SELECT a, b FROM edges UNION ALL SELECT a, b FROM reach WHERE a > 5",
    "semi join": "SELECT a, b FROM edges WHERE b IN (SELECT a FROM reach)",
    "intersect": "SELECT a, b FROM edges INTERSECT SELECT a, b FROM reach",
    "left join, preserved": (
        "SELECT DISTINCT r.a, coalesce(e.b, r.b) AS b FROM reach r LEFT JOIN edges e ON r.b = e.a"
    ),
}


@pytest.mark.rotating(3)
@pytest.mark.parametrize("operator", IN_BOUNDS)
def test_what_only_gains_rows_is_accepted_and_followed(lake, clock, operator):
    lake.create_stream_tables(
        [{"name": "steps", "query": IN_BOUNDS[operator]}, {"name": "reach", "query": REACH}]
    )
    changes = [
        lambda: lake.insert("edges", [(4, 1), (2, 2)]),
        lambda: lake.delete("edges", where="a = 2"),
        lambda: lake.update("edges", {"b": "b - 1"}, where="a = 3"),
        lambda: lake.truncate("edges"),
    ]
    for change in changes:
        change()
        refreshed(lake, clock)
    assert content(lake, "reach") == set()


@pytest.mark.parametrize("mode", ["full", "immediate"])
def test_members_are_iterated_on_changes_and_nothing_else(lake, mode):
    with pytest.raises(InvalidOption, match="in a cycle"):
        connect(lake, refresh_mode=mode)
    connect(lake)
    with pytest.raises(InvalidOption, match="in a cycle"):
        lake.alter_stream_table("reach", refresh_mode=mode)


def test_a_cycle_that_nothing_begins_is_refused(lake):
    with pytest.raises(CircularDefinition, match="nothing begins"):
        lake.create_stream_tables(
            [
                {"name": "one", "query": "SELECT a FROM other"},
                {"name": "other", "query": "SELECT a FROM one"},
            ]
        )


def test_types_along_a_cycle_are_found_and_widen(lake, clock):
    lake.create_stream_tables(
        [
            {"name": "wide", "query": "SELECT CAST(a AS BIGINT) AS a FROM narrow WHERE a < 3"},
            {"name": "narrow", "query": "SELECT a FROM edges UNION SELECT a FROM wide"},
        ]
    )
    [narrow] = [table for table in lake.tables() if table.name == "narrow"]
    assert [str(column.type) for column in narrow.schema] == ["BIGINT"]
    lake.delete("edges", where="a = 1")
    assert refreshed(lake, clock, "narrow") == {(2,), (3,)}


# -- life -------------------------------------------------------------------------------------------


def test_members_share_an_id_that_others_do_not_have(lake):
    lake.create_stream_table("plain", "SELECT a FROM edges")
    connect(lake)
    ids = {each.name: each.scc_id for each in lake.status()}
    assert ids["plain"] is None
    assert ids["steps"] == ids["reach"] is not None
    [cycle] = lake.scc_status()
    assert (cycle.scc_id, cycle.member_count, cycle.members) == (ids["reach"], 2, ("reach", "steps"))
    assert cycle.is_monotone
    assert cycle.last_iterations == lake.refresh_history("reach")[0].fixpoint_iteration > 0
    assert "cycle" in str(lake.dependency_tree())
    assert "accepted, since" in str(lake.explain("reach"))
    assert "fixed point" in str(lake.explain("reach"))


def test_closing_a_cycle_is_told(lake):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", ab.Notice)
        connect(lake)
    assert any('a cycle: "reach", "steps"' in str(each.message) for each in told)
    assert {each.filename for each in told} == {__file__}


def test_a_cycle_is_closed_and_opened_by_altering_a_query(lake, clock):
    lake.create_stream_table("reach", "SELECT DISTINCT a, b FROM edges")
    lake.create_stream_table("steps", STEPS)
    assert content(lake, "steps") == {(1, 3), (2, 4)}
    lake.alter_stream_table("reach", query=REACH)
    assert content(lake, "reach") == ALL_SIX
    assert len({each.scc_id for each in lake.status()} - {None}) == 1
    lake.insert("edges", [(4, 5)])
    assert len(refreshed(lake, clock)) == 10
    lake.alter_stream_table("reach", query="SELECT DISTINCT a, b FROM edges")
    assert {each.scc_id for each in lake.status()} == {None}
    assert refreshed(lake, clock, "steps") == {(1, 3), (2, 4), (3, 5)}
    with pytest.raises(NotMonotone):
        lake.alter_stream_table("reach", query="SELECT a, b FROM edges EXCEPT SELECT a, b FROM steps")
    assert content(lake, "reach") == {(1, 2), (2, 3), (3, 4), (4, 5)}


def test_another_query_for_a_member_fills_the_whole_cycle_again(lake, clock):
    connect(lake)
    lake.alter_stream_table("reach", query="SELECT a, b FROM edges WHERE a < 3 UNION SELECT a, b FROM steps")
    assert content(lake, "reach") == {(1, 2), (2, 3), (1, 3)}
    assert {each.action for each in lake.refresh_history(limit=2)} == {"REINITIALIZE"}
    lake.insert("edges", [(2, 7)])
    assert refreshed(lake, clock) == {(1, 2), (2, 3), (1, 3), (2, 7), (1, 7)}


def test_a_member_goes_only_with_all_others(lake):
    connect(lake)
    with pytest.raises(HasDependents, match="read by"):
        lake.drop_stream_table("steps")
    lake.drop_stream_table("steps", cascade=True)
    assert lake.status() == lake.scc_status() == []
    connect(lake)
    assert lake.scc_status()[0].scc_id == 2, "an id is never given again"


def test_one_member_due_is_all_due_and_both_are_of_one_moment(lake, clock):
    lake.create_stream_tables(
        [
            {"name": "steps", "query": STEPS, "schedule": "1h"},
            {"name": "reach", "query": REACH, "schedule": "1m"},
        ]
    )
    lake.insert("edges", [(4, 5)])
    clock.advance(60)
    assert set(lake.tick().refreshed) == {"steps", "reach"}
    assert len({each.lsn for each in lake.tables() if each.kind == "stream"}) == 1
    frontiers = {str(entry.until) for entry in lake.refresh_history(limit=2)}
    assert len(frontiers) == 1


def test_a_member_that_is_held_holds_the_cycle_and_is_not_failed(lake, clock):
    connect(lake)
    lake.suspend_stream_table("steps")
    lake.insert("edges", [(4, 5)])
    clock.advance(60)
    report = lake.tick()
    assert {name for name, _ in report.held} == {"steps", "reach"}
    assert report.failed == ()
    with pytest.raises(RefreshHeld):
        lake.refresh_stream_table("reach")
    lake.resume_stream_table("steps")
    assert len(refreshed(lake, clock)) == 10


def test_by_hand_a_cycle_is_refreshed_as_one_and_in_full_if_asked(lake):
    connect(lake, schedule=None)
    lake.insert("edges", [(4, 5)])
    lake.refresh_stream_table("steps")
    assert len(content(lake, "reach")) == 10
    lake.refresh_stream_table("reach", full=True)
    assert {each.action for each in lake.refresh_history(limit=2)} == {"FULL"}
    assert len(content(lake, "reach")) == 10


def test_created_without_a_fill_a_cycle_is_filled_by_the_first_tick(lake, clock):
    connect(lake, initialize=False)
    assert content(lake, "reach") == set()
    assert refreshed(lake, clock) == ALL_SIX


def test_written_by_another_client_a_member_takes_the_cycle_with_it(lake, clock):
    connect(lake)
    parts = lake._context
    url = parts.catalog.database.url.render_as_string(hide_password=False)
    other = SqlCatalog(CATALOG_NAME, uri=url, warehouse=parts.warehouse.uri)
    table = other.load_table("main.reach")
    table.append(pa.table({"a": [7, 8], "b": [8, 9]}, schema=table.schema().as_arrow()))
    other.close()
    assert refreshed(lake, clock) == ALL_SIX
    reasons = {each.reason for each in lake.refresh_history(limit=2)}
    assert reasons == {'"reach": its contents were changed by another Iceberg client'}


# -- what goes wrong ----------------------------------------------------------------------------------


COUNTER = [
    {"name": "even", "query": "SELECT 0 AS n FROM edges WHERE a = 1 UNION SELECT n + 1 AS n FROM odd"},
    {"name": "odd", "query": "SELECT n + 1 AS n FROM even WHERE n < 1000"},
]


def test_a_recursion_without_end_is_not_created(lake):
    lake.set("max_fixpoint_iterations", 5)
    with pytest.raises(NoFixpoint, match="within 5 iterations"):
        lake.create_stream_tables(COUNTER)
    assert lake.status() == []


def test_a_recursion_that_loses_its_end_is_in_error_as_one_and_resumed_as_one(lake, clock):
    lake.create_table("bounds", "n INT")
    lake.insert("bounds", [(2,)])
    lake.set("max_fixpoint_iterations", 5)
    lake.create_stream_tables(
        [
            {
                "name": "even",
                "query": "SELECT 0 AS n FROM edges WHERE a = 1 UNION SELECT n + 1 AS n FROM odd",
            },
            {"name": "odd", "query": "SELECT DISTINCT e.n + 1 AS n FROM even e JOIN bounds b ON e.n < b.n"},
        ]
    )
    assert content(lake, "even") == {(0,), (2,)}
    lake.insert("bounds", [(30,)])
    clock.advance(60)
    [(_, why)] = lake.tick().failed
    assert "no fixed point was reached within 5 iterations" in why
    assert {(each.status, each.consecutive_failures) for each in lake.status()} == {("ERROR", 0)}
    assert {each.status for each in lake.refresh_history(limit=2)} == {"FAILED"}
    assert content(lake, "even") == {(0,), (2,)}
    assert content(lake, "odd") == {(1,)}
    clock.advance(600)
    assert len(lake.tick().held) == 2
    lake.set("max_fixpoint_iterations", 50)
    lake.resume_stream_table("odd")
    assert {each.status for each in lake.status()} == {"ACTIVE"}
    assert len(refreshed(lake, clock, "even")) == 16


def test_a_member_that_fails_in_a_pass_takes_back_all_of_it(lake, clock):
    lake.create_table("weights", "node INT, w INT")
    lake.insert("weights", [(1, 1), (2, 1), (3, 1), (4, 1)])
    lake.create_stream_tables(
        [
            {
                "name": "steps",
                "query": "SELECT DISTINCT e.a, CAST(r.b % w.w + r.b AS INT) AS b FROM edges e "
                "JOIN reach r ON e.b = r.a JOIN weights w ON w.node = r.b",
            },
            {"name": "reach", "query": REACH},
        ]
    )
    before = content(lake, "reach"), content(lake, "steps"), lake.lsn
    lake.update("weights", {"w": "0"}, where="node = 4")
    clock.advance(60)
    [(name, _)] = lake.tick().failed
    assert name == "steps"
    assert (content(lake, "reach"), content(lake, "steps")) == before[:2]
    assert {each.stream_table: each.status for each in lake.refresh_history(limit=2)} == {
        "steps": "FAILED",
        "reach": "ROLLED_BACK",
    }
    with pytest.raises(EngineFailed):
        lake.refresh_stream_table("reach")
    lake.update("weights", {"w": "1"}, where="node = 4")
    clock.advance(60)
    assert set(lake.tick().refreshed) == {"steps", "reach"}


def test_without_a_change_nothing_is_iterated(lake, clock):
    connect(lake)
    events: list[str] = []
    clock.advance(60)
    lake.tick(observer=lambda event: events.append(event.kind))
    assert "refresh_iterated" not in events
    assert "refresh_started" not in events
    assert lake.refresh_history("reach")[0].action == "NO_DATA"


def test_every_pass_is_told_with_what_it_derived(lake, clock):
    connect(lake)
    lake.insert("edges", [(4, 5)])
    clock.advance(60)
    passes: list[dict[str, int]] = []
    lake.tick(
        observer=lambda event: passes.append(dict(event.detail)) if event.kind == "refresh_iterated" else None
    )
    assert [each["iteration"] for each in passes] == list(range(1, len(passes) + 1))
    assert lake.refresh_history("reach")[0].fixpoint_iteration == len(passes)
    assert sum(each["derived"] for each in passes) <= 12, "what follows from one edge, not the closure"


def test_a_fuse_of_one_member_stops_the_whole_cycle(lake, clock):
    connect(lake, fuse="on", fuse_ceiling=2)
    lake.insert("edges", [(4, 5), (5, 6), (6, 7)])
    clock.advance(60)
    report = lake.tick()
    assert report.refreshed == report.failed == ()
    assert {name for name, _ in report.held} == {"steps", "reach"}
    assert content(lake, "reach") == ALL_SIX
    blown = [each.name for each in lake.fuse_status() if each.state == "blown"]
    assert blown
    with pytest.raises(FuseError, match="in a cycle"):
        lake.reset_fuse(blown[0], "skip_changes")
    while blown:
        lake.reset_fuse(blown[0], "apply")
        clock.advance(60)
        lake.tick()
        blown = [each.name for each in lake.fuse_status() if each.state == "blown"]
    assert len(refreshed(lake, clock)) == 21


def test_a_gate_on_one_source_holds_the_cycle_which_has_not_failed(lake, clock):
    lake.create_table("extra", "a INT, b INT")
    lake.create_stream_tables(
        [
            {"name": "steps", "query": STEPS},
            {"name": "reach", "query": f"{REACH} UNION SELECT a, b FROM extra"},
        ]
    )
    lake.gate_source("extra")
    lake.insert("edges", [(4, 5)])
    clock.advance(60)
    report = lake.tick()
    assert report.failed == report.refreshed == ()
    assert {name for name, _ in report.held} == {"steps", "reach"}
    assert {each.status for each in lake.status()} == {"ACTIVE"}
    assert {each.gated_by_sources for each in lake.status()} == {("extra",)}
    with lake.transaction() as tx:
        tx.insert("extra", [(5, 1)])
        tx.ungate_source("extra")
    assert len(refreshed(lake, clock)) == 15
