"""What another Iceberg client commits gets its lsn, and its changes come out right."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.expressions import EqualTo
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import DoubleType, LongType, NestedField, StringType, UUIDType

import anabranch as ab
from anabranch.errors import ForeignFormat, NameTaken, UnknownTable, VersionExpired, WriteConflict
from tests.consistency.bags import Bag, bag, changes, check_history, read, version_at
from tests.consistency.foreign import WORDS, Pair, opened, words
from tests.consistency.processes import role, run_together

pytestmark = [pytest.mark.slow_on("postgres"), pytest.mark.rotating(2)]

ONE, TWO, THREE, FOUR = (1, "one"), (2, "two"), (3, "three"), (4, "four")


@pytest.fixture
def pair(place: Path, catalog: str | None) -> Iterator[Pair]:
    with opened(place, catalog) as pair:
        yield pair


@pytest.fixture
def filled(pair: Pair) -> Pair:
    """The table t with two rows of the lake's, at lsn 2, and a bystander."""
    pair.lake.create_table("t", WORDS)
    with pair.lake.transaction() as tx:
        tx.insert("t", [ONE, TWO])
        tx.create_table("bystander", "n INT")
        tx.insert("bystander", [(1,)])
    return pair


# -- rows -----------------------------------------------------------------------------------------


def test_a_foreign_append_gets_the_next_lsn(filled: Pair) -> None:
    filled.load("t").append(words(THREE))
    assert filled.lake.lsn == 3
    assert filled.agree("t") == bag(ONE, TWO, THREE)
    assert read(filled.lake, "t", as_of=2) == bag(ONE, TWO)
    assert filled.kinds() == ["write", "write", "foreign"]
    assert changes(filled.lake, version_at(filled.lake, "t", 2), version_at(filled.lake, "t", 3)) == bag(
        THREE
    )


def test_a_foreign_overwrite_of_everything_removes_and_adds(filled: Pair) -> None:
    filled.load("t").overwrite(words(TWO, THREE))
    assert filled.agree("t") == bag(TWO, THREE)
    assert filled.lake.lsn > 2
    moved = changes(
        filled.lake, version_at(filled.lake, "t", 2), version_at(filled.lake, "t", filled.lake.lsn)
    )
    assert moved == Bag({ONE: -1, THREE: 1})


def test_a_foreign_overwrite_with_a_filter_replaces_what_matches(filled: Pair) -> None:
    filled.load("t").overwrite(words((2, "zwei")), overwrite_filter=EqualTo("id", 2))
    assert filled.agree("t") == bag(ONE, (2, "zwei"))
    moved = changes(
        filled.lake, version_at(filled.lake, "t", 2), version_at(filled.lake, "t", filled.lake.lsn)
    )
    assert moved == Bag({TWO: -1, (2, "zwei"): 1})


def test_a_foreign_delete_of_some_rows_of_a_file(filled: Pair) -> None:
    filled.load("t").delete("id = 1")
    assert filled.agree("t") == bag(TWO)
    assert filled.lake.lsn == 3


def test_a_foreign_delete_of_whole_files(filled: Pair) -> None:
    filled.lake.insert("t", [THREE])
    filled.load("t").delete("id >= 3")
    assert filled.agree("t") == bag(ONE, TWO)
    filled.load("t").delete("id > 0")
    assert filled.agree("t") == bag()
    assert [info.rows for info in filled.lake.tables() if info.name == "t"] == [0]
    filled.lake.insert("t", [FOUR])
    assert filled.agree("t") == bag(FOUR)


def test_a_foreign_upsert_updates_and_inserts(filled: Pair) -> None:
    filled.load("t").upsert(words((2, "zwei"), THREE), join_cols=["id"])
    assert filled.agree("t") == bag(ONE, (2, "zwei"), THREE)


def test_foreign_rows_that_come_and_go_unseen_have_their_lsns_too(filled: Pair) -> None:
    table = filled.load("t")
    table.append(words(THREE))
    table.append(words(FOUR))
    table.delete("id = 3")
    table.append(words(THREE, THREE))
    assert filled.lake.lsn == 6
    lsns = check_history(filled.lake, "t")
    assert lsns == [1, 2, 3, 4, 5, 6]
    assert [read(filled.lake, "t", lsn) for lsn in lsns[2:]] == [
        bag(ONE, TWO, THREE),
        bag(ONE, TWO, THREE, FOUR),
        bag(ONE, TWO, FOUR),
        bag(ONE, TWO, FOUR, THREE, THREE),
    ]
    assert filled.agree("t") == bag(ONE, TWO, FOUR, THREE, THREE)


