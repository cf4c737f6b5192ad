"""The arithmetic of the benchmarks, and their profile of a refresh, without Spark."""

from __future__ import annotations

import doctest
import importlib
import inspect
import json
from itertools import count
from pathlib import Path
from types import ModuleType

import pytest

from bench import growth, harness, mode_summaries, profile_refresh
from bench.__main__ import LONG, SHORT, parse_arguments
from bench.harness import Report, Row, Size, compare, geometric_mean, ratio_report, ratio_row
from bench.mode_summaries import geometric_means, mode_profiles, mode_report, ratio_to_better, summarise_query
from bench.profile_refresh import TimeProfile, covered_seconds, profile_work
from bench.refresh_modes import QueryTimings, RoundPlan, TimedRefresh
from tests.engines.lakes import duck_lake


@pytest.mark.parametrize(
    "module", [growth, harness, mode_summaries, profile_refresh], ids=lambda module: module.__name__
)
def test_the_examples_hold(module: ModuleType) -> None:
    tried = doctest.testmod(module)
    assert tried.attempted
    assert not tried.failed


# -- ratios ---------------------------------------------------------------------------------------


def test_a_ratio_is_that_of_the_medians_and_one_slow_round_moves_nothing() -> None:
    row = ratio_row("ours", "theirs", 1.0, [1.0, 50.0, 1.2], [2.4, 2.0, 90.0])
    assert (row.ratio, row.ours_seconds, row.peer_seconds, row.rounds) == (0.5, 1.2, 2.4, 3)
    assert row.ours_each == (1.0, 50.0, 1.2)


def test_an_aim_is_met_at_its_edge_and_no_aim_is_neither() -> None:
    assert ratio_row("a", "b", 0.5, [1.0], [2.0]).is_met
    assert not ratio_row("a", "b", 0.49, [1.0], [2.0]).is_met
    assert Row("a", "b", 9.0, None, 9, 1, 1).is_met is None


def test_both_sides_take_turns_and_warm_up_rounds_are_not_counted() -> None:
    said: list[str] = []
    row = compare(
        "a",
        "b",
        ours=lambda: said.append("ours"),
        theirs=lambda: said.append("theirs"),
        before=lambda: said.append("before"),
        aim=1.0,
        rounds=2,
        warmup=1,
    )
    assert said == ["before", "ours", "theirs"] * 3
    assert len(row.ours_each) == len(row.peer_each) == row.rounds == 2


def test_the_geometric_mean_of_a_ratio_and_its_inverse_is_one() -> None:
    assert geometric_mean([4.0, 0.25]) == pytest.approx(1.0)
    assert geometric_mean([2.0, 8.0]) == pytest.approx(4.0)


def test_auto_is_held_against_the_better_of_the_two_whichever_it_is() -> None:
    assert ratio_to_better(full=1.0, differential=3.0, auto=1.1) == pytest.approx(1.1)
    assert ratio_to_better(full=3.0, differential=1.0, auto=3.0) == pytest.approx(3.0)
    assert ratio_to_better(full=2.0, differential=2.0, auto=1.0) == pytest.approx(0.5)


# -- what is asked for ----------------------------------------------------------------------------


def test_no_topic_means_those_that_are_short() -> None:
    assert parse_arguments([]).topics == list(SHORT)
    assert parse_arguments(["--scale", "0.01"]).topics == list(SHORT)


def test_topics_are_taken_by_name_with_their_size() -> None:
    asked = parse_arguments(["growth", "memory", "--scale", "10", "--rounds", "3", "--queries", "q01", "q02"])
    assert (asked.topics, asked.scale, asked.rounds) == (["growth", "memory"], 10.0, 3)
    assert asked.queries == ["q01", "q02"]


def test_an_unknown_topic_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse_arguments(["speed"])
    assert "there is no topic 'speed'" in capsys.readouterr().err


@pytest.mark.parametrize("topic", [*SHORT, *LONG])
def test_every_topic_has_a_module_of_its_name_that_measures(topic: str) -> None:
    measure = importlib.import_module(f"bench.{topic}").measure
    assert list(inspect.signature(measure).parameters) == ["folder", "size"]


# -- sizes and documents --------------------------------------------------------------------------


def test_only_full_sizes_are_saved_among_the_results() -> None:
    assert Size().folder == Size(10).folder == harness.RESULTS
    assert Size(0.01).folder == Size(queries=("q01",)).folder == harness.SMALL_RESULTS


def test_rounds_are_those_that_are_asked_for_or_the_usual_ones() -> None:
    assert Size().measured_rounds(5) == 5
    assert Size(rounds=2).measured_rounds(5) == 2


def test_a_document_says_its_scale_its_rounds_and_every_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(harness, "SMALL_RESULTS", tmp_path)
    ratio_report("some", [ratio_row("a", "b", 1.0, [1.0, 1.0], [2.0, 2.0])], Size(0.5)).save(Size(0.5))
    saved = json.loads((tmp_path / "some-0.5.json").read_text())
    assert (saved["scale"], saved["rounds"]) == (0.5, 2)
    assert saved["rows"][0]["ratio"] == 0.5
    assert saved["rows"][0]["met"] is True


# -- turns ----------------------------------------------------------------------------------------


