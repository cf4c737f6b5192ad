"""The arithmetic of the benchmark on a cluster, without one."""

from __future__ import annotations

import pytest

from bench.cluster import AIM, KilledRefresh, make_report
from bench.harness import Size
from bench.profile_refresh import KINDS
from bench.shares import ShareRow, Timings, summarise


def _summary(plain: list[float], differential: list[float], full: list[float] | None = None) -> ShareRow:
    found = Timings("q01", 0.01, plain=plain, full=full or [], differential=differential)
    found.spent = [dict.fromkeys(KINDS, 1.0) for _ in plain]
    found.jobs = [3 for _ in plain]
    return summarise(found)


def _killed(*, refreshes: int = 1, during: bool = True) -> KilledRefresh:
    return KilledRefresh("q01", "DIFFERENTIAL", 0.5 if during else None, 2.0, refreshes)


def test_without_full_refreshes_plain_spark_alone_is_the_measure() -> None:
    row = _summary(plain=[6.0, 8.0, 7.0], differential=[2.0, 2.0, 9.0])
    assert (row.full_seconds, row.speedup) == (None, 3.5)


def test_with_them_the_better_of_both_is() -> None:
    assert _summary(plain=[8.0], full=[4.0], differential=[2.0]).speedup == 2.0
    assert _summary(plain=[3.0], full=[4.0], differential=[2.0]).speedup == 1.5


@pytest.mark.parametrize(("plain", "met"), [(AIM, True), (AIM - 0.01, False)])
def test_the_aim_is_met_at_its_edge(plain: float, met: bool) -> None:
    document = make_report([_summary([plain], [1.0])], [_killed()], Size(0.1)).documents["cluster"]
    assert document["met"] is met
    assert document["geometric_mean"] == pytest.approx(plain)


def test_a_report_says_how_many_kills_hit_a_refresh_and_how_many_it_took_twice() -> None:
    killed = [_killed(), _killed(during=False), _killed(refreshes=2)]
    report = make_report([_summary([4.0], [1.0])], killed, Size(0.1))
    assert "killed during 2 of 3 refreshes" in report.text
    assert "Spark gave up 1." in report.text
    assert "| q01 | 1.0% | 4.00 |  | 1.00 | 4.0 × | 3 |" in report.text
