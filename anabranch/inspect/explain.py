"""How a stream table is maintained: its query's explanation, and its place among the others."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import indent

from anabranch.errors import InvalidName
from anabranch.inspect.explain_query import Explanation, Refusal, explain
from anabranch.inspect.fuses import fuse_reason, fuse_state
from anabranch.names import TableName
from anabranch.notebook_html import element, styled_block
from anabranch.refresh.define import FullDefinition
from anabranch.refresh.definition_cache import DefinitionCache
from anabranch.refresh.fuse_decision import fuse_of
from anabranch.refresh.run_context import read_newest_state
from anabranch.schedule.pending_work import schedules_in_force
from anabranch.schedule.schedules import format_schedule
from anabranch.settings import Settings
from anabranch.streams.arguments import find_stream
from anabranch.streams.fuse import OFF, effective_ceiling
from anabranch.streams.hold_reasons import gated_sources_by_stream
from anabranch.streams.stream_graph import cycle_of, graph_of, groups_of
from anabranch.streams.stream_table import StreamTable


@dataclass(frozen=True)
class StreamTableExplanation:
    """A stream table's mode, schedule and company, and how its query is maintained."""

    name: str
    refresh_mode: str
    effective_mode: str | None
    mode_reason: str | None
    schedule: str | None
    effective_schedule: str | None
    reads: tuple[str, ...]
    gated_by_sources: tuple[str, ...]
    """The gated sources, read directly or not, that it waits for."""
    read_by: tuple[str, ...]
    group: tuple[str, ...]
    """What it is published with, itself among them; nothing if it moves alone."""
    scc_id: int | None
    cycle: tuple[str, ...]
    """The stream tables that it is made from and made into, itself among them; nothing outside of cycles."""
    recursive_inputs: tuple[str, ...]
    """Those of them that it reads. Between them and its result, every operator only gains rows."""
    fuse: str | None
    """Its mode and state, the ceiling that counts, and what else is to be said; None if it is off."""
    query: str
    explanation: Explanation

    @property
    def incremental(self) -> bool:
        """Whether changes of the sources suffice."""
        return self.explanation.incremental

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """Mode, schedule and company, each with a word that says what it is."""
        mode = self.refresh_mode
        if self.effective_mode is not None:
            mode += f", the last refresh was {self.effective_mode}: {self.mode_reason}"
        schedule = self.schedule or "by hand"
        if self.effective_schedule != self.schedule:
            schedule += f": {self.effective_schedule or 'by hand'}"
        found = [("mode", mode), ("schedule", schedule), ("reads", ", ".join(self.reads) or "nothing")]
        if self.gated_by_sources:
            found.append(("waits for", f"{', '.join(self.gated_by_sources)} (gated)"))
        found.append(("read by", ", ".join(self.read_by) or "no stream table"))
        found.append(("group", ", ".join(self.group) or "none: it is published alone"))
        if self.cycle:
            found.append(
                ("cycle", f"{', '.join(self.cycle)}: published together, at their least fixed point")
            )
            again = ", ".join(self.recursive_inputs)
            found.append(("", f"accepted, since more rows of {again} never take a row of it away"))
        if self.fuse is not None:
            found.append(("fuse", self.fuse))
        return tuple(found)

    def __str__(self) -> str:
        about = "\n".join(f"{word:<9} {text}" for word, text in self.facts)
        return "\n\n".join(
            (
                f"Stream table {self.name}\n{indent(about, '  ')}",
                f"Query\n{indent(self.query.strip(), '  ')}",
                str(self.explanation),
            )
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = (element("tr", element("th", word), element("td", text)) for word, text in self.facts)
        return styled_block(
            element("h4", f"Stream table {self.name}"),
            element("table", element("tbody", *rows)),
            element("h4", "Query"),
            element("pre", self.query.strip()),
            *self.explanation.blocks(),
        )


def explain_name_or_query(definitions: DefinitionCache, what: str) -> Explanation | StreamTableExplanation:
    """Explain a stream table, by its name, or a query."""
    context = definitions.context
    try:
        name = TableName.parse(what)
    except InvalidName:
        return explain(context, what, context.catalog.lake_version())
    return _explain_stream_table(definitions, name)


def _format_fuse(stream: StreamTable, settings: Settings) -> str | None:
    if (state := fuse_state(stream)) == OFF:
        return None
    ceiling = effective_ceiling(fuse_of(stream.options, settings), stream.fuse.batches)
    shown = "no ceiling" if ceiling is None else f"ceiling {ceiling:,}"
    reason = fuse_reason(stream, settings)
    return f"{stream.options.fuse}, {state}, {shown}" + (f": {reason}" if reason else "")


def _explain_stream_table(definitions: DefinitionCache, name: TableName) -> StreamTableExplanation:
    context = definitions.context
    lake_version, streams = read_newest_state(context)
    stream = find_stream(streams, name)
    graph = graph_of(streams.values())
    mode = "full" if stream.refusal is not None else stream.options.refresh_mode
    circle = cycle_of(graph, name)
    definition = definitions.get(name, stream.query, mode, lake_version, circle)
    if isinstance(definition, FullDefinition):
        refusal = Refusal(definition.refusal.code, stream.refusal or definition.refusal.message, None, None)
        explanation = Explanation(tuple(sorted(map(str, definition.tables))), (), refusal=refusal)
    else:
        explanation = explain(context, definition, lake_version)
    members = next(
        (group.members for group in groups_of(streams, context.settings) if name in group.members),
        tuple(sorted(circle)),
    )
    return StreamTableExplanation(
        name=str(name),
        refresh_mode=stream.options.refresh_mode,
        effective_mode=stream.effective_mode,
        mode_reason=stream.mode_reason,
        schedule=stream.options.schedule,
        effective_schedule=format_schedule(schedules_in_force(context, streams)[name]),
        reads=tuple(map(str, stream.inputs)),
        gated_by_sources=tuple(map(str, gated_sources_by_stream(streams, lake_version).get(name, ()))),
        read_by=tuple(sorted(map(str, graph.readers(name)))),
        group=tuple(map(str, members)),
        scc_id=stream.scc_id,
        cycle=tuple(sorted(map(str, circle))),
        recursive_inputs=tuple(str(read) for read in stream.inputs if read in circle),
        fuse=_format_fuse(stream, context.settings),
        query=stream.query,
        explanation=explanation,
    )
