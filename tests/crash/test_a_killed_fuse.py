"""kill -9 while a fuse blows or is reset: it has, and everybody knows, or it hasn't."""

from __future__ import annotations

import pytest

import anabranch as ab
from tests.crash.children import Children
from tests.crash.conftest import Spot
from tests.crash.promises import check_promises, contents
from tests.crash.stream_scripts import FIRST, meaning, prepare_streams
from tests.crash.test_a_killed_refresh import BLOWING

pytestmark = [pytest.mark.crash, pytest.mark.rotating(5)]

MINUTE = 60
MANY = [(100 + number, "west", 3, 1, 1) for number in range(11)]


def load(spot: Spot) -> None:
    """A diamond of which one branch takes ten changes at a time, and eleven."""
    with spot.open_duck() as lake:
        prepare_streams(lake, "diamond")
        lake.alter_stream_table("by_region", fuse="on", fuse_ceiling=10)
        lake.insert("sales", MANY)
    spot.clock.advance(MINUTE)


def state(lake: ab.Lake) -> tuple[str, str]:
    (found,) = [each for each in lake.status() if each.name == "by_region"]
    return found.status, found.fuse_state


def skips(lake: ab.Lake) -> list[str]:
    return sorted(entry.stream_table for entry in lake.refresh_history() if entry.action == "SKIP")


@pytest.mark.parametrize("point", BLOWING)
def test_a_fuse_killed_while_it_blows_holds_its_group_and_nothing_is_seen(
    sqlite_spot: Spot, children: Children, point: str
):
    load(sqlite_spot)
    [end] = children.run(sqlite_spot.duck_job("tick_once", f"{point}=kill"))
    assert end.killed, end
    sqlite_spot.clock.advance(MINUTE)
    noted = point == "refresh.after_blown"
    with sqlite_spot.open_duck() as lake:
        check_promises(lake)
        assert contents(lake) == meaning("diamond", FIRST)
        assert state(lake) == (("SUSPENDED", "blown") if noted else ("ACTIVE", "armed"))
        for _ in range(2):
            assert len(lake.tick().held) == 3
        assert skips(lake) == ["by_product", "by_region", "summary"]
        lake.reset_fuse("by_region", "apply")
        assert len(lake.tick().refreshed) == 3
        assert contents(lake) == meaning("diamond", [*FIRST, *MANY])
        check_promises(lake)


@pytest.mark.parametrize(
    ("point", "done"),
    [
        ("refresh.before_publish", False),
        ("commit.in_transaction", False),
        ("commit.before_commit", False),
        ("commit.after_commit", True),
        ("refresh.after_publish", True),
    ],
)
def test_skipping_changes_killed_anywhere_happened_whole_or_not_at_all(
    sqlite_spot: Spot, children: Children, point: str, done: bool
):
    load(sqlite_spot)
    with sqlite_spot.open_duck() as lake:
        assert len(lake.tick().held) == 3
    [end] = children.run(sqlite_spot.duck_job("skip_changes", f"{point}=kill"))
    assert end.killed, end
    with sqlite_spot.open_duck() as lake:
        assert state(lake) == (("ACTIVE", "armed") if done else ("SUSPENDED", "blown"))
        assert contents(lake) == meaning("diamond", FIRST)
        (fuse,) = [each for each in lake.fuse_status() if each.name == "by_region"]
        assert fuse.pending_changes == (0 if done else len(MANY))
        assert len(skips(lake)) == (4 if done else 3)
        if not done:
            lake.reset_fuse("by_region", "skip_changes")
        sqlite_spot.clock.advance(2 * MINUTE)
        assert sorted(lake.tick().refreshed) == ["by_product", "summary"]
