"""The core of the product as plain functions of a lake, so that they run on any kind of Spark session.

As a program it runs those it is given on a local Spark Connect server, and writes down what became of each.
"""

from __future__ import annotations

import json
import sys
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import anabranch as ab
from anabranch.errors import (
    AmbiguousRows,
    EngineFailed,
    InvalidQuery,
    InvalidValue,
    NullNotAllowed,
    UnknownTable,
    VersionExpired,
)
from anabranch.refresh import inputs
from tests.behaviour.every_type import DDL, by_spark, listed, rows, shown
from tests.spark_session import session_options

Scenario = Callable[[ab.Lake], None]


def orders(lake: ab.Lake) -> None:
    """A table of three orders."""
    lake.create_table("orders", "id BIGINT NOT NULL, region STRING, amount DECIMAL(12,2)")
    lake.insert("orders", [(1, "north", 10), (2, "south", 20), (3, None, None)])


def contents(lake: ab.Lake, name: str = "orders", as_of: int | None = None) -> list[tuple[Any, ...]]:
    """The rows through Spark, which must be those without it."""
    frame = lake.table(name, as_of=as_of)
    found = sorted((tuple(row) for row in frame.collect()), key=str)
    arrow = sorted((tuple(row.values()) for row in lake.arrow(name, as_of=as_of).to_pylist()), key=str)
    assert found == arrow
    return [
        tuple(
            float(v) if name == "amount" and v is not None else v
            for name, v in zip(frame.columns, row, strict=True)
        )
        for row in found
    ]


def rows_are_inserted_and_read(lake: ab.Lake) -> None:
    orders(lake)
    assert contents(lake) == [(1, "north", 10.0), (2, "south", 20.0), (3, None, None)]
    assert lake.table("orders").columns == ["id", "region", "amount"]


def an_empty_table_is_read(lake: ab.Lake) -> None:
    lake.create_table("orders", "id BIGINT, amount INT")
    assert contents(lake) == []
    assert lake.update("orders", {"amount": "1"}).lsn is None
    assert lake.sql("SELECT count(*) FROM orders").collect()[0][0] == 0


def a_frame_is_inserted(lake: ab.Lake) -> None:
    orders(lake)
    frame = lake._context.engine.session.range(10, 13).selectExpr("id", "'east' AS region")
    assert lake.insert("orders", frame).inserted == 3
    assert contents(lake)[:2] == [(1, "north", 10.0), (10, "east", None)]


def rows_are_updated_and_deleted(lake: ab.Lake) -> None:
    orders(lake)
    written = lake.update("orders", {"amount": "amount * 2", "region": "upper(region)"}, where="id < 3")
    assert (written.inserted, written.deleted) == (2, 2)
    assert lake.delete("orders", where="region = 'NORTH' OR amount IS NULL").deleted == 2
    assert contents(lake) == [(2, "SOUTH", 40.0)]
    assert lake.truncate("orders").deleted == 1
    assert contents(lake) == []


def rows_are_merged(lake: ab.Lake) -> None:
    orders(lake)
    lake.merge("orders", [{"id": 2, "amount": 21}, {"id": 4, "amount": 40}], on=["id"])
    assert contents(lake)[1:] == [(2, "south", 21.0), (3, None, None), (4, None, 40.0)]
    lake.merge("orders", [{"id": 2, "gone": True}, {"id": 5, "gone": False}], on=["id"], delete_when="gone")
    assert [row[0] for row in contents(lake)] == [1, 3, 4, 5]
    frame = lake.sql("SELECT id, 'west' AS region FROM orders WHERE id > 3")
    lake.merge("orders", frame, on=["id"])
    assert contents(lake)[2:] == [(4, "west", 40.0), (5, "west", None)]
    with pytest.raises(AmbiguousRows):
        lake.merge("orders", [{"id": 1}, {"id": 1}], on=["id"])


