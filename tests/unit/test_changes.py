"""What a commit changed, as pieces; and which snapshots nobody needs any more."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.table.snapshots import Operation, Snapshot, Summary

from anabranch.errors import Damaged
from anabranch.iceberg.change_files import (
    CHANGES,
    MAX_INLINE_CHANGE_FILES,
    ChangeFile,
    may_cancel,
    read_changes_between,
    read_snapshot_changes,
    read_summary_files,
    write_change_summary,
)
from anabranch.iceberg.expiry import plan_expiry
from anabranch.iceberg.warehouse import Warehouse


@pytest.fixture
def warehouse(tmp_path):
    return Warehouse(f"file://{tmp_path}")


def snapshot(number: int, parent: int | None, text: str | None, operation=Operation.OVERWRITE) -> Snapshot:
    properties = {} if text is None else {CHANGES: text}
    return Snapshot(
        snapshot_id=number,
        parent_snapshot_id=parent,
        timestamp_ms=number,
        manifest_list=f"file:///list-{number}",
        summary=Summary(operation, **properties),
    )


def reader(warehouse: Warehouse) -> SimpleNamespace:
    return SimpleNamespace(warehouse=warehouse)


@pytest.mark.parametrize("count", [0, 1, MAX_INLINE_CHANGE_FILES, MAX_INLINE_CHANGE_FILES + 1, 500])
def test_change_files_are_read_as_they_were_described_however_many(warehouse, count):
    deletes = [(), ("file:///ü/d.parquet",)]
    pieces = [
        ChangeFile("+-~"[i % 3], f"file:///some where/ß-{i}.parquet", deletes[i % 7 == 3])
        for i in range(count)
    ]
    side = f"{warehouse.uri}/t/changes/side.json"
    text = write_change_summary(warehouse, pieces, side)
    shot = snapshot(1, None, text)
    assert read_snapshot_changes(reader(warehouse), None, shot, "t") == pieces
    needed = read_summary_files(warehouse, shot, "t")
    assert [path for path in needed if path != side] == [
        path for piece in pieces for path in (piece.path, *piece.deletes)
    ]
    assert (side in needed) is (count > MAX_INLINE_CHANGE_FILES)
    assert len(text) < 10_000


def test_a_replacement_by_another_client_changed_nothing(warehouse):
    assert (
        read_snapshot_changes(reader(warehouse), None, snapshot(1, None, None, Operation.REPLACE), "t") == []
    )
    assert read_summary_files(warehouse, snapshot(1, None, None), "t") == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nonsense",
        "[]",
        "{}",
        '{"pieces": 7}',
        '{"pieces": [["+"]]}',
        '{"file": "file:///no/such/file.json"}',
    ],
)
def test_a_summary_that_cannot_be_read_is_damage(warehouse, text):
    with pytest.raises(Damaged) as caught:
        read_snapshot_changes(reader(warehouse), None, snapshot(1, None, text), "orders")
    assert caught.value.code == "AB402"
    assert '"orders"' in caught.value.message


def test_the_change_files_between_two_snapshots_are_those_of_the_steps_between(warehouse):
    texts = {
        number: write_change_summary(warehouse, [ChangeFile("+", f"file:///{number}")], "unused")
        for number in (1, 2, 3)
    }
    shots = {number: snapshot(number, number - 1 or None, text) for number, text in texts.items()}
    metadata = SimpleNamespace(snapshot_by_id=shots.get)

    live = {None: (), 1: ("x",), 2: ("x", "y"), 3: ("y", "z")}
    looking = SimpleNamespace(
        warehouse=warehouse,
        list_files=lambda metadata, number, name: [
            SimpleNamespace(path=path, deletes=()) for path in live[number]
        ],
    )

    def between(since: int | None, until: int | None) -> list[tuple[str, str]]:
        return [(p.sign, p.path) for p in read_changes_between(looking, metadata, since, until, "t")]

    assert between(1, 3) == [("+", "file:///2"), ("+", "file:///3")]
    assert between(3, 3) == []
    # What has no common history, or began before all history, is the difference of the files.
    assert between(None, 3) == [("+", "y"), ("+", "z")]
    assert between(3, 1) == [("+", "x"), ("-", "y"), ("-", "z")]
    assert between(None, None) == []


# -- expiry ---------------------------------------------------------------------------------------

VERSIONS = st.lists(st.integers(1, 60), min_size=1, max_size=12, unique=True).map(sorted)


def metadata_with(snapshots, current, tagged=()):
    references = {str(number): SimpleNamespace(snapshot_id=number) for number in tagged}
    return SimpleNamespace(
        snapshots=[SimpleNamespace(snapshot_id=number) for number in snapshots],
        refs=references,
        current_snapshot_id=current,
    )


@given(VERSIONS, st.integers(0, 70), st.data())
def test_what_a_reader_at_the_floor_or_later_needs_stays(lsns, floor, data):
    versions = [(lsn, 1000 + lsn) for lsn in lsns]
    tagged = data.draw(st.sets(st.sampled_from([shot for _, shot in versions])))
    expiry = plan_expiry(versions, metadata_with([s for _, s in versions], versions[-1][1], tagged), floor)
    left = [(lsn, shot) for lsn, shot in versions if lsn not in expiry.lsns]
    for at in range(floor, 71):
        needed = [(lsn, shot) for lsn, shot in versions if lsn <= at]
        assert not needed or needed[-1] in left, "the version that a reader sees is kept"
    kept = {shot for _, shot in left} | tagged | {versions[-1][1]}
    assert not kept & set(expiry.snapshots)
    dropped = [shot for _, shot in versions if shot not in kept]
    assert sorted(expiry.snapshots) == dropped, "what nobody needs goes"


def test_a_version_that_shares_its_snapshot_with_a_kept_one_keeps_it():
    """A compaction or a schema change can be a version of its own without a snapshot of its own."""
    expiry = plan_expiry([(1, None), (2, 7), (5, 7), (6, 8)], metadata_with([7, 8], 8), 5)
    assert expiry.lsns == (1, 2)
    assert expiry.snapshots == ()


def files(*signs: str) -> list[ChangeFile]:
    """Change files of one write each; `~a` and `~a` are two of one write."""
    return [
        ChangeFile(sign[0], f"file:///t/changes/{sign[1:] or number}/{number}.parquet")  # type: ignore[arg-type]
        for number, sign in enumerate(signs)
    ]


@pytest.mark.parametrize(
    "signs", [(), ("+",), ("+", "+", "+"), ("~",), ("~a", "~a", "~a"), ("~", "+"), ("-",)]
)
def test_rows_of_one_write_or_of_inserts_alone_cancel_nothing(signs):
    assert not may_cancel(files(*signs))


@pytest.mark.parametrize("signs", [("+", "~"), ("~", "~"), ("~a", "~a", "~b"), ("-", "+"), ("~", "+", "~")])
def test_rows_that_came_before_others_went_may_be_the_same(signs):
    assert may_cancel(files(*signs))
