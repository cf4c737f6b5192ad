"""The verbs of a transaction that say whether its sources are ready."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime

from anabranch.errors import NotASource
from anabranch.gates.timestamps import parse_timestamp
from anabranch.ledger.gates import read_gate
from anabranch.ledger.records import Moment
from anabranch.ledger.watermarks import last_watermark
from anabranch.names import TableName
from anabranch.parts import Parts
from anabranch.write.readiness import Advancing, Gating, Saying, Ungating, caller, check_flag, names_of
from anabranch.write.working import WorkingTable


class SourceVerbs:
    """What they need of the transaction stands below; what they say is written in its commit."""

    _parts: Parts
    _moment: Moment
    _tables: dict[TableName, WorkingTable]
    _saying: Saying

    def _exists(self, name: TableName) -> bool:
        raise NotImplementedError

    def _working(self, name: str | TableName) -> WorkingTable:
        raise NotImplementedError

    def _check_open(self) -> None:
        raise NotImplementedError

    def gate_source(self, name: str, auto_ungate_on_watermark: bool = False) -> None:
        """Say that a source is not ready: what is made from it waits until it is ungated.

        With `auto_ungate_on_watermark` the first `advance_watermark` does that.
        """
        check_flag("auto_ungate_on_watermark", auto_ungate_on_watermark)
        self._saying.add([Gating(self._source(name), caller(), auto_ungate_on_watermark)])

    def gate_sources(self, names: Sequence[str]) -> None:
        """Say so of several, all or none."""
        sources = [self._source(name) for name in names_of(names)]
        self._saying.add(Gating(source, caller(), False) for source in sources)

    def ungate_source(self, name: str) -> None:
        """Say that a source is ready, as of this commit."""
        self._saying.add([Ungating(self._source(name, gated=True))])

    def ungate_sources(self, names: Sequence[str]) -> None:
        """Say so of several, all or none."""
        sources = [self._source(name, gated=True) for name in names_of(names)]
        self._saying.add(map(Ungating, sources))

    def advance_watermark(self, source: str, timestamp: str | date) -> None:
        """Say up to which time a source is loaded, as of this commit; never less than it was."""
        name = self._source(source)
        advancing = Advancing(name, parse_timestamp(timestamp, self._parts.settings["time_zone"]))
        advancing.check(self._last_watermark(name))
        self._saying.add([advancing])

    def _last_watermark(self, source: TableName) -> datetime | None:
        said = self._saying.last_watermark(source)
        if said is not None or ((own := self._tables.get(source)) is not None and own.new is not None):
            return said
        with self._parts.catalog.database.reading() as connection:
            return last_watermark(connection, source)

    def _source(self, name: str, *, gated: bool = False) -> TableName:
        """A table that people write to; or, to be ungated, one that is gone and whose gate is still there."""
        self._check_open()
        source = TableName.parse(name)
        if gated and self._has_gate(source):
            return source
        if not self._exists(source):
            self._working(source)  # says that there is none, and what is near
        own = self._tables.get(source)
        version = self._moment.versions[source] if own is None else own.version
        if version.kind in ("stream", "state"):
            raise NotASource(
                f'"{source}" is a stream table: only sources have gates and watermarks',
                hint="gate what it is made from, or hold it alone with suspend_stream_table(name).",
            )
        return source

    def _has_gate(self, source: TableName) -> bool:
        with self._parts.catalog.database.reading() as connection:
            return read_gate(connection, source) is not None
