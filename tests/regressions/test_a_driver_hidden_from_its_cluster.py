"""A session that a lake started on a cluster told executors to find its driver on their own loopback."""

from __future__ import annotations

import pytest

from anabranch.engine.spark.session import own_session_options

ADDRESSES = ("spark.driver.host", "spark.driver.bindAddress")


@pytest.mark.parametrize("master", ["spark://spark.example.org:7077", "yarn", "k8s://https://example.org"])
def test_on_a_cluster_the_drivers_address_is_left_to_spark(master: str) -> None:
    options = own_session_options({"spark.master": master})
    assert options["spark.master"] == master
    assert not set(ADDRESSES) & options.keys()


def test_the_address_that_somebody_gives_is_kept() -> None:
    options = own_session_options({"spark.master": "yarn", "spark.driver.host": "driver.example.org"})
    assert options["spark.driver.host"] == "driver.example.org"


@pytest.mark.parametrize("given", [{}, {"spark.master": "local[1]"}])
def test_a_local_session_stays_on_loopback(given: dict[str, str]) -> None:
    options = own_session_options(given)
    assert [options[name] for name in ADDRESSES] == ["127.0.0.1"] * 2
    assert options["spark.master"] == given.get("spark.master", "local[*]")
