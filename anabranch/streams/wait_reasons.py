"""Why a stream table waits: a gated source above it, or sources that are not loaded up to the same time.

    waits(t)  ⟺  some s ∈ sources(t) is gated, unless t ignores gates
               ∨  for some group g with |g ∩ sources(t)| ≥ 2:
                  max - min of the watermarks of g ∩ sources(t) > tolerance(g), or one is missing that counts

where sources(t) are the base sources that t is made from, directly or not. Gates come first.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Iterable
from datetime import UTC

from anabranch.durations import format_duration
from anabranch.names import TableName
from anabranch.streams.graph import Graph
from anabranch.streams.source_readiness import Gate, Readiness
from anabranch.streams.watermark_alignment import MissingWatermarks, WatermarkSpread, misalignment

Found = dict[TableName, list[TableName]]


def find_wait_reasons(
    graph: Graph,
    readiness: Readiness,
    *,
    free: Container[TableName] = (),
    ignoring: Container[TableName] = (),
) -> dict[TableName, str]:
    """The stream tables that wait, each with the reason: what follows after its name.

    Those that are `free` wait for nothing, those `ignoring` gates only for watermarks.
    """
    grouped = {source for group in readiness.groups for source in group.sources}
    found = {}
    for name, sources in sources_by_stream_table(graph, readiness.gated_sources | grouped).items():
        if name in free:
            continue
        gates = [] if name in ignoring else _shut_gates(sources, readiness)
        why = _gate_reason(gates) if gates else _watermark_reason(sources, readiness)
        if why is not None:
            found[name] = why
    return found


def sources_by_stream_table(graph: Graph, sources: Iterable[TableName]) -> Found:
    """The stream tables made from any of these sources, directly or not; each with those, by name."""
    found: Found = {}
    for source in sorted(graph.sources.intersection(sources)):
        for name in graph.downstream(source):
            found.setdefault(name, []).append(source)
    return found


_WAIT = re.compile(r'"[^"]+" waits for (?:"|the (?:first )?watermark)')


def hold_identity(reason: str | None) -> str | None:
    """The identity of a hold while it lasts: its reason, but of a wait only the kind, as its sources change.

    >>> hold_identity('"c" waits for "b", which is gated since …')
    '"c" waits for "'
    """
    found = None if reason is None else _WAIT.match(reason)
    return reason if found is None else found.group().replace("the first", "the")


def _shut_gates(sources: Collection[TableName], readiness: Readiness) -> list[Gate]:
    """The shut gates among some sources, the one that has been shut for longest first."""
    shut = [gate for name in sources if (gate := readiness.gates.get(name)) is not None and gate.gated]
    return sorted(shut, key=lambda gate: (gate.gated_at, gate.source))


def _gate_reason(gates: list[Gate]) -> str:
    oldest, *rest = gates
    since = oldest.gated_at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    others = ", ".join(f'"{gate.source}"' for gate in rest)
    text = f'waits for "{oldest.source}", which is gated since {since} by {oldest.gated_by}'
    return f"{text}; gated too: {others}" if others else text


def _watermark_reason(sources: Collection[TableName], readiness: Readiness) -> str | None:
    for group in readiness.groups:
        read = [name for name in group.sources if name in sources]
        if len(read) < 2:
            continue
        match misalignment(group, read, readiness.watermarks):
            case MissingWatermarks(missing):
                names = ", ".join(f'"{name}"' for name in missing)
                return f'waits for the first watermark of {names} (watermark group "{group.name}")'
            case WatermarkSpread(ahead, behind) as found:
                at = f"{behind.timestamp.astimezone(UTC).replace(tzinfo=None)} UTC"
                return (
                    f'waits for the watermark of "{behind.source}", which is at {at}, '
                    f'{format_duration(found.lag)} behind "{ahead.source}" '
                    f'(watermark group "{group.name}" allows {format_duration(group.tolerance)})'
                )
    return None
