"""A shell completes the names of tables, from the catalog alone."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from anabranch.cli.main import app


def completed(words: str, **environment: str) -> list[str]:
    """What bash is told to offer for the last word."""
    result = CliRunner().invoke(
        app,
        [],
        prog_name="anabranch",
        env={
            "_ANABRANCH_COMPLETE": "complete_bash",
            "COMP_WORDS": f"anabranch {words}",
            "COMP_CWORD": str(len(words.split(" "))),
            "ANABRANCH_LAKE": None,
            "ANABRANCH_CATALOG": None,
            **environment,
        },
    )
    return result.stdout.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("status by", ["by_product", "by_region"]),
        ("refresh +su", ["+summary"]),
        ("gate s", ["sales"]),
        ("preview s", ["sales", "summary"]),
        ("set par", ["parallelism"]),
        ("fuse reset by_p", ["by_product"]),
    ],
)
def test_names_are_offered(branches, place, words, offered):
    assert completed(words, ANABRANCH_LAKE=str(place)) == offered


def test_the_lake_may_be_named_in_the_same_line(branches, place):
    assert completed(f"--lake {place} status su") == ["summary"]
    assert completed(f"status --lake {place} su") == ["summary"]


def test_without_a_lake_nothing_is_offered_and_nothing_is_made(place):
    assert completed("status by") == []
    assert completed("status by", ANABRANCH_LAKE=str(place)) == []
    assert not place.exists()


def test_a_catalog_that_cannot_be_read_offers_nothing(place):
    place.mkdir()
    (place / "catalog.db").write_bytes(b"no database" * 100)
    assert completed("status by", ANABRANCH_LAKE=str(place)) == []
    assert completed("status by", ANABRANCH_CATALOG="nonsense") == []


def test_commands_are_offered():
    assert completed("wat") == ["watermark"]


def test_to_complete_imports_neither_spark_nor_the_lake(branches, place):
    program = (
        "import sys\nfrom anabranch.cli.main import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "assert not {'pyspark', 'pandas', 'pyarrow', 'pyiceberg'} & sys.modules.keys()\n"
    )
    environment = {
        **os.environ,
        "_ANABRANCH_COMPLETE": "complete_bash",
        "COMP_WORDS": "anabranch status by",
        "COMP_CWORD": "2",
        "ANABRANCH_LAKE": str(place),
    }
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.split() == [b"by_product", b"by_region"]
