"""Every public method, with something hostile in the place of each argument: only errors of ours.

The public API is walked by introspection, so a method that is new fails here until it has its cases.
"""

from __future__ import annotations

import datetime as dt
import inspect
import math
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import anabranch as ab
from anabranch.errors import AnabranchError, InvalidLsn, TransactionOver, UnknownTable, VersionExpired
from tests.hostile.untouched import untouched

# For each method, arguments with which it works. A method without arguments has no bad ones.
LAKE: dict[str, dict[str, Any]] = {
    "arrow": {"name": "t", "as_of": 2},
    "changes": {"name": "t", "since": 1, "until": 2, "change_type": False},
    "clock": {},
    "close": {},
    "commits": {"limit": 10},
    "committed": {"attempt": "some attempt"},
    "compact": {"name": "t"},
    "create_table": {"name": "fresh", "schema": "id INT", "if_not_exists": True},
    "delete": {"name": "t", "where": "id = 99", "attempt": None},
    "explain": {"what": "SELECT id FROM t"},
    "drop_table": {"name": "fresh", "if_exists": True},
    "health": {},
    "iceberg_table": {"name": "t", "refs_only": False},
    "insert": {"name": "t", "rows": [(1, "a")], "attempt": None},
    "lsn": {},
    "statements_run": {},
    "maintain": {},
    "merge": {"name": "t", "rows": [(1, "a")], "on": ["id"], "delete_when": None, "attempt": None},
    "name": {},
    "preview": {"name": "t", "limit": 10},
    "set": {"name": "commit_retries", "value": 5},
    "settings": {},
    "snapshot": {"as_of": 2},
    "sql": {"text": "SELECT 1"},
    "table": {"name": "t", "as_of": 2},
    "tables": {},
    "transaction": {"attempt": None},
    "truncate": {"name": "other", "attempt": None},
    "update": {"name": "t", "assignments": {"v": "v"}, "where": "id = 99", "attempt": None},
}
OPTIONS = {
    "schedule": "1m",
    "refresh_mode": "auto",
    "initialize": False,
    "diamond_consistency": None,
    "diamond_schedule_policy": None,
    "bootstrap_gating": "respect",
    "fuse": "off",
    "fuse_ceiling": None,
    "fuse_sensitivity": 1,
}
STREAMS: dict[str, dict[str, Any]] = {
    "advance_watermark": {"source": "t", "timestamp": "2030-01-01"},
    "alter_stream_table": {"name": "kept", "changes": None},
    "create_stream_table": {"name": "fresh", "query": "SELECT id FROM t", **OPTIONS},
    "create_stream_tables": {"definitions": [{"name": "fresh", "query": "SELECT id FROM t"}]},
    "create_refresh_group": {
        "name": "pair",
        "members": ["kept", "other"],
        "isolation": "read_committed",
        "snapshot_timeout_ms": 0,
    },
    "create_watermark_group": {
        "name": "pair",
        "sources": ["t", "nowhere"],
        "tolerance": "0s",
        "missing": "gated",
    },
    "dependency_tree": {"name": "kept"},
    "describe_stream_table": {"name": "kept"},
    "graph": {},
    "diamond_groups": {},
    "drop_refresh_group": {"name": "none"},
    "drop_stream_table": {"name": "kept", "cascade": False},
    "fuse_status": {},
    "drop_watermark_group": {"name": "none"},
    "gate_source": {"name": "t", "auto_ungate_on_watermark": False},
    "gate_sources": {"names": ["t"]},
    "leading_scheduler": {},
    "pulse": {},
    "refresh_groups": {},
    "scc_status": {},
    "refresh_history": {"name": "kept", "limit": 10},
    "refresh_stream_table": {"name": "kept", "full": False, "upstream": True},
    "reset_fuse": {"name": "kept", "action": "apply"},
    "resume_stream_table": {"name": "kept"},
    "run": {},  # its observer is the caller's own code; see below
    "source_gates": {},
    "sources": {},
    "status": {},
    "suspend_stream_table": {"name": "kept"},
    "tick": {},
    "ungate_source": {"name": "t"},
    "ungate_sources": {"names": ["t"]},
    "verify": {"name": "kept"},
    "watermark_groups": {},
    "watermarks": {},
}
TRANSACTION: dict[str, dict[str, Any]] = {
    "advance_watermark": {"source": "t", "timestamp": "2030-01-01"},
    "commit": {},
    "commit_within": {},  # for a caller that holds the writers' lock
    "compact": {"name": "t"},
    "create_table": {"name": "fresh", "schema": "id INT", "if_not_exists": True},
    "delete": {"name": "t", "where": "id = 99"},
    "drop_table": {"name": "fresh", "if_exists": True},
    "gate_source": {"name": "t", "auto_ungate_on_watermark": False},
    "gate_sources": {"names": ["t"]},
    "enter": {},  # for a table that a refresh made
    "insert": {"name": "t", "rows": [(1, "a")]},
    "insert_query": {},  # for a query that was parsed already
    "merge": {"name": "t", "rows": [(1, "a")], "on": ["id"], "delete_when": None},
    "rollback": {},
    "run_statement": {},  # for a statement that was parsed already
    "sql": {"text": "SELECT 1"},
    "table": {"name": "t"},
    "truncate": {"name": "other"},
    "ungate_source": {"name": "t"},
    "ungate_sources": {"names": ["t"]},
    "update": {"name": "t", "assignments": {"v": "v"}, "where": "id = 99"},
    "working": {},  # for a refresh, which edits tables by itself
}
SNAPSHOT: dict[str, dict[str, Any]] = {
    "arrow": {"name": "t"},
    "close": {},
    "lsn": {},
    "sql": {"text": "SELECT 1"},
    "table": {"name": "t"},
    "tables": {},
}
CONNECT: dict[str, Any] = {
    "location": "lake",
    "catalog": None,
    "spark": None,
    "spark_options": None,
    "clock": None,
    "observer": None,
    "failpoints": None,
    "settings": None,
}