def test_a_foreign_transaction_of_several_steps_has_an_lsn_per_snapshot(filled: Pair) -> None:
    with filled.load("t").transaction() as transaction:
        transaction.append(words(THREE))
        transaction.delete("id = 1")
        transaction.append(words(FOUR))
    added = len(filled.load("t").snapshots()) - 1
    assert filled.lake.lsn == 2 + added
    assert filled.agree("t") == bag(TWO, THREE, FOUR)


def test_the_lake_and_another_client_write_in_turns(filled: Pair) -> None:
    for n in range(10, 13):
        filled.lake.insert("t", [(n, "lake")])
        filled.load("t").append(words((n, "foreign")))
    assert filled.lake.lsn == 8
    with filled.lake.transaction() as tx:
        assert tx.truncate("t").deleted == 8
        tx.insert("t", [ONE])
    filled.load("t").append(words(TWO))
    assert filled.agree("t") == bag(ONE, TWO)


def test_a_foreign_commit_is_numbered_once_however_many_notice_it(
    filled: Pair, place: Path, catalog: str | None
) -> None:
    filled.load("t").append(words(THREE))
    with ab.connect(place, catalog=catalog) as other:
        start = threading.Barrier(6)
        seen: list[int] = []

        def look(lake: ab.Lake) -> None:
            start.wait()
            seen.append(lake.lsn)

        threads = [threading.Thread(target=look, args=(lake,)) for lake in (filled.lake, other) * 3]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert seen == [3] * 6
        assert read(other, "t") == bag(ONE, TWO, THREE)


def test_a_snapshot_does_not_move_when_another_client_writes(filled: Pair) -> None:
    with filled.lake.snapshot() as snapshot:
        filled.load("t").overwrite(words(FOUR))
        assert snapshot.arrow("t").num_rows == 2
    assert filled.agree("t") == bag(FOUR)


def test_an_observer_hears_of_foreign_commits(place: Path, filled: Pair, catalog: str | None) -> None:
    heard = []
    with ab.connect(place, catalog=catalog, observer=heard.append) as lake:
        filled.load("t").append(words(THREE))
        assert lake.lsn == 3
        assert lake.lsn == 3
    assert [(event.kind, event.tables) for event in heard] == [("foreign_commit_adopted", ("t",))]


# -- conflicts ------------------------------------------------------------------------------------


def test_a_transaction_that_adds_follows_a_foreign_append(filled: Pair) -> None:
    with filled.lake.transaction() as tx:
        tx.insert("t", [THREE])
        filled.load("t").append(words(FOUR))
    assert tx.lsn == 4
    assert filled.agree("t") == bag(ONE, TWO, THREE, FOUR)
    assert read(filled.lake, "t", as_of=3) == bag(ONE, TWO, FOUR)


def test_a_transaction_that_removes_rows_conflicts_with_a_foreign_append(filled: Pair) -> None:
    loser = filled.lake.transaction()
    loser.truncate("t")
    loser.insert("bystander", [(2,)])
    filled.load("t").append(words(THREE))
    with pytest.raises(WriteConflict):
        loser.commit()
    assert filled.agree("t") == bag(ONE, TWO, THREE)
    assert read(filled.lake, "bystander") == bag((1,))
    assert filled.lake.truncate("t").deleted == 3
    assert filled.agree("t") == bag()


def test_a_foreign_client_that_holds_an_old_version_loses_nothing(filled: Pair) -> None:
    held = filled.load("t")
    filled.lake.insert("t", [THREE])
    held.append(words(FOUR))
    assert filled.agree("t") == bag(ONE, TWO, THREE, FOUR)


