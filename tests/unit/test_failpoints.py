"""Failpoints: off unless asked for, and then exactly where asked for."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from anabranch.failpoints import (
    COMMIT_POINTS,
    EVERY_POINT,
    MAINTENANCE_POINTS,
    MIGRATION_POINTS,
    REFRESH_POINTS,
    FailpointReached,
    Failpoints,
)


@pytest.mark.parametrize("name", sorted(EVERY_POINT))
def test_nothing_happens_at_a_failpoint_that_is_not_armed(name):
    Failpoints().hit(name)
    Failpoints({"sweep.after_mark" if name != "sweep.after_mark" else "migrate.after": _fail}).hit(name)


def test_every_failpoint_stands_in_one_list():
    lists = (COMMIT_POINTS, REFRESH_POINTS, MAINTENANCE_POINTS, MIGRATION_POINTS)
    assert len(EVERY_POINT) == sum(map(len, lists))


def test_an_armed_failpoint_acts_at_every_hit_until_disarmed():
    hits: list[int] = []
    points = Failpoints()
    points.arm("commit.before_commit", lambda: hits.append(1))
    points.hit("commit.before_commit")
    points.hit("commit.after_commit")
    points.hit("commit.before_commit")
    points.disarm("commit.before_commit")
    points.disarm("commit.before_commit")
    points.hit("commit.before_commit")
    assert len(hits) == 2


def test_the_text_form_raises_at_the_nth_hit_and_only_there():
    points = Failpoints.from_text("commit.in_transaction=raise@3, write.after_stage=raise")
    points.hit("commit.in_transaction")
    points.hit("commit.in_transaction")
    with pytest.raises(FailpointReached):
        points.hit("commit.in_transaction")
    points.hit("commit.in_transaction")
    with pytest.raises(FailpointReached):
        points.hit("write.after_stage")
    points.hit("write.after_stage")


@pytest.mark.parametrize("text", ["", ",", ",,"])
def test_an_empty_text_arms_nothing(text):
    points = Failpoints.from_text(text)
    for name in EVERY_POINT:
        points.hit(name)


@pytest.mark.parametrize(
    "text", ["no.such=kill", "commit.in_transaction=explode", "commit.in_transaction", "migrate.after=kill@x"]
)
def test_a_wrong_text_is_refused(text):
    with pytest.raises(ValueError, match=r"failpoint|invalid literal"):
        Failpoints.from_text(text)


def test_a_failpoint_of_an_unknown_name_cannot_be_armed():
    with pytest.raises(ValueError, match="no failpoint"):
        Failpoints({"no.such": _fail})
    with pytest.raises(ValueError, match="no failpoint"):
        Failpoints().arm("no.such", _fail)


def test_the_environment_arms_failpoints(monkeypatch):
    monkeypatch.setenv("ANABRANCH_FAILPOINTS", "sweep.before_delete=raise")
    with pytest.raises(FailpointReached):
        Failpoints.from_environment().hit("sweep.before_delete")
    monkeypatch.delenv("ANABRANCH_FAILPOINTS")
    Failpoints.from_environment().hit("sweep.before_delete")


def test_kill_ends_the_process_as_kill_nine_would():
    program = (
        "from anabranch.failpoints import Failpoints\n"
        "points = Failpoints.from_environment()\n"
        "points.hit('commit.after_commit')\n"
        "points.hit('commit.after_commit')\n"
    )
    environment = {**os.environ, "ANABRANCH_FAILPOINTS": "commit.after_commit=kill@2"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, check=False, timeout=120)
    assert done.returncode == -signal.SIGKILL


def _fail() -> None:
    raise AssertionError("this failpoint was not asked for")
