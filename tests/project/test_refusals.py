"""What a lake can't become is refused, and the lake stays as it was."""

from __future__ import annotations

import pytest

import anabranch as ab
from anabranch.errors import (
    BrokenDefinition,
    CircularDefinition,
    InvalidOption,
    OwnedElsewhere,
    RefreshHeld,
    UnknownColumnInQuery,
    UnknownTable,
)
from tests.project.folders import BY_REGION, Folder
from tests.project.looking import everything

pytestmark = pytest.mark.rotating(2)


@pytest.mark.parametrize(
    ("files", "error"),
    [
        ({"a.sql": "CREATE STREAM TABLE a AS SELECT nothing FROM sales;"}, UnknownColumnInQuery),
        ({"a.sql": "CREATE STREAM TABLE a AS SELECT 1 AS x FROM nowhere;"}, UnknownTable),
        (
            {
                "a.sql": "CREATE STREAM TABLE a AS SELECT x FROM b UNION SELECT id AS x FROM sales;",
                "b.sql": "CREATE STREAM TABLE b AS SELECT x FROM a;",
            },
            CircularDefinition,
        ),
        (
            {"a.sql": "CREATE STREAM TABLE a WITH (refresh_mode = immediate, fuse = on) AS SELECT 1 AS a;"},
            InvalidOption,
        ),
        (
            {"a.sql": "CREATE STREAM TABLE a WITH (refresh_mode = immediate) AS SELECT n FROM by_region;"},
            InvalidOption,
        ),
    ],
)
def test_a_definition_that_can_not_be_leaves_the_lake_as_it_was(shop, applied, files, error):
    shop.write({**files, "tables/by_region.sql": BY_REGION.replace("1m", "2m")})
    before = everything(applied)
    with pytest.raises(error):
        shop.load().plan(applied)
    with pytest.raises(error):
        shop.load().apply(applied)
    assert everything(applied) == before


def test_a_query_that_fails_when_it_runs_leaves_the_lake_as_it_was(shop, applied):
    shop.write(
        {
            "tables/by_region.sql": BY_REGION.replace("1m", "2m"),
            "tables/bad.sql": "CREATE STREAM TABLE bad AS SELECT CAST(region AS INT) AS n FROM sales;",
            "more.sql": "CREATE TABLE returns (id BIGINT);",
        }
    )
    shop.remove("tables/summary.sql")
    before = everything(applied)
    with pytest.raises(ab.AnabranchError):
        shop.load().apply(applied)
    assert everything(applied) == before


def test_readers_of_others_must_go_on_as_they_are(shop, applied):
    applied.create_stream_table("mine", "SELECT * FROM by_region")
    shop.write({"tables/by_region.sql": BY_REGION.replace("AS n", "AS many")})
    with pytest.raises(BrokenDefinition, match="mine"):
        shop.load().plan(applied)


def test_what_another_project_made_is_not_taken_over(shop, applied, tmp_path, clock):
    other = Folder(tmp_path / "other", clock).write(
        {"anabranch.yml": f"name: other\nlake: {shop.path}/lake\n", "a.sql": BY_REGION}
    )
    with pytest.raises(OwnedElsewhere, match="shop"):
        other.load().plan(applied)


def test_two_projects_share_a_lake(shop, applied, tmp_path, clock):
    other = Folder(tmp_path / "other", clock).write(
        {
            "anabranch.yml": f"name: other\nlake: {shop.path}/lake\n",
            "a.sql": "CREATE STREAM TABLE theirs AS SELECT SUM(revenue) AS r FROM by_region;",
        }
    )
    other.load().apply(applied)
    assert shop.load().plan(applied).empty
    other.remove("a.sql")
    assert other.load().apply(applied).dropped == ("theirs",)
    assert len(applied.status()) == 3


def test_what_is_published_with_a_suspended_one_is_not_rebuilt(shop, applied):
    applied.suspend_stream_table("by_product")
    shop.write({"tables/by_region.sql": BY_REGION.replace("FROM sales", "FROM sales WHERE id > 1")})
    before = everything(applied)
    with pytest.raises(RefreshHeld, match="held"):
        shop.load().apply(applied)
    assert everything(applied) == before
