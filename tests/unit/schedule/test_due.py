"""What a tick runs, what it leaves, and why."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from anabranch.schedule.due import Decision, MemberState, decide_due_units, next_wake
from anabranch.schedule.schedules import parse_schedule
from anabranch.streams.refresh_units import RefreshUnit, build_refresh_units
from tests.unit.streams.drawing import graph, name

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)
DIAMOND = graph("a > b c\nb > d\nc > d")
NESTED = graph("a > b c x\nb > d\nc > d\nd > y\nx > y")
SINGLE = graph("a > b")


def state(table: str, schedule: str | None, ago: float | None, **more: object) -> MemberState:
    """A table that was last refreshed so many seconds ago."""
    last = None if ago is None else NOW - timedelta(seconds=ago)
    return MemberState(name(table), parse_schedule(schedule), last_refresh_at=last, **more)


def decide(found: tuple[RefreshUnit, ...], *states: MemberState, now: datetime = NOW) -> tuple[Decision, ...]:
    return decide_due_units(found, {each.name: each for each in states}, now)


def only(decisions: tuple[Decision, ...]) -> Decision:
    (decision,) = decisions
    return decision


# -- one table ------------------------------------------------------------------------------------


def test_a_table_runs_when_its_period_has_passed():
    decision = only(decide(build_refresh_units(SINGLE), state("b", "1m", 75)))
    assert (decision.verdict, decision.because) == ("run", "every 1m, last refreshed 75 s ago")
    assert decision.culprit == name("b")
    assert decision.next_due == NOW - timedelta(seconds=15)


def test_exactly_at_its_time_a_table_is_due_and_a_moment_earlier_it_is_not():
    exact = state("b", "1m", 60)
    assert only(decide(build_refresh_units(SINGLE), exact)).verdict == "run"
    decision = only(decide(build_refresh_units(SINGLE), exact, now=NOW - timedelta(microseconds=1)))
    assert (decision.verdict, decision.because) == ("waiting", "every 1m, due at 2030-01-01 12:00:00 UTC")
    assert decision.next_due == NOW


def test_a_table_that_was_never_refreshed_is_due_at_once():
    decision = only(decide(build_refresh_units(SINGLE), state("b", "@yearly", None)))
    assert (decision.verdict, decision.because) == ("run", "cron @yearly, never refreshed")


def test_a_table_by_hand_is_never_due():
    for ago in (None, 10**9):
        decision = only(decide(build_refresh_units(SINGLE), state("b", None, ago)))
        assert (decision.verdict, decision.because) == ("waiting", "only by hand")
        assert decision.next_due is None


def test_a_held_table_is_held_even_if_it_is_due():
    held = state("b", "1m", 75, held="is in backoff", held_until=NOW + timedelta(seconds=4))
    decision = only(decide(build_refresh_units(SINGLE), held))
    assert (decision.verdict, decision.because) == ("held", '"b" is in backoff')
    assert decision.next_due == NOW + timedelta(seconds=4)


def test_a_long_time_reads_as_people_write_it():
    decision = only(decide(build_refresh_units(SINGLE), state("b", "1h", 3725.9)))
    assert decision.because == "every 1h, last refreshed 1h2m5s ago"


def test_one_table_needs_no_policy():
    assert only(decide(build_refresh_units(SINGLE), state("b", "1m", 75, policy="slowest"))).verdict == "run"


def test_cron_is_due_by_the_wall_clock_on_the_day_it_changes():
    """In Vienna, 02:00 on 31 March 2030 is 03:00: 01:00 UTC."""
    last = datetime(2030, 3, 30, 1, 30, tzinfo=UTC)
    table = MemberState(name("b"), parse_schedule("30 2 * * * Europe/Vienna"), last_refresh_at=last)
    change = datetime(2030, 3, 31, 1, tzinfo=UTC)
    assert (
        only(decide(build_refresh_units(SINGLE), table, now=change - timedelta(seconds=1))).verdict
        == "waiting"
    )
    assert only(decide(build_refresh_units(SINGLE), table, now=change)).verdict == "run"


# -- groups ---------------------------------------------------------------------------------------


def test_by_default_a_group_runs_when_any_member_is_due():
    decision = only(
        decide(build_refresh_units(DIAMOND), state("b", "1h", 5), state("c", "1m", 75), state("d", "1h", 5))
    )
    assert decision.verdict == "run"
    assert decision.because == '"c" is due: every 1m, last refreshed 75 s ago'
    assert decision.culprit == name("c")


def test_a_group_waits_while_no_member_is_due():
    decision = only(
        decide(build_refresh_units(DIAMOND), state("b", "1h", 5), state("c", "1m", 30), state("d", "1h", 5))
    )
    assert decision.verdict == "waiting"
    assert decision.because == 'waits for "c", due at 2030-01-01 12:00:30 UTC'


def test_the_slowest_policy_waits_for_all():
    members = [state("b", "1h", 3000), state("c", "1m", 75), state("d", "5m", 400, policy="slowest")]
    decision = only(decide(build_refresh_units(DIAMOND), *members))
    assert decision.verdict == "waiting"
    assert decision.because == 'waits for "b", due at 2030-01-01 12:10:00 UTC'
    later = only(decide(build_refresh_units(DIAMOND), *members, now=NOW + timedelta(minutes=10)))
    assert later.verdict == "run"
    assert later.because == '"b" is due: every 1h, last refreshed 1h ago'


def test_the_policy_is_read_on_convergence_tables_only():
    members = [state("b", "1h", 5, policy="slowest"), state("c", "1m", 75), state("d", "1h", 5)]
    assert only(decide(build_refresh_units(DIAMOND), *members)).verdict == "run"


def test_of_several_convergence_points_the_strictest_wins():
    def members(d: str, y: str) -> list[MemberState]:
        return [
            state("b", "1h", 5),
            state("c", "1m", 75),
            state("d", "1m", 75, policy=d),
            state("x", "1m", 75),
            state("y", "1m", 75, policy=y),
        ]

    verdicts = {
        (d, y): only(decide(build_refresh_units(NESTED), *members(d, y))).verdict
        for d in ("fastest", "slowest")
        for y in ("fastest", "slowest")
    }
    assert verdicts == {
        ("fastest", "fastest"): "run",
        ("fastest", "slowest"): "waiting",
        ("slowest", "fastest"): "waiting",
        ("slowest", "slowest"): "waiting",
    }


def test_the_policy_has_no_effect_on_a_group_that_is_not_atomic():
    apart = build_refresh_units(DIAMOND, atomic=lambda table: table != name("b"))
    decisions = decide(
        apart, state("b", "1h", 5), state("c", "1m", 75), state("d", "1m", 75, policy="slowest")
    )
    assert [each.verdict for each in decisions] == ["waiting", "run", "run"]


def test_members_by_hand_are_left_out_of_both_policies():
    for policy in ("fastest", "slowest"):
        members = [state("b", None, None), state("c", "1m", 75), state("d", "1m", 75, policy=policy)]
        assert only(decide(build_refresh_units(DIAMOND), *members)).verdict == "run"
    nobody = only(decide(build_refresh_units(DIAMOND), *(state(each, None, None) for each in "bcd")))
    assert (nobody.verdict, nobody.because) == ("waiting", "only by hand")


def test_a_member_that_was_never_refreshed_is_due_under_both_policies():
    def members(policy: str, ago: float) -> list[MemberState]:
        return [state("b", "1h", None), state("c", "1h", ago), state("d", "1h", ago, policy=policy)]

    assert (
        only(decide(build_refresh_units(DIAMOND), *members("fastest", 5))).because
        == '"b" is due: every 1h, never refreshed'
    )
    assert only(decide(build_refresh_units(DIAMOND), *members("slowest", 5))).verdict == "waiting"
    assert only(decide(build_refresh_units(DIAMOND), *members("slowest", 3600))).verdict == "run"


def test_a_held_member_holds_the_group_and_is_named():
    members = [
        state("b", "1m", 75),
        state("c", "1m", 75, held="is suspended: 5 failures in a row"),
        state("d", "1m", 75),
    ]
    decision = only(decide(build_refresh_units(DIAMOND), *members))
    assert decision.verdict == "held"
    assert decision.because == '"c" is suspended: 5 failures in a row'
    assert decision.culprit == name("c")


def test_sources_that_are_not_ready_come_before_all_else_that_holds_a_group():
    decision = only(
        decide(
            build_refresh_units(DIAMOND),
            state("b", "1m", 75, held="is suspended", held_until=NOW + timedelta(seconds=4)),
            state("c", "1m", 75),
            state("d", "1m", 75, waits='waits for "s", which is gated'),
        )
    )
    assert (decision.verdict, decision.because) == ("held", '"d" waits for "s", which is gated')
    assert decision.next_due is None, "nobody knows when it will be ready"


def test_a_held_member_by_hand_holds_the_group_too():
    members = [state("b", None, None, held="is suspended"), state("c", "1m", 75), state("d", "1m", 75)]
    assert only(decide(build_refresh_units(DIAMOND), *members)).verdict == "held"


def test_a_held_member_of_a_group_that_is_not_atomic_holds_only_itself():
    apart = build_refresh_units(DIAMOND, atomic=lambda table: False)
    decisions = decide(
        apart, state("b", "1m", 75, held="is suspended"), state("c", "1m", 75), state("d", "1m", 75)
    )
    assert [each.verdict for each in decisions] == ["held", "run", "run"]


# -- waking up ------------------------------------------------------------------------------------


def test_decisions_come_in_the_order_of_units_and_the_first_moment_wakes():
    found = build_refresh_units(graph("s > a b c d"))
    decisions = decide(
        found,
        state("a", "1m", 10),
        state("b", "1m", 40),
        state("c", "1m", 75),
        state("d", "1m", 75, held="is in backoff", held_until=NOW + timedelta(seconds=30)),
    )
    assert [str(each.unit.members[0]) for each in decisions] == ["a", "b", "c", "d"]
    assert next_wake(decisions) == NOW + timedelta(seconds=20)
    assert next_wake(decisions[2:]) == NOW + timedelta(seconds=30)


def test_if_nothing_will_ever_be_due_there_is_nothing_to_wake_for():
    assert next_wake(()) is None
    assert next_wake(decide(build_refresh_units(SINGLE), state("b", None, None))) is None
    assert next_wake(decide(build_refresh_units(SINGLE), state("b", "1m", 75))) is None