def test_foreign_and_own_appends_from_two_processes_are_all_there(
    pair: Pair, place: Path, catalog: str | None
) -> None:
    """Each tries again by itself when the other was faster; neither loses a row."""
    pair.lake.create_table("t", "n BIGINT")
    pair.load("t").transaction().set_properties({"commit.retry.num-retries": "100"}).commit_transaction()
    uri = catalog or f"sqlite:///{place}/catalog.db"
    own, others = list(range(30)), list(range(100, 130))
    run_together(
        role("append_numbers", place=str(place), catalog=catalog, table="t", numbers=own),
        role("append_foreign", place=str(place), uri=uri, table="t", numbers=others),
    )
    assert read(pair.lake, "t") == pair.scanned("t") == Bag((n,) for n in own + others)
    check_history(pair.lake, "t", neighbours=True)
    assert pair.lake.lsn == 61
    assert sorted(pair.kinds()[1:]) == ["foreign"] * 30 + ["write"] * 30


# -- going back, and housekeeping -----------------------------------------------------------------


def test_a_foreign_rollback_is_a_new_version_with_the_old_rows(filled: Pair) -> None:
    old = filled.load("t").metadata.current_snapshot_id
    filled.lake.insert("t", [THREE])
    filled.lake.insert("t", [FOUR])
    filled.load("t").manage_snapshots().rollback_to_snapshot(old).commit()
    assert filled.lake.lsn == 5
    assert filled.agree("t") == bag(ONE, TWO)
    assert read(filled.lake, "t", as_of=4) == bag(ONE, TWO, THREE, FOUR)
    filled.lake.insert("t", [FOUR])
    filled.load("t").append(words(THREE))
    assert filled.agree("t") == bag(ONE, TWO, THREE, FOUR)
    assert filled.lake.lsn == 7


def test_a_rollback_and_what_followed_unseen_end_at_the_right_rows(filled: Pair) -> None:
    table = filled.load("t")
    old = table.metadata.current_snapshot_id
    filled.lake.insert("t", [THREE])
    table.refresh().manage_snapshots().rollback_to_snapshot(old).commit()
    table.refresh().append(words(FOUR))
    assert filled.lake.lsn >= 4
    assert filled.agree("t") == bag(ONE, TWO, FOUR)
    assert filled.lake.truncate("t").deleted == 3


def test_forward_again_after_a_rollback(filled: Pair) -> None:
    old = filled.load("t").metadata.current_snapshot_id
    filled.lake.insert("t", [THREE])
    new = filled.load("t").metadata.current_snapshot_id
    filled.load("t").manage_snapshots().set_current_snapshot(snapshot_id=old).commit()
    assert filled.lake.lsn == 4
    filled.load("t").manage_snapshots().set_current_snapshot(snapshot_id=new).commit()
    assert filled.lake.lsn == 5
    assert filled.agree("t") == bag(ONE, TWO, THREE)


def test_properties_branches_and_tags_make_no_new_version(filled: Pair) -> None:
    table = filled.load("t")
    table.transaction().set_properties({"owner": "somebody"}).commit_transaction()
    assert filled.lake.lsn == 2
    snapshot = table.metadata.current_snapshot_id
    table.refresh().manage_snapshots().create_tag(snapshot, "kept").create_branch(snapshot, "aside").commit()
    table.refresh().append(words(THREE), branch="aside")
    assert filled.lake.lsn == 2
    assert filled.agree("t") == bag(ONE, TWO)
    filled.lake.insert("t", [FOUR])
    table.refresh()
    assert table.properties["owner"] == "somebody"
    assert set(table.refs()) == {"main", "kept", "aside"}
    assert filled.agree("t") == bag(ONE, TWO, FOUR)


def test_what_another_client_tagged_survives_maintenance(filled: Pair) -> None:
    tagged = filled.load("t").metadata.current_snapshot_id
    filled.load("t").manage_snapshots().create_tag(tagged, "kept").commit()
    filled.lake.truncate("t")
    filled.lake.insert("t", [FOUR])
    keep_nothing(filled.lake)
    with pytest.raises(VersionExpired):
        filled.lake.arrow("t", as_of=2)
    assert filled.scanned("t", tagged) == bag(ONE, TWO)
    assert filled.scanned("t") == read(filled.lake, "t") == bag(FOUR)


