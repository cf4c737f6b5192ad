"""Somebody else commits between the start of a write and its commit."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import anabranch as ab
from anabranch.errors import Damaged, NameTaken, WriteConflict
from anabranch.failpoints import Failpoints
from tests.crash import scripts
from tests.crash.conftest import Spot
from tests.crash.model import Model, bag, check_history, state_of
from tests.crash.test_damage import newest, point_at

Opened = Callable[..., ab.Lake]
Overtake = Callable[[Callable[[ab.Lake], object]], tuple[ab.Lake, ab.Lake]]
AT_ONCE = {"snapshot_retention": "0s", "orphan_grace": "1h"}


@pytest.fixture
def overtake(spot: Spot, opened: Opened) -> Overtake:
    """Two connections; the second does something just before the first commits."""

    def arrange(act: Callable[[ab.Lake], object]) -> tuple[ab.Lake, ab.Lake]:
        failpoints = Failpoints()
        slow, fast = opened(spot, failpoints=failpoints), opened(spot, **AT_ONCE)

        def first() -> None:
            failpoints.disarm("commit.before_transaction")
            act(fast)

        failpoints.arm("commit.before_transaction", first)
        return slow, fast

    return arrange


@pytest.fixture
def model(spot: Spot) -> Model:
    with spot.open() as lake:
        return scripts.prepare(lake)


def test_expiry_in_between_does_not_disturb_a_transaction(model: Model, overtake: Overtake):
    """Its metadata moved, its rows didn't."""
    slow, fast = overtake(lambda lake: lake.maintain())
    floor = slow.lsn
    answer = scripts.commit_five(slow, None)
    assert fast.maintain().floor_lsn == answer
    scripts.five_tables(model)
    model.committed(answer)
    check_history(slow, model.history, floor=floor + 1)


def test_a_writer_in_between_makes_a_transaction_that_rewrites_give_up_whole(
    model: Model, overtake: Overtake
):
    slow, _ = overtake(lambda lake: model.together(lake, lambda tx: tx.insert("stock", [(1, "first")])))
    with pytest.raises(WriteConflict):
        scripts.commit_five(slow, "mine")
    assert slow.committed("mine") is None
    check_history(slow, model.history)
    scripts.five_tables(model)
    model.committed(scripts.commit_five(slow, "mine"))
    check_history(slow, model.history)


def test_a_writer_in_between_does_not_disturb_appends(model: Model, overtake: Overtake):
    slow, _ = overtake(lambda lake: model.together(lake, lambda tx: tx.truncate("orders")))
    answer = scripts.insert_once(slow, None)
    scripts.one_table(model)
    model.committed(answer)
    check_history(slow, model.history)


def test_a_verb_that_rewrites_starts_over_on_what_the_other_wrote(model: Model, overtake: Overtake):
    slow, _ = overtake(lambda lake: model.together(lake, lambda tx: tx.insert("orders", [(5, "first")])))
    answer = slow.truncate("orders")
    assert answer.deleted == 4
    model.truncate("orders")
    model.committed(answer.lsn)
    check_history(slow, model.history)


def test_a_table_created_in_between_is_found_by_who_creates_it_if_it_is_missing(
    model: Model, overtake: Overtake
):
    slow, _ = overtake(lambda lake: model.together(lake, lambda tx: tx.create_table("fresh", scripts.SCHEMA)))
    slow.create_table("fresh", scripts.SCHEMA, if_not_exists=True)
    check_history(slow, model.history)


def test_a_table_created_in_between_keeps_its_name(model: Model, overtake: Overtake):
    slow, _ = overtake(lambda lake: model.together(lake, lambda tx: tx.create_table("fresh", scripts.SCHEMA)))
    with pytest.raises(NameTaken):
        slow.create_table("fresh", "other INT")
    check_history(slow, model.history)


def test_a_table_dropped_in_between_takes_the_write_with_it(model: Model, overtake: Overtake):
    slow, _ = overtake(lambda lake: model.together(lake, lambda tx: tx.drop_table("orders")))
    with pytest.raises(ab.AnabranchError) as caught:
        scripts.insert_once(slow, "mine")
    assert caught.value.code in ("AB103", "AB301")
    check_history(slow, model.history)


def test_a_table_that_another_client_broke_in_between_is_reported_at_once(model: Model, overtake: Overtake):
    before = model.state
    slow, fast = overtake(lambda lake: point_at(lake, newest(lake, "stock").metadata_location + ".lost"))
    with pytest.raises(Damaged):
        scripts.insert_once(slow, "mine")
    assert slow.committed("mine") is None
    del before["orders"]
    assert {name: bag(fast.arrow(name)) for name in before} == before
    assert state_of(fast, as_of=fast.lsn) == model.state
