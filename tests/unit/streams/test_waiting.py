"""Who waits for what: the rule in words, and on graphs of any shape against an oracle."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pytest

from anabranch.names import TableName
from anabranch.streams.graph import Graph
from anabranch.streams.source_readiness import Gate, Readiness, Watermark, WatermarkGroup
from anabranch.streams.wait_reasons import find_wait_reasons, hold_identity, sources_by_stream_table
from tests.unit.streams.drawing import graph, name, names, random_graph

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
PIPELINE = graph("""
    orders > summary
    lines > pieces
    summary > report board
    pieces > report
""")


def shut(*sources: str, opened: tuple[str, ...] = ()) -> Readiness:
    gates = [Gate(name(each), each not in opened, NOON, "ann@desk") for each in (*sources, *opened)]
    return Readiness({gate.source: gate for gate in gates})


def loaded(tolerance: int = 0, missing: str = "gated", /, **hours: int) -> Readiness:
    """One group of orders, lines and stock, and how far some are."""
    group = WatermarkGroup("g", names("lines orders stock"), timedelta(hours=tolerance), missing, NOON)
    marks = {
        name(source): Watermark(name(source), NOON + timedelta(hours=hour), NOON, 1)
        for source, hour in hours.items()
    }
    return Readiness({}, marks, (group,))


def who(readiness: Readiness, drawn: Graph = PIPELINE, **options: tuple[TableName, ...]) -> set[str]:
    return {str(table) for table in find_wait_reasons(drawn, readiness, **options)}


# -- gates ----------------------------------------------------------------------------------------


def test_what_is_made_from_a_gated_source_waits_near_and_far():
    assert who(shut("lines")) == {"pieces", "report"}
    assert who(shut("orders")) == {"summary", "report", "board"}


def test_an_open_gate_holds_nobody_and_nor_does_one_that_nobody_reads():
    assert who(shut("elsewhere", opened=("orders",))) == set()


def test_a_gate_that_goes_by_the_name_of_a_stream_table_holds_nobody():
    assert who(shut("summary")) == set()


def test_one_that_ignores_gates_does_not_wait_but_what_reads_it_does():
    assert who(shut("orders"), ignoring=names("summary")) == {"report", "board"}


def test_one_that_is_free_waits_for_nothing():
    assert who(loaded(), free=names("report")) == set()
    assert who(shut("orders"), free=names("report")) == {"summary", "board"}


def test_of_several_gates_the_oldest_is_named_first():
    gates = shut("lines", "orders").gates
    older = Gate(name("orders"), True, NOON - timedelta(hours=1), "bob@desk")
    found = find_wait_reasons(PIPELINE, Readiness({**gates, name("orders"): older}))
    assert found[name("report")] == (
        'waits for "orders", which is gated since 2030-01-01 11:00:00 UTC by bob@desk; gated too: "lines"'
    )


def test_in_a_circle_everything_waits_for_what_leads_into_it():
    drawn = graph("s > a\na > b\nb > a\nb > c\nx > d")
    assert who(shut("s"), drawn) == {"a", "b", "c"}


# -- watermarks -----------------------------------------------------------------------------------


def test_only_what_reads_two_of_a_group_waits_for_its_watermarks():
    assert who(loaded(0, orders=2, lines=1, stock=9)) == {"report"}
    assert who(loaded(0, orders=2, lines=2, stock=9)) == set()


def test_apart_by_the_tolerance_is_aligned():
    assert who(loaded(3, orders=5, lines=2)) == set()
    assert who(loaded(3, orders=6, lines=2)) == {"report"}


def test_a_missing_watermark_counts_if_it_is_to_and_is_read():
    assert who(loaded(0, orders=1, lines=1)) == set(), "stock is not read"
    assert who(loaded(0, orders=1, stock=1)) == {"report"}
    assert who(loaded(0, "ignore", orders=1, stock=1)) == set()
    assert who(loaded(0, "ignore")) == set()


def test_one_that_ignores_gates_waits_for_watermarks():
    assert who(loaded(), ignoring=names("report")) == {"report"}


def test_gates_come_first():
    both = Readiness(shut("orders").gates, {}, loaded().groups)
    assert "is gated since" in find_wait_reasons(PIPELINE, both)[name("report")]


def test_of_two_groups_the_first_by_name_that_is_not_aligned_is_the_reason():
    first = loaded(9, orders=2, lines=1)
    second = WatermarkGroup("h", names("lines orders"), timedelta(0), "gated", NOON)
    found = find_wait_reasons(PIPELINE, Readiness({}, first.watermarks, (*first.groups, second)))
    assert 'watermark group "h" allows 0s' in found[name("report")]


# -- episodes -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        ('"a" waits for "s", which is gated', '"a" waits for "t", which is gated', True),
        ('"a" waits for the first watermark of "s"', '"a" waits for the watermark of "s"', True),
        ('"a" waits for "s", which is gated', '"a" waits for the watermark of "s"', False),
        ('"a" waits for "s", which is gated', '"b" waits for "s", which is gated', False),
        ('"a" waits for "s", which is gated', None, False),
        ('"a" is suspended: by hand', '"a" is suspended: 5 failures', False),
        ('"a" is suspended: by hand', '"a" is suspended: by hand', True),
    ],
)
def test_a_wait_is_one_episode_while_what_it_waits_for_changes(before, after, same):
    assert (hold_identity(before) == hold_identity(after)) is same


# -- any shape --------------------------------------------------------------------------------------


def reached(inputs: dict[TableName, frozenset[TableName]], table: TableName) -> set[TableName]:
    """Every base source, by walking all paths."""
    return set().union(*(reached(inputs, read) if read in inputs else {read} for read in inputs[table]))


def expected(
    drawn: Graph, readiness: Readiness, free: set[TableName], ignoring: set[TableName]
) -> set[TableName]:
    """The rule once more, word by word."""
    inputs, found = dict(drawn.inputs), set()
    for table in inputs:
        sources = reached(inputs, table)
        waits = table not in ignoring and any(
            gate.gated and gate.source in sources for gate in readiness.gates.values()
        )
        for group in readiness.groups:
            mine = [source for source in group.sources if source in sources]
            times = [readiness.watermarks[each].timestamp for each in mine if each in readiness.watermarks]
            if len(mine) >= 2 and (
                (times and max(times) - min(times) > group.tolerance)
                or (group.missing == "gated" and len(times) < len(mine))
            ):
                waits = True
        if waits and table not in free:
            found.add(table)
    return found


def drawn_readiness(chance: random.Random, sources: list[TableName]) -> Readiness:
    gates = {
        source: Gate(source, chance.random() < 0.7, NOON, "ann@desk")
        for source in sources
        if chance.random() < 0.2
    }
    marks = {
        source: Watermark(source, NOON + timedelta(hours=chance.randrange(4)), NOON, 1)
        for source in sources
        if chance.random() < 0.8
    }
    groups = tuple(
        WatermarkGroup(
            f"g{number}",
            tuple(sorted(chance.sample(sources, min(len(sources), chance.randint(2, 3))))),
            timedelta(hours=chance.randrange(4)),
            chance.choice(["gated", "ignore"]),
            NOON,
        )
        for number in range(chance.randrange(3))
    )
    return Readiness(gates, marks, groups)


@pytest.mark.parametrize("seed", range(300))
def test_on_any_graph_the_rule_agrees_with_walking_every_path(seed):
    chance = random.Random(seed)
    drawn = random_graph(chance, chance.randint(1, 14), chance.randint(2, 5), 2.0, 6)
    sources = [name(f"s{place}") for place in range(5)]
    readiness = drawn_readiness(chance, sources)
    free, ignoring = ({each for each in drawn.inputs if chance.random() < 0.2} for _ in range(2))
    found = find_wait_reasons(drawn, readiness, free=free, ignoring=ignoring)
    assert found.keys() == expected(drawn, readiness, free, ignoring)
    for table, sources_of in sources_by_stream_table(drawn, sources).items():
        assert set(sources_of) == reached(dict(drawn.inputs), table)
