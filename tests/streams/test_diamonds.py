"""Tables in which data meets again: all of a group or none of it, whatever fails, waits or is slow."""

from __future__ import annotations

from decimal import Decimal

import pytest

import anabranch as ab
from tests.streams.shop import (
    BY_PRODUCT,
    BY_REGION,
    SUMMARY,
    actions,
    all_right,
    diamond,
    one,
    rows,
    sell,
    totals,
)

NAMES = ("by_product", "by_region", "summary")


def newest(lake: ab.Lake, count: int = 3) -> dict[str, tuple[str, int | None, int | None]]:
    return {
        entry.stream_table: (entry.status, entry.group_id, entry.epoch)
        for entry in lake.refresh_history(limit=count)
    }


def epoch(lake: ab.Lake) -> int:
    (found,) = {each.epoch for each in lake.diamond_groups()}
    return found


# -- groups ---------------------------------------------------------------------------------------


def test_a_diamond_is_listed_with_its_convergence_and_shared_source(shop):
    diamond(shop)
    found = [
        (each.member_name, each.is_convergence, each.shared_sources, each.schedule_policy, each.member_schema)
        for each in shop.diamond_groups()
    ]
    assert found == [
        ("by_product", False, (), "fastest", "main"),
        ("by_region", False, (), "fastest", "main"),
        ("summary", True, ("sales",), "fastest", "main"),
    ]
    assert len({each.group_id for each in shop.status()}) == 1


def test_every_publish_advances_the_epoch_by_one(shop, clock):
    diamond(shop)
    assert epoch(shop) == 1
    for number in range(4, 7):
        sell(shop, number)
        clock.advance(60)
        shop.tick()
        assert epoch(shop) == number - 2
        assert {found[2] for found in newest(shop).values()} == {number - 2}
    clock.advance(60)
    shop.tick()  # nothing to publish
    assert epoch(shop) == 4


def test_only_one_branch_changed_and_all_stand_on_record_together(shop, clock):
    shop.create_table("other", "id BIGINT, region STRING")
    diamond(shop)
    shop.alter_stream_table(
        "by_region",
        query="SELECT s.region, SUM(amount) AS revenue, COUNT(*) AS n FROM sales s "
        "JOIN other o ON s.region = o.region GROUP BY s.region",
    )
    clock.advance(60)
    shop.insert("other", [(1, "north")])
    shop.tick()
    assert totals(shop) == (Decimal(10), Decimal(35))
    assert newest(shop)["by_product"][0] == "SUCCEEDED"
    assert ("by_product", "NO_DATA", "SUCCEEDED") in actions(shop)[-3:]
    assert all_right(shop)


def test_the_convergence_table_may_read_the_root_directly_and_through_a_branch(shop, clock):
    shop.create_stream_table("by_region", BY_REGION, schedule="1m")
    shop.create_stream_table(
        "shares",
        "SELECT s.id, s.amount, r.revenue FROM sales s JOIN by_region r ON s.region = r.region",
        schedule="1m",
    )
    assert {each.member_name for each in shop.diamond_groups()} == {"by_region", "shares"}
    sell(shop, 4, region="south", amount=7)
    clock.advance(60)
    shop.tick()
    assert rows(shop, "shares")[(4, Decimal(7), Decimal(32))] == 1
    assert all_right(shop)


def test_nested_diamonds_are_one_group_with_two_convergence_points(shop, clock):
    diamond(shop)
    shop.create_stream_table("low", "SELECT MIN(revenue) AS low FROM by_region", schedule="1m")
    shop.create_stream_table(
        "pair", "SELECT s.regional_total, l.low FROM summary s CROSS JOIN low l", schedule="1m"
    )
    found = shop.diamond_groups()
    assert {each.member_name for each in found} == {*NAMES, "low", "pair"}
    assert {each.member_name for each in found if each.is_convergence} == {"summary", "pair"}
    sell(shop, 4, amount=3)
    clock.advance(60)
    before = shop.lsn
    shop.tick()
    assert shop.lsn == before + 1
    assert rows(shop, "pair") == {(Decimal(38), Decimal(13)): 1}
    assert all_right(shop)


