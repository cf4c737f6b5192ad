"""Hostile names: refused with a code wherever a name can stand, and nothing written anywhere."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql import types as T

import anabranch as ab
from anabranch.errors import (
    AnabranchError,
    InputError,
    InvalidName,
    InvalidSchema,
    NameTaken,
    SqlError,
    UnknownColumn,
)
from tests.hostile.untouched import untouched

pytestmark = pytest.mark.rotating(2)

HOSTILE = {
    "empty": "",
    "blank": " ",
    "a quote": "a'b",
    "a double quote": 'a"b',
    "a backtick": "a`b",
    "a statement": "a; DROP TABLE orders",
    "a statement in quotes": "orders`; DROP TABLE `orders",
    "a comment": "orders --",
    "a dot at the end": "orders.",
    "three parts": "main.orders.id",
    "a slash": "a/b",
    "a backslash": "a\\b",
    "up": "..",
    "up and away": "../../etc/passwd",
    "a path": "/etc/passwd",
    "a file of Spark": "parquet.`/etc/passwd`",
    "a URI": "file:///etc/passwd",
    "NUL": "a\0b",
    "a line break": "a\nb",
    "an emoji": "😀",
    "half an emoji": "\ud83d",
    "another script": "заказы",
    "looks like ASCII": "оrders",
    "the Kelvin sign": "\u212a",
    "the dotless i": "ı",
    "right to left": "a\u202eb",
    "a combining mark": "a\u0301",
    "256 characters": "a" * 256,
    "a megabyte": "a" * 1_000_000,
    "braces": "{target}",
    "a format": "%s",
    "a variable": "${env:HOME}",
    "a wildcard": "*",
    "a keyword": "select",
    "another keyword": "TABLE",
    "hidden": "__lake",
    "a digit first": "1a",
    "None": None,
    "a number": 7,
    "bytes": b"orders",
    "a list": ["orders"],
    "a tuple": ("main", "orders"),
}
TEXTS = {key: value for key, value in HOSTILE.items() if isinstance(value, str)}
# Names of columns may be words of SQL, and in any script.
COLUMN_TEXTS = {
    key: value
    for key, value in TEXTS.items()
    if key
    not in (
        "a keyword",
        "another keyword",
        "another script",
        "looks like ASCII",
        "the Kelvin sign",
        "the dotless i",
    )
}


@pytest.fixture
def shop(lake):
    """A lake with one table, on which Spark must never be needed."""
    lake.create_table("orders", "id INT, v STRING")
    lake.insert("orders", [(1, "a")])
    yield lake
    assert not lake._context.engine.is_started


def refuse(act, kind=AnabranchError):
    """The act raises an error of ours that is short, on few lines, and printable."""
    with pytest.raises(kind) as caught:
        act()
    text = str(caught.value)
    assert text.startswith(caught.value.code)
    assert len(text) < 1500
    assert "\0" not in text
    text.encode()
    return caught.value


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_table_name_is_refused_by_every_verb(shop, place, name):
    transaction = shop.transaction()
    with untouched(place):
        for act in (
            lambda: shop.create_table(name, "id INT"),
            lambda: shop.create_table(name, "id INT", if_not_exists=True),
            lambda: shop.drop_table(name),
            lambda: shop.drop_table(name, if_exists=True),
            lambda: shop.insert(name, [(1, "a")]),
            lambda: shop.update(name, {"v": "1"}),
            lambda: shop.delete(name, "id = 1"),
            lambda: shop.delete(name),
            lambda: shop.merge(name, [(1, "a")], on=["id"]),
            lambda: shop.truncate(name),
            lambda: shop.compact(name),
            lambda: shop.table(name),
            lambda: shop.arrow(name),
            lambda: shop.changes(name, 0),
            lambda: transaction.create_table(name, "id INT"),
            lambda: transaction.insert(name, [(1, "a")]),
            lambda: transaction.table(name),
        ):
            assert refuse(act).code in ("AB101", "AB103")


@pytest.mark.parametrize("name", TEXTS.values(), ids=TEXTS)
def test_a_hostile_name_in_a_namespace_is_refused(shop, place, name):
    with untouched(place):
        for act in (
            lambda: shop.create_table(f"sales.{name}", "id INT"),
            lambda: shop.create_table(f"{name}.orders", "id INT"),
            lambda: shop.insert(f"{name}.orders", [(1, "a")]),
            lambda: shop.arrow(f"sales.{name}"),
        ):
            refuse(act, InputError)


@pytest.mark.parametrize("name", TEXTS.values(), ids=TEXTS)
def test_a_hostile_name_in_a_statement_is_refused_before_spark_sees_it(shop, place, name):
    quoted = "`" + name.replace("`", "``") + "`"
    with untouched(place):
        for text in (
            f"SELECT * FROM {quoted}",
            f"SELECT * FROM orders JOIN {quoted} ON TRUE",
            f"CREATE TABLE {quoted} (id INT)",
            f"CREATE TABLE {quoted}.orders (id INT)",
            f"INSERT INTO {quoted} VALUES (1)",
            f"UPDATE {quoted} SET id = 1",
            f"DELETE FROM {quoted}",
            f"MERGE INTO {quoted} USING orders ON TRUE WHEN MATCHED THEN DELETE",
            f"MERGE INTO orders USING {quoted} s ON TRUE WHEN MATCHED THEN DELETE",
            f"TRUNCATE TABLE {quoted}",
            f"DROP TABLE {quoted}",
        ):
            refuse(lambda text=text: shop.sql(text))


@pytest.mark.parametrize("name", COLUMN_TEXTS.values(), ids=COLUMN_TEXTS)
def test_a_hostile_column_name_is_refused_in_every_kind_of_schema(shop, place, name):
    quoted = "`" + name.replace("`", "``") + "`"
    surrogate = any("\ud800" <= character <= "\udfff" for character in name)
    with untouched(place):
        for schema in (
            f"{quoted} INT",
            f"a STRUCT<{quoted}: INT>",
            f"a ARRAY<STRUCT<b: INT, {quoted}: INT>>",
            T.StructType([T.StructField(name, T.IntegerType())]),
            T.StructType([T.StructField("a", T.StructType([T.StructField(name, T.IntegerType())]))]),
            *([] if surrogate else [pa.schema([(name, pa.int32())])]),
            *([] if surrogate else [pa.schema([("a", pa.struct([(name, pa.int32())]))])]),
        ):
            refuse(
                lambda schema=schema: shop.create_table("fresh", schema),
                (InvalidName, InvalidSchema, SqlError),
            )
        refuse(lambda: shop.sql(f"CREATE TABLE fresh ({quoted} INT)"))


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_column_name_is_refused_where_a_column_is_named(shop, place, name):
    hashable = name if not isinstance(name, list) else tuple(name)
    with untouched(place):
        for act in (
            lambda: shop.insert("orders", [{"id": 1, hashable: 1}]),
            lambda: shop.update("orders", {hashable: "1"}),
            lambda: shop.merge("orders", [{"id": 1, hashable: 1}], on=["id"]),
            lambda: shop.merge("orders", [{"id": 1}], on=[name]),
            lambda: shop.merge("orders", [{"id": 1}], on=["id", name]),
            lambda: shop.merge("orders", [{"id": 1, hashable: 1}], on=["id"], delete_when="v = 'x'"),
        ):
            refuse(act)
        if isinstance(name, str) and name.isascii() and "\0" not in name:
            refuse(lambda: shop.insert("orders", pa.table({"id": [1], name: [1]})), UnknownColumn)
            quoted = "`" + name.replace("`", "``") + "`"
            refuse(lambda: shop.sql(f"INSERT INTO orders ({quoted}) VALUES (1)"))
            refuse(lambda: shop.sql(f"UPDATE orders SET {quoted} = 1"))


def test_names_that_differ_only_in_case_are_one_name(shop, place):
    with untouched(place):
        for name in ("orders", "ORDERS", "Orders", "main.orders", "MAIN.Orders"):
            refuse(lambda name=name: shop.create_table(name, "id INT"), NameTaken)
            shop.create_table(name, "other STRING", if_not_exists=True)
        for schema in (
            "id INT, ID INT",
            "a STRUCT<x: INT, X: INT>",
            "`größe` INT, `GRÖßE` INT",
            "`i` INT, `ı` INT",
        ):
            refuse(lambda schema=schema: shop.create_table("fresh", schema), InvalidSchema)
        refuse(lambda: shop.insert("orders", pa.table([[1], [2]], names=["id", "ID"])), InputError)
        refuse(lambda: shop.merge("orders", pa.table([[1], [2]], names=["id", "ID"]), on=["id"]))
    shop.insert("ORDERS", [{"ID": 2}])
    assert shop.arrow("Main.Orders").num_rows == 2


def test_dict_keys_that_differ_only_in_case_are_not_silently_one(shop, place):
    with untouched(place):
        refuse(lambda: shop.insert("orders", [{"id": 1, "ID": 2}]), InputError)


KEYWORDS = [
    "select",
    "from",
    "table",
    "order",
    "group",
    "null",
    "true",
    "case",
    "end",
    "int",
    "target",
    "source",
    "row",
]


def test_words_of_sql_are_good_names_for_columns(spark_lake):
    lake = spark_lake
    lake.create_table("words", ", ".join(f"`{word}` INT" for word in KEYWORDS))
    lake.insert("words", [dict.fromkeys(KEYWORDS, 1), dict.fromkeys(KEYWORDS, 2)])
    lake.update(
        "words", {"select": "`from` + 10", "order": "`order`", "null": "NULL"}, "`table` = 1 AND `true` = 1"
    )
    lake.merge("words", [{word: 2 if word == "group" else 20 for word in KEYWORDS}], on=["group"])
    assert lake.sql("SELECT `select`, `null` FROM words w WHERE w.`case` = 20").collect()[0][0] == 20
    found = sorted((tuple(row.values()) for row in lake.arrow("words").to_pylist()), key=str)
    assert found == [
        (11, *(None if word == "null" else 1 for word in KEYWORDS[1:])),
        tuple(2 if word == "group" else 20 for word in KEYWORDS),
    ]
    lake.delete("words", "`end` = 20")
    assert lake.changes("words", 1).count() == 1


def test_a_column_in_any_script_and_of_the_longest_name_works(spark_lake):
    lake = spark_lake
    longest = "x" * 128
    names = ["größe", "名前", "имя", longest]
    lake.create_table("scripts", ", ".join(f"`{name}` INT" for name in names))
    lake.insert("scripts", [(1, 2, 3, 4)])
    lake.update("scripts", {"größe": "`名前` + `имя`", longest: f"{longest} + 1"}, "`größe` = 1")
    lake.merge("scripts", [{"名前": 2, "имя": 7}], on=["名前"])
    assert lake.arrow("scripts").to_pylist() == [{"größe": 5, "名前": 2, "имя": 7, longest: 5}]
    assert lake.table("scripts").collect()[0][0] == 5


def test_no_name_becomes_a_path(place):
    with ab.connect(place) as lake:
        lake.create_table("very_special_name.even_more_special", "peculiar_column INT")
        lake.insert("very_special_name.even_more_special", [(1,)], attempt="../../../outside")
        lake.truncate("very_special_name.even_more_special", attempt="..")
        lake.insert("very_special_name.even_more_special", [(1,)], attempt="/etc/cron.d/x; rm -rf")
    paths = [str(path.relative_to(place.parent)) for path in place.parent.rglob("*")]
    for word in ("special", "peculiar", "outside", "cron"):
        assert not [path for path in paths if word in path]
    assert all(path.split("/")[0] == place.name for path in paths)
