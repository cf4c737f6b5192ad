"""Two writers, one table: what can be added together is, all else fails whole and says so."""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

import anabranch as ab
from anabranch.errors import CatalogUnavailable, NameTaken, UnknownTable, WriteConflict
from anabranch.write.autocommit import OVERTAKEN_BEFORE_LOCKING
from tests.consistency.bags import bag, check_history, read
from tests.consistency.worker import in_threads

pytestmark = pytest.mark.rotating(2)

Edit = Callable[[ab.Transaction], object]


def fill(lake: ab.Lake, **tables: list[int]) -> None:
    """Create tables of one column, with these rows."""
    with lake.transaction() as tx:
        for name, numbers in tables.items():
            tx.create_table(name, "n BIGINT")
            tx.insert(name, [(n,) for n in numbers])


def numbers(lake: ab.Lake, table: str, as_of: int | None = None) -> list[int]:
    return sorted(n for (n,) in read(lake, table, as_of).elements())


def renew(n: int) -> Edit:
    """Empty the table t and put one number in."""

    def edit(tx: ab.Transaction) -> None:
        tx.truncate("t")
        tx.insert("t", [(n,)])

    return edit


def add(n: int) -> Edit:
    return lambda tx: tx.insert("t", [(n,)])


# -- explicit transactions ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "first", [renew(10), add(10), lambda tx: tx.truncate("t")], ids="renew add truncate".split()
)
@pytest.mark.parametrize("later", [renew(20), lambda tx: tx.truncate("t")], ids="renew truncate".split())
def test_a_transaction_that_removes_rows_fails_whole_when_the_table_moved(
    both: ab.Lake, other: ab.Lake, first: Edit, later: Edit
) -> None:
    fill(both, t=[1], bystander=[1], untouched=[1])
    loser = both.transaction()
    loser.insert("bystander", [(2,)])
    later(loser)
    loser.create_table("fresh", "n BIGINT")
    with other.transaction() as winner:
        first(winner)
    held, lsn = numbers(other, "t"), other.lsn

    with pytest.raises(WriteConflict) as conflict:
        loser.commit()

    assert conflict.value.code == "AB301"
    assert '"t"' in conflict.value.message
    assert loser.lsn is None
    for lake in (both, other):
        assert lake.lsn == lsn
        assert numbers(lake, "t") == held
        assert numbers(lake, "bystander") == [1]
        assert [info.name for info in lake.tables()] == ["bystander", "t", "untouched"]
    check_history(both, "t")


def test_a_transaction_that_only_adds_follows_one_that_emptied_the_table(
    both: ab.Lake, other: ab.Lake
) -> None:
    fill(both, t=[1])
    adder = both.transaction()
    adder.insert("t", [(2,)])
    other.truncate("t")
    adder.commit()
    assert adder.lsn == 3
    assert [numbers(both, "t", lsn) for lsn in (1, 2, 3)] == [[1], [], [2]]
    check_history(both, "t")


def test_two_transactions_that_only_add_both_succeed(both: ab.Lake, other: ab.Lake) -> None:
    fill(both, t=[1], u=[1])
    one, two = both.transaction(), other.transaction()
    for tx, n in ((one, 2), (two, 3)):
        tx.insert("t", [(n,)])
        tx.insert("u", [(n,)])
    assert (two.commit(), one.commit()) == (2, 3)
    for table in ("t", "u"):
        assert [numbers(other, table, lsn) for lsn in (1, 2, 3)] == [[1], [1, 3], [1, 2, 3]]
        check_history(both, table)


def test_a_transaction_that_adds_here_and_removes_there_conflicts_only_over_what_it_removes(
    both: ab.Lake, other: ab.Lake
) -> None:
    fill(both, t=[1], u=[1])
    mixed = both.transaction()
    mixed.insert("t", [(2,)])
    mixed.truncate("u")
    other.insert("t", [(3,)])
    mixed.commit()
    assert numbers(both, "t") == [1, 2, 3]
    assert numbers(both, "u") == []

    mixed = both.transaction()
    mixed.insert("t", [(4,)])
    mixed.truncate("t")
    other.insert("t", [(5,)])
    with pytest.raises(WriteConflict):
        mixed.commit()
    assert numbers(both, "t") == [1, 2, 3, 5]


def test_two_that_empty_an_empty_table_and_fill_it_do_not_both_succeed(both: ab.Lake, other: ab.Lake) -> None:
    """In no order of the two would both rows be there."""
    fill(both, t=[])
    one, two = both.transaction(), other.transaction()
    renew(1)(one)
    renew(2)(two)
    two.commit()
    with pytest.raises(WriteConflict):
        one.commit()
    assert numbers(both, "t") == [2]