def test_versions_that_another_client_expired_say_so(filled: Pair) -> None:
    old = filled.load("t").metadata.current_snapshot_id
    filled.lake.insert("t", [THREE])
    filled.lake.insert("t", [FOUR])
    filled.load("t").maintenance.expire_snapshots().by_id(old).commit()
    assert filled.lake.lsn == 4
    with pytest.raises(VersionExpired):
        filled.lake.arrow("t", as_of=2)
    assert read(filled.lake, "t", as_of=3) == bag(ONE, TWO, THREE)
    assert read(filled.lake, "t") == bag(ONE, TWO, THREE, FOUR)
    filled.lake.insert("t", [(5, "five")])
    assert filled.scanned("t") == read(filled.lake, "t")


def test_changes_since_the_beginning_include_what_came_with_versions_that_another_client_expired(
    pair: Pair,
) -> None:
    pair.lake.create_table("t", WORDS)
    pair.lake.insert("t", [ONE])
    expired = pair.load("t").metadata.current_snapshot_id
    pair.lake.insert("t", [TWO])
    pair.lake.insert("t", [THREE])
    pair.load("t").maintenance.expire_snapshots().by_id(expired).commit()
    empty, newest = (version_at(pair.lake, "t", lsn) for lsn in (1, 4))
    assert changes(pair.lake, empty, newest) == changes(pair.lake, None, newest) == bag(ONE, TWO, THREE)
    assert changes(pair.lake, version_at(pair.lake, "t", 3), newest) == bag(THREE)


def test_a_foreign_table_whose_first_versions_are_expired_is_taken_in_whole(pair: Pair) -> None:
    table = pair.catalog.create_table("main.found", words().schema)
    table.append(words(ONE))
    expired = table.metadata.current_snapshot_id
    table.append(words(TWO))
    table.append(words(THREE))
    table.maintenance.expire_snapshots().by_id(expired).commit()
    assert pair.agree("found") == bag(ONE, TWO, THREE)
    assert [read(pair.lake, "found", lsn) for lsn in range(1, pair.lake.lsn + 1)] == [
        bag(),
        bag(ONE, TWO),
        bag(ONE, TWO, THREE),
    ]


# -- schemas --------------------------------------------------------------------------------------


def test_a_column_that_another_client_added_is_null_in_older_rows(filled: Pair) -> None:
    with filled.load("t").update_schema() as update:
        update.add_column("score", DoubleType())
    assert filled.lake.lsn == 3
    assert filled.agree("t") == bag((*ONE, None), (*TWO, None))
    filled.lake.insert("t", [(3, "three", 0.5)])
    filled.lake.insert("t", [{"id": 4}])
    filled.load("t").append(words(FOUR).append_column("score", pa.array([1.5], pa.float64())))
    assert filled.agree("t") == bag(
        (*ONE, None), (*TWO, None), (3, "three", 0.5), (4, None, None), (4, "four", 1.5)
    )
    assert filled.lake.arrow("t", as_of=2).column_names == ["id", "word"]
    assert read(filled.lake, "t", as_of=2) == bag(ONE, TWO)


def test_columns_and_rows_added_before_the_lake_looks(filled: Pair) -> None:
    table = filled.load("t")
    table.append(words(THREE))
    with table.update_schema() as update:
        update.add_column("score", DoubleType())
    table.append(words(FOUR).append_column("score", pa.array([1.5], pa.float64())))
    with table.update_schema() as update:
        update.add_column("late", LongType())
    assert filled.agree("t") == bag(
        (*ONE, None, None), (*TWO, None, None), (*THREE, None, None), (4, "four", 1.5, None)
    )
    assert filled.lake.arrow("t", as_of=3).column_names == ["id", "word"]
    assert filled.lake.arrow("t", as_of=4).column_names == ["id", "word", "score"]
    filled.lake.insert("t", [(5, "five", 2.5, 5)])
    assert (5, "five", 2.5, 5) in filled.agree("t")


def test_a_column_that_another_client_dropped_is_gone_from_then_on(filled: Pair) -> None:
    with filled.load("t").update_schema() as update:
        update.delete_column("word")
    assert filled.lake.lsn == 3
    assert filled.agree("t") == bag((1,), (2,))
    filled.lake.insert("t", [(3,)])
    assert filled.agree("t") == bag((1,), (2,), (3,))
    assert read(filled.lake, "t", as_of=2) == bag(ONE, TWO)


