"""A transaction happens once, whole, under one lsn; or it leaves no trace."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import anabranch as ab
from anabranch.errors import InputError, InvalidValue, NameTaken, TransactionOver, UnknownTable
from tests.consistency.bags import bag, bag_of, check_history, read

T, U = "id BIGINT, word STRING", "n INT"


@pytest.fixture
def filled(both: ab.Lake) -> ab.Lake:
    """Two tables, at lsn 1."""
    with both.transaction() as tx:
        tx.create_table("t", T)
        tx.create_table("u", U)
        tx.insert("t", [(1, "one")])
    return both


class Unrelated(Exception):
    """Something goes wrong that has nothing to do with the lake."""


def fails(
    kind: type[Exception],
    lake: ab.Lake,
    write: Callable[[ab.Transaction], object],
    *,
    then: Exception | None = None,
    attempt: str | None = None,
) -> ab.Transaction:
    """A transaction whose block ends in an error."""
    tx = lake.transaction(attempt=attempt)

    def block() -> None:
        with tx:
            write(tx)
            if then is not None:
                raise then

    with pytest.raises(kind):
        block()
    return tx


# -- one lsn --------------------------------------------------------------------------------------


def test_all_that_a_transaction_does_has_one_lsn(filled: ab.Lake) -> None:
    with filled.transaction() as tx:
        tx.insert("t", [(2, "two")])
        tx.insert("t", [(3, "three")])
        tx.insert("u", [(1,)])
        tx.create_table("v", U)
        tx.insert("v", [(9,)])
        assert tx.lsn is None
        assert filled.lsn == 1
    assert tx.lsn == filled.lsn == 2
    assert {info.name: (info.lsn, info.rows) for info in filled.tables()} == {
        "t": (2, 3),
        "u": (2, 1),
        "v": (2, 1),
    }
    assert [commit.lsn for commit in filled.commits()] == [2, 1]
    check_history(filled, "t")


@pytest.mark.parametrize(
    "nothing",
    [
        lambda tx: None,
        lambda tx: tx.insert("u", []),
        lambda tx: tx.truncate("u"),
        lambda tx: tx.create_table("t", T, if_not_exists=True),
        lambda tx: tx.drop_table("nowhere", if_exists=True),
        lambda tx: tx.compact("t"),
    ],
    ids="no_verb no_rows no_rows_to_remove exists_already never_existed one_file".split(),
)
def test_a_transaction_in_which_nothing_changed_takes_no_lsn(
    filled: ab.Lake, nothing: Callable[[ab.Transaction], Any]
) -> None:
    with filled.transaction() as tx:
        nothing(tx)
    assert tx.lsn is None
    assert filled.lsn == 1
    assert len(filled.commits()) == 1


def test_a_table_created_and_dropped_in_one_transaction_was_never_there(filled: ab.Lake) -> None:
    with filled.transaction() as tx:
        tx.create_table("brief", U)
        tx.insert("brief", [(1,)])
        tx.drop_table("brief")
    assert [info.name for info in filled.tables()] == ["t", "u"]
    assert (tx.lsn, filled.lsn) == (None, 1)
    filled.create_table("brief", T)


# -- leaving no trace -----------------------------------------------------------------------------


def test_an_exception_inside_a_transaction_undoes_all_of_it(filled: ab.Lake) -> None:
    def write(tx: ab.Transaction) -> None:
        tx.insert("t", [(2, "two")])
        tx.truncate("t")
        tx.drop_table("u")
        tx.create_table("v", U)

    tx = fails(Unrelated, filled, write, then=Unrelated())
    assert tx.lsn is None
    assert filled.lsn == 1
    assert [info.name for info in filled.tables()] == ["t", "u"]
    assert read(filled, "t") == bag((1, "one"))


def test_a_verb_that_is_refused_undoes_the_verbs_before_it(filled: ab.Lake) -> None:
    def write(tx: ab.Transaction) -> None:
        tx.insert("t", [(2, "two")])
        tx.insert("u", [("not a number",)])

    fails(InvalidValue, filled, write)
    assert read(filled, "t") == bag((1, "one"))
    assert filled.lsn == 1


def test_a_refused_verb_that_is_caught_leaves_the_others_standing(filled: ab.Lake) -> None:
    with filled.transaction() as tx:
        tx.insert("t", [(2, "two")])
        with pytest.raises(InvalidValue):
            tx.insert("u", [("not a number",)])
        with pytest.raises(UnknownTable):
            tx.insert("nowhere", [(1,)])
        tx.insert("u", [(1,)])
    assert read(filled, "t") == bag((1, "one"), (2, "two"))
    assert read(filled, "u") == bag((1,))
    assert filled.lsn == 2


@pytest.mark.parametrize("end", ["commit", "rollback"])
@pytest.mark.parametrize(
    "verb",
    [
        lambda tx: tx.insert("t", [(2, "two")]),
        lambda tx: tx.truncate("t"),
        lambda tx: tx.delete("t"),
        lambda tx: tx.delete("t", "id = 1"),
        lambda tx: tx.update("t", {"id": "id + 1"}),
        lambda tx: tx.merge("t", [(1, "uno")], on=["id"]),
        lambda tx: tx.create_table("v", U),
        lambda tx: tx.create_table("t", T, if_not_exists=True),
        lambda tx: tx.drop_table("t"),
        lambda tx: tx.drop_table("nowhere", if_exists=True),
        lambda tx: tx.compact("t"),
        lambda tx: tx.table("t"),
        lambda tx: tx.sql("INSERT INTO u VALUES (1)"),
        lambda tx: tx.sql("SELECT 1"),
        lambda tx: tx.commit(),
    ],
)
def test_a_transaction_that_is_over_refuses_every_verb(
    lake: ab.Lake, verb: Callable[[ab.Transaction], Any], end: str
) -> None:
    lake.create_table("t", T)
    lake.create_table("u", U)
    tx = lake.transaction()
    getattr(tx, end)()
    with pytest.raises(TransactionOver) as refusal:
        verb(tx)
    assert refusal.value.code == "AB305"
    assert lake.lsn == 2


def test_a_transaction_committed_inside_its_block_is_not_committed_again(filled: ab.Lake) -> None:
    def write(tx: ab.Transaction) -> None:
        tx.insert("t", [(2, "two")])
        tx.commit()

    fails(TransactionOver, filled, write)
    assert filled.lsn == 2


# -- attempts -------------------------------------------------------------------------------------


def test_a_verb_tried_again_under_its_attempt_is_found(filled: ab.Lake, other: ab.Lake) -> None:
    assert filled.committed("load-7") is None
    first = filled.insert("t", [(2, "two")], attempt="load-7")
    for lake in (filled, other):
        assert lake.insert("t", [(2, "two")], attempt="load-7").lsn == first.lsn == 2
        assert lake.committed("load-7") == 2
    assert read(filled, "t") == bag((1, "one"), (2, "two"))
    assert filled.truncate("t", attempt="empty-7").lsn == 3
    filled.insert("t", [(3, "three")])
    assert filled.truncate("t", attempt="empty-7").lsn == 3
    assert read(filled, "t") == bag((3, "three"))
    assert filled.lsn == 4


def test_a_transaction_tried_again_under_its_attempt_is_found(filled: ab.Lake, other: ab.Lake) -> None:
    def load(lake: ab.Lake) -> int | None:
        with lake.transaction(attempt="load-7") as tx:
            tx.drop_table("u")
            tx.create_table("v", U)
            tx.truncate("t")
            tx.insert("t", [(2, "two")])
        return tx.lsn

    assert [load(lake) for lake in (filled, filled, other)] == [2, 2, 2]
    assert filled.lsn == 2
    assert read(filled, "t") == bag((2, "two"))
    assert filled.committed("load-7") == 2


def test_two_that_run_the_same_attempt_at_once_get_the_same_lsn(filled: ab.Lake, other: ab.Lake) -> None:
    one, two = filled.transaction(attempt="load-7"), other.transaction(attempt="load-7")
    for tx in (one, two):
        tx.insert("t", [(2, "two")])
        tx.truncate("u")
    assert two.commit() == one.commit() == 2
    assert read(filled, "t") == bag((1, "one"), (2, "two"))


def test_an_attempt_that_failed_can_be_tried_again(filled: ab.Lake) -> None:
    fails(Unrelated, filled, lambda tx: tx.insert("t", [(2, "two")]), then=Unrelated(), attempt="load-7")
    assert filled.committed("load-7") is None
    with filled.transaction(attempt="load-7") as tx:
        tx.insert("t", [(2, "two")])
    assert filled.committed("load-7") == tx.lsn == 2


@pytest.mark.parametrize("name", ["", "a" * 129, "line\nbreak", "nul\0", 7, b"bytes"])
def test_a_name_that_no_attempt_can_have_is_refused(lake: ab.Lake, name: Any) -> None:
    lake.create_table("t", U)
    for verb in (
        lambda: lake.insert("t", [(1,)], attempt=name),
        lambda: lake.transaction(attempt=name),
        lambda: lake.committed(name),
    ):
        with pytest.raises(InputError):
            verb()
    assert lake.lsn == 1
    assert read(lake, "t") == bag()


# -- reading what it wrote ------------------------------------------------------------------------


def live_rows(tx: ab.Transaction, lake: ab.Lake, table: str) -> Any:
    """A table as the transaction sees it, without Spark."""
    from anabranch.iceberg.read_rows import read_rows

    working = tx._get_table(table)
    return bag_of(read_rows(lake._context.warehouse, list(working.live_files().values()), working.schema))


def test_a_transaction_sees_what_it_wrote_and_nobody_else_does(filled: ab.Lake, other: ab.Lake) -> None:
    with filled.transaction() as tx:
        tx.insert("t", [(2, "two")])
        assert live_rows(tx, filled, "t") == bag((1, "one"), (2, "two"))
        assert tx.truncate("t").deleted == 2
        assert live_rows(tx, filled, "t") == bag()
        tx.insert("t", [(3, "three")])
        tx.insert("t", [(4, "four")])
        assert live_rows(tx, filled, "t") == bag((3, "three"), (4, "four"))
        for lake in (filled, other):
            assert read(lake, "t") == bag((1, "one"))
    assert read(other, "t") == bag((3, "three"), (4, "four"))
    check_history(filled, "t")


def test_a_name_can_be_given_up_and_taken_again_in_one_transaction(filled: ab.Lake, other: ab.Lake) -> None:
    with filled.transaction() as tx:
        tx.insert("t", [(2, "lost with the table")])
        tx.drop_table("t")
        with pytest.raises(UnknownTable):
            tx.insert("t", [(3, "three")])
        tx.create_table("t", U)
        with pytest.raises(NameTaken):
            tx.create_table("t", U)
        tx.insert("t", [(7,)])
    assert tx.lsn == 2
    assert read(other, "t") == bag((7,))
    assert read(other, "t", as_of=1) == bag((1, "one"))

    with filled.transaction() as tx:
        for n in range(3):
            tx.drop_table("t")
            tx.create_table("t", U)
            tx.insert("t", [(n,)])
    assert read(other, "t") == bag((2,))
    assert [read(filled, "t", as_of=lsn) for lsn in (1, 2, 3)] == [bag((1, "one")), bag((7,)), bag((2,))]
    check_history(filled, "t")


def test_a_table_created_and_filled_here_is_whole_for_the_first_who_sees_it(
    filled: ab.Lake, other: ab.Lake
) -> None:
    with filled.transaction() as tx:
        tx.create_table("v", U)
        tx.insert("v", [(1,)])
        tx.truncate("v")
        tx.insert("v", [(2,)])
        with pytest.raises(UnknownTable):
            other.arrow("v")
    assert read(other, "v", as_of=tx.lsn) == bag((2,))
    assert check_history(filled, "v") == [2]


def test_a_transaction_with_many_pieces_keeps_its_change_in_a_file_of_its_own(filled: ab.Lake) -> None:
    with filled.transaction() as tx:
        for n in range(60):
            tx.insert("u", [(n,)])
    with filled.transaction() as tx:
        tx.truncate("u")
        tx.insert("u", [(100,)])
    check_history(filled, "u")


@pytest.mark.spark
def test_queries_in_a_transaction_see_what_it_wrote(spark_lake: ab.Lake, place: Path) -> None:
    spark_lake.create_table("t", T)
    spark_lake.insert("t", [(1, "one"), (2, "two")])
    with spark_lake.transaction() as tx:
        tx.insert("t", [(3, "three")])
        tx.update("t", {"word": "upper(word)"}, "id >= 2")
        tx.delete("t", "id = 1")
        assert {tuple(row) for row in tx.table("t").collect()} == {(2, "TWO"), (3, "THREE")}
        tx.create_table("lengths", "n INT")
        tx.sql("INSERT INTO lengths SELECT length(word) FROM t")
        assert {row.n for row in tx.sql("SELECT n FROM lengths").collect()} == {3, 5}
        assert read(spark_lake, "t") == bag((1, "one"), (2, "two"))
    assert read(spark_lake, "t") == bag((2, "TWO"), (3, "THREE"))
    assert read(spark_lake, "lengths") == bag((3,), (5,))
    assert spark_lake.lsn == 3
    check_history(spark_lake, "t")