def test_transactions_over_different_tables_do_not_conflict(both: ab.Lake, other: ab.Lake) -> None:
    fill(both, t=[1], u=[1])
    one, two = both.transaction(), other.transaction()
    one.truncate("t")
    two.truncate("u")
    assert (two.commit(), one.commit()) == (2, 3)
    assert numbers(both, "t") == numbers(both, "u") == []


def test_a_transaction_sees_one_moment_whatever_others_commit(both: ab.Lake, other: ab.Lake) -> None:
    fill(both, t=[1])
    begun = both.transaction()
    other.insert("t", [(2,)])
    other.create_table("later", "n BIGINT")
    with pytest.raises(UnknownTable):
        begun.insert("later", [(1,)])
    assert begun.truncate("t").deleted == 1
    begun.rollback()
    assert numbers(both, "t") == [1, 2]


# -- names ----------------------------------------------------------------------------------------


def test_of_two_that_create_one_name_one_gets_it(both: ab.Lake, other: ab.Lake) -> None:
    fill(both, bystander=[1])
    loser = both.transaction()
    loser.create_table("t", "n BIGINT")
    loser.insert("t", [(1,)])
    loser.truncate("bystander")
    other.create_table("t", "word STRING")
    with pytest.raises((NameTaken, WriteConflict)):
        loser.commit()
    assert both.arrow("t").column_names == ["word"]
    assert numbers(both, "bystander") == [1]
    assert both.lsn == 2


def test_of_many_that_create_one_name_outside_a_transaction_all_but_one_hear_that_it_is_taken(
    both: ab.Lake,
) -> None:
    errors = in_threads([lambda: both.create_table("t", "n BIGINT")] * 6)
    assert [error.partition(":")[0] for error in errors] == ["NameTaken"] * 5
    assert both.lsn == 1


def test_an_insert_into_a_table_that_was_dropped_meanwhile_fails_with_a_typed_error(
    both: ab.Lake, other: ab.Lake
) -> None:
    fill(both, t=[1], bystander=[1])
    loser = both.transaction()
    loser.insert("t", [(2,)])
    loser.insert("bystander", [(2,)])
    other.drop_table("t")
    with pytest.raises((WriteConflict, UnknownTable)):
        loser.commit()
    assert numbers(both, "bystander") == [1]
    with pytest.raises(UnknownTable):
        both.insert("t", [(3,)])
    assert both.lsn == 2


def test_an_insert_does_not_land_in_another_table_that_took_the_name(both: ab.Lake, other: ab.Lake) -> None:
    fill(both, t=[1])
    loser = both.transaction()
    loser.insert("t", [(2,)])
    other.drop_table("t")
    fill(other, t=[10])
    with pytest.raises(WriteConflict):
        loser.commit()
    assert numbers(both, "t") == [10]


def test_a_table_that_got_rows_meanwhile_is_not_dropped(both: ab.Lake, other: ab.Lake) -> None:
    fill(both, t=[1])
    loser = both.transaction()
    loser.drop_table("t")
    other.insert("t", [(2,)])
    with pytest.raises(WriteConflict):
        loser.commit()
    assert numbers(both, "t") == [1, 2]


def test_a_table_that_is_dropped_twice_at_once_is_dropped_once(both: ab.Lake) -> None:
    fill(both, t=[1])
    errors = in_threads([lambda: both.drop_table("t")] * 4)
    assert sorted(error.partition(":")[0] for error in errors) == ["UnknownTable"] * 3
    fill(both, t=[1])
    assert in_threads([lambda: both.drop_table("t", if_exists=True)] * 4) == []
    assert both.tables() == []


# -- no update is lost ----------------------------------------------------------------------------


def test_counters_raised_in_transactions_that_try_again_end_at_the_exact_number(
    both: ab.Lake, other: ab.Lake
) -> None:
    """Read, empty, write back one more: four threads, six times each, on two connections."""
    fill(both, t=[0])
    conflicts: Counter[str] = Counter()

    def raise_once(lake: ab.Lake) -> None:
        while True:
            try:
                with lake.transaction() as tx:
                    [n] = numbers(lake, "t")
                    renew(n + 1)(tx)
            except WriteConflict as error:
                conflicts[error.code] += 1
            else:
                return

    def raise_often(lake: ab.Lake) -> None:
        for _ in range(6):
            raise_once(lake)

    assert in_threads([lambda lake=lake: raise_often(lake) for lake in (both, other) * 2]) == []
    assert numbers(both, "t") == [24]
    assert conflicts["AB301"] > 0, "the threads never met; this shows nothing"
    assert [numbers(both, "t", lsn) for lsn in range(1, 26)] == [[n] for n in range(25)]


