"""The schedules of those who leave theirs to their readers."""

from __future__ import annotations

from collections.abc import Mapping

from anabranch.names import TableName
from anabranch.schedule.schedules import ByHand, Calculated, Cron, Effective, Every, Schedule
from anabranch.streams.graph import Graph


def effective_schedules(
    graph: Graph, schedules: Mapping[TableName, Schedule], default: Effective
) -> Mapping[TableName, Effective]:
    """Every stream table's own schedule; where it is calculated, the tightest of its direct readers.

    Tightest: the shortest period, for cron the shortest time between a few firings in a row; of equals
    that of the first reader by name. Readers by hand don't count, and if all are, so is the table. What
    nothing reads has the default. In a cycle, only readers outside of it count.
    """
    found: dict[TableName, Effective] = {}
    fellows = {name: frozenset(members) for members in graph.cycles for name in members}
    for name in reversed(graph.order()):
        own = schedules[name]
        if not isinstance(own, Calculated):
            found[name] = own
            continue
        readers = [found[reader] for reader in sorted(graph.readers(name) - fellows.get(name, frozenset()))]
        timed = [schedule for schedule in readers if isinstance(schedule, Every | Cron)]
        if timed:
            found[name] = min(timed, key=lambda schedule: schedule.shortest_gap)
        else:
            found[name] = ByHand() if readers else default
    return {name: found[name] for name in graph.order()}
