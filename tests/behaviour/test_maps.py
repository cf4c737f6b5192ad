"""Maps and lists where Spark itself errs: it makes zeros of NULLs in a map that it groups by, and fails over
values that are all NULL.
"""

from __future__ import annotations

import pytest

import anabranch as ab


def test_a_null_in_a_map_stays_null_in_changes(spark_lake: ab.Lake) -> None:
    spark_lake.create_table("t", "id INT, m MAP<STRING, INT>, s STRUCT<m: MAP<INT, BIGINT>>")
    before = spark_lake.snapshot().lsn
    row = (1, {"b": None, "a": 1}, {"m": {2: None, 3: 4}})
    spark_lake.insert("t", [row, row])
    (found,) = spark_lake.changes("t", before).collect()
    assert (found["m"], found["s"]["m"], found["_weight"]) == ({"a": 1, "b": None}, {2: None, 3: 4}, 2)
    spark_lake.delete("t", where="id = 1")
    assert spark_lake.changes("t", before).count() == 0


@pytest.mark.parametrize(
    ("ddl", "value"),
    [
        ("MAP<INT, BIGINT>", {2: None}),
        ("ARRAY<BIGINT>", [None]),
        ("ARRAY<DOUBLE>", [None, None]),
        ("ARRAY<STRUCT<x: DATE>>", [{"x": None}]),
    ],
)
def test_a_file_in_which_all_nested_values_are_null_is_read(
    spark_lake: ab.Lake, ddl: str, value: object
) -> None:
    spark_lake.create_table("t", f"id INT, v {ddl}")
    spark_lake.insert("t", [(1, value), (2, value)])
    spark_lake.update("t", {"id": "3"}, where="id = 1")
    assert sorted(row["id"] for row in spark_lake.table("t").collect()) == [2, 3]
    assert spark_lake.table("t").filter("v IS NULL").count() == 0
