"""A refresh that is overtaken by another gives way, also where one of the two changes no rows."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import anabranch as ab
from tests.streams.at_every_version import Watch
from tests.streams.shop import BY_PRODUCT, BY_REGION, SUMMARY, all_right, rows, sell


def meddling(work: Callable[[], object]) -> Callable[[ab.Event], None]:
    """An observer that does something once, between a refresh and its commit."""
    left = [work]

    def meddle(event: ab.Event) -> None:
        if event.kind == "refresh_finished" and left:
            left.pop()()

    return meddle


def test_a_refresh_without_rows_does_not_hide_a_newer_one(shop, clock):
    shop.create_stream_table("by_region", BY_REGION, schedule="1m")
    sell(shop, 4)
    shop.delete("sales", where="id = 4")
    clock.advance(60)

    def meddle() -> None:
        sell(shop, 5)
        shop.refresh_stream_table("by_region")

    report = shop.tick(observer=meddling(meddle))
    assert [name for name, _ in report.held] == ["by_region"]
    assert [entry.initiated_by for entry in shop.refresh_history()] == ["manual", "create"]
    assert all_right(shop)
    Watch(shop).look()


def test_a_refresh_that_is_behind_one_without_rows_does_not_go_back(shop, clock):
    shop.create_stream_table("by_region", BY_REGION, schedule="1m")
    before = rows(shop, "by_region")
    sell(shop, 4)
    clock.advance(60)

    def meddle() -> None:
        shop.delete("sales", where="id = 4")
        shop.refresh_stream_table("by_region")

    report = shop.tick(observer=meddling(meddle))
    assert [name for name, _ in report.held] == ["by_region"]
    assert rows(shop, "by_region") == before
    Watch(shop).look()


def test_a_query_altered_during_a_refresh_stays_in_force(shop, clock):
    shop.create_stream_table("ids", "SELECT id FROM sales WHERE id > 100", schedule="1m")
    sell(shop, 4)
    clock.advance(60)
    other = "SELECT id FROM sales WHERE id > 200"
    shop.tick(observer=meddling(lambda: shop.alter_stream_table("ids", query=other)))
    sell(shop, 150)
    sell(shop, 250)
    shop.refresh_stream_table("ids")
    assert rows(shop, "ids") == {(250,): 1}
    assert all_right(shop)


@pytest.mark.parametrize("branch", ["by_region", "by_product"])
def test_a_diamond_closed_during_a_refresh_of_a_branch_is_of_one_moment(shop, clock, branch):
    """The branch's change is undone before the diamond is closed, so that nothing of it is written then."""
    for name, query in (("by_region", BY_REGION), ("by_product", BY_PRODUCT)):
        shop.create_stream_table(name, query, schedule="1m" if name == branch else None)
    sell(shop, 4)
    clock.advance(60)

    def meddle() -> None:
        shop.delete("sales", where="id = 4")
        shop.create_stream_table("summary", SUMMARY, schedule="1m")

    shop.tick(observer=meddling(meddle))
    Watch(shop).look()
    ((regional, by_product),) = rows(shop, "summary")
    assert regional == by_product == sum(row[1] for row in rows(shop, "by_region"))
    assert regional == sum(row[1] for row in rows(shop, "by_product"))