def test_columns_in_another_order_and_wider_types_read_the_same(pair: Pair) -> None:
    pair.lake.create_table("t", "a INT, b FLOAT, c SMALLINT NOT NULL")
    pair.lake.insert("t", [(1, 0.5, 7)])
    with pair.load("t").update_schema() as update:
        update.update_column("a", LongType())
        update.update_column("b", DoubleType())
        update.make_column_optional("c")
        update.move_first("c")
    pair.lake.insert("t", [{"a": 1 << 40, "b": 1e300, "c": None}])
    assert pair.agree("t") == bag((7, 1, 0.5), (None, 1 << 40, 1e300))
    assert [str(column.type) for column in pair.lake.tables()[0].schema] == ["SMALLINT", "BIGINT", "DOUBLE"]


def test_a_field_added_inside_a_struct_is_null_in_older_rows(pair: Pair) -> None:
    pair.lake.create_table("t", "id BIGINT, s STRUCT<a: STRING>")
    pair.lake.insert("t", [{"id": 1, "s": {"a": "x"}}])
    with pair.load("t").update_schema() as update:
        update.add_column(("s", "b"), StringType())
    assert pair.lake.arrow("t").to_pylist() == [{"id": 1, "s": {"a": "x", "b": None}}]
    assert pair.load("t").scan().to_arrow().to_pylist() == pair.lake.arrow("t").to_pylist()


def test_a_renamed_column_is_refused_for_that_table_only(filled: Pair) -> None:
    with filled.load("t").update_schema() as update:
        update.rename_column("word", "text")
    for ask in (
        lambda: filled.lake.arrow("t"),
        lambda: filled.lake.insert("t", [(3, "three")]),
        lambda: filled.lake.truncate("t"),
        lambda: filled.lake.changes("t", 1),
    ):
        with pytest.raises(ForeignFormat) as refusal:
            ask()
        assert '"t"' in refusal.value.message
    assert read(filled.lake, "t", as_of=2) == bag(ONE, TWO)
    assert filled.lake.insert("bystander", [(2,)]).lsn == 3
    assert filled.agree("bystander") == bag((1,), (2,))
    with filled.lake.snapshot() as snapshot:
        assert snapshot.arrow("bystander").num_rows == 2
    filled.lake.maintain()


def test_a_column_renamed_while_a_transaction_is_open_makes_it_fail(filled: Pair) -> None:
    tx = filled.lake.transaction()
    tx.insert("t", [THREE])
    tx.insert("bystander", [(2,)])
    with filled.load("t").update_schema() as update:
        update.rename_column("word", "text")
    with pytest.raises((ForeignFormat, WriteConflict)):
        tx.commit()
    assert read(filled.lake, "bystander") == bag((1,))


def test_a_column_dropped_and_added_again_is_another_column(filled: Pair) -> None:
    with filled.load("t").update_schema() as update:
        update.delete_column("word")
    assert filled.lake.lsn == 3
    with filled.load("t").update_schema() as update:
        update.add_column("word", StringType())
    with pytest.raises(ForeignFormat):
        filled.lake.arrow("t")
    assert read(filled.lake, "bystander") == bag((1,))


def test_a_field_renamed_inside_a_struct_is_refused_too(pair: Pair) -> None:
    pair.lake.create_table("t", "id BIGINT, s STRUCT<a: STRING>")
    pair.lake.insert("t", [{"id": 1, "s": {"a": "x"}}])
    with pair.load("t").update_schema() as update:
        update.rename_column(("s", "a"), "b")
    with pytest.raises(ForeignFormat):
        pair.lake.arrow("t")


# -- whole tables ---------------------------------------------------------------------------------


def test_a_table_that_another_client_created_belongs_to_the_lake(pair: Pair) -> None:
    table = pair.catalog.create_table("main.found", words().schema)
    assert pair.lake.lsn == 1
    assert [(info.name, info.kind, info.rows) for info in pair.lake.tables()] == [("found", "source", 0)]
    table.append(words(ONE))
    table.append(words(TWO))
    assert pair.lake.lsn == 3
    assert pair.agree("found") == bag(ONE, TWO)
    assert pair.lake.insert("found", [THREE]).lsn == 4
    with pair.lake.transaction() as tx:
        tx.truncate("found")
        tx.insert("found", [FOUR])
    assert pair.agree("found") == bag(FOUR)
    pair.load("found").append(words(ONE))
    assert pair.agree("found") == bag(FOUR, ONE)