JUNK: dict[str, Any] = {
    "None": None,
    "true": True,
    "a number": 7,
    "a large number": 2**70,
    "a negative number": -1,
    "a fraction": 1.5,
    "NaN": math.nan,
    "nothing": "",
    "a blank": " ",
    "NUL": "\0",
    "an emoji": "😀",
    "half an emoji": "\ud83d",
    "a long text": "x" * 100_000,
    "a statement": "'; DROP TABLE t; --",
    "a path": "../../etc/passwd",
    "bytes": b"t",
    "a list": [],
    "a list of lists": [[[]]],
    "a list of None": [None],
    "a tuple": (1, 2),
    "a dict": {},
    "a dict of junk": {None: object()},
    "a set": {1},
    "an object": object(),
    "a class": int,
    "a function": len,
    "a module": math,
    "an Arrow array": pa.array([1]),
    "a date": dt.date(2024, 1, 1),
    "an error": ValueError("no"),
    "a generator": (x for x in ()),
}


def public(kind: type) -> set[str]:
    """The names that a class shows."""
    return {name for name, _ in inspect.getmembers(kind) if not name.startswith("_")}


@pytest.mark.parametrize(
    ("kind", "cases"),
    [(ab.Lake, LAKE | STREAMS), (ab.Transaction, TRANSACTION), (ab.Snapshot, SNAPSHOT)],
    ids=str,
)
def test_every_public_method_has_its_hostile_cases(kind, cases):
    extra = {"lsn"} if kind is ab.Transaction else set()
    assert public(kind) - extra == set(cases)
    for name, arguments in cases.items():
        method = getattr(kind, name)
        parameters = set(inspect.signature(method).parameters) - {"self"} if callable(method) else set()
        if arguments:
            assert parameters == set(arguments), f"{kind.__name__}.{name}"


def test_every_argument_of_connect_has_its_hostile_cases():
    assert set(inspect.signature(ab.connect).parameters) == set(CONNECT)
    functions = {name for name in ab.__all__ if inspect.isfunction(getattr(ab, name))}
    # What `stream_table` takes is taken when a project is read: tests/project has its hostile cases.
    assert functions == {"connect", "stream_table"}


def attempt(act: Callable[[], Any], what: str) -> bool:
    """Whether it raised; anything that isn't an error of ours fails the test."""
    try:
        act()
    except AnabranchError as error:
        text, code = str(error), error.code
    except Exception as error:  # noqa: BLE001
        pytest.fail(f"{what} raised {type(error).__name__}: {str(error)[:300]}")
    else:
        return False
    assert text.startswith(code), what
    assert "\0" not in text, what
    text.encode()
    return True


