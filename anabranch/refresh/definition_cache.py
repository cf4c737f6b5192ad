"""A cache of definitions, one per query and per schema of its inputs."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable

from anabranch.connection.lake_context import LakeContext
from anabranch.errors import NotIncremental, UnknownTable
from anabranch.names import TableName
from anabranch.refresh.define import Definition, FullDefinition, define, define_full
from anabranch.refresh.recursive_definitions import CycleMemberDefinition, define_cycle_member
from anabranch.sql.query import parse_query
from anabranch.streams.versions import LakeVersion

MAX_REMEMBERED = 2_000

Defined = Definition | FullDefinition | CycleMemberDefinition


class DefinitionCache:
    """Caches definitions. A stream table gets a new one when the schema of an input changes."""

    def __init__(self, context: LakeContext) -> None:
        self.context = context
        self._known: OrderedDict[Hashable, Defined] = OrderedDict()
        self._lock = threading.Lock()

    def get(
        self,
        name: TableName,
        text: str,
        mode: str,
        lake_version: LakeVersion,
        members: frozenset[TableName] = frozenset(),
    ) -> Defined:
        """The definition under a refresh mode; what can't be one in that mode is an error.

        `members`: those of the cycle that it is in, itself among them; all are in the lake version.
        """
        mode = "differential" if mode == "immediate" or members else mode
        tables = parse_query(text).reads
        for table in tables:
            if (table == name and name not in members) or table not in lake_version.versions:
                raise UnknownTable(f'the query of "{name}" reads "{table}", which does not exist')
        shapes = tuple((table, lake_version.version(table).schema) for table in tables)
        settled_by = (shapes, members, self.context.settings["inner_state"])
        key = (name, text, mode, *settled_by)
        with self._lock:
            if (found := self._known.get(key)) is not None:
                self._known.move_to_end(key)
                return found
        made = self._define(name, text, mode, lake_version, members)
        with self._lock:
            self._known[key] = made
            if mode == "auto":
                # Stored under the mode that was found, which its refreshes will ask for.
                settled = "full" if isinstance(made, FullDefinition) else "differential"
                self._known[name, text, settled, *settled_by] = made
            while len(self._known) > MAX_REMEMBERED:
                self._known.popitem(last=False)
        return made

    def get_full(
        self, name: TableName, text: str, lake_version: LakeVersion, why: NotIncremental
    ) -> FullDefinition:
        """The definition of a query that can only be recomputed in full."""
        return define_full(self.context, name, text, lake_version, why)

    def _define(
        self, name: TableName, text: str, mode: str, lake_version: LakeVersion, members: frozenset[TableName]
    ) -> Defined:
        if members:
            return define_cycle_member(self.context, name, text, lake_version, members)
        if mode == "full":
            asked = NotIncremental("it was created with refresh_mode = full")
            return self.get_full(name, text, lake_version, asked)
        try:
            return define(self.context, name, text, lake_version)
        except NotIncremental as error:
            if mode != "auto":
                raise
            return self.get_full(name, text, lake_version, error)
