"""Anabranch from its wheel on a standalone cluster: with a driver of its own, and as a Connect client."""

from __future__ import annotations

import pytest

from tests.cluster.conftest import Drivers, Session

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(3600)]

NO_RETRY = {"spark.task.maxFailures": "1"}
on_both = pytest.mark.parametrize("session", ["given", "connect"])


@pytest.mark.parametrize("session", ["started", "given", "connect"])
def test_the_product_works_on_a_cluster(drivers: Drivers, session: Session) -> None:
    drivers.run("core_scenarios_pass", session)


@on_both
def test_every_version_is_right_through_rounds_of_changes(drivers: Drivers, session: Session) -> None:
    drivers.run("rounds_are_followed", session)


@on_both
def test_every_version_is_right_where_every_step_is_in_files(drivers: Drivers, session: Session) -> None:
    drivers.run("rounds_of_large_changes_are_followed", session)


@on_both
def test_a_refresh_survives_executors_killed_at_work(drivers: Drivers, session: Session) -> None:
    drivers.run("a_killed_executor_costs_nothing_but_time", session)


@on_both
def test_a_refresh_that_fails_with_its_executors_publishes_nothing(
    drivers: Drivers, session: Session
) -> None:
    drivers.run("a_failure_publishes_nothing", session, NO_RETRY)


@on_both
def test_a_materialised_step_outlives_its_executor(drivers: Drivers, session: Session) -> None:
    drivers.run("a_step_outlives_the_executor_that_computed_it", session)


@on_both
def test_one_worker_of_two_is_enough(drivers: Drivers, session: Session) -> None:
    drivers.run("a_lost_worker_is_done_without", session)
