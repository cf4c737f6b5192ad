"""Nothing goes that a reader, a pinned snapshot or a frontier still needs; everything else does."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest
import sqlalchemy

import anabranch as ab
from anabranch.commit.stage_metadata import KEPT_METADATA_FILES
from anabranch.errors import InvalidLsn, VersionExpired
from anabranch.ledger import ledger, pins, tables
from tests.crash import scripts
from tests.crash.children import Children
from tests.crash.conftest import Spot
from tests.crash.model import Model, State, bag, check_history, state_of
from tests.crash.reachable import Survey, needed_files, stored_files, survey, table_folders

pytestmark = [pytest.mark.slow_on("postgres"), pytest.mark.rotating(2)]

Opened = Callable[..., ab.Lake]
AT_ONCE = {"snapshot_retention": "0s", "orphan_grace": "0s"}
HOUR = 3600


def churn(lake: ab.Lake, model: Model, rounds: int = 1) -> None:
    """Change every table beyond recognition, and keep house in between."""
    for number in range(rounds):
        model.together(lake, lambda tx, number=number: tx.insert("orders", [(number, "new")]))
        model.together(lake, lambda tx: tx.truncate("stock"))
        model.together(lake, lambda tx, number=number: tx.insert("stock", [(number, "new")]))
        lake.maintain()


def seen(snapshot: ab.Snapshot) -> State:
    return {name: bag(snapshot.arrow(name)) for name in snapshot.tables()}


def floor_of(lake: ab.Lake) -> int:
    with lake._context.catalog.database.begin_read() as connection:
        return ledger.read_floor_lsn(connection)


def pins_of(lake: ab.Lake) -> list[tuple[int, str]]:
    with lake._context.catalog.database.begin_read() as connection:
        rows = connection.execute(sqlalchemy.select(tables.pins.c.lsn, tables.pins.c.kind))
        return sorted((row.lsn, row.kind) for row in rows)


def put_frontier(lake: ab.Lake, lsn: int, name: str = "frontier", until: datetime | None = None) -> None:
    with lake._context.catalog.database.begin_write() as connection:
        pins.store_pin(connection, pin=name, lsn=lsn, kind="frontier", holder="st", expires_at=until)


# -- snapshots ------------------------------------------------------------------------------------


def test_a_pinned_snapshot_reads_on_while_another_connection_expires_all_it_can(spot: Spot, opened: Opened):
    reader, keeper = opened(spot), opened(spot, **AT_ONCE)
    model = scripts.prepare(keeper)
    with reader.snapshot() as pinned:
        assert pinned.lsn == keeper.lsn
        before = model.state
        model.together(keeper, lambda tx: tx.drop_table("old"))
        churn(keeper, model, rounds=2)
        assert floor_of(keeper) == pinned.lsn
        assert seen(pinned) == before
        check_history(keeper, model.history, floor=pinned.lsn)
    assert keeper.maintain().versions_expired > 0
    assert floor_of(keeper) == keeper.lsn
    with pytest.raises(VersionExpired):
        keeper.arrow("orders", as_of=pinned.lsn)
    assert survey(spot.location, spot.catalog) == Survey(set(), set())


def test_a_snapshot_that_is_first_read_long_after_it_was_pinned_is_still_there(
    sqlite_spot: Spot, opened: Opened
):
    """Its tables' metadata was written anew more often than old metadata files are kept."""
    reader, keeper = opened(sqlite_spot), opened(sqlite_spot, **AT_ONCE)
    model = scripts.prepare(keeper)
    pinned, before = reader.snapshot(), model.state
    for number in range(KEPT_METADATA_FILES + 5):
        keeper.insert("orders", [(number, "new")])
    keeper.maintain()
    assert seen(pinned) == before
    pinned.close()


