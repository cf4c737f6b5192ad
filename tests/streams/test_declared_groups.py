"""Groups that people declare: tables that share nothing and are published together, at one moment or not."""

from __future__ import annotations

import warnings

import pytest

import anabranch as ab
from anabranch.errors import AnabranchError, InvalidGroup
from tests.streams.shop import actions, all_right, one, rows

pytestmark = pytest.mark.rotating(2)

HOLDINGS = "SELECT account, symbol, SUM(quantity) AS quantity FROM positions GROUP BY account, symbol"
QUOTES = "SELECT symbol, MAX(price) AS price, SUM(1 / lot) AS lots FROM prices GROUP BY symbol"
VALUE = """
    SELECT h.account, SUM(h.quantity * q.price) AS value
    FROM holdings h JOIN quotes q ON h.symbol = q.symbol GROUP BY h.account
"""


@pytest.fixture
def desk(duck_lake: ab.Lake) -> ab.Lake:
    """Positions and prices, which share no source, and what is made from each."""
    lake = duck_lake
    lake.create_table("positions", "account STRING, symbol STRING, quantity BIGINT")
    lake.create_table("prices", "symbol STRING, price BIGINT, lot BIGINT")
    trade(lake, "ann", 10)
    quote(lake, 5)
    lake.create_stream_table("holdings", HOLDINGS, schedule="1m")
    lake.create_stream_table("quotes", QUOTES, schedule="1m")
    return lake


def trade(lake: ab.Lake, account: str, quantity: int) -> None:
    lake.insert("positions", [(account, "abc", quantity)])


def quote(lake: ab.Lake, price: int, *, lot: int = 1) -> None:
    lake.insert("prices", [("abc", price, lot)])


def write_between(lake: ab.Lake):
    """An observer that writes to both sources when the first member is done."""
    done: list[str] = []

    def meddle(event: ab.Event) -> None:
        if event.kind == "refresh_finished" and not done:
            done.append(str(event.stream_table))
            trade(lake, "ann", 1000)
            quote(lake, 1000)

    return meddle


def lsns(lake: ab.Lake) -> set[int]:
    """The lsns that the newest refreshes of both reflect."""
    return {lsn for name in ("holdings", "quotes") for lsn in lake.refresh_history(name, 1)[0].until.values()}


# -- one moment -----------------------------------------------------------------------------------


@pytest.mark.parametrize("isolation", ["read_committed", "repeatable_read"])
def test_bound_to_its_watermark_a_tick_shows_both_members_one_lsn(desk, clock, isolation):
    desk.create_refresh_group("desk", ["holdings", "quotes"], isolation)
    trade(desk, "bob", 1)
    quote(desk, 6)
    clock.advance(60)
    before = desk.lsn
    report = desk.tick(observer=write_between(desk))
    assert sorted(report.refreshed) == ["holdings", "quotes"]
    assert lsns(desk) == {before}
    assert {each.tick_watermark_lsn for each in desk.refresh_history(limit=2)} == {before}
    assert all_right(desk)


def test_without_the_watermark_repeatable_read_still_shows_one_lsn(desk, clock):
    desk.set("tick_watermark_enabled", False)
    desk.create_refresh_group("desk", ["holdings", "quotes"], "repeatable_read")
    trade(desk, "bob", 1)
    quote(desk, 6)
    clock.advance(60)
    desk.tick(observer=write_between(desk))
    assert len(lsns(desk)) == 1
    assert desk.refresh_history(limit=1)[0].tick_watermark_lsn is None
    assert all_right(desk)


def test_without_the_watermark_read_committed_may_differ_and_history_says_so(desk, clock):
    desk.set("tick_watermark_enabled", False)
    desk.set("parallelism", 1)
    desk.create_refresh_group("desk", ["holdings", "quotes"], "read_committed")
    trade(desk, "bob", 1)
    quote(desk, 6)
    clock.advance(60)
    before = desk.lsn
    desk.tick(observer=write_between(desk))
    assert desk.lsn == before + 3  # two writes, one publish
    assert len(lsns(desk)) == 2
    assert rows(desk, "quotes") == {("abc", 1000, 3): 1}
    assert all_right(desk)


