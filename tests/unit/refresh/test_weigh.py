"""A refresh before its fuse: what is counted, what is remembered, what becomes of it."""

from __future__ import annotations

import pytest

from anabranch.ledger.history import DIFFERENTIAL, FULL, NO_DATA, REINITIALIZE, SKIP
from anabranch.names import TableName
from anabranch.refresh.fuse_decision import Blown, FuseDecision, decide_by_fuse, fuse_of, rebuild_reason
from anabranch.refresh.plan import PlannedAction
from anabranch.settings import Settings
from anabranch.streams.fuse import Fuse
from anabranch.streams.stream_table import FuseMemory, Options, Read, StreamTable

NAME, SOURCE = TableName.parse("t"), TableName.parse("s")
TEN = Fuse("on", ceiling=10)


def stream(**memory: object) -> StreamTable:
    return StreamTable(
        NAME,
        "id",
        "SELECT k FROM s",
        Options(),
        (SOURCE,),
        reads={SOURCE: Read("other", 1)},
        fuse=FuseMemory(**memory),  # type: ignore[arg-type]
    )


def weighed(
    pending: int, action: str = DIFFERENTIAL, fuse: Fuse = TEN, by_hand: bool = False, **memory: object
) -> FuseDecision:
    return decide_by_fuse(
        stream(**memory), PlannedAction(action, "so"), lambda: pending, fuse, by_hand=by_hand
    )


def never() -> int:
    pytest.fail("it was counted")


@pytest.mark.parametrize(
    ("action", "fuse", "reset"),
    [
        (NO_DATA, TEN, None),
        (NO_DATA, TEN, "skip_changes"),
        (FULL, Fuse(), None),
        (REINITIALIZE, Fuse(), None),
        (REINITIALIZE, TEN, "reinitialize"),
    ],
)
def test_nothing_is_counted_that_need_not_be(action, fuse, reset):
    found = decide_by_fuse(stream(reset=reset), PlannedAction(action, "so"), never, fuse, by_hand=False)
    assert (found.planned, found.fuse.reset) == (PlannedAction(action, "so"), None)


def test_a_batch_below_the_ceiling_is_remembered_and_ends_the_row():
    assert weighed(10, batches=(1, 2), in_a_row=2) == FuseDecision(
        PlannedAction(DIFFERENTIAL, "so"), FuseMemory(batches=(1, 2, 10)), 10
    )


def test_a_fill_from_nothing_is_weighed_and_not_remembered():
    assert weighed(10, REINITIALIZE, batches=(1, 2)).fuse.batches == (1, 2)
    with pytest.raises(Blown):
        weighed(11, REINITIALIZE)


def test_without_a_fuse_batches_are_remembered_for_when_there_is_one():
    assert weighed(1_000, fuse=Fuse()).fuse.batches == (1_000,)


def test_one_above_the_ceiling_blows_by_the_scheduler_alone():
    with pytest.raises(Blown) as caught:
        weighed(11)
    assert (caught.value.name, caught.value.because) == (NAME, "11 pending changes exceed the ceiling of 10")
    found = weighed(11, by_hand=True, batches=(1,), in_a_row=1)
    assert found.planned.because.startswith("so; 11 pending changes exceed the ceiling of 10")
    assert found.fuse == FuseMemory(batches=(1,), in_a_row=1)
    assert found.notice


def test_what_was_decided_is_done_once():
    applied = weighed(11, reset="apply", batches=(1,))
    assert (applied.planned.action, applied.fuse) == (DIFFERENTIAL, FuseMemory(batches=(1,)))
    skipped = weighed(11, reset="skip_changes", skipped=4)
    assert (skipped.planned.action, skipped.fuse) == (SKIP, FuseMemory(skipped=15))
    assert rebuild_reason(stream(reset="reinitialize"))
    assert rebuild_reason(stream(reset="apply")) is None


def test_those_before_the_last_in_a_row_pass_and_say_so():
    found = weighed(11, fuse=Fuse("on", 10, sensitivity=2))
    assert found.fuse.in_a_row == 1
    assert "1 of 2 times in a row" in found.planned.because
    with pytest.raises(Blown):
        weighed(11, fuse=Fuse("on", 10, sensitivity=2), in_a_row=1)


def test_the_own_ceiling_comes_before_the_lakes():
    lake = Settings({"fuse_default_ceiling": 7}, {})
    assert fuse_of(Options(fuse="on"), lake) == Fuse("on", 7)
    assert fuse_of(Options(fuse="on", fuse_ceiling=9, fuse_sensitivity=2), lake) == Fuse("on", 9, 2)
    assert fuse_of(Options(fuse="on"), Settings({}, {})) == Fuse("on", None)