def test_a_foreign_table_that_was_filled_before_the_lake_looked_has_an_lsn_per_snapshot(pair: Pair) -> None:
    table = pair.catalog.create_table("main.found", words().schema)
    table.append(words(ONE))
    table.delete("id = 1")
    table.append(words(TWO))
    assert pair.lake.lsn == 4
    assert [read(pair.lake, "found", lsn) for lsn in (1, 2, 3, 4)] == [bag(), bag(ONE), bag(), bag(TWO)]
    assert pair.agree("found") == bag(TWO)


def test_a_foreign_table_that_was_altered_before_the_lake_looked_has_its_newest_columns(pair: Pair) -> None:
    table = pair.catalog.create_table("main.found", words().schema)
    table.append(words(ONE))
    with table.update_schema() as update:
        update.add_column("score", DoubleType())
    assert pair.agree("found") == bag((*ONE, None))
    pair.lake.insert("found", [(2, "two", 0.5)])
    assert pair.agree("found") == bag((*ONE, None), (2, "two", 0.5))


def test_a_foreign_table_in_a_namespace_of_its_own(pair: Pair) -> None:
    pair.catalog.create_namespace("sales")
    pair.catalog.create_table("sales.orders", words().schema).append(words(ONE))
    assert [info.name for info in pair.lake.tables()] == ["sales.orders"]
    assert pair.agree("sales.orders") == bag(ONE)


def test_a_foreign_table_of_the_first_format_is_read_and_written(pair: Pair) -> None:
    table = pair.catalog.create_table("main.old", words().schema, properties={"format-version": "1"})
    table.append(words(ONE))
    assert pair.agree("old") == bag(ONE)
    pair.lake.insert("old", [TWO])
    assert pair.agree("old") == bag(ONE, TWO)
    pair.lake.truncate("old")
    assert pair.agree("old") == bag()


def test_a_table_that_another_client_dropped_is_gone_but_its_past_is_readable(filled: Pair) -> None:
    filled.load("t").append(words(THREE))
    assert filled.lake.lsn == 3
    filled.catalog.drop_table("main.t")
    assert filled.lake.lsn == 4
    with pytest.raises(UnknownTable):
        filled.lake.arrow("t")
    assert [info.name for info in filled.lake.tables()] == ["bystander"]
    assert read(filled.lake, "t", as_of=3) == bag(ONE, TWO, THREE)
    filled.lake.create_table("t", "n INT")
    assert filled.agree("t") == bag()


@pytest.mark.parametrize("looking", [True, False], ids=["seen", "unseen"])
def test_a_table_dropped_and_made_anew_by_another_client_is_another_table(
    filled: Pair, looking: bool
) -> None:
    filled.catalog.drop_table("main.t")
    if looking:
        assert filled.lake.lsn == 3
    filled.catalog.create_table("main.t", words().schema).append(words(FOUR))
    assert filled.agree("t") == bag(FOUR)
    assert read(filled.lake, "t", as_of=2) == bag(ONE, TWO)
    assert version_at(filled.lake, "t", 2).table_id != version_at(filled.lake, "t", filled.lake.lsn).table_id
    assert filled.lake.insert("t", [ONE]).lsn == filled.lake.lsn
    assert filled.agree("t") == bag(FOUR, ONE)


def test_a_name_that_another_client_took_meanwhile_is_taken(pair: Pair) -> None:
    tx = pair.lake.transaction()
    tx.create_table("t", "n INT")
    pair.catalog.create_table("main.t", words().schema)
    with pytest.raises((NameTaken, WriteConflict)):
        tx.commit()
    with pytest.raises(NameTaken):
        pair.lake.create_table("t", "n INT")
    assert pair.agree("t") == bag()