@pytest.fixture
def shop(spark_lake):
    """Two tables, three versions."""
    spark_lake.create_table("t", "id INT, v STRING")
    spark_lake.insert("t", [(1, "a")])
    spark_lake.create_table("other", "id INT")
    return spark_lake


@pytest.mark.rotating(2)
@pytest.mark.parametrize("name", [name for name, arguments in LAKE.items() if arguments])
def test_junk_in_any_argument_of_the_lake_raises_only_errors_of_ours(shop, name):
    for argument in LAKE[name]:
        for label, junk in JUNK.items():
            what = f"lake.{name}({argument}={label})"
            lsn = shop.lsn
            if attempt(lambda junk=junk, a=argument: getattr(shop, name)(**LAKE[name] | {a: junk}), what):
                assert shop.lsn == lsn, what


@pytest.mark.parametrize("name", [name for name, arguments in STREAMS.items() if arguments])
def test_junk_in_any_argument_about_stream_tables_raises_only_errors_of_ours(duck_lake, name):
    duck_lake.create_table("t", "id INT, v STRING")
    duck_lake.create_stream_table("kept", "SELECT id FROM t")
    for argument in STREAMS[name]:
        for label, junk in JUNK.items():
            what = f"lake.{name}({argument}={label})"
            lsn = duck_lake.lsn
            act = lambda junk=junk, a=argument: getattr(duck_lake, name)(**STREAMS[name] | {a: junk})  # noqa: E731
            if attempt(act, what):
                assert duck_lake.lsn == lsn, what
            elif name == "create_stream_table":
                duck_lake.drop_stream_table("fresh")


@pytest.mark.parametrize("junk", [1, "text", [], object(), {}, b""])
def test_a_scheduler_takes_only_what_it_can_call_and_wait_for(duck_lake, junk):
    for act in (
        lambda: duck_lake.tick(observer=junk),
        lambda: duck_lake.run(observer=junk),
        lambda: duck_lake.run(stop=junk),
    ):
        assert attempt(act, repr(junk))


@pytest.mark.rotating(2)
@pytest.mark.parametrize("name", [name for name, arguments in TRANSACTION.items() if arguments])
def test_junk_in_any_argument_of_a_transaction_raises_only_errors_of_ours(shop, name):
    lsn = shop.lsn
    for argument in TRANSACTION[name]:
        transaction = shop.transaction()
        method = getattr(transaction, name)
        for label, junk in JUNK.items():
            attempt(
                lambda junk=junk, a=argument, m=method: m(**TRANSACTION[name] | {a: junk}),
                f"transaction.{name}({argument}={label})",
            )
        transaction.rollback()
    assert shop.lsn == lsn


@pytest.mark.parametrize("name", [name for name, arguments in SNAPSHOT.items() if arguments])
def test_junk_in_any_argument_of_a_snapshot_raises_only_errors_of_ours(shop, name):
    with shop.snapshot() as snapshot:
        for argument in SNAPSHOT[name]:
            for label, junk in JUNK.items():
                act = getattr(snapshot, name)
                attempt(
                    lambda junk=junk, a=argument, act=act: act(**SNAPSHOT[name] | {a: junk}),
                    f"snapshot.{name}({argument}={label})",
                )


@pytest.mark.parametrize("argument", [name for name in CONNECT if name != "settings"])
def test_junk_in_any_argument_of_connect_raises_only_errors_of_ours(tmp_path, monkeypatch, argument):
    monkeypatch.chdir(tmp_path)

    def use(junk: Any) -> None:
        given: dict[str, Any] = {"location": "lake", argument: junk}
        with ab.connect(given.pop("location"), **given) as lake:
            lake.create_table("t", "id INT", if_not_exists=True)
            lake.insert("t", [(1,)])

    for label, junk in JUNK.items():
        if not (argument == "observer" and callable(junk)):  # what a user's own function raises is the user's
            attempt(lambda junk=junk: use(junk), f"connect({argument}={label})")


