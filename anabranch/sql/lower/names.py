"""Names of columns in a plan: unique, the same for the same query, and close to what the user wrote."""

from __future__ import annotations

import re
from collections.abc import Iterable

_UNPLAIN = re.compile(r"[^a-z0-9_]+")


class Names:
    """Gives out names, none of them twice.

    >>> names = Names()
    >>> names.fresh("id"), names.fresh("ID"), names.fresh("sum(x)"), names.fresh("__k0")
    ('id', 'id_2', 'sum_x', 'k0')
    >>> names.fresh("id_2")
    'id_3'
    """

    def __init__(self, kept: Iterable[str] = ()) -> None:
        self._taken = set(kept)
        self._last: dict[str, int] = {}
        self._base: dict[str, str] = {}

    def reserve(self, names: Iterable[str]) -> None:
        """Don't give these out: lambdas use them."""
        self._taken.update(names)

    def fresh(self, wanted: str) -> str:
        """A name like the one wanted that nothing in the plan has yet."""
        base = self._base.get(wanted) or _UNPLAIN.sub("_", wanted.lower()).strip("_")[:64] or "c"
        if base[0].isdigit():
            base = f"c{base}"
        name, number = base, self._last.get(base, 1)
        while name in self._taken:
            number += 1
            name = f"{base}_{number}"
        self._last[base] = number
        self._taken.add(name)
        self._base[name] = base
        return name