def test_a_table_that_another_client_renamed_goes_on_under_its_new_name(filled: Pair) -> None:
    filled.catalog.rename_table("main.t", "main.moved")
    with pytest.raises(UnknownTable):
        filled.lake.arrow("t")
    assert read(filled.lake, "t", as_of=2) == bag(ONE, TWO)
    assert filled.agree("moved") == bag(ONE, TWO)
    filled.lake.insert("moved", [THREE])
    filled.load("moved").append(words(FOUR))
    assert filled.agree("moved") == bag(ONE, TWO, THREE, FOUR)
    filled.catalog.rename_table("main.moved", "main.t")
    assert filled.agree("t") == bag(ONE, TWO, THREE, FOUR)
    assert filled.agree("bystander") == bag((1,))


def test_a_dropped_table_that_another_client_registers_again_is_back(filled: Pair) -> None:
    location = filled.load("t").metadata_location
    filled.lake.drop_table("t")
    filled.catalog.register_table("main.t", location)
    assert filled.agree("t") == bag(ONE, TWO)
    assert read(filled.lake, "t", as_of=2) == bag(ONE, TWO)
    with pytest.raises(UnknownTable):
        filled.lake.arrow("t", as_of=3)
    filled.lake.insert("t", [THREE])
    filled.load("t").append(words(FOUR))
    assert filled.agree("t") == bag(ONE, TWO, THREE, FOUR)


def test_one_set_of_files_under_two_names_is_two_tables(filled: Pair) -> None:
    filled.catalog.register_table("main.twin", filled.load("t").metadata_location)
    filled.lake.insert("t", [THREE])
    filled.lake.truncate("twin")
    filled.load("twin").append(words(FOUR))
    assert filled.agree("t") == bag(ONE, TWO, THREE)
    assert filled.agree("twin") == bag(FOUR)
    keep_nothing(filled.lake)
    assert filled.scanned("t") == read(filled.lake, "t") == bag(ONE, TWO, THREE)
    assert filled.scanned("twin") == read(filled.lake, "twin") == bag(FOUR)


def keep_nothing(lake: ab.Lake) -> None:
    """Expire and sweep all that can go."""
    for name in ("snapshot_retention", "orphan_grace"):
        lake.set(name, "0s")
    lake.maintain()
    lake.maintain()


# -- what can't be taken in -----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["Orders", "two words", "select", "__hidden", "a-b", "ünï"])
def test_a_foreign_table_that_cannot_be_named_here_is_left_alone_with_a_notice(
    filled: Pair, name: str
) -> None:
    filled.catalog.create_table(("main", name), words().schema)
    with pytest.warns(ab.Notice, match="not visible"):
        assert filled.lake.lsn == 2
    # Said once.
    assert filled.lake.insert("t", [THREE]).lsn == 3
    assert [info.name for info in filled.lake.tables()] == ["bystander", "t"]


def test_what_another_client_took_out_of_sight_is_not_swept(filled: Pair) -> None:
    """One table under a name that can't stand here, one altered so that it is refused."""
    filled.lake.create_table("u", WORDS)
    filled.lake.insert("u", [THREE])
    filled.catalog.rename_table("main.t", "main.Not For Us")
    filled.catalog.rename_table("main.u", "main.refused")
    with filled.load("refused").update_schema() as update:
        update.rename_column("word", "text")
    with pytest.warns(ab.Notice):
        keep_nothing(filled.lake)
    assert [info.name for info in filled.lake.tables()] == ["bystander"]
    assert filled.scanned("main.Not For Us") == bag(ONE, TWO)
    assert filled.scanned("refused") == bag(THREE)
    assert filled.agree("bystander") == bag((1,))


def test_a_foreign_table_with_a_column_that_cannot_be_named_here_is_refused_alone(filled: Pair) -> None:
    odd = pa.table({"two words": pa.array([1], pa.int64())})
    filled.catalog.create_table("main.odd", odd.schema).append(odd)
    assert read(filled.lake, "t") == bag(ONE, TWO)
    assert [info.name for info in filled.lake.tables()] == ["bystander", "t"]
    with pytest.raises(ForeignFormat, match='"odd"'):
        filled.lake.arrow("odd")
    with pytest.raises((NameTaken, ForeignFormat, WriteConflict)):
        filled.lake.create_table("odd", "n INT")
    assert filled.lake.insert("t", [THREE]).lsn == 3


