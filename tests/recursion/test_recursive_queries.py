"""WITH RECURSIVE inside of a stream table's query: followed as a cycle is."""

from __future__ import annotations

import pytest

import anabranch as ab
from anabranch.errors import NoFixpoint, NotIncremental
from tests.streams.shop import one, rows

pytestmark = pytest.mark.rotating(4)

TEXTS = {
    "linear": """WITH RECURSIVE r AS (SELECT a, b FROM edges
        UNION SELECT r.a, e.b FROM r JOIN edges e ON r.b = e.a) SELECT a, b FROM r""",
    "non-linear": """WITH RECURSIVE r AS (SELECT a, b FROM edges
        UNION SELECT x.a, y.b FROM r x JOIN r y ON x.b = y.a) SELECT a, b FROM r""",
    "two steps": """WITH RECURSIVE r AS (SELECT a, b FROM edges
        UNION SELECT r.a, e.b FROM r JOIN edges e ON r.b = e.a
        UNION SELECT r.b, r.a FROM r WHERE r.a < 3) SELECT a, b FROM r""",
    "every path": """WITH RECURSIVE r(a, b, n) AS (SELECT a, b, 1 FROM edges WHERE a < b
        UNION ALL SELECT r.a, e.b, r.n + 1 FROM r JOIN edges e ON r.b = e.a AND e.a < e.b) SELECT * FROM r""",
    "counted": """WITH RECURSIVE r AS (SELECT a, b FROM edges
        UNION SELECT r.a, e.b FROM r JOIN edges e ON r.b = e.a) SELECT a, count(*) AS n FROM r GROUP BY a""",
    "one after the other": """WITH RECURSIVE r AS (SELECT a, b FROM edges
        UNION SELECT r.a, e.b FROM r JOIN edges e ON r.b = e.a),
        s AS (SELECT a AS n FROM r WHERE a = b UNION SELECT n + 10 FROM s WHERE n < 20)
        SELECT r.a, r.b, s.n FROM r JOIN s ON r.a = s.n % 10""",
    "what a recursion doesn't reach": """WITH RECURSIVE r AS (SELECT b FROM edges WHERE a = 1
        UNION SELECT e.b FROM r JOIN edges e ON r.b = e.a)
        SELECT a, b FROM edges WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.b = edges.b)""",
    "in a subquery": """SELECT e.a, e.b FROM edges e WHERE e.b IN (
        WITH RECURSIVE r AS (SELECT b FROM edges WHERE a = 1
        UNION SELECT e.b FROM r JOIN edges e ON r.b = e.a) SELECT b FROM r)""",
}
CHANGES = [
    ("insert", [(4, 5), (1, 3)]),
    ("delete", "a = 2"),
    ("insert", [(5, 1), (2, 3), (1, 2)]),
    ("delete", "a = 1 AND b = 2"),
    ("insert", [(2, 2)]),
    ("delete", "a >= 4"),
    ("delete", "true"),
]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("mode", ["differential", "auto"])
def test_a_recursive_query_is_followed_through_inserts_and_deletes(lake, clock, text, mode):
    lake.create_stream_table("found", TEXTS[text], refresh_mode=mode)
    assert lake.verify("found").ok
    seen = [rows(lake, "found")]
    for verb, what in CHANGES:
        if verb == "insert":
            lake.insert("edges", what)
        else:
            lake.delete("edges", where=what)
        clock.advance(60)
        assert lake.tick().failed == ()
        assert lake.verify("found").ok, (verb, what)
        seen.append(rows(lake, "found"))
    assert len({str(sorted(each.items())) for each in seen}) > 1, "it does change"
    if mode == "differential":
        assert {each.action for each in lake.refresh_history("found")} == {"DIFFERENTIAL", "REINITIALIZE"}


def test_what_a_recursion_holds_is_nobodys_business(lake):
    lake.create_stream_table("found", TEXTS["counted"])
    assert [table.name for table in lake.tables()] == ["edges", "found"]
    assert rows(lake, "found") == {(1, 3): 1, (2, 2): 1, (3, 1): 1}
    assert "found__recursion1" in str(lake.explain("found"))
    assert lake.refresh_history("found")[0].fixpoint_iteration == 3
    assert one(lake, "found").scc_id is None
    lake.drop_stream_table("found")
    lake.create_stream_table("found", TEXTS["linear"])
    lake.alter_stream_table("found", query="SELECT a FROM edges")
    assert rows(lake, "found") == {(1,): 1, (2,): 1, (3,): 1}