def test_two_independent_diamonds_do_not_disturb_each_other(shop, clock):
    diamond(shop)
    for name, query in (
        ("many", "SELECT region, COUNT(*) AS n FROM sales GROUP BY region"),
        (
            "few",
            "SELECT product, COUNT(*) AS n, SUM(1 / pieces) AS x FROM sales WHERE id > 3 GROUP BY product",
        ),
        ("counts", "SELECT m.n AS m, f.n AS f FROM many m LEFT JOIN few f ON m.n = f.n"),
    ):
        shop.create_stream_table(name, query, schedule="1m")
    assert len({each.group_id for each in shop.diamond_groups()}) == 2
    shop.suspend_stream_table("few")
    sell(shop, 4)
    clock.advance(60)
    report = shop.tick()
    assert sorted(report.refreshed) == sorted(NAMES)
    assert {name for name, _ in report.held} == {"many", "few", "counts"}
    assert all_right(shop)


# -- a branch fails -------------------------------------------------------------------------------


def test_a_failing_branch_leaves_every_member_at_its_old_version(shop, clock):
    diamond(shop)
    before = {name: rows(shop, name) for name in NAMES}
    published = epoch(shop)
    sell(shop, 4, pieces=0)
    clock.advance(60)
    report = shop.tick()
    assert [name for name, _ in report.failed] == ["by_product"]
    assert {name: rows(shop, name) for name in NAMES} == before
    group = one(shop, "summary").group_id
    assert newest(shop) == {
        "by_product": ("FAILED", group, None),
        "by_region": ("ROLLED_BACK", group, None),
        "summary": ("ROLLED_BACK", group, None),
    }
    assert epoch(shop) == published


def test_a_failed_group_is_tried_again_with_backoff_and_advances_as_one(shop, clock):
    diamond(shop)
    published = epoch(shop)
    sell(shop, 4, pieces=0)
    clock.advance(60)
    shop.tick()
    held = shop.tick()
    assert {name for name, _ in held.held} == set(NAMES)
    assert all('"by_product" failed, and is tried again' in why for _, why in held.held)
    assert (held.next_due - clock.now()).total_seconds() == 1
    clock.advance(1)
    assert shop.tick().failed
    clock.advance(1)
    assert shop.tick().held  # now it waits for two seconds
    clock.advance(1)
    shop.update("sales", {"pieces": "1"}, where="pieces = 0")
    assert sorted(shop.tick().refreshed) == sorted(NAMES)
    assert totals(shop) == (Decimal(36), Decimal(36))
    assert epoch(shop) == published + 1
    assert one(shop, "by_product").consecutive_failures == 0
    assert all_right(shop)


def test_in_mode_none_the_other_branch_advances(shop, clock):
    diamond(shop, diamond_consistency="none")
    sell(shop, 4, pieces=0)
    clock.advance(60)
    report = shop.tick()
    assert [name for name, _ in report.failed] == ["by_product"]
    assert sorted(report.refreshed) == ["by_region", "summary"]
    assert totals(shop) == (Decimal(36), Decimal(35))
    assert all_right(shop)  # each over what it read


def test_one_member_that_says_none_sets_all_free(shop, clock):
    shop.create_stream_table("by_region", BY_REGION, schedule="1m", diamond_consistency="none")
    shop.create_stream_table("by_product", BY_PRODUCT, schedule="1m")
    shop.create_stream_table("summary", SUMMARY, schedule="1m")
    sell(shop, 4, pieces=0)
    clock.advance(60)
    assert "by_region" in shop.tick().refreshed


def test_the_lakes_setting_decides_where_tables_do_not(shop, clock):
    shop.set("diamond_consistency", "none")
    diamond(shop)
    sell(shop, 4, pieces=0)
    clock.advance(60)
    assert "by_region" in shop.tick().refreshed
    shop.alter_stream_table("by_region", diamond_consistency="atomic")
    assert {each.schedule_policy for each in shop.diamond_groups()} == {"none"}


def test_coming_back_from_none_to_atomic_catches_up_together(shop, clock):
    diamond(shop, diamond_consistency="none")
    sell(shop, 4, pieces=0)
    clock.advance(60)
    shop.tick()
    for name in NAMES:
        shop.alter_stream_table(name, diamond_consistency="atomic")
    shop.update("sales", {"pieces": "1"}, where="pieces = 0")
    clock.advance(60)
    assert shop.tick().refreshed
    assert totals(shop) == (Decimal(36), Decimal(36))
    assert all_right(shop)


