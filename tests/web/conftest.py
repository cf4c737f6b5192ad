"""A lake with stream tables, and the service over it."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

import anabranch as ab
from anabranch.web import serve
from anabranch.web.app import build_app
from anabranch.web.guard import Limits
from anabranch.web.rate_limits import Rate
from tests.engines.lakes import duck_lake

with warnings.catch_warnings():
    # It would like another HTTP library better than the one that is here.
    warnings.simplefilter("ignore")
    from starlette.testclient import TestClient

TOKEN = "a-token-that-only-tests-know"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
UNLIMITED = Limits(changes=Rate(10**9, 10**9), guesses=Rate(10**9, 10**9))
PATIENCE = 20.0


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Notices are expected here; those that matter are asserted."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ab.Notice)
        yield


def stocked(lake: ab.Lake) -> ab.Lake:
    """Two sources, a diamond over one of them, a stream table that is made in full, one with a fuse."""
    lake.create_table("orders", "id BIGINT, region STRING, amount BIGINT")
    lake.create_table("sales.customers", "id BIGINT, name STRING")
    lake.insert("orders", [(1, "north", 10), (2, "south", 20), (3, "north", 30)])
    lake.insert("sales.customers", [(1, "Ada")])
    lake.create_stream_table("by_region", "SELECT region, SUM(amount) AS total FROM orders GROUP BY region")
    lake.create_stream_table("large", "SELECT id, region, amount FROM orders WHERE amount > 15")
    lake.create_stream_table(
        "report",
        "SELECT b.region, b.total, l.id FROM by_region AS b JOIN large AS l ON b.region = l.region",
        fuse="on",
        fuse_ceiling=1000,
    )
    lake.create_stream_table("sales.names", "SELECT name FROM sales.customers", refresh_mode="full")
    return lake


@pytest.fixture
def shop(place) -> Iterator[ab.Lake]:
    """The lake, on the machine's clock."""
    with duck_lake(place) as lake:
        yield stocked(lake)


@pytest.fixture
def client(shop) -> Iterator[TestClient]:
    """The service without a scheduler, called as localhost; nothing that it raises is hidden."""
    app = build_app(shop, token=TOKEN, limits=UNLIMITED)
    with TestClient(app, base_url="http://localhost") as client:
        yield client


@pytest.fixture(scope="module")
def standing(tmp_path_factory) -> Iterator[ab.Lake]:
    """One such lake for all tests of a file, which leave its rows alone."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ab.Notice)
        with duck_lake(tmp_path_factory.mktemp("standing") / "lake") as lake:
            yield stocked(lake)


Started = Callable[..., httpx.Client]


@pytest.fixture
def started() -> Iterator[Started]:
    """Starts a real service on a free port; its client knows the token."""
    stops: list[tuple[threading.Event, threading.Thread, httpx.Client]] = []

    def start(lake: ab.Lake, **options: Any) -> httpx.Client:
        stop, ready, address = threading.Event(), threading.Event(), []

        def listening(url: str) -> None:
            address.append(url)
            ready.set()

        options = {"token": TOKEN, "port": 0, "limits": UNLIMITED, "tell": lambda _line: None} | options
        thread = threading.Thread(
            target=serve, args=(lake,), kwargs={**options, "stop": stop, "started": listening}
        )
        thread.start()
        assert ready.wait(PATIENCE)
        client = httpx.Client(base_url=address[0], headers=BEARER, timeout=PATIENCE)
        stops.append((stop, thread, client))
        return client

    yield start
    for stop, thread, client in stops:
        client.close()
        stop.set()
        thread.join(PATIENCE)
        assert not thread.is_alive()
