"""Who reads whom, near and far, and in which order."""

from __future__ import annotations

from anabranch.streams.cycles import condense_cycles, find_cycle
from anabranch.streams.graph import Graph
from tests.unit.streams.drawing import graph, name, names

DEEP = graph("""
    orders > clean
    clean > by_day by_region
    rates > by_day
    by_day > report
""")


def test_what_is_read_and_has_no_query_is_a_source():
    assert DEEP.sources == set(names("orders rates"))
    assert DEEP.stream_tables == set(names("clean by_day by_region report"))


def test_readers_are_direct_and_upstream_and_downstream_are_not():
    assert DEEP.readers(name("clean")) == set(names("by_day by_region"))
    assert DEEP.readers(name("report")) == set()
    assert DEEP.upstream(name("report")) == set(names("by_day clean orders rates"))
    assert DEEP.downstream(name("orders")) == set(names("clean by_day by_region report"))


def test_every_table_comes_after_what_it_reads_and_ties_go_by_name():
    assert DEEP.order() == names("clean by_day by_region report")


def test_a_source_late_in_the_alphabet_holds_nothing_back():
    assert graph("z > b\na > c").order() == names("b c")


def test_namespaces_sort_as_names_do():
    drawn = graph("s > a_b.c a.b a.a")
    assert drawn.order() == tuple(sorted(drawn.stream_tables)) == names("a.a a.b a_b.c")


def test_a_table_is_added_changed_and_taken_out_in_a_copy():
    more = DEEP.with_table(name("report"), names("by_day by_region"))
    assert more.inputs[name("report")] == set(names("by_day by_region"))
    assert DEEP.inputs[name("report")] == {name("by_day")}
    assert DEEP.without_table(name("clean")).sources == set(names("rates clean"))


def test_the_given_mapping_may_change_afterwards():
    given = {name("b"): frozenset({name("a")})}
    drawn = Graph(given)
    given.clear()
    assert drawn.stream_tables == {name("b")}


def test_without_a_cycle_there_is_none_to_find():
    assert find_cycle(DEEP) is None
    assert DEEP.cycles == ()
    assert find_cycle(Graph({})) is None


def test_a_cycle_is_shown_as_the_way_data_would_flow():
    drawn = graph("edges > paths\npaths > hops\nhops > more\nmore > paths")
    assert find_cycle(drawn) == names("hops more paths hops")
    assert drawn.cycles == (names("hops more paths"),)


def test_of_several_cycles_the_shortest_through_the_first_table_is_shown():
    drawn = graph("z > y\ny > z\na > b c\nb > d\nc > a\nd > a")
    assert find_cycle(drawn) == names("a c a")
    assert drawn.cycles == (names("a b c d"), names("y z"))


def test_a_table_that_reads_itself_is_a_cycle():
    drawn = graph("a > b\nb > b c")
    assert find_cycle(drawn) == names("b b")
    assert drawn.cycles == (names("b"),)


def test_the_members_of_a_cycle_come_together_after_all_else_that_they_read():
    drawn = graph("s > a z\na > b\nb > a d\nc > b\ny > c\nz > a")
    assert drawn.order() == names("c z a b d")
    assert drawn.upstream(name("a")) == set(names("s b c y z"))


def test_a_cycle_counts_as_one_table_called_by_its_first_member():
    whole = condense_cycles(graph("s > a\na > b\nb > a d\nc > b"))
    assert whole.graph == graph("s > a\na > d\nc > a")
    assert whole.representative(name("b")) == name("a")
    assert whole.representatives(names("d b a")) == names("d a")
    assert whole.expand(names("a d")) == names("a b d")
    assert condense_cycles(DEEP).graph is DEEP


def test_a_long_chain_is_no_deep_recursion():
    links = 20_000
    chain = Graph({name(f"t{i}"): frozenset({name(f"t{i - 1}")}) for i in range(1, links)})
    assert len(chain.order()) == links - 1
    assert find_cycle(chain.with_table(name("t0"), [name(f"t{links - 1}")])) is not None