def test_the_oldest_of_several_snapshots_decides(spot: Spot, opened: Opened):
    reader, keeper = opened(spot), opened(spot, **AT_ONCE)
    model = scripts.prepare(keeper)
    old, old_state = reader.snapshot(as_of=6), model.history[6]
    new, new_state = reader.snapshot(), model.state
    churn(keeper, model)
    assert (seen(old), seen(new)) == (old_state, new_state)
    old.close()
    churn(keeper, model)
    assert floor_of(keeper) == new.lsn
    assert seen(new) == new_state
    new.close()
    churn(keeper, model)
    assert floor_of(keeper) == keeper.lsn


def test_a_closed_snapshot_holds_nothing_and_reads_nothing(sqlite_spot: Spot, opened: Opened):
    lake = opened(sqlite_spot)
    scripts.prepare(lake)
    snapshot = lake.snapshot()
    snapshot.close()
    snapshot.close()
    assert pins_of(lake) == []
    with pytest.raises(VersionExpired):
        snapshot.arrow("orders")


def test_an_lsn_that_is_no_longer_kept_can_not_be_pinned(spot: Spot, opened: Opened):
    lake = opened(spot, **AT_ONCE)
    model = scripts.prepare(lake)
    churn(lake, model)
    for lsn, error in ((1, VersionExpired), (lake.lsn + 1, InvalidLsn)):
        with pytest.raises(error):
            lake.snapshot(as_of=lsn)
    assert pins_of(lake) == []


# -- readers that died or fell asleep -------------------------------------------------------------


@pytest.mark.crash
def test_the_pin_of_a_reader_that_died_holds_for_its_lifetime_and_no_longer(
    spot: Spot, children: Children, opened: Opened
):
    keeper = opened(spot, **AT_ONCE)
    model = scripts.prepare(keeper)
    pinned = keeper.lsn
    [end] = children.run(spot.job("hold_and_die"))
    assert end.killed
    assert pins_of(keeper) == [(pinned, "snapshot")]
    spot.clock.advance(HOUR)
    churn(keeper, model)
    check_history(keeper, model.history, floor=pinned)
    assert floor_of(keeper) == pinned
    spot.clock.advance(1)
    keeper.maintain()
    assert pins_of(keeper) == []
    assert floor_of(keeper) == keeper.lsn
    assert survey(spot.location, spot.catalog) == Survey(set(), set())


def test_a_snapshot_that_is_read_now_and_then_never_runs_out(sqlite_spot: Spot, opened: Opened):
    reader, keeper = opened(sqlite_spot), opened(sqlite_spot, **AT_ONCE)
    model = scripts.prepare(keeper)
    pinned, before = reader.snapshot(), model.state
    for _ in range(6):
        sqlite_spot.clock.advance(0.9 * HOUR)
        churn(keeper, model)
        assert seen(pinned) == before
    pinned.close()


def test_a_snapshot_that_nobody_read_for_too_long_says_that_it_expired(sqlite_spot: Spot, opened: Opened):
    reader, keeper = opened(sqlite_spot), opened(sqlite_spot, **AT_ONCE)
    model = scripts.prepare(keeper)
    pinned, used = reader.snapshot(), reader.snapshot()
    assert used.arrow("orders").num_rows == 3
    sqlite_spot.clock.advance(HOUR + 1)
    churn(keeper, model)
    for snapshot in (pinned, used):
        for _ in range(2):
            with pytest.raises(VersionExpired):
                snapshot.arrow("orders")
    # Nor does it bring back a pin that holds what is gone already.
    churn(keeper, model)
    assert floor_of(keeper) == keeper.lsn
    pinned.close()
    used.close()


# -- frontiers ------------------------------------------------------------------------------------


def test_a_frontier_keeps_its_contents_and_all_changes_since_for_as_long_as_it_takes(
    spot: Spot, opened: Opened
):
    keeper = opened(spot, **AT_ONCE)
    model = scripts.prepare(keeper)
    frontier = keeper.lsn - 2
    put_frontier(keeper, frontier)
    for _ in range(2):
        churn(keeper, model)
        spot.clock.advance(365 * 24 * HOUR)
    keeper.maintain()
    assert floor_of(keeper) == frontier
    check_history(keeper, model.history, floor=frontier)

    put_frontier(keeper, keeper.lsn)
    keeper.maintain()
    assert pins_of(keeper) == [(keeper.lsn, "frontier")]
    assert floor_of(keeper) == keeper.lsn
    with pytest.raises(VersionExpired):
        keeper.arrow("orders", as_of=frontier)
    check_history(keeper, model.history, floor=keeper.lsn)
    assert survey(spot.location, spot.catalog) == Survey(set(), set())


