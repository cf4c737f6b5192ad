"""Which files Spark reads in one scan, and their deleted positions as bits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from anabranch.engine.spark.deleted_bits import count_words, pack_deletes
from anabranch.engine.spark.scan_files import SCANNED_TOGETHER, group_for_scans


@dataclass(frozen=True)
class File:
    path: str
    deletes: tuple[str, ...] = ()


def files(count: int, *deletes: str) -> list[File]:
    return [File(f"{len(deletes)}-{number}", deletes) for number in range(count)]


def test_files_without_position_deletes_are_one_scan():
    assert group_for_scans([]) == [[]]
    assert group_for_scans(files(3)) == [files(3)]


def test_files_with_different_delete_files_are_one_scan():
    marked = [File("a", ("d",)), File("b", ("e",)), File("c", ("d", "e"))]
    assert group_for_scans(marked) == [marked]


@pytest.mark.parametrize("whole", [0, 1, SCANNED_TOGETHER])
def test_files_without_position_deletes_join_the_scan_of_the_others(whole):
    both = [*files(whole), *files(1, "d")]
    assert group_for_scans(both) == [both]


def test_very_many_files_without_position_deletes_are_a_scan_of_their_own():
    whole, marked = files(2 * SCANNED_TOGETHER + 1), files(2, "d")
    assert group_for_scans([*marked, *whole]) == [whole, marked]


def test_a_path_with_several_sets_of_deletes_stands_once_in_each_scan():
    first, second, other = File("a", ("d",)), File("a", ("e",)), File("b", ("d",))
    assert group_for_scans([first, second, other]) == [[first, other], [second]]
    assert group_for_scans([first, File("a")]) == [[first], [File("a")]]


def bits_of(words: np.ndarray) -> list[int]:
    return [64 * place + bit for place, word in enumerate(words) for bit in range(64) if int(word) >> bit & 1]


@pytest.mark.parametrize(
    "places", [[], [[]], [[0]], [[63], [64], []], [[0, 1, 62, 63, 64, 127, 128, 1000], [5], [999, 100_000]]]
)
def test_the_bits_are_the_deleted_positions(places):
    packed = pack_deletes([np.array(found, np.int64) for found in places])
    assert [bits_of(words) for words in packed.each] == places
    assert bits_of(packed.any) == sorted({place for found in places for place in found})
    assert packed.words <= count_words([np.array(found, np.int64) for found in places])
