"""Anabranch from its wheel on a standalone cluster: with a driver of its own, and as a Connect client."""

from __future__ import annotations

import pytest

from tests.cluster.conftest import Drivers

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1800)]

NO_RETRY = {"spark.task.maxFailures": "1"}


@pytest.fixture(params=[False, True], ids=["driver", "connect"])
def connect(request: pytest.FixtureRequest) -> bool:
    """Whether the session is a Connect server's, whose driver runs on the cluster."""
    return bool(request.param)


def test_the_product_works_on_a_cluster(drivers: Drivers, connect: bool) -> None:
    drivers.run("core_scenarios_pass", connect=connect)


def test_every_version_is_right_through_rounds_of_changes(drivers: Drivers, connect: bool) -> None:
    drivers.run("rounds_are_followed", connect=connect)


def test_every_version_is_right_where_every_step_goes_through_files(drivers: Drivers, connect: bool) -> None:
    drivers.run("rounds_of_large_changes_are_followed", connect=connect)


def test_a_refresh_survives_an_executor_killed_at_work(drivers: Drivers, connect: bool) -> None:
    drivers.run("a_killed_executor_costs_nothing_but_time", connect=connect)


def test_a_refresh_that_fails_with_its_executors_publishes_nothing(drivers: Drivers, connect: bool) -> None:
    drivers.run("a_failure_publishes_nothing", connect=connect, options=NO_RETRY)


def test_a_materialised_step_outlives_its_executor(drivers: Drivers, connect: bool) -> None:
    drivers.run("a_step_outlives_the_executor_that_computed_it", connect=connect)


def test_one_worker_of_two_is_enough(drivers: Drivers, connect: bool) -> None:
    drivers.run("a_lost_worker_is_done_without", connect=connect)
