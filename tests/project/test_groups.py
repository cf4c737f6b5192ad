"""Groups and sources of a project: they come, change and go with the rest, or nothing does."""

from __future__ import annotations

import pytest

import anabranch as ab
from anabranch.errors import (
    DifferentColumns,
    InvalidGroup,
    NameTaken,
    NotASource,
    UnknownTable,
)
from tests.project.folders import SHOP, YML
from tests.project.looking import BIG, GROUP, everything


def test_groups_come_change_and_go(shop, applied):
    shop.write({"anabranch.yml": GROUP})
    plan = shop.load().apply(applied)
    assert [(each.action, each.name, each.members) for each in plan.groups] == [
        ("create", "both", ("by_region", "by_product"))
    ]
    assert shop.load().plan(applied).empty
    shop.write({"anabranch.yml": GROUP.replace("]}", "], isolation: repeatable_read}")})
    assert [each.action for each in shop.load().apply(applied).groups] == ["change"]
    assert applied.refresh_groups()[0].isolation == "repeatable_read"
    assert shop.load().plan(applied).empty
    shop.write({"anabranch.yml": YML})
    assert [each.action for each in shop.load().apply(applied).groups] == ["drop"]
    assert applied.refresh_groups() == []


def test_a_group_of_stream_tables_that_are_created_with_it(shop, lake):
    shop.write({"anabranch.yml": GROUP})
    shop.load().apply(lake)
    assert lake.refresh_groups()[0].members == ("by_product", "by_region")
    assert lake.lsn == 1


def test_a_group_goes_with_its_members(shop, applied):
    shop.write({"anabranch.yml": GROUP})
    shop.load().apply(applied)
    shop.write({"anabranch.yml": YML})
    shop.remove("tables/summary.sql")
    shop.remove("tables/by_region.sql")
    shop.load().apply(applied)
    assert applied.refresh_groups() == []
    assert [each.name for each in applied.status()] == ["by_product"]
    assert shop.load().plan(applied).empty


def test_watermark_groups_come_change_and_go(shop, applied):
    both = "watermark_groups:\n  loaded: {sources: [sales, returns], tolerance: 5m}\n"
    shop.write({"anabranch.yml": YML + both, "more.sql": "CREATE TABLE returns (id BIGINT);"})
    plan = shop.load().apply(applied)
    assert [(each.kind, each.action) for each in plan.groups] == [("watermark_group", "create")]
    assert applied.watermark_groups()[0].tolerance_seconds == 300
    assert shop.load().plan(applied).empty
    shop.write({"anabranch.yml": YML + both.replace("5m", "1h")})
    assert [each.action for each in shop.load().apply(applied).groups] == ["change"]
    assert applied.watermark_groups()[0].tolerance_seconds == 3600
    shop.write({"anabranch.yml": YML})
    shop.load().apply(applied)
    assert applied.watermark_groups() == []
    assert shop.load().plan(applied).empty


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (YML + "refresh_groups:\n  g: {members: [by_region, nobody]}\n", ab.AnabranchError),
        (YML + "watermark_groups:\n  g: {sources: [sales, by_region]}\n", NotASource),
        (YML + "watermark_groups:\n  g: {sources: [sales, nobody]}\n", UnknownTable),
    ],
)
def test_a_group_that_can_not_be_is_refused_and_nothing_else_happens(shop, applied, text, error):
    shop.write({"anabranch.yml": text, "tables/big.sql": BIG})
    before = everything(applied)
    with pytest.raises(error):
        shop.load().apply(applied)
    assert everything(applied) == before


def test_a_member_of_a_group_that_people_declared_is_not_taken_from_it(shop, applied):
    applied.create_stream_table("mine", "SELECT COUNT(*) AS n FROM sales")
    applied.create_refresh_group("ours", ["mine", "by_product"])
    shop.write({"anabranch.yml": GROUP})
    with pytest.raises(InvalidGroup, match="ours"):
        shop.load().plan(applied)


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        (
            "id BIGINT, region STRING, product BIGINT, pieces BIGINT",
            "amount DECIMAL(12,2) is not in the file",
        ),
        (
            "id BIGINT, region STRING, product BIGINT, pieces BIGINT, amount DECIMAL(12, 2), x INT",
            "x INT is missing in the lake",
        ),
        (
            "id BIGINT, region BIGINT, product BIGINT, pieces BIGINT, amount DECIMAL(12, 2)",
            "region STRING in the lake is region BIGINT in the file",
        ),
        (
            "id BIGINT NOT NULL, region STRING, product BIGINT, pieces BIGINT, amount DECIMAL(12, 2)",
            "id BIGINT in the lake is id BIGINT NOT NULL in the file",
        ),
        (
            "region STRING, id BIGINT, product BIGINT, pieces BIGINT, amount DECIMAL(12, 2)",
            "the columns stand in another order",
        ),
    ],
)
def test_a_source_with_other_columns_is_an_error_that_tells_the_difference(shop, applied, columns, told):
    shop.write({"sources.sql": f"\nCREATE TABLE sales ({columns});"})
    with pytest.raises(DifferentColumns) as caught:
        shop.load().plan(applied)
    assert caught.value.detail == f"sources.sql, line 2: {told}."


def test_a_name_is_not_taken_by_another_kind_of_table(shop, applied):
    shop.write({"sources.sql": SHOP["sources.sql"] + "CREATE TABLE summary (id INT);"})
    shop.remove("tables/summary.sql")
    with pytest.raises(NameTaken, match="summary"):
        shop.load().plan(applied)
    shop.write({**SHOP, "tables/other.sql": "CREATE STREAM TABLE notes AS SELECT 1 AS a;"})
    applied.create_table("notes", "id INT")
    with pytest.raises(NameTaken, match="notes"):
        shop.load().plan(applied)
