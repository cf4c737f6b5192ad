"""Stream tables and gates in SQL: each statement does what its method does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import anabranch as ab
from anabranch.errors import (
    HasDependents,
    InvalidOption,
    InvalidSchedule,
    NameTaken,
    NotASource,
    UnknownStreamTable,
    UnknownTable,
    UnsupportedStatement,
)
from anabranch.inspect.explain import StreamTableExplanation
from anabranch.sql.script import split_statements
from anabranch.sql.stream_statement import OPTION_TYPES, SPELLED
from tests.engines.lakes import duck_lake
from tests.streams.shop import BY_REGION, actions, all_right, one, rows, sell

pytestmark = pytest.mark.rotating(2)

PAGE = Path(__file__).parents[2] / "docs" / "sql-statements.md"


@pytest.fixture
def regions(shop):
    assert shop.sql(f"CREATE STREAM TABLE by_region WITH (schedule = '5m') AS {BY_REGION}") is None
    return shop


def test_a_stream_table_is_created_filled_and_has_its_options(regions):
    assert one(regions, "by_region").schedule == "5m"
    assert rows(regions, "by_region").total() == 2
    assert all_right(regions)


def test_the_query_that_is_stored_is_the_users_own_text(shop):
    query = "SELECT region, -- where\n  COUNT(*) AS n /* how many */\nFROM sales GROUP BY region"
    shop.sql(f"CREATE STREAM TABLE counted AS {query};")
    assert shop.explain("counted").query == query


def test_a_stream_table_need_not_be_filled_at_once(shop):
    shop.sql(f"CREATE STREAM TABLE by_region WITH (initialize = FALSE, schedule = NULL) AS {BY_REGION}")
    assert one(shop, "by_region").status == "INITIALIZING"
    assert one(shop, "by_region").schedule is None


def test_if_not_exists_leaves_what_is_there_as_it_is(regions):
    before = regions.lsn
    regions.sql("CREATE STREAM TABLE IF NOT EXISTS by_region AS SELECT 1 AS other")
    assert regions.lsn == before
    assert one(regions, "by_region").schedule == "5m"


def test_without_it_a_name_that_is_taken_is_refused(regions):
    with pytest.raises(NameTaken):
        regions.sql("CREATE STREAM TABLE by_region AS SELECT 1 AS other")


@pytest.mark.parametrize("clause", ["OR REPLACE STREAM TABLE", "STREAM TABLE IF NOT EXISTS"])
def test_a_source_is_never_taken_for_a_stream_table(shop, clause):
    with pytest.raises(NameTaken):
        shop.sql(f"CREATE {clause} sales AS SELECT 1 AS other")
    assert rows(shop, "sales").total() == 3


def test_or_replace_creates_what_is_not_there(shop):
    shop.sql(f"CREATE OR REPLACE STREAM TABLE by_region AS {BY_REGION}")
    assert all_right(shop)


def test_or_replace_gives_another_query_and_other_columns(regions):
    regions.sql("CREATE OR REPLACE STREAM TABLE by_region AS SELECT region FROM sales WHERE amount > 5")
    assert rows(regions, "by_region") == {("north",): 1, ("south",): 1}
    assert one(regions, "by_region").schedule == "calculated"
    assert all_right(regions)


def test_or_replace_by_the_same_does_nothing(regions):
    before = regions.lsn, actions(regions)
    regions.sql(f"CREATE OR REPLACE STREAM TABLE by_region WITH (schedule = '5m') AS {BY_REGION}")
    assert (regions.lsn, actions(regions)) == before


def test_or_replace_by_other_options_rebuilds_nothing(regions):
    before = actions(regions)
    regions.sql(
        f"CREATE OR REPLACE STREAM TABLE by_region WITH (fuse = 'on', fuse_ceiling = 9) AS {BY_REGION}"
    )
    assert actions(regions) == before
    assert one(regions, "by_region").schedule == "calculated"
    assert regions.fuse_status()[0].ceiling == 9


def test_or_replace_has_no_use_for_a_later_fill(regions):
    with pytest.raises(InvalidOption):
        regions.sql("CREATE OR REPLACE STREAM TABLE by_region WITH (initialize = FALSE) AS SELECT 1 AS a")


def test_options_are_altered(regions):
    assert regions.sql("ALTER STREAM TABLE by_region SET (schedule = '10m')") is None
    assert one(regions, "by_region").schedule == "10m"


def test_a_query_is_altered_and_its_options_stay(regions):
    regions.sql("ALTER STREAM TABLE by_region AS SELECT COUNT(*) AS n FROM sales")
    assert rows(regions, "by_region") == {(3,): 1}
    assert one(regions, "by_region").schedule == "5m"


@pytest.mark.parametrize(
    ("option", "kind", "column"),
    [("schedule = 'now and then'", InvalidSchedule, 12), ("refresh_mode = fast", InvalidOption, 16)],
)
def test_a_value_that_an_option_can_not_have_is_told_with_its_place(regions, option, kind, column):
    with pytest.raises(kind) as caught:
        regions.sql(f"ALTER STREAM TABLE by_region SET (\n{option})")
    assert caught.value.detail.startswith(f"line 2, column {column}")


def test_a_stream_table_that_others_read_is_dropped_with_them_only(regions):
    regions.sql("CREATE STREAM TABLE big AS SELECT region FROM by_region WHERE revenue > 10")
    with pytest.raises(HasDependents):
        regions.sql("DROP STREAM TABLE by_region")
    assert regions.sql("DROP STREAM TABLE by_region CASCADE") is None
    assert regions.status() == []


def test_a_stream_table_that_is_not_there_is_dropped_if_it_exists_only(regions):
    regions.sql("DROP STREAM TABLE IF EXISTS nobody")
    with pytest.raises(UnknownStreamTable):
        regions.sql("DROP STREAM TABLE nobody")
    with pytest.raises(UnknownStreamTable):
        regions.sql("DROP STREAM TABLE sales")


def test_a_refresh_gives_its_record(regions):
    sell(regions, 4)
    record = regions.sql("REFRESH STREAM TABLE by_region")
    assert (record.stream_table, record.action, record.initiated_by) == (
        "by_region",
        "DIFFERENTIAL",
        "manual",
    )
    assert regions.sql("REFRESH STREAM TABLE by_region FULL").action == "FULL"


def test_suspended_and_resumed(regions):
    regions.sql("SUSPEND STREAM TABLE by_region")
    assert one(regions, "by_region").status == "SUSPENDED"
    regions.sql("RESUME STREAM TABLE by_region")
    assert one(regions, "by_region").status == "ACTIVE"


def test_looking_is_what_the_methods_give(regions):
    assert [each.name for each in regions.sql("SHOW STREAM TABLES")] == ["by_region"]
    explained = regions.sql("EXPLAIN STREAM TABLE by_region")
    assert isinstance(explained, StreamTableExplanation)
    assert str(explained) == str(regions.explain("by_region"))


def test_gates_are_shut_and_opened_all_or_none(shop):
    shop.create_table("returns", "id BIGINT")
    assert shop.sql("GATE SOURCE sales, returns") is None
    assert [gate.gated for gate in shop.source_gates()] == [True, True]
    with pytest.raises(UnknownTable):
        shop.sql("UNGATE SOURCE sales, nobody")
    assert [gate.gated for gate in shop.source_gates()] == [True, True]
    shop.sql("UNGATE SOURCE sales")
    assert {gate.source_table: gate.gated for gate in shop.source_gates()} == {
        "returns": True,
        "sales": False,
    }


def test_a_stream_table_has_no_gate(regions):
    with pytest.raises(NotASource):
        regions.sql("GATE SOURCE by_region")


def test_a_gate_in_a_transaction_opens_with_its_rows(shop):
    shop.sql("GATE SOURCE sales")
    with shop.transaction() as tx:
        tx.sql("INSERT INTO sales VALUES (9, 'west', 1, 1, 1)")
        tx.sql("UNGATE SOURCE sales")
        assert shop.source_gates()[0].gated
    assert not shop.source_gates()[0].gated


@pytest.mark.parametrize(
    "text",
    [
        "CREATE STREAM TABLE t AS SELECT 1 AS a",
        "ALTER STREAM TABLE by_region SET (schedule = '1m')",
        "DROP STREAM TABLE by_region",
        "REFRESH STREAM TABLE by_region",
        "SHOW STREAM TABLES",
    ],
)
def test_statements_about_stream_tables_are_no_part_of_transactions_and_snapshots(regions, text):
    words = " ".join(text.split()[:3])
    with pytest.raises(UnsupportedStatement, match=words), regions.transaction() as tx:
        tx.sql(text)
    with regions.snapshot() as snapshot, pytest.raises(ab.AnabranchError):
        snapshot.sql(text)
    assert one(regions, "by_region").schedule == "5m"


def test_the_example_of_the_page_runs_as_it_stands_there(place):
    (example,) = re.findall(r"^```sql\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    statements = split_statements(example)
    with duck_lake(place) as lake:
        for statement in statements[:-1]:
            lake.sql(statement.padded_text)
        assert rows(lake, "by_region").total() == 3
        assert all_right(lake)
        lake.sql(statements[-1].text)
        assert lake.status() == []


def test_the_page_knows_every_statement_and_option():
    page = PAGE.read_text("utf-8")
    assert [words for words in SPELLED.values() if words not in page] == []
    assert [option for option in OPTION_TYPES if f"`{option}`" not in page] == []
