"""Chooses how a stream table is refreshed, by the sizes of what it reads and by its history."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

from anabranch.connection.lake_context import LakeContext
from anabranch.ledger.history import (
    DIFFERENTIAL,
    FULL,
    REINITIALIZE,
    MeasuredRefresh,
    read_estimated_refreshes,
    read_measured_refreshes,
)
from anabranch.refresh.choose import (
    MACHINE_RECENT,
    Action,
    Choice,
    Estimates,
    PastRefresh,
    Sizes,
    choose,
    choose_again,
    machine_factor,
)
from anabranch.refresh.cost_estimate import cost_constants, estimate_seconds
from anabranch.refresh.define import Definition
from anabranch.refresh.estimate_work import Work
from anabranch.refresh.execute import Tables
from anabranch.refresh.inputs import Sources
from anabranch.refresh.predict_work import predict_differential_refresh, predict_full_refresh
from anabranch.streams.versions import LakeVersion

REMEMBERED = 50
"""How many past refreshes of a stream table are considered."""
ACTIONS: dict[str, Action] = {FULL: "FULL", REINITIALIZE: "FULL", DIFFERENTIAL: "DIFFERENTIAL"}


class FullIsCheaper(Exception):
    """A differential refresh has met more than was assumed, and a full one is expected to be cheaper."""

    def __init__(self, because: str) -> None:
        super().__init__(because)
        self.because = because


class ActionChooser:
    """The choice for one refresh of one stream table. Estimates are made when they are asked for."""

    def __init__(
        self,
        context: LakeContext,
        definition: Definition,
        tables: Tables,
        since: LakeVersion,
        until: LakeVersion,
        above: Tables,
        sizes: Callable[[], Sizes],
    ) -> None:
        self._context, self._definition, self._tables = context, definition, tables
        self._since, self._until, self._above, self._sizes = since, until, above, sizes
        self._met_more = False

    def choose(self) -> Choice:
        """How to refresh it, by sizes that are known before."""
        estimates = Estimates(self._full_seconds, self._differential_seconds)
        return choose(self._sizes(), estimates, self._past, self._machine)

    def choose_again(self, what: str) -> None:
        """Whether to go on after meeting more than was assumed; raises `FullIsCheaper` if not."""
        self._met_more = True
        # What is remembered of the change by now makes this the estimate of going on.
        estimates = Estimates(self._full_seconds, self._seconds(self._predict_differential()))
        choice = choose_again(what, estimates, self._past, self._machine)
        if choice.action == "FULL":
            raise FullIsCheaper(choice.because)

    def estimate_before(self, action: str) -> float:
        """What an action is expected to take, by sizes alone, before anything is done."""
        return self._differential_seconds if action == DIFFERENTIAL else self._full_seconds

    def estimate_to_learn_from(self, estimated: float | None, action: str) -> float | None:
        """The same afterwards; None if nothing is to be learned from what it took.

        The first refresh of its kind since the lake was opened says nothing about the next ones: the engine
        starts, compiles what it runs, and reads what it keeps later on.
        """
        kind = (self._table_id, ACTIONS[action])
        first = kind not in self._context.finished_refreshes
        self._context.finished_refreshes.add(kind)
        return None if first or self._met_more else estimated

    @property
    def _table_id(self) -> str:
        return self._tables[self._definition.name].version.table_id

    @cached_property
    def _full_seconds(self) -> float:
        sources = Sources(self._context, self._until, self._until, self._above)
        return self._seconds(predict_full_refresh(self._definition, self._tables, sources))

    @cached_property
    def _differential_seconds(self) -> float:
        return self._seconds(self._predict_differential())

    def _predict_differential(self) -> Work:
        return predict_differential_refresh(
            self._context, self._definition, self._tables, self._since, self._until, self._above
        )

    def _seconds(self, work: Work) -> float:
        return estimate_seconds(work, cost_constants(self._context.engine.dialect.name))

    @cached_property
    def _past(self) -> Sequence[PastRefresh]:
        """Its own refreshes, the oldest first."""
        with self._context.catalog.database.begin_read() as connection:
            found = read_measured_refreshes(connection, self._definition.name, self._table_id, REMEMBERED)
        return [
            PastRefresh(ACTIONS[each.action], each.seconds, each.estimated_seconds)
            for each in reversed(found)
        ]

    @cached_property
    def _machine(self) -> float:
        with self._context.catalog.database.begin_read() as connection:
            found = read_estimated_refreshes(connection, MACHINE_RECENT)
        return machine_factor(ratios_by_table(each for each in found if each.table_id != self._table_id))


def ratios_by_table(refreshes: Iterable[MeasuredRefresh]) -> dict[str, list[float]]:
    """What refreshes took ÷ what was estimated for them, by their tables."""
    found: dict[str, list[float]] = {}
    for each in refreshes:
        if each.table_id is not None and each.estimated_seconds:
            found.setdefault(each.table_id, []).append(each.seconds / each.estimated_seconds)
    return found
