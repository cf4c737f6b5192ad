"""When rows that go are marked in their files, and when the files are rewritten."""

from __future__ import annotations

from dataclasses import replace

import pytest

from anabranch.iceberg.parquet_files import FileRef
from anabranch.write.delete_strategy import DeleteStrategy, Limits, choose_delete_strategy

LIMITS = Limits(
    rewritten_bytes=1000, small_file_bytes=100, small_files=3, marked_share=0.05, marked_rows=100_000
)


def file(path: str, size: int = 5000, rows: int = 1000, marked: int = 0) -> FileRef:
    deletes = ("deletes",) if marked else ()
    return FileRef(path, rows - marked, size, None, deletes, marked)  # type: ignore[arg-type]


def chosen(live: list[FileRef], going: dict[str, int], limits: Limits = LIMITS) -> tuple[str, str]:
    """The files that are marked and those that are rewritten, by their letters."""
    found: DeleteStrategy = choose_delete_strategy(live, going, {file.path for file in live}, limits)
    marked, rewritten = ("".join(file.path for file in files) for files in (found.marked, found.rewritten))
    return marked, rewritten


def test_few_rows_of_large_files_are_marked():
    assert chosen([file("a"), file("b"), file("c")], {"a": 1, "c": 50}) == ("ac", "")


def test_what_is_small_in_all_is_rewritten():
    assert chosen([file("a", 500), file("b", 500), file("c")], {"a": 1, "b": 1}) == ("", "ab")
    assert chosen([file("a", 500), file("b", 501), file("c")], {"a": 1, "b": 1}) == ("ab", "")


def test_a_file_that_loses_more_than_its_share_is_rewritten():
    assert chosen([file("a"), file("b")], {"a": 51, "b": 1}) == ("b", "a")


def test_what_was_marked_before_counts_against_the_share():
    assert chosen([file("a", marked=40), file("b", marked=40)], {"a": 10, "b": 11}) == ("a", "b")


def test_a_small_file_is_rewritten_in_any_case():
    assert chosen([file("a", 100), file("b")], {"a": 1, "b": 1}) == ("b", "a")


def test_a_file_that_can_not_be_marked_is_rewritten():
    live = [file("a"), file("b")]
    found = choose_delete_strategy(live, {"a": 1, "b": 1}, {"b"}, LIMITS)
    assert ([one.path for one in found.marked], [one.path for one in found.rewritten]) == (["b"], ["a"])


@pytest.mark.parametrize(("most", "marked"), [(60, "a"), (59, "")])
def test_a_table_has_no_more_marks_than_a_reader_can_hold(most, marked):
    live = [file("a"), file("b", marked=30), file("c", marked=20)]
    assert chosen(live, {"a": 10}, replace(LIMITS, marked_rows=most))[0] == marked


def test_many_small_files_are_rewritten_into_one_in_passing():
    small = [file(path, 50, 10) for path in "xyz"]
    assert chosen([file("a"), *small], {"a": 1}) == ("a", "xyz")
    assert chosen([file("a"), *small[:2]], {"a": 1}) == ("a", "")
    assert chosen([file("a"), *small, file("w", 50)], {"a": 1, "y": 2}) == ("a", "ywxz")


def test_no_more_is_rewritten_in_passing_than_is_quick():
    small = [file(path, size, 10) for path, size in zip("uvwxyz", (60, 50, 40, 30, 20, 10), strict=True)]
    limits = replace(LIMITS, passing_bytes=100)
    assert chosen([file("a"), *small], {"a": 1}, limits) == ("a", "zyxw")


def test_nothing_is_rewritten_in_passing_where_nothing_is_marked():
    small = [file(path, 50, 10) for path in "xyz"]
    assert chosen([file("a"), *small], {"a": 900}) == ("", "a")
