"""Sets that only ever merge."""

from __future__ import annotations


class UnionFind:
    """The numbers below `count`, each in a set of its own until it is united with another."""

    def __init__(self, count: int) -> None:
        self._parents = list(range(count))

    def find(self, number: int) -> int:
        """The number that stands for the set of `number`: the same for all in it."""
        parents = self._parents
        while parents[number] != number:
            parents[number] = parents[parents[number]]
            number = parents[number]
        return number

    def union(self, one: int, other: int) -> None:
        """Make one set of two."""
        first, second = sorted((self.find(one), self.find(other)))
        self._parents[second] = first

    def sets(self) -> list[list[int]]:
        """The sets of two or more, sorted, inside and out."""
        found: dict[int, list[int]] = {}
        for number in range(len(self._parents)):
            found.setdefault(self.find(number), []).append(number)
        return [members for members in found.values() if len(members) > 1]