def test_a_frontier_and_a_snapshot_hold_side_by_side(sqlite_spot: Spot, opened: Opened):
    keeper = opened(sqlite_spot, **AT_ONCE)
    model = scripts.prepare(keeper)
    pinned = keeper.snapshot()
    put_frontier(keeper, 6)
    churn(keeper, model)
    check_history(keeper, model.history, floor=6)
    with keeper._context.catalog.database.begin_write() as connection:
        pins.remove_pin(connection, "frontier")
    churn(keeper, model)
    assert floor_of(keeper) == pinned.lsn
    check_history(keeper, model.history, floor=pinned.lsn)
    pinned.close()


def test_an_attempt_is_found_even_where_no_old_version_is_kept(spot: Spot, opened: Opened):
    """Its answer was lost, others wrote and kept house: running it again must still not repeat it."""
    keeper = opened(spot, **AT_ONCE)
    model = scripts.prepare(keeper)
    answer = scripts.commit_five(keeper, "mine")
    scripts.five_tables(model)
    model.committed(answer)
    churn(keeper, model, rounds=2)
    spot.clock.advance(6 * 24 * HOUR)
    keeper.maintain()
    assert floor_of(keeper) == keeper.lsn
    assert (keeper.committed("mine"), scripts.commit_five(keeper, "mine")) == (answer, answer)
    assert state_of(keeper) == model.state


# -- the setting, and what isn't ours -------------------------------------------------------------


def test_versions_are_kept_for_the_time_that_was_asked_for(spot: Spot, opened: Opened):
    keeper = opened(spot, snapshot_retention="7d", orphan_grace="0s")
    model = scripts.prepare(keeper)
    old = keeper.lsn
    spot.clock.advance(24 * HOUR)
    churn(keeper, model)
    spot.clock.advance(6 * 24 * HOUR - 1)
    keeper.maintain()
    check_history(keeper, model.history)
    spot.clock.advance(1)
    keeper.maintain()
    assert floor_of(keeper) == old
    check_history(keeper, model.history, floor=old)


def test_a_dropped_table_stays_readable_for_as_long_as_versions_are_kept(spot: Spot, opened: Opened):
    keeper = opened(spot, snapshot_retention="1h", orphan_grace="0s")
    model = scripts.prepare(keeper)
    folders = table_folders(spot.location)
    model.together(keeper, lambda tx: tx.drop_table("old"))
    spot.clock.advance(HOUR - 1)
    keeper.maintain()
    check_history(keeper, model.history)
    assert table_folders(spot.location) == folders
    spot.clock.advance(1)
    assert keeper.maintain().tables_forgotten == 1
    assert len(table_folders(spot.location)) == len(folders) - 1
    check_history(keeper, model.history, floor=keeper.lsn)
    model.together(keeper, lambda tx: tx.create_table("old", scripts.SCHEMA))
    check_history(keeper, model.history, floor=keeper.lsn)


def test_files_that_are_not_the_lakes_own_are_never_touched(sqlite_spot: Spot, opened: Opened):
    keeper = opened(sqlite_spot, **AT_ONCE)
    model = scripts.prepare(keeper)
    warehouse = sqlite_spot.location / "tables"
    theirs = [
        warehouse / "README.txt",
        warehouse / "other.db" / "t" / "data" / "x.parquet",
        warehouse / ("a" * 31) / "data" / "x.parquet",
        warehouse / ("A" * 32) / "data" / "x.parquet",
        warehouse / ("a" * 33) / "data" / "x.parquet",
        sqlite_spot.location / "notes.txt",
    ]
    for path in theirs:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("precious")
    (warehouse / "empty").mkdir()
    for _ in range(3):
        churn(keeper, model)
        sqlite_spot.clock.advance(48 * HOUR)
    assert [path.read_text() for path in theirs] == ["precious"] * len(theirs)
    assert (warehouse / "empty").is_dir()
    assert survey(sqlite_spot.location, None).unneeded == set(theirs[:-1])