def test_a_recursive_query_feeds_others_and_is_fed_by_them(lake, clock):
    lake.create_stream_table("loops", "SELECT DISTINCT a, b FROM edges WHERE a <> b")
    text = TEXTS["linear"].replace("FROM edges", "FROM loops").replace("JOIN edges", "JOIN loops")
    lake.create_stream_table("found", text)
    lake.create_stream_table("far", "SELECT count(*) AS n FROM found")
    lake.insert("edges", [(4, 5)])
    lake.delete("edges", where="a = 1")
    clock.advance(60)
    assert len(lake.tick().refreshed) == 3
    assert rows(lake, "far") == {(6,): 1}
    assert all(lake.verify(each.name).ok for each in lake.status())


def test_a_recursion_in_a_member_of_a_cycle_is_part_of_it(lake, clock):
    lake.create_stream_tables(
        [
            {
                "name": "reach",
                "query": """WITH RECURSIVE r AS (SELECT a, b FROM more
                    UNION SELECT r.a, e.b FROM r JOIN edges e ON r.b = e.a) SELECT a, b FROM r""",
            },
            {
                "name": "more",
                "query": "SELECT a, b FROM edges UNION SELECT b AS a, a AS b FROM reach WHERE a < 2",
            },
        ]
    )
    for change in (lambda: lake.insert("edges", [(4, 1)]), lambda: lake.delete("edges", where="a = 1")):
        change()
        clock.advance(60)
        lake.tick()
        assert lake.verify("reach").ok
        assert lake.verify("more").ok
    assert rows(lake, "more") == {(2, 3): 1, (3, 4): 1, (4, 1): 1}


def test_immediate_tables_may_recurse(lake):
    lake.create_stream_table("found", TEXTS["linear"], refresh_mode="immediate")
    lake.delete("edges", where="a = 2")
    assert set(rows(lake, "found")) == {(1, 2), (3, 4)}
    assert lake.verify("found").ok


def test_a_recursion_without_end_changes_nothing(lake, clock):
    with pytest.raises(NoFixpoint, match="100 iterations"):
        lake.create_stream_table(
            "numbers", "WITH RECURSIVE r AS (SELECT a FROM edges UNION SELECT a + 1 FROM r) SELECT a FROM r"
        )
    assert lake.status() == []
    lake.create_stream_table(
        "found", TEXTS["every path"].replace("a < b", "a <> b").replace("e.a < e.b", "true")
    )
    before = rows(lake, "found")
    lake.insert("edges", [(4, 1)])
    clock.advance(60)
    assert [name for name, _ in lake.tick().failed] == ["found"]
    assert one(lake, "found").status == "ERROR"
    assert rows(lake, "found") == before
    lake.delete("edges", where="a = 4")
    lake.resume_stream_table("found")
    clock.advance(60)
    lake.tick()
    assert one(lake, "found").status == "ACTIVE"
    assert rows(lake, "found") == before


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "WITH RECURSIVE r AS (SELECT a FROM edges UNION SELECT max(a) FROM r) SELECT a FROM r",
            "an aggregate",
        ),
        (
            """WITH RECURSIVE r AS (SELECT a, b FROM edges
               UNION ALL SELECT x.a, y.b FROM r x JOIN r y ON x.b = y.a) SELECT a, b FROM r""",
            "a join with itself, and keeps duplicates",
        ),
        (
            "WITH RECURSIVE r AS (SELECT a FROM edges UNION ALL SELECT DISTINCT a FROM r) SELECT a FROM r",
            "DISTINCT, and keeps duplicates",
        ),
        (
            "WITH RECURSIVE r AS (SELECT a FROM edges UNION SELECT a * 1.5 FROM r) SELECT a FROM r",
            "changes the types",
        ),
    ],
)
def test_a_recursion_that_is_another_in_spark_is_refused(lake: ab.Lake, text: str, why: str) -> None:
    with pytest.raises(NotIncremental, match=why):
        lake.create_stream_table("found", text, refresh_mode="differential")
    assert lake.status() == []