def test_a_foreign_table_with_a_type_that_spark_lacks_is_refused_alone(filled: Pair) -> None:
    filled.catalog.create_table("main.odd", Schema(NestedField(1, "u", UUIDType(), required=False)))
    with pytest.raises(ForeignFormat):
        filled.lake.arrow("odd")
    assert filled.agree("t") == bag(ONE, TWO)


def test_a_foreign_table_whose_metadata_is_missing_is_reported_and_harms_no_other(
    filled: Pair, place: Path
) -> None:
    location = filled.catalog.create_table("main.odd", words().schema).metadata_location
    Path(location.removeprefix("file://")).unlink()
    assert read(filled.lake, "t") == bag(ONE, TWO)
    with pytest.raises(ab.AnabranchError) as report:
        filled.lake.arrow("odd")
    assert report.value.code == "AB402"
    assert filled.lake.insert("t", [THREE]).lsn == 3


def test_a_partitioned_foreign_table_is_read_but_not_written(filled: Pair) -> None:
    spec = PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "by_id"))
    schema = Schema(NestedField(1, "id", LongType()), NestedField(2, "word", StringType()))
    table = filled.catalog.create_table("main.parted", schema, partition_spec=spec)
    table.append(words(ONE, TWO, THREE))
    table.dynamic_partition_overwrite(words((2, "zwei")))
    table.delete("id = 3")
    assert filled.agree("parted") == bag(ONE, (2, "zwei"))
    lsn = filled.lake.lsn
    for verb in (
        lambda: filled.lake.insert("parted", [FOUR]),
        lambda: filled.lake.truncate("parted"),
    ):
        with pytest.raises(ForeignFormat, match="partitioned"):
            verb()
    assert filled.lake.lsn == lsn
    assert filled.agree("parted") == bag(ONE, (2, "zwei"))
    filled.lake.drop_table("parted")
    assert [info.name for info in filled.lake.tables()] == ["bystander", "t"]


def test_a_table_that_another_client_partitioned_for_a_while_can_be_written_again(filled: Pair) -> None:
    with filled.load("t").update_spec() as update:
        update.add_field("id", IdentityTransform(), "by_id")
    filled.load("t").append(words(THREE, FOUR))
    assert filled.agree("t") == bag(ONE, TWO, THREE, FOUR)
    with pytest.raises(ForeignFormat):
        filled.lake.insert("t", [ONE])
    with filled.load("t").update_spec() as update:
        update.remove_field("by_id")
    filled.lake.insert("t", [ONE])
    assert filled.agree("t") == bag(ONE, ONE, TWO, THREE, FOUR)
    with filled.lake.transaction() as tx:
        assert tx.truncate("t").deleted == 5
        tx.insert("t", [TWO])
    assert filled.agree("t") == bag(TWO)


@pytest.mark.spark
def test_spark_reads_foreign_versions_and_changes_as_plain_arrow_does(
    spark_lake: ab.Lake, place: Path
) -> None:
    from pyiceberg.catalog.sql import SqlCatalog

    spark_lake.create_table("t", "id INT, b FLOAT")
    spark_lake.insert("t", [(1, 0.5), (2, 1.5)])
    client = SqlCatalog("anabranch", uri=f"sqlite:///{place}/catalog.db")
    table = client.load_table("main.t")
    table.delete("id = 1")
    with table.update_schema() as update:
        update.update_column("id", LongType())
        update.add_column("word", StringType())
    table.append(
        pa.table({"id": pa.array([3], pa.int64()), "b": pa.array([2.5], pa.float32()), "word": ["x"]})
    )
    client.close()
    assert {tuple(row) for row in spark_lake.table("t").collect()} == {(2, 1.5, None), (3, 2.5, "x")}
    assert {tuple(row) for row in spark_lake.table("t", as_of=2).collect()} == {(1, 0.5), (2, 1.5)}
    moved = spark_lake.changes("t", 2).select("id", "b", "word", "_weight").collect()
    assert {tuple(row) for row in moved} == {(1, 0.5, None, -1), (3, 2.5, "x", 1)}
    spark_lake.update("t", {"word": "'y'"}, "word IS NULL")
    assert read(spark_lake, "t") == bag((2, 1.5, "y"), (3, 2.5, "x"))
    check_history(spark_lake, "t")
