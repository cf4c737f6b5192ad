"""A lake with many stream tables is still answered at once."""

from __future__ import annotations

import pytest

from anabranch.clock import read_stopwatch
from anabranch.web.app import build_app
from tests.engines.lakes import duck_lake
from tests.web.conftest import TOKEN, TestClient

MANY = 500
BOUND = 1.0
"""Seconds, for the whole graph."""


@pytest.mark.slow
def test_the_graph_of_five_hundred_stream_tables_takes_less_than_a_second(place):
    with duck_lake(place) as lake:
        lake.create_table("orders", "id BIGINT, region STRING")
        lake.create_stream_tables(
            [
                {
                    "name": f"t{number}",
                    "query": f"SELECT id, region FROM {'orders' if number < 10 else f't{number - 10}'}",
                    "initialize": False,
                }
                for number in range(MANY)
            ]
        )
        with TestClient(build_app(lake, token=TOKEN), base_url="http://localhost") as client:
            client.get("/api/v1/graph")
            took = []
            for path in (
                "/api/v1/graph",
                "/api/v1/graph",
                "/api/v1/graph",
                "/metrics",
                "/api/v1/stream-tables",
            ):
                begun = read_stopwatch()
                answer = client.get(path)
                took.append(read_stopwatch() - begun)
                assert answer.status_code == 200
            assert min(took[:3]) < BOUND, took
            assert max(took[3:]) < 2 * BOUND, took
            found = client.get("/api/v1/graph").json()
            assert (len(found["nodes"]), len(found["edges"])) == (MANY + 1, MANY)
            begun = read_stopwatch()
            lake.pulse()
            assert read_stopwatch() - begun < 0.1