def _turns(query: str, **seconds: list[float]) -> QueryTimings:
    turns = QueryTimings(query, "stored state", peer=[0.5, 0.5])
    for mode, each in seconds.items():
        idle = mode != "full" and max(each) < 0.1
        action = "FULL" if mode == "full" else "NO_DATA" if idle else "DIFFERENTIAL"
        turns.by_mode[mode] = [
            TimedRefresh(mode, action, "why", _spent(planning=one / 4, spark=one / 2, commit=one / 4), 3)
            for one in each
        ]
    return turns


def _spent(**seconds: float) -> dict[str, float]:
    return dict.fromkeys(profile_refresh.KINDS, 0.0) | seconds


def test_a_query_is_measured_by_the_medians_of_its_turns() -> None:
    row = summarise_query(_turns("q01", full=[4.0, 4.0], differential=[2.0, 2.0], auto=[3.0, 3.0]))
    assert (row.full_seconds, row.differential_seconds, row.auto_seconds) == (4.0, 2.0, 3.0)
    assert (row.speedup, row.auto_ratio, row.duckdb_seconds) == (2.0, 1.5, 0.5)
    assert row.auto_actions == {"DIFFERENTIAL": 2}
    assert row.each["full"] == [4.0, 4.0]
    assert row.spark_jobs == 3


def test_a_mode_that_was_left_out_is_nowhere_to_be_seen() -> None:
    turns = _turns("q01", full=[4.0, 4.0], differential=[2.0, 2.0])
    row = summarise_query(turns)
    assert (row.speedup, row.auto_seconds, row.auto_ratio) == (2.0, None, None)
    assert {profile.mode for profile in mode_profiles(turns)} == {"full", "differential"}
    assert "auto_ratio_where_something_changed" not in geometric_means([row])
    assert (
        "| q01 |  | 4.00 | 2.00 | 2.0 × |  |  |  | 0.50 |"
        in mode_report("some", [turns], Size(), RoundPlan(2)).text
    )


def test_what_computes_from_nothing_fastest_is_what_counts() -> None:
    turns = _turns("q01", full=[4.0, 4.0], differential=[2.0, 2.0])
    turns.plain = [3.0, 3.0]
    row = summarise_query(turns)
    assert (row.plain_seconds, row.full_seconds, row.speedup) == (3.0, 4.0, 1.5)
    assert row.each["plain"] == [3.0, 3.0]


def test_means_leave_out_what_noticed_that_nothing_had_changed() -> None:
    rows = [
        summarise_query(_turns("q01", full=[4.0], differential=[2.0], auto=[2.0])),
        summarise_query(_turns("q02", full=[1.0], differential=[0.01], auto=[0.01])),
    ]
    found = geometric_means(rows)
    assert found["speedup_where_something_changed"] == pytest.approx(2.0)
    assert found["speedup"] == pytest.approx((2 * 100) ** 0.5)


def test_a_profile_adds_up_to_the_whole() -> None:
    for profile in mode_profiles(_turns("q01", full=[4.0, 2.0], differential=[2.0, 1.0], auto=[3.0, 1.0])):
        parts = sum(getattr(profile, kind) for kind in profile_refresh.KINDS)
        assert parts == pytest.approx(profile.seconds)


def test_a_topic_has_its_rows_and_its_profile_in_documents_of_their_own() -> None:
    turns = [_turns("q01", full=[4.0], differential=[2.0], auto=[2.0])]
    made: Report = mode_report("maintenance", turns, Size(), RoundPlan(1))
    assert set(made.documents) == {"maintenance", "profile"}
    assert made.documents["maintenance"]["rounds"] == 1
    assert len(made.documents["profile"]["rows"]) == 3
    assert "| q01 |  | 4.00 | 2.00 | 2.0 × |" in made.text


# -- what time is spent on ------------------------------------------------------------------------


def test_every_moment_counts_once_for_the_innermost_kind() -> None:
    ticks = count()
    spending = TimeProfile(now=lambda: float(next(ticks)))
    with spending.measure_as("rest"):
        with spending.measure_as("commit"), spending.measure_as("parquet"):
            pass
        with spending.measure_as("commit"):
            pass
    assert spending.seconds == {"rest": 3.0, "commit": 3.0, "parquet": 1.0}
    assert sum(spending.seconds.values()) == next(ticks) - 1


def test_jobs_that_overlap_are_not_counted_twice() -> None:
    assert covered_seconds([(3.0, 4.0), (0.0, 2.0), (0.5, 1.0), (1.5, 2.5)]) == pytest.approx(3.5)
    assert covered_seconds([]) == 0.0


def test_a_refresh_is_profiled_in_parts_that_are_all_there(tmp_path: Path) -> None:
    with duck_lake(tmp_path) as lake:
        lake.create_table("events", "id BIGINT, key BIGINT")
        lake.insert("events", [(1, 1), (2, 2)])
        query = "SELECT key, COUNT(*) AS n FROM events GROUP BY key"
        lake.create_stream_table("counted", query, refresh_mode="differential", schedule=None)
        lake.insert("events", [(3, 2)])
        seconds, jobs = profile_work(lake._context, lambda: lake.refresh_stream_table("counted"))
        assert jobs == 0
        assert set(seconds) == set(profile_refresh.KINDS)
        assert all(seconds[kind] > 0 for kind in ("planning", "parquet", "commit", "rest"))
        assert sorted(lake.table("counted").collect()) == [(1, 1), (2, 2)]
        # Nothing of the profile is left behind.
        assert "query" not in vars(lake._context.engine)
        again, _ = profile_work(lake._context, lambda: None)
        assert again["commit"] == again["parquet"] == 0.0
