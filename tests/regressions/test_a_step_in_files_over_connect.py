"""Through Spark Connect, a refresh whose steps are in files failed: it adds no columns by an empty list."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.behaviour.test_connect_server import run_on_connect_server


@pytest.mark.spark
def test_a_large_change_is_followed_through_connect(tmp_path: Path) -> None:
    run_on_connect_server(tmp_path, ["large_changes_are_followed"])
