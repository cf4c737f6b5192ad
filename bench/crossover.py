"""What `auto` chooses on Spark alone, from a ten-thousandth to half of the orders changed.

Three stream tables for each query, refreshed in turns: full, differential, and as `auto` chooses. Somewhere
between few and most rows changed a full refresh becomes the faster one, elsewhere for every query. `auto`
should cost little more than the better of both at every step. It carries what it learned from step to step.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import anabranch as ab
from anabranch.inspect.history import RefreshRecord
from bench.harness import Report, Size, geometric_mean, measure_seconds
from bench.mode_summaries import ratio_to_better
from bench.refresh_modes import MODES, NO_DATA, check_rows
from bench.tpch import create_stream, open_tpch_lake, read_queries, stream_name
from bench.tpch_changes import change_orders, count_share_of_orders

SHARES = (0.0001, 0.0005, 0.003, 0.01, 0.05, 0.2, 0.5)
ROUNDS = 3
"""Measured rounds at every share."""
WARM_UP = 1
"""Rounds before the first share: Spark compiles what it runs for the first time."""
LARGE_FULL_ROUNDS = 1
"""At larger scales full refreshes of all queries take ten minutes: so many rounds of a share have them."""
STEP_AIM, QUERY_AIM = 1.1, 1.25
SPARK_ONLY = {"driver_rows": 0}


@dataclass
class Step:
    """The measured refreshes of one query at one share of change."""

    query: str
    share: float
    seconds: dict[str, list[float]] = field(default_factory=lambda: {mode: [] for mode in MODES})
    actions: list[str] = field(default_factory=list)
    """What `auto` did, and why."""
    reasons: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class StepSummary:
    """One query at one share: medians, and what `auto` took in units of the better of the two others."""

    query: str
    share: float
    full_seconds: float
    differential_seconds: float
    auto_seconds: float
    auto_ratio: float
    reads_changes: bool
    auto_actions: Mapping[str, int]
    auto_reasons: list[str]
    each: Mapping[str, list[float]]


def measure(folder: Path, size: Size) -> Report:
    """The rows of this topic: every query at every share."""
    with open_tpch_lake(folder, size.scale, **SPARK_ONLY) as lake:
        names = tuple(read_queries(size.queries))
        for name in names:
            for mode in MODES:
                create_stream(lake, name, mode, initialize=mode != "full")
            print(f"  {name} is there", flush=True)
        rounds = size.measured_rounds(ROUNDS)
        full_rounds = rounds if size.scale <= 1 else min(LARGE_FULL_ROUNDS, rounds)
        steps: list[Step] = []
        number = 0
        for share in size.measured_shares(SHARES):
            current = {name: Step(name, share) for name in names}
            for place in range(0 if steps else -WARM_UP, rounds):
                modes = [mode for mode in MODES if mode != "full" or place >= rounds - full_rounds]
                _run_round(lake, current, number, modes, warm_up=place < 0)
                number += 1
            steps += current.values()
            print(f"  {share:.2%}: {_format_ratio(map(summarise_step, current.values()))}", flush=True)
        for name in names:
            check_rows(lake, name, MODES)
        print("  all results are those of the full refresh", flush=True)
    return crossover_report([summarise_step(step) for step in steps], size, rounds)


def _run_round(
    lake: ab.Lake, steps: Mapping[str, Step], number: int, modes: Sequence[str], *, warm_up: bool
) -> None:
    """Change a share of the orders, and refresh the stream tables of each query in turns.

    What comes first finds colder files and caches, so the order goes on by one, for every query and round.
    """
    share = next(iter(steps.values())).share
    changed = change_orders(lake, number, count_share_of_orders(lake, share))
    print(f"  {share:.2%}, {changed:,} rows changed{', to warm up' if warm_up else ''}", flush=True)
    for place, (name, step) in enumerate(steps.items()):
        turns = [modes[(number + place + turn) % len(modes)] for turn in range(len(modes))]
        refreshed = {mode: _time_refresh(lake, name, mode) for mode in turns}
        seconds = {mode: refreshed[mode][0] for mode in modes}
        action, reason = refreshed["auto"][1:]
        if not warm_up:
            step.actions.append(action)
            step.reasons.append(reason)
            for mode in modes:
                step.seconds[mode].append(round(seconds[mode], 4))
        shown = ", ".join(f"{mode} {seconds[mode]:.2f}" for mode in modes)
        print(f"    {name} {shown} s; {reason}", flush=True)


def _time_refresh(lake: ab.Lake, name: str, mode: str) -> tuple[float, str, str]:
    """Refresh one: seconds, what was done, and why."""
    record: list[RefreshRecord] = []
    seconds = measure_seconds(
        lambda: record.append(lake.refresh_stream_table(stream_name(name, mode), full=mode == "full"))
    )
    return seconds, record[0].action, record[0].reason or ""


def summarise_step(step: Step) -> StepSummary:
    """The medians of a query at a share."""
    full, differential, auto = (statistics.median(step.seconds[mode]) for mode in MODES)
    return StepSummary(
        query=step.query,
        share=step.share,
        full_seconds=round(full, 3),
        differential_seconds=round(differential, 3),
        auto_seconds=round(auto, 3),
        auto_ratio=ratio_to_better(full, differential, auto),
        reads_changes=any(action != NO_DATA for action in step.actions),
        auto_actions=dict(Counter(step.actions)),
        auto_reasons=step.reasons,
        each=step.seconds,
    )


def step_ratio(rows: Iterable[StepSummary]) -> float:
    """The geometric mean of what `auto` took in units of the better, where something changed.

    Where nothing did, there is nothing to choose: what a few milliseconds differ by means nothing.
    """
    ratios = [row.auto_ratio for row in rows if row.reads_changes]
    return geometric_mean(ratios) if ratios else 1.0


def ratios_by_share(rows: list[StepSummary]) -> dict[float, float]:
    """The mean over the queries at every share."""
    shares = dict.fromkeys(row.share for row in rows)
    return {share: step_ratio(row for row in rows if row.share == share) for share in shares}


def ratios_by_query(rows: list[StepSummary]) -> dict[str, float]:
    """The mean over the shares for every query that reads what changed."""
    queries = dict.fromkeys(row.query for row in rows if row.reads_changes)
    return {query: step_ratio(row for row in rows if row.query == query) for query in queries}


def crossover_report(rows: list[StepSummary], size: Size, rounds: int) -> Report:
    """What was found: every query at every share, and both means with their aims."""
    shares, queries = ratios_by_share(rows), ratios_by_query(rows)
    document = {
        "scale": size.scale,
        "rounds": rounds,
        "auto_ratio_by_share": {f"{share:g}": ratio for share, ratio in shares.items()},
        "aim_by_share": STEP_AIM,
        "auto_ratio_by_query": queries,
        "aim_by_query": QUERY_AIM,
        "rows": [asdict(row) for row in rows],
    }
    return Report(crossover_table(rows), {"crossover": document})


def crossover_table(rows: list[StepSummary]) -> str:
    """All rows as a Markdown table, and the means below it."""
    heads = "query | changed | full (s) | differential (s) | auto (s) | auto ÷ better | auto did"
    lines = [f"| {heads} |", "|---" * 7 + "|"]
    lines += [
        f"| {row.query} | {row.share:.2%} | {row.full_seconds:.2f} | {row.differential_seconds:.2f} "
        f"| {row.auto_seconds:.2f} | {f'{row.auto_ratio:.2f}' if row.reads_changes else ''} "
        f"| {_format_actions(row)} |"
        for row in rows
    ]
    by_share = [f"{share:.2%}: {ratio:.2f}" for share, ratio in ratios_by_share(rows).items()]
    by_query = [f"{query}: {ratio:.2f}" for query, ratio in ratios_by_query(rows).items()]
    means = [
        f"auto ÷ better by share (aim ≤ {STEP_AIM}): {', '.join(by_share)}",
        f"auto ÷ better by query (aim ≤ {QUERY_AIM}): {', '.join(by_query)}",
    ]
    return "\n".join([*lines, "", *means])


def _format_actions(row: StepSummary) -> str:
    return ", ".join(f"{action.lower()} {count} ×" for action, count in sorted(row.auto_actions.items()))


def _format_ratio(rows: Iterable[StepSummary]) -> str:
    return f"auto takes {step_ratio(rows):.2f} of the better"
