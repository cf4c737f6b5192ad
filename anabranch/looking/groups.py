"""Which stream tables move together because data that flowed apart meets in them."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.graph.groups import groups
from anabranch.ledger.streams import epochs, read_streams
from anabranch.parts import Parts
from anabranch.refresh.graphs import atomic_in, graph_of, policy_of


@dataclass(frozen=True)
class DiamondGroupMember:
    """A member of a group."""

    group_id: int
    member_name: str
    member_schema: str
    is_convergence: bool
    epoch: int
    schedule_policy: str
    """The group's: the strictest of its convergence tables; `none` if its members refresh on their own."""
    shared_sources: tuple[str, ...]
    """For a convergence table: where the data that meets there flowed apart."""


def diamond_groups(parts: Parts) -> list[DiamondGroupMember]:
    """The members of all groups, in the order in which they refresh."""
    with parts.catalog.database.reading() as connection:
        streams, published = read_streams(connection), epochs(connection)
    atomic = atomic_in(streams, parts.settings)
    found = []
    for group in groups(graph_of(streams.values()), atomic):
        policies = {policy_of(streams[name].options, parts.settings) for name in group.convergence}
        policy = "slowest" if "slowest" in policies else "fastest"
        for name in group.members:
            number = streams[name].group_id or 0
            found.append(
                DiamondGroupMember(
                    group_id=number,
                    member_name=name.table,
                    member_schema=name.namespace,
                    is_convergence=name in group.convergence,
                    epoch=published.get(number, 0),
                    schedule_policy=policy if all(map(atomic, group.members)) else "none",
                    shared_sources=tuple(str(source) for source in group.shared_sources.get(name, ())),
                )
            )
    return found
