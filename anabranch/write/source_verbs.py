"""The verbs of a transaction that say whether its sources are ready."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime

from anabranch.connection.lake_context import LakeContext
from anabranch.errors import NotASource
from anabranch.ledger.gates import read_gate
from anabranch.ledger.watermarks import read_last_watermark
from anabranch.names import TableName
from anabranch.streams.versions import LakeVersion
from anabranch.streams.watermark_timestamps import parse_timestamp
from anabranch.write.readiness_changes import (
    AdvanceWatermark,
    OpenGate,
    ReadinessChanges,
    ShutGate,
    caller_identity,
    check_flag,
    parse_names,
)
from anabranch.write.working_table import WorkingTable


class SourceVerbs:
    """A mixin. The attributes below are the transaction's; what the verbs say is written in its commit."""

    _context: LakeContext
    _lake_version: LakeVersion
    _tables: dict[TableName, WorkingTable]
    _saying: ReadinessChanges

    def _exists(self, name: TableName) -> bool:
        raise NotImplementedError

    def _get_table(self, name: str | TableName) -> WorkingTable:
        raise NotImplementedError

    def _check_open(self) -> None:
        raise NotImplementedError

    def gate_source(self, name: str, auto_ungate_on_watermark: bool = False) -> None:
        """Say that a source is not ready: what is made from it waits until it is ungated.

        With `auto_ungate_on_watermark` the first `advance_watermark` does that.
        """
        check_flag("auto_ungate_on_watermark", auto_ungate_on_watermark)
        self._saying.add([ShutGate(self._resolve_source(name), caller_identity(), auto_ungate_on_watermark)])

    def gate_sources(self, names: Sequence[str]) -> None:
        """Say so of several, all or none."""
        sources = [self._resolve_source(name) for name in parse_names(names)]
        self._saying.add(ShutGate(source, caller_identity(), False) for source in sources)

    def ungate_source(self, name: str) -> None:
        """Say that a source is ready, as of this commit."""
        self._saying.add([OpenGate(self._resolve_source(name, gated=True))])

    def ungate_sources(self, names: Sequence[str]) -> None:
        """Say so of several, all or none."""
        sources = [self._resolve_source(name, gated=True) for name in parse_names(names)]
        self._saying.add(map(OpenGate, sources))

    def advance_watermark(self, source: str, timestamp: str | date) -> None:
        """Say up to which time a source is loaded, as of this commit; never less than it was."""
        name = self._resolve_source(source)
        advancing = AdvanceWatermark(name, parse_timestamp(timestamp, self._context.settings["time_zone"]))
        advancing.check_not_backwards(self._read_last_watermark(name))
        self._saying.add([advancing])

    def _read_last_watermark(self, source: TableName) -> datetime | None:
        said = self._saying.last_watermark(source)
        if said is not None or ((own := self._tables.get(source)) is not None and own.new is not None):
            return said
        with self._context.catalog.database.begin_read() as connection:
            return read_last_watermark(connection, source)

    def _resolve_source(self, name: str, *, gated: bool = False) -> TableName:
        """A table that people write to; or, to be ungated, one that is gone and whose gate is still there."""
        self._check_open()
        source = TableName.parse(name)
        if gated and self._has_gate(source):
            return source
        if not self._exists(source):
            self._get_table(source)  # its error says that there is none, and suggests similar names
        own = self._tables.get(source)
        version = self._lake_version.versions[source] if own is None else own.version
        if version.kind in ("stream", "state"):
            raise NotASource(
                f'"{source}" is a stream table: only sources have gates and watermarks',
                hint="gate what it is made from, or hold it alone with suspend_stream_table(name).",
            )
        return source

    def _has_gate(self, source: TableName) -> bool:
        with self._context.catalog.database.begin_read() as connection:
            return read_gate(connection, source) is not None