def changes_lead_from_one_lsn_to_another(lake: ab.Lake) -> None:
    orders(lake)
    lake.update("orders", {"amount": "amount + 1"}, where="id = 1")
    lake.delete("orders", where="id = 2")
    lake.insert("orders", [(4, "east", 1), (4, "east", 1)])
    net = {tuple(row)[:2]: [] for row in lake.changes("orders", 2).collect()}
    for row in lake.changes("orders", 2).collect():
        net[tuple(row)[:2]].append((float(row.amount), row._weight))
    assert {key: sorted(value) for key, value in net.items()} == {
        (1, "north"): [(10.0, -1), (11.0, 1)],
        (2, "south"): [(20.0, -1)],
        (4, "east"): [(1.0, 2)],
    }
    spelled = Counter(
        (row.id, row._change_type) for row in lake.changes("orders", 2, change_type=True).collect()
    )
    assert spelled == {(1, "insert"): 1, (1, "delete"): 1, (2, "delete"): 1, (4, "insert"): 2}
    assert lake.changes("orders", 5, 5).collect() == []
    assert lake.changes("orders", 0, 2).count() == 3


def earlier_versions_are_read(lake: ab.Lake) -> None:
    orders(lake)
    with lake.snapshot() as snapshot:
        lake.update("orders", {"region": "'x'"})
        lake.drop_table("orders")
        assert snapshot.table("orders").count() == 3
        assert snapshot.sql("SELECT count(*) FROM orders WHERE region = 'x'").collect()[0][0] == 0
    assert contents(lake, as_of=3) == [(1, "x", 10.0), (2, "x", 20.0), (3, "x", None)]
    assert contents(lake, as_of=2) == [(1, "north", 10.0), (2, "south", 20.0), (3, None, None)]
    assert contents(lake, as_of=1) == []
    with pytest.raises(UnknownTable):
        lake.table("orders")
    with pytest.raises(VersionExpired):
        snapshot.table("orders")


def statements_are_run(lake: ab.Lake) -> None:
    orders(lake)
    lake.sql("CREATE TABLE regions (region STRING, boss STRING)")
    lake.sql("INSERT INTO regions VALUES ('north', 'ann'), ('south', 'bob')")
    lake.sql("CREATE TABLE sales.big AS SELECT * FROM orders WHERE amount > 10")
    lake.sql("UPDATE orders SET amount = 11 WHERE id IN (SELECT id FROM sales.big)")
    lake.sql("DELETE FROM orders WHERE amount IS NULL")
    lake.sql(
        "MERGE INTO orders o USING sales.big b ON o.id = b.id "
        "WHEN MATCHED THEN UPDATE SET amount = b.amount + 1, region = 'merged' "
        "WHEN NOT MATCHED THEN INSERT (id, region) VALUES (b.id, 'added')"
    )
    found = lake.sql(
        "WITH w AS (SELECT o.id, r.boss FROM orders o LEFT JOIN regions r ON o.region = r.region) "
        "SELECT * FROM w ORDER BY id"
    ).collect()
    assert [tuple(row) for row in found] == [(1, "ann"), (2, None)]
    lake.sql("TRUNCATE TABLE regions")
    assert contents(lake, "regions") == []
    lake.sql("DROP TABLE sales.big")
    assert [info.name for info in lake.tables()] == ["orders", "regions"]


def a_transaction_sees_what_it_wrote(lake: ab.Lake) -> None:
    orders(lake)
    with lake.transaction() as tx:
        tx.insert("orders", [(4, "east", 40)])
        tx.update("orders", {"amount": "0"}, where="region = 'east'")
        assert tx.table("orders").where("amount = 0").count() == 1
        assert tx.sql("SELECT count(*) FROM orders").collect()[0][0] == 4
        assert lake.table("orders").count() == 3
    assert tx.lsn == 3
    assert (4, "east", 0.0) in contents(lake)


def files_are_rewritten_by_spark(lake: ab.Lake) -> None:
    orders(lake)
    lake.set("driver_rewrite_bytes", 0)
    lake.insert("orders", [(4, "east", 40)])
    lake.update("orders", {"amount": "amount + 1"}, where="id IN (1, 4)")
    before = contents(lake)
    lsn = lake.lsn
    assert lake.compact("orders").lsn == lsn + 1
    assert contents(lake) == before == contents(lake, as_of=lsn)
    assert lake.changes("orders", lsn).count() == 0