def test_after_too_many_failures_it_is_suspended_until_somebody_resumes_it(shop, clock):
    shop.set("max_consecutive_failures", 3)
    shop.create_stream_table("by_product", BY_PRODUCT, schedule="1m")
    sell(shop, 4, pieces=0)
    for _ in range(3):
        clock.advance(120)
        assert shop.tick().failed
    found = one(shop, "by_product")
    assert (found.status, found.consecutive_failures) == ("SUSPENDED", 3)
    assert "3 times" in found.status_reason
    clock.advance(120)
    assert shop.tick().held
    shop.delete("sales", where="pieces = 0")
    shop.resume_stream_table("by_product")
    assert shop.tick().refreshed == ("by_product",)
    assert one(shop, "by_product").consecutive_failures == 0


# -- a branch is held -----------------------------------------------------------------------------


@pytest.mark.parametrize("parallelism", [1, 4])
def test_a_suspended_member_holds_its_group_with_the_reason(shop, clock, parallelism):
    shop.set("parallelism", parallelism)
    diamond(shop)
    before = {name: rows(shop, name) for name in NAMES}
    shop.suspend_stream_table("by_region")
    sell(shop, 4)
    for _ in range(2):
        clock.advance(60)
        assert dict(shop.tick().held) == dict.fromkeys(NAMES, '"by_region" is suspended: by hand')
    assert {name: rows(shop, name) for name in NAMES} == before
    assert [entry for entry in actions(shop) if entry[1] == "SKIP"] == [
        (name, "SKIP", "SKIPPED") for name in NAMES
    ]
    shop.resume_stream_table("by_region")
    assert sorted(shop.tick().refreshed) == sorted(NAMES)
    assert all_right(shop)


def test_what_is_downstream_of_a_held_group_goes_on_with_what_there_is(shop, clock):
    diamond(shop)
    shop.create_stream_table("copy", "SELECT regional_total FROM summary", schedule="1m")
    shop.suspend_stream_table("by_region")
    sell(shop, 4)
    clock.advance(60)
    assert "copy" in shop.tick().unchanged
    assert rows(shop, "copy") == {(Decimal(35),): 1}


# -- schedules ------------------------------------------------------------------------------------


def schedules(lake: ab.Lake, policy: str | None = None) -> None:
    for name, query, every in (("by_region", BY_REGION, "1m"), ("by_product", BY_PRODUCT, "5m")):
        lake.create_stream_table(name, query, schedule=every)
    options = {} if policy is None else {"diamond_schedule_policy": policy}
    lake.create_stream_table("summary", SUMMARY, schedule="2m", **options)
    sell(lake, 4)


def test_the_fastest_member_calls_all_by_default(shop, clock):
    schedules(shop)
    clock.advance(60)
    assert sorted(shop.tick().refreshed) == sorted(NAMES)


def test_with_slowest_the_group_waits_for_its_last_member(shop, clock):
    schedules(shop, "slowest")
    clock.advance(299)
    assert shop.tick().refreshed == ()
    clock.advance(1)
    assert sorted(shop.tick().refreshed) == sorted(NAMES)


def test_the_tables_own_policy_stands_before_the_lakes(shop, clock):
    shop.set("diamond_schedule_policy", "slowest")
    schedules(shop, "fastest")
    clock.advance(60)
    assert sorted(shop.tick().refreshed) == sorted(NAMES)


def test_the_policy_has_no_effect_in_mode_none(shop, clock):
    shop.set("diamond_schedule_policy", "slowest")
    shop.set("diamond_consistency", "none")
    schedules(shop)
    clock.advance(60)
    assert shop.tick().refreshed == ("by_region",)


def test_of_several_convergence_points_the_strictest_wins(shop, clock):
    schedules(shop)
    shop.create_stream_table("low", "SELECT MIN(revenue) AS low FROM by_region", schedule="10m")
    shop.create_stream_table(
        "pair",
        "SELECT s.regional_total, l.low FROM summary s CROSS JOIN low l",
        schedule="2m",
        diamond_schedule_policy="slowest",
    )
    sell(shop, 5)
    clock.advance(599)
    assert shop.tick().refreshed == ()
    clock.advance(1)
    assert len(shop.tick().refreshed) == 5
