"""What the benchmark `crossover` makes of the seconds that it measured."""

from __future__ import annotations

import pytest

from bench.crossover import (
    SHARES,
    Step,
    StepSummary,
    crossover_report,
    ratios_by_query,
    ratios_by_share,
    step_ratio,
    summarise_step,
)
from bench.harness import Size


def row(query: str, share: float, full: float, differential: float, auto: float) -> StepSummary:
    """A step whose two rounds took the same."""
    step = Step(query, share)
    for mode, seconds in (("full", full), ("differential", differential), ("auto", auto)):
        step.seconds[mode] += [seconds, seconds]
    step.actions += ["DIFFERENTIAL", "FULL"]
    step.reasons += ["why", "why not"]
    return summarise_step(step)


def idle(query: str, share: float) -> StepSummary:
    """A query that reads nothing that changed."""
    step = Step(query, share, {"full": [1.0], "differential": [0.01], "auto": [0.02]}, ["NO_DATA"], [""])
    return summarise_step(step)


def test_the_shares_ascend_from_a_ten_thousandth_to_half() -> None:
    assert list(SHARES) == sorted(SHARES)
    assert (SHARES[0], SHARES[-1]) == (0.0001, 0.5)


def test_auto_is_held_against_the_better_of_both_at_each_step() -> None:
    assert row("q01", 0.01, 4.0, 1.0, 1.1).auto_ratio == pytest.approx(1.1)
    assert row("q01", 0.5, 2.0, 8.0, 3.0).auto_ratio == pytest.approx(1.5)
    assert row("q01", 0.5, 2.0, 8.0, 3.0).auto_actions == {"DIFFERENTIAL": 1, "FULL": 1}


def test_means_are_geometric_over_queries_and_over_shares() -> None:
    rows = [
        row("q01", 0.01, 4.0, 1.0, 1.0),
        row("q05", 0.01, 4.0, 1.0, 4.0),
        row("q01", 0.5, 1.0, 4.0, 1.0),
        row("q05", 0.5, 1.0, 4.0, 1.0),
    ]
    assert ratios_by_share(rows) == {0.01: pytest.approx(2.0), 0.5: pytest.approx(1.0)}
    assert ratios_by_query(rows) == {"q01": pytest.approx(1.0), "q05": pytest.approx(2.0)}


def test_queries_that_read_nothing_that_changed_are_shown_and_not_counted() -> None:
    rows = [row("q01", 0.01, 4.0, 1.0, 1.2), idle("q02", 0.01)]
    assert step_ratio(rows) == pytest.approx(1.2)
    assert list(ratios_by_query(rows)) == ["q01"]
    assert step_ratio([idle("q02", 0.01)]) == 1.0
    assert "| q02 | 1.00% | 1.00 | 0.01 | 0.02 |  | no_data 1 × |" in crossover_report(rows, Size(), 2).text


def test_the_report_says_both_means_and_keeps_every_step() -> None:
    rows = [row("q01", 0.0001, 4.0, 1.0, 1.2), row("q01", 0.5, 1.0, 4.0, 1.0)]
    report = crossover_report(rows, Size(0.2), 2)
    assert "auto ÷ better by share (aim ≤ 1.1): 0.01%: 1.20, 50.00%: 1.00" in report.text
    assert "auto ÷ better by query (aim ≤ 1.25): q01: 1.10" in report.text
    document = report.documents["crossover"]
    assert (document["scale"], document["rounds"]) == (0.2, 2)
    assert document["auto_ratio_by_share"] == {"0.0001": pytest.approx(1.2), "0.5": pytest.approx(1.0)}
    assert [each["auto_reasons"] for each in document["rows"]] == [["why", "why not"]] * 2