def errors_are_ours(lake: ab.Lake) -> None:
    orders(lake)
    expected: list[tuple[type[ab.AnabranchError], Callable[[], object]]] = [
        (InvalidQuery, lambda: lake.update("orders", {"amount": "no_such_column"})),
        (InvalidQuery, lambda: lake.sql("SELECT no_such_function(id) FROM orders")),
        (EngineFailed, lambda: lake.update("orders", {"amount": "amount / (id - 1)"})),
        (InvalidValue, lambda: lake.update("orders", {"amount": "10000000000"})),
        (InvalidValue, lambda: lake.update("orders", {"id": "'one'"})),
        (NullNotAllowed, lambda: lake.update("orders", {"id": "NULL"})),
        (NullNotAllowed, lambda: lake.insert("orders", lake.sql("SELECT CAST(NULL AS BIGINT) AS id"))),
        (InvalidValue, lambda: lake.insert("orders", lake.sql("SELECT 'x' AS id"))),
        (UnknownTable, lambda: lake.sql("SELECT * FROM nowhere")),
    ]
    for kind, act in expected:
        with pytest.raises(kind):
            act()
    assert lake.lsn == 2
    assert len(contents(lake)) == 3


def every_type_makes_the_round_trip(lake: ab.Lake) -> None:
    lake.create_table("t", DDL)
    lake.insert("t", rows())
    lake.create_table("copy", DDL)
    lake.insert("copy", lake.table("t"))
    lake.merge("copy", [{**row, "note": 1} for row in rows()], on=["id"])
    expected = shown([{**row, "note": 1} for row in rows()])
    assert listed(lake.arrow("copy")) == expected
    assert listed(by_spark(lake.table("copy"))) == expected


def large_changes_are_followed(lake: ab.Lake) -> None:
    """No change counts as small, so the rows between the statements of a refresh are in files."""
    orders(lake)
    lake.set("driver_rows", 0)
    lake.create_table("regions", "region STRING, boss STRING")
    lake.insert("regions", [("north", "ann"), ("south", "bob"), ("east", "ann")])
    lake.create_stream_table(
        "bosses",
        "SELECT r.boss, sum(o.amount) AS amount, count(*) AS n "
        "FROM orders o JOIN regions r ON o.region = r.region GROUP BY r.boss",
        refresh_mode="differential",
        schedule=None,
    )
    with lake.transaction() as tx:
        tx.insert("orders", [(4, "east", 40), (5, "west", 50)])
        tx.update("orders", {"amount": "amount + 1"}, where="region = 'north'")
        tx.delete("regions", where="region = 'south'")
    with mock.patch.object(inputs, "FEW_BYTES", -1), mock.patch.object(inputs, "ONE_TASK_BYTES", -1):
        assert lake.refresh_stream_table("bosses").action == "DIFFERENTIAL"
    assert contents(lake, "bosses") == [("ann", 51.0, 2)]
    assert lake.verify("bosses").ok


SCENARIOS: dict[str, Scenario] = {
    scenario.__name__: scenario
    for scenario in (
        rows_are_inserted_and_read,
        an_empty_table_is_read,
        a_frame_is_inserted,
        rows_are_updated_and_deleted,
        rows_are_merged,
        changes_lead_from_one_lsn_to_another,
        earlier_versions_are_read,
        statements_are_run,
        a_transaction_sees_what_it_wrote,
        files_are_rewritten_by_spark,
        errors_are_ours,
        every_type_makes_the_round_trip,
        large_changes_are_followed,
    )
}


def main(folder: Path, names: list[str]) -> None:
    """Run scenarios on a Connect server, each on a lake of its own; outcomes go to a file."""
    from pyspark.sql import SparkSession

    options = {**session_options(), "spark.sql.session.timeZone": "UTC"}
    builder = SparkSession.builder.remote(options.pop("spark.master", "local[2]"))
    session = builder.config(map=options).getOrCreate()
    outcomes = {"session": type(session).__module__}
    for name in names:
        try:
            with ab.connect(folder / name, spark=session) as lake:
                SCENARIOS[name](lake)
        except Exception:  # noqa: BLE001  (whatever it is, the test that reads the file shows it)
            outcomes[name] = traceback.format_exc()
        else:
            outcomes[name] = "passed"
    (folder / "outcomes.json").write_text(json.dumps(outcomes))
    session.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
