"""From turns to rows: medians, ratios, tables and documents, without anything that measures."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bench.harness import Report, Size, geometric_mean
from bench.profile_refresh import KINDS
from bench.refresh_modes import MODES, NO_DATA, QueryTimings, RoundPlan, TimedRefresh


@dataclass(frozen=True)
class QuerySummary:
    """One query: median seconds of a refresh in every mode and of the peer, and what they amount to."""

    query: str
    strategy: str
    full_seconds: float
    differential_seconds: float
    auto_seconds: float | None
    """None: it was left out."""
    duckdb_seconds: float
    plain_seconds: float | None
    """None: plain Spark took no part."""
    speedup: float
    """Full, or plain Spark if it took less, in units of differential."""
    auto_ratio: float | None
    """Auto in units of the better of the two others."""
    auto_actions: dict[str, int]
    spark_jobs: int
    reads_changes: bool
    """Whether anything that it reads changed: else its refresh notices that, and is done."""
    each: dict[str, list[float]]
    """Seconds of every round, by mode and for the peer."""
    auto_reasons: list[str]
    rounds_with_other_rows_in_duckdb: int


@dataclass(frozen=True)
class Profile:
    """What the refreshes of a query in one mode spend their time on: means, which add up to the whole."""

    query: str
    mode: str
    seconds: float
    planning: float
    spark: float
    parquet: float
    commit: float
    rest: float


def ratio_to_better(full: float, differential: float, auto: float) -> float:
    """What `auto` takes in units of what the better of the two would have taken.

    >>> ratio_to_better(full=4.0, differential=2.0, auto=3.0)
    1.5
    """
    return round(auto / min(full, differential), 3)


def summarise_query(turns: QueryTimings) -> QuerySummary:
    """The medians of a query."""
    each = {mode: [round(turn.seconds, 4) for turn in turns.by_mode[mode]] for mode in MODES}
    full, differential = statistics.median(each["full"]), statistics.median(each["differential"])
    auto = statistics.median(each["auto"]) if each["auto"] else None
    peers = {"duckdb": turns.peer, "plain": turns.plain}
    kept = turns.by_mode["differential"]
    plain = [statistics.median(turns.plain)] if turns.plain else []
    return QuerySummary(
        query=turns.query,
        strategy=turns.strategy,
        full_seconds=round(full, 3),
        differential_seconds=round(differential, 3),
        auto_seconds=None if auto is None else round(auto, 3),
        duckdb_seconds=round(statistics.median(turns.peer), 3),
        plain_seconds=round(plain[0], 3) if plain else None,
        speedup=round(min([full, *plain]) / differential, 2),
        auto_ratio=None if auto is None else ratio_to_better(full, differential, auto),
        auto_actions=dict(Counter(turn.action for turn in turns.by_mode["auto"])),
        spark_jobs=int(statistics.median(turn.spark_jobs for turn in kept)),
        reads_changes=any(turn.action != NO_DATA for turn in kept),
        each=each | {name: [round(one, 4) for one in seconds] for name, seconds in peers.items()},
        auto_reasons=[turn.reason for turn in turns.by_mode["auto"]],
        rounds_with_other_rows_in_duckdb=turns.disagreements,
    )


def mode_profiles(turns: QueryTimings) -> list[Profile]:
    """The profile of a query in each mode."""
    return [_mean_profile(turns.query, mode, turns.by_mode[mode]) for mode in MODES if turns.by_mode[mode]]


def _mean_profile(query: str, mode: str, taken: Sequence[TimedRefresh]) -> Profile:
    means = {kind: statistics.fmean(turn.spent[kind] for turn in taken) for kind in KINDS}
    seconds = {kind: round(mean, 4) for kind, mean in means.items()}
    return Profile(query, mode, round(sum(means.values()), 4), **seconds)


def geometric_means(rows: Iterable[QuerySummary]) -> dict[str, float]:
    """Geometric means over the queries, and over those that read something that changed."""
    rows = list(rows)
    changed = [row for row in rows if row.reads_changes]
    chosen = [row.auto_ratio for row in changed if row.auto_ratio is not None]
    found = {
        "speedup": geometric_mean(row.speedup for row in rows),
        "speedup_where_something_changed": geometric_mean(row.speedup for row in changed),
        "differential_in_units_of_duckdb": geometric_mean(
            row.differential_seconds / row.duckdb_seconds for row in changed
        ),
        "full_in_units_of_duckdb": geometric_mean(row.full_seconds / row.duckdb_seconds for row in changed),
    }
    return found | ({"auto_ratio_where_something_changed": geometric_mean(chosen)} if chosen else {})


def mode_report(topic: str, turns: list[QueryTimings], size: Size, course: RoundPlan, **about: Any) -> Report:
    """What a topic found: its rows, and a profile in a document of its own."""
    rows = [summarise_query(each) for each in turns]
    spent = [profile for each in turns for profile in mode_profiles(each)]
    rounds = {
        "rounds": course.rounds,
        "full_rounds": course.full_round_count,
        "warm_up_rounds": course.warm_up,
    }
    about = {"scale": size.scale, **rounds, **about}
    document = {**about, "geometric_means": geometric_means(rows), "rows": [asdict(row) for row in rows]}
    profile = {**about, "rows": [asdict(row) for row in spent]}
    profile_name = "profile" if topic == "maintenance" else f"profile_{topic}"
    text = f"{_summary_table(rows)}\n\n{_format_means(geometric_means(rows))}\n\n{_profile_table(spent)}"
    return Report(text, {topic: document, profile_name: profile})


def _summary_table(rows: list[QuerySummary]) -> str:
    heads = (
        "query | plain Spark (s) | full (s) | differential (s) | speed-up | auto (s) | auto ÷ better "
        "| auto did | DuckDB (s)"
    )
    lines = [f"| {heads} | Spark jobs | kept by |", "|---" * 11 + "|"]
    return "\n".join(
        [
            *lines,
            *(
                f"| {row.query} | {_format_seconds(row.plain_seconds)} | {row.full_seconds:.2f} "
                f"| {row.differential_seconds:.2f} | {row.speedup} × "
                f"| {_format_seconds(row.auto_seconds)} | {_format_auto_ratio(row)} | {_format_actions(row)} "
                f"| {row.duckdb_seconds:.2f} | {row.spark_jobs} | {row.strategy} |"
                for row in rows
            ),
        ]
    )


def _format_auto_ratio(row: QuerySummary) -> str:
    """Nothing where there was nothing to choose: what a few milliseconds differ by means nothing."""
    return "" if row.auto_ratio is None or not row.reads_changes else f"{row.auto_ratio:.2f}"


def _format_seconds(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds:.2f}"


def _format_actions(row: QuerySummary) -> str:
    return ", ".join(f"{action.lower()} {count} ×" for action, count in sorted(row.auto_actions.items()))


def _format_means(found: dict[str, float]) -> str:
    return "\n".join(f"geometric mean, {name.replace('_', ' ')}: {mean:.2f}" for name, mean in found.items())


def _profile_table(spent: list[Profile]) -> str:
    lines = [f"| query | mode | seconds | {' | '.join(KINDS)} |", "|---" * (3 + len(KINDS)) + "|"]
    lines += [
        f"| {row.query} | {row.mode} | {row.seconds:.2f} "
        f"| {' | '.join(f'{getattr(row, kind):.2f}' for kind in KINDS)} |"
        for row in spent
    ]
    return "\n".join(lines)