@pytest.mark.parametrize("name", ["time_zone", "commit_retries", "no_such_setting", "driver_rewrite_bytes"])
def test_junk_in_any_setting_raises_only_errors_of_ours(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    for label, junk in JUNK.items():
        attempt(lambda junk=junk: ab.connect("lake", **{name: junk}).close(), f"connect({name}={label})")


# -- particular mistakes --------------------------------------------------------------------------


@pytest.mark.parametrize("lsn", [-1, 99, 2**70, True, 1.0, "1", b"1", [1]], ids=repr)
def test_an_lsn_that_is_none_is_refused(lake, place, lsn):
    lake.create_table("t", "id INT")
    with untouched(place):
        for act in (
            lambda: lake.table("t", as_of=lsn),
            lambda: lake.arrow("t", as_of=lsn),
            lambda: lake.snapshot(as_of=lsn),
            lambda: lake.changes("t", lsn),
            lambda: lake.changes("t", 0, lsn),
        ):
            with pytest.raises(InvalidLsn) as caught:
                act()
            assert caught.value.code == "AB112"


def test_changes_do_not_run_backwards(lake):
    lake.create_table("t", "id INT")
    lake.insert("t", [(1,)])
    with pytest.raises(InvalidLsn):
        lake.changes("t", 2, 1)


def test_an_unknown_table_is_refused_by_every_verb(lake, place):
    lake.create_table("t", "id INT")
    transaction = lake.transaction()
    with untouched(place):
        for act in (
            lambda: lake.table("tt"),
            lambda: lake.arrow("tt"),
            lambda: lake.changes("tt", 0),
            lambda: lake.insert("tt", [(1,)]),
            lambda: lake.update("tt", {"id": "1"}),
            lambda: lake.delete("tt"),
            lambda: lake.merge("tt", [(1,)], on=["id"]),
            lambda: lake.truncate("tt"),
            lambda: lake.compact("tt"),
            lambda: lake.drop_table("tt"),
            lambda: lake.sql("SELECT * FROM tt"),
            lambda: lake.sql("INSERT INTO tt VALUES (1)"),
            lambda: transaction.insert("tt", [(1,)]),
            lambda: lake.table("t", as_of=0),
        ):
            with pytest.raises(UnknownTable) as caught:
                act()
            assert caught.value.code == "AB103"
    assert not lake._context.engine.is_started


def test_a_transaction_that_is_over_says_so(lake):
    lake.create_table("t", "id INT")
    committed, rolled_back = lake.transaction(), lake.transaction()
    committed.insert("t", [(1,)])
    committed.commit()
    rolled_back.rollback()
    for transaction in (committed, rolled_back):
        for act in (
            lambda tx: tx.insert("t", [(2,)]),
            lambda tx: tx.create_table("u", "id INT"),
            lambda tx: tx.drop_table("t"),
            lambda tx: tx.truncate("t"),
            lambda tx: tx.table("t"),
            lambda tx: tx.sql("TRUNCATE TABLE t"),
            lambda tx: tx.commit(),
        ):
            with pytest.raises(TransactionOver) as caught:
                act(transaction)
            assert caught.value.code == "AB305"
    assert (lake.lsn, lake.arrow("t").num_rows) == (2, 1)


def test_a_snapshot_that_is_closed_says_so(lake):
    lake.create_table("t", "id INT")
    snapshot = lake.snapshot()
    snapshot.close()
    snapshot.close()
    for act in (lambda: snapshot.arrow("t"), lambda: snapshot.table("t"), lambda: snapshot.sql("SELECT 1")):
        with pytest.raises(VersionExpired):
            act()


@pytest.mark.parametrize("name", ["", "x" * 129, "a\nb", "\0", 7, b"x"], ids=ascii)
def test_an_attempt_of_a_hostile_name_is_refused(lake, place, name):
    lake.create_table("t", "id INT")
    with untouched(place):
        for act in (
            lambda: lake.insert("t", [(1,)], attempt=name),
            lambda: lake.truncate("t", attempt=name),
            lambda: lake.transaction(attempt=name),
            lambda: lake.committed(name),
        ):
            with pytest.raises(AnabranchError) as caught:
                act()
            assert caught.value.code == "AB100"


@pytest.mark.parametrize(
    "name", ["x" * 128, "'; DROP TABLE t; --", "../../etc/passwd", "größe 😀", "%s {0} :x ?"]
)
def test_an_attempt_may_be_called_anything_printable_and_is_found_again(lake, name):
    lake.create_table("t", "id INT")
    assert lake.committed(name) is None
    lsn = lake.insert("t", [(1,)], attempt=name).lsn
    assert lake.insert("t", [(1,)], attempt=name).lsn == lsn == lake.committed(name)
    assert lake.arrow("t").num_rows == 1