def test_a_write_in_progress_is_not_swept_within_the_grace_period(spot: Spot, opened: Opened):
    writer, keeper = opened(spot), opened(spot, snapshot_retention="0s", orphan_grace="1h")
    model = scripts.prepare(keeper)
    transaction = writer.transaction()
    scripts.five_tables(transaction)
    for _ in range(4):
        keeper.maintain()
        spot.clock.advance(HOUR / 4 - 1)
    keeper.maintain()
    transaction.commit()
    scripts.five_tables(model)
    model.committed(transaction.lsn)
    for _ in range(2):
        keeper.maintain()
        spot.clock.advance(2 * HOUR)
    keeper.maintain()
    assert state_of(keeper) == model.state
    check_history(keeper, model.history, floor=keeper.lsn)
    assert survey(spot.location, spot.catalog) == Survey(set(), set())


def test_the_folder_of_a_write_that_died_before_its_first_file_goes_after_the_grace_period(
    sqlite_spot: Spot, opened: Opened
):
    keeper = opened(sqlite_spot, orphan_grace="1h")
    scripts.prepare(keeper)
    [table, *_] = sorted((sqlite_spot.location / "tables").glob("*/data"))
    empty = table / "68630348f03248d4ab67b0fa26217ed9"
    empty.mkdir()
    keeper.maintain()
    assert empty.is_dir()
    sqlite_spot.clock.advance(2 * HOUR)
    assert keeper.maintain().files_deleted == 0
    assert not empty.exists()
    assert table.is_dir()


# -- bounds ---------------------------------------------------------------------------------------


def test_two_hundred_inserts_with_upkeep_leave_a_bounded_number_of_files_and_rows(sqlite_spot: Spot):
    files: list[int] = []
    rows: list[int] = []
    with sqlite_spot.open(**AT_ONCE) as lake:
        lake.create_table("t", scripts.SCHEMA)
        for number in range(1, 201):
            sqlite_spot.clock.advance(12 * HOUR)
            lake.insert("t", [(number, "x")], attempt=f"attempt {number}")
            if number % 20 == 0:
                lake.compact("t")
                lake.maintain()
                files.append(len(stored_files(sqlite_spot.location)))
                rows.append(ledger_rows(lake))
        assert sorted(row["id"] for row in lake.arrow("t").to_pylist()) == list(range(1, 201))
        assert lake.lsn == 1 + 200 + 10
    assert files[-1] <= KEPT_METADATA_FILES + 10
    assert files[-1] <= files[2]
    assert rows[-1] == rows[1]
    assert stored_files(sqlite_spot.location) == needed_files(sqlite_spot.location, None)


def ledger_rows(lake: ab.Lake) -> int:
    with lake._context.catalog.database.begin_read() as connection:
        return sum(
            connection.execute(sqlalchemy.select(sqlalchemy.func.count()).select_from(table)).scalar_one()
            for table in tables.metadata.sorted_tables
        )


def test_metadata_files_stay_bounded_without_compaction_too(sqlite_spot: Spot):
    with sqlite_spot.open(**AT_ONCE) as lake:
        lake.create_table("t", scripts.SCHEMA)
        counts: list[int] = []
        for number in range(1, 121):
            lake.insert("t", [(number, "x")])
            if number % 30 == 0:
                lake.maintain()
                counts.append(len(metadata_files(sqlite_spot.location)))
        assert lake.arrow("t").num_rows == 120
    assert max(counts) <= KEPT_METADATA_FILES + 1 + 1 + 30 + 120 // 30, counts


def metadata_files(location: Path) -> list[Path]:
    return [path for path in stored_files(location) if path.parent.name == "metadata"]
