"""Why a stream table waits: a gated source above it, or sources that are not loaded up to the same time.

    waits(t)  ⟺  some s ∈ sources(t) is gated, unless t ignores gates
               ∨  for some group g with |g ∩ sources(t)| ≥ 2:
                  max - min of the watermarks of g ∩ sources(t) > tolerance(g), or one is missing that counts

where sources(t) are the base sources that t is made from, near or far. Gates come first.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Iterable
from datetime import UTC

from anabranch.durations import show_duration
from anabranch.gates.alignment import Spread, Unmarked, hindrance
from anabranch.gates.readiness import Gate, Readiness
from anabranch.graph.graph import Graph
from anabranch.names import TableName

Found = dict[TableName, list[TableName]]


def waiting(
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
    for name, sources in made_from(graph, readiness.shut | grouped).items():
        if name in free:
            continue
        gates = [] if name in ignoring else _gates_of(sources, readiness)
        why = _for_gates(gates) if gates else _for_watermarks(sources, readiness)
        if why is not None:
            found[name] = why
    return found


def made_from(graph: Graph, sources: Iterable[TableName]) -> Found:
    """The stream tables that are made from any of these sources, near or far; each with those, by name."""
    found: Found = {}
    for source in sorted(graph.sources.intersection(sources)):
        for name in graph.downstream(source):
            found.setdefault(name, []).append(source)
    return found


_WAIT = re.compile(r'"[^"]+" waits for (?:"|the (?:first )?watermark)')


def episode(reason: str | None) -> str | None:
    """What a hold is known by while it lasts: its reason, but a wait by its kind: what it is for changes.

    >>> episode('"c" waits for "b", which is gated since …')
    '"c" waits for "'
    """
    found = None if reason is None else _WAIT.match(reason)
    return reason if found is None else found.group().replace("the first", "the")


def _gates_of(sources: Collection[TableName], readiness: Readiness) -> list[Gate]:
    """The shut gates among some sources, the one that has been shut for longest first."""
    shut = [gate for name in sources if (gate := readiness.gates.get(name)) is not None and gate.gated]
    return sorted(shut, key=lambda gate: (gate.gated_at, gate.source))


def _for_gates(gates: list[Gate]) -> str:
    oldest, *rest = gates
    since = oldest.gated_at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    others = ", ".join(f'"{gate.source}"' for gate in rest)
    text = f'waits for "{oldest.source}", which is gated since {since} by {oldest.gated_by}'
    return f"{text}; gated too: {others}" if others else text


def _for_watermarks(sources: Collection[TableName], readiness: Readiness) -> str | None:
    for group in readiness.groups:
        read = [name for name in group.sources if name in sources]
        if len(read) < 2:
            continue
        match hindrance(group, read, readiness.watermarks):
            case Unmarked(missing):
                names = ", ".join(f'"{name}"' for name in missing)
                return f'waits for the first watermark of {names} (watermark group "{group.name}")'
            case Spread(ahead, behind) as found:
                at = f"{behind.timestamp.astimezone(UTC).replace(tzinfo=None)} UTC"
                return (
                    f'waits for the watermark of "{behind.source}", which is at {at}, '
                    f'{show_duration(found.lag)} behind "{ahead.source}" '
                    f'(watermark group "{group.name}" allows {show_duration(group.tolerance)})'
                )
    return None
