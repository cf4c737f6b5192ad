"""Definitions of stream tables, worked out once per query and per shape of what it reads."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable

from anabranch.errors import NotIncremental, UnknownTable
from anabranch.ledger.records import Moment
from anabranch.names import TableName
from anabranch.parts import Parts
from anabranch.refresh.define import Definition, FullDefinition, define, define_full
from anabranch.refresh.recursive import MemberDefinition, define_member
from anabranch.sql.query import parse_query

MAX_REMEMBERED = 2_000

Defined = Definition | FullDefinition | MemberDefinition


class Definitions:
    """A memory of definitions. A source that gets another column gets its readers another definition."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self._known: OrderedDict[Hashable, Defined] = OrderedDict()
        self._lock = threading.Lock()

    def get(
        self,
        name: TableName,
        text: str,
        mode: str,
        moment: Moment,
        members: frozenset[TableName] = frozenset(),
    ) -> Defined:
        """The definition under a refresh mode; what can't be one in that mode is an error.

        `members`: those of the cycle that it is in, itself among them; all are in the moment.
        """
        mode = "differential" if mode == "immediate" or members else mode
        tables = parse_query(text).reads
        for table in tables:
            if (table == name and name not in members) or table not in moment.versions:
                raise UnknownTable(f'the query of "{name}" reads "{table}", which does not exist')
        shapes = tuple((table, moment.version(table).schema) for table in tables)
        key = (name, text, mode, shapes, members)
        with self._lock:
            if (found := self._known.get(key)) is not None:
                self._known.move_to_end(key)
                return found
        made = self._make(name, text, mode, moment, members)
        with self._lock:
            self._known[key] = made
            if mode == "auto":
                # What it turned out to be is what its refreshes will ask for.
                settled = "full" if isinstance(made, FullDefinition) else "differential"
                self._known[name, text, settled, shapes, members] = made
            while len(self._known) > MAX_REMEMBERED:
                self._known.popitem(last=False)
        return made

    def in_full(self, name: TableName, text: str, moment: Moment, why: NotIncremental) -> FullDefinition:
        """The definition of a query that can only be computed from nothing."""
        return define_full(self.parts, name, text, moment, why)

    def _make(
        self, name: TableName, text: str, mode: str, moment: Moment, members: frozenset[TableName]
    ) -> Defined:
        if members:
            return define_member(self.parts, name, text, moment, members)
        if mode == "full":
            asked = NotIncremental("it was created with refresh_mode = full")
            return self.in_full(name, text, moment, asked)
        try:
            return define(self.parts, name, text, moment)
        except NotIncremental as error:
            if mode != "auto":
                raise
            return self.in_full(name, text, moment, error)