def test_a_verb_that_loses_tries_again_until_it_wins(both: ab.Lake, other: ab.Lake) -> None:
    """Threads empty the table while others fill it: each verb takes effect once, at its lsn."""
    fill(both, t=[0])
    done: dict[int, int] = {}
    lock = threading.Lock()

    def note(lsn: int | None, n: int) -> None:
        if lsn is not None:
            with lock:
                done[lsn] = n

    def fill_it() -> None:
        for n in range(1, 9):
            note(both.insert("t", [(n,)]).lsn, n)

    def empty_it() -> None:
        for _ in range(8):
            note(other.truncate("t").lsn, 0)

    assert in_threads([fill_it, empty_it, empty_it]) == []
    held = [0]
    for lsn in range(2, both.lsn + 1):
        held = [*held, done[lsn]] if done[lsn] else []
        assert numbers(both, "t", lsn) == held
    assert sorted(n for n in done.values() if n) == list(range(1, 9))


def test_a_verb_that_was_overtaken_until_nothing_was_left_to_do_takes_no_lsn(
    both: ab.Lake, other: ab.Lake
) -> None:
    """Somebody else adds rows just before it commits, until it locks them out: they were faster still."""
    fill(both, t=[1])
    overtaken = 2 * OVERTAKEN_BEFORE_LOCKING  # every try asks for the writers' lock twice
    interruptions = iter([lambda: other.insert("t", [(2,)])] * overtaken + [lambda: other.truncate("t")])

    def interrupt() -> None:
        for interruption in itertools.islice(interruptions, 1):
            interruption()

    both._context.failpoints.arm("commit.before_transaction", interrupt)
    written = both.truncate("t")
    assert list(interruptions) == []
    assert (written.lsn, written.deleted) == (None, 0)
    assert both.lsn == 1 + overtaken + 1
    assert numbers(both, "t") == []


@pytest.mark.spark
def test_updates_from_four_threads_are_all_counted(spark_lake: ab.Lake) -> None:
    spark_lake.create_table("counter", "n BIGINT")
    spark_lake.insert("counter", [(0,)])

    def raise_often() -> None:
        for _ in range(5):
            spark_lake.update("counter", {"n": "n + 1"})

    assert in_threads([raise_often] * 4) == []
    assert read(spark_lake, "counter") == bag((20,))
    assert [read(spark_lake, "counter", lsn) for lsn in range(2, 23)] == [bag((n,)) for n in range(21)]
    check_history(spark_lake, "counter")


@pytest.mark.spark
def test_an_update_and_a_merge_of_one_table_conflict_like_any_rewrite(spark_lake: ab.Lake) -> None:
    spark_lake.create_table("t", "id INT, n INT")
    spark_lake.insert("t", [(1, 1), (2, 2)])
    loser = spark_lake.transaction()
    loser.update("t", {"n": "n + 10"}, "id = 1")
    spark_lake.merge("t", [(2, 20), (3, 30)], on=["id"])
    with pytest.raises(WriteConflict):
        loser.commit()
    assert read(spark_lake, "t") == bag((1, 1), (2, 20), (3, 30))

    follower = spark_lake.transaction()
    follower.insert("t", [(4, 40)])
    spark_lake.delete("t", "id = 1")
    follower.commit()
    assert read(spark_lake, "t") == bag((2, 20), (3, 30), (4, 40))
    check_history(spark_lake, "t")


# -- waiting for the database ---------------------------------------------------------------------


def test_a_writer_that_is_kept_waiting_too_long_gets_a_typed_error_and_nothing_happened(
    place: Path, catalog: str | None, both: ab.Lake
) -> None:
    fill(both, t=[1])
    with ab.connect(place, catalog=catalog, catalog_timeout="1s") as hasty:
        with both._context.catalog.database.begin_write():
            for verb in (lambda: hasty.insert("t", [(2,)]), hasty.snapshot):
                with pytest.raises(CatalogUnavailable):
                    verb()
            assert numbers(hasty, "t") == [1], "readers wait for nobody"
        assert hasty.insert("t", [(3,)]).lsn == 2
    assert numbers(both, "t") == [1, 3]
