"""Avro files are followed from block to block before they are decoded."""

from __future__ import annotations

import random
import zlib
from pathlib import Path

import pytest

import anabranch as ab
from anabranch.iceberg.check_avro import check_avro


@pytest.fixture(scope="module")
def manifests(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    place = tmp_path_factory.mktemp("avro") / "lake"
    with ab.connect(place) as lake:
        lake.create_table("t", "id BIGINT, name STRING")
        lake.insert("t", [(number, "x" * number) for number in range(20)])
        lake.truncate("t")
    return [path.read_bytes() for path in sorted(Path(place).rglob("*.avro"))]


def test_what_pyiceberg_writes_is_whole(manifests: list[bytes]) -> None:
    assert len(manifests) >= 3
    for content in manifests:
        check_avro(content)


def test_a_file_cut_anywhere_is_noticed(manifests: list[bytes]) -> None:
    # Where one block ends and the next begins the cut file is whole again, only shorter.
    content = manifests[0]
    refused = 0
    for end in range(len(content)):
        try:
            check_avro(content[:end])
        except (ValueError, zlib.error):
            refused += 1
    assert refused >= len(content) - 2


def test_scrambled_bytes_end_in_an_error_or_nowhere(manifests: list[bytes]) -> None:
    chance = random.Random(7)
    for _ in range(2000):
        content = bytearray(chance.choice(manifests))
        for _ in range(chance.randint(1, 8)):
            content[chance.randrange(len(content))] = chance.randrange(256)
        try:
            check_avro(bytes(content))
        except (ValueError, zlib.error):
            continue


@pytest.mark.parametrize("content", [b"", b"PAR1", b"Obj\x01", b"Obj\x01\x02", b"Obj\x01\x00" + b"\xff" * 40])
def test_what_is_no_avro_file_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"Avro|breaks off|no schema|no end"):
        check_avro(content)