def test_a_dimension_changed_in_mid_refresh_is_joined_as_of_the_pinned_lsn(desk, clock):
    for name, mode in (("direct", "differential"), ("whole", "full")):
        desk.create_stream_table(
            name,
            "SELECT p.account, p.quantity * q.price AS value FROM positions p "
            "JOIN prices q ON p.symbol = q.symbol",
            schedule="1m",
            refresh_mode=mode,
        )
    trade(desk, "bob", 2)
    clock.advance(60)

    def meddle(event: ab.Event) -> None:
        if event.kind == "refresh_started" and event.stream_table in ("direct", "whole"):
            desk.update("prices", {"price": "price + 1000"})

    desk.tick(observer=meddle)
    expected = {("ann", 50): 1, ("bob", 10): 1}
    assert rows(desk, "direct") == expected
    assert rows(desk, "whole") == expected
    assert all_right(desk)


def test_mark_to_market_is_right_at_every_version_while_both_are_written(desk, clock):
    desk.create_stream_table("worth", VALUE, schedule="1m")
    desk.create_refresh_group("desk", ["holdings", "quotes", "worth"], "repeatable_read")
    for number in range(8):
        trade(desk, "ann" if number % 2 else "bob", number)
        quote(desk, 5 + number)
        clock.advance(60)
        desk.tick(observer=write_between(desk) if number % 3 else None)
    versions = [entry for entry in desk.refresh_history("worth", 100) if entry.lsn and entry.epoch]
    assert len(versions) >= 6
    for entry in versions:
        positions = rows(desk, "positions", as_of=entry.until["positions"])
        prices = rows(desk, "prices", as_of=entry.until["prices"])
        assert entry.until["positions"] == entry.until["prices"]
        price = max(price for _, price, _ in prices)
        value: dict[str, int] = {}
        for (account, _, quantity), count in positions.items():
            value[account] = value.get(account, 0) + quantity * count * price
        assert rows(desk, "worth", as_of=entry.lsn) == dict.fromkeys(value.items(), 1)
    assert all_right(desk)


# -- together -------------------------------------------------------------------------------------


def test_one_member_fails_and_none_is_published_until_all_can_be(desk, clock):
    desk.create_refresh_group("desk", ["holdings", "quotes"])
    before = rows(desk, "holdings")
    trade(desk, "bob", 1)
    quote(desk, 6, lot=0)
    clock.advance(60)
    assert [name for name, _ in desk.tick().failed] == ["quotes"]
    assert rows(desk, "holdings") == before
    assert sorted(actions(desk)[-2:]) == [
        ("holdings", "DIFFERENTIAL", "ROLLED_BACK"),
        ("quotes", "DIFFERENTIAL", "FAILED"),
    ]
    desk.delete("prices", where="lot = 0")
    clock.advance(60)
    assert "holdings" in desk.tick().refreshed
    assert all_right(desk)


def test_a_declared_group_merges_with_a_diamond_and_its_isolation_wins(desk, clock):
    desk.create_stream_table("totals", "SELECT SUM(quantity) AS q FROM positions", schedule="1m")
    desk.create_stream_table(
        "shares", "SELECT h.account, t.q FROM holdings h CROSS JOIN totals t", schedule="1m"
    )
    desk.create_refresh_group("desk", ["holdings", "quotes"], "read_committed")
    assert len({one(desk, name).group_id for name in ("holdings", "quotes", "totals", "shares")}) == 1
    desk.set("tick_watermark_enabled", False)
    desk.set("parallelism", 1)
    trade(desk, "bob", 1)
    quote(desk, 6)
    clock.advance(60)
    before = desk.lsn
    desk.tick(observer=write_between(desk))
    assert desk.lsn == before + 3
    assert len({lsn for each in desk.refresh_history(limit=4) for lsn in each.until.values()}) == 2
    assert all_right(desk)


