"""An upsert by 0.0 replaces rows whose key is -0.0; two of them were taken for two incoming rows."""

from __future__ import annotations

from pathlib import Path

from tests.engines.lakes import duck_lake


def test_one_incoming_row_may_replace_several_of_an_equal_key(place: Path) -> None:
    with duck_lake(place) as lake:
        lake.create_table("kept", "f DOUBLE, note STRING")
        lake.insert("kept", [(-0.0, "stored"), (-0.0, "stored")])
        counts = lake.merge("kept", [(0.0, "came")], on=["f"])
        assert (counts.inserted, counts.deleted) == (2, 2)
        assert lake.arrow("kept")["note"].to_pylist() == ["came", "came"]