def test_what_lies_between_members_is_implied_and_listed(desk):
    desk.create_stream_table("large", "SELECT account FROM holdings WHERE quantity > 5", schedule="1m")
    desk.create_stream_table("names", "SELECT DISTINCT account FROM large", schedule="1m")
    desk.create_refresh_group("ends", ["holdings", "names"], snapshot_timeout_ms=5000)
    (group,) = desk.refresh_groups()
    assert (group.group_name, group.members, group.implied_members) == (
        "ends",
        ("holdings", "names"),
        ("large",),
    )
    assert (group.isolation, group.snapshot_timeout_ms, group.epoch) == ("read_committed", 5000, 0)
    desk.refresh_stream_table("names", full=True)
    assert desk.refresh_groups()[0].epoch == 1


def test_a_group_that_holds_its_snapshot_too_long_goes_on_with_what_is_newest(desk, clock):
    desk.set("tick_watermark_enabled", False)
    desk.set("parallelism", 1)
    desk.create_refresh_group("desk", ["holdings", "quotes"], "repeatable_read", snapshot_timeout_ms=1000)
    meddle = write_between(desk)

    def slow(event: ab.Event) -> None:
        meddle(event)
        if event.kind == "refresh_finished":
            clock.advance(2)

    trade(desk, "bob", 1)
    quote(desk, 6)
    clock.advance(60)
    with warnings.catch_warnings(record=True) as notices:
        warnings.simplefilter("always")
        desk.tick(observer=slow)
    assert len([each for each in notices if "longer than 1000 ms" in str(each.message)]) == 1
    assert len(lsns(desk)) == 2
    assert all("longer than 1000 ms" in (each.reason or "") for each in desk.refresh_history(limit=2))
    trade(desk, "bob", 1)
    quote(desk, 6)
    clock.advance(60)
    desk.tick()  # the next tick holds one snapshot again
    assert len(lsns(desk)) == 1


# -- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "culprit"),
    [
        (("", ["holdings", "quotes"]), "named"),
        (("  ", ["holdings", "quotes"]), "named"),
        (("taken", ["holdings", "quotes"]), '"taken"'),
        (("new", ["holdings"]), "two"),
        (("new", []), "two"),
        (("new", ["holdings", "holdings"]), '"holdings"'),
        (("new", ["holdings", "nothing"]), '"nothing"'),
        (("new", ["holdings", "positions"]), '"positions"'),
        (("new", ["holdings", "third"]), '"taken"'),
        (("new", ["holdings", "quotes"], "serializable"), "serializable"),
        (("new", ["holdings", "quotes"], "read_committed", -1), "-1"),
        (("new", "holdings"), "list"),
    ],
)
def test_a_refusal_names_the_culprit_and_stores_nothing(desk, arguments, culprit):
    desk.create_stream_table("third", "SELECT account FROM positions")
    desk.create_stream_table("fourth", "SELECT symbol FROM positions")
    desk.create_refresh_group("taken", ["third", "fourth"])
    before = desk.refresh_groups(), desk.status()
    with pytest.raises(AnabranchError) as error:
        desk.create_refresh_group(*arguments)
    assert culprit in str(error.value)
    assert (desk.refresh_groups(), desk.status()) == before


def test_dropping_members_shrinks_the_group_and_in_the_end_removes_it(desk):
    desk.create_stream_table("third", "SELECT account FROM positions")
    desk.create_refresh_group("desk", ["holdings", "quotes", "third"])
    desk.drop_stream_table("third")
    assert desk.refresh_groups()[0].members == ("holdings", "quotes")
    with pytest.warns(ab.Notice, match='the group "desk" is gone'):
        desk.drop_stream_table("quotes")
    assert desk.refresh_groups() == []
    assert one(desk, "holdings").group_id is None


def test_a_dropped_group_sets_its_members_free(desk, clock):
    desk.create_refresh_group("desk", ["holdings", "quotes"])
    desk.drop_refresh_group("desk")
    with pytest.raises(InvalidGroup):
        desk.drop_refresh_group("desk")
    desk.suspend_stream_table("quotes")
    trade(desk, "bob", 1)
    clock.advance(60)
    assert desk.tick().refreshed == ("holdings",)


def test_joining_members_without_belonging_says_so(desk):
    desk.create_refresh_group("desk", ["holdings", "quotes"])
    with pytest.warns(ab.Notice, match='of the group "desk" without being in it'):
        desk.create_stream_table("worth", VALUE)
