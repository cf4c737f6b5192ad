"""A bounded cache of immutable values: of each table only those that were used last."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class Cache(Generic[T]):
    """A map from a key to a value that never changes, for as long as there is room for it.

    `size` is what all values may weigh together; each weighs one unless `weigh` says otherwise. `owner` says
    which table a value belongs to: of one owner `each` values stay. So versions take the place of older ones,
    and a process that runs for long keeps something of every table, rather than every version of some.
    """

    def __init__(
        self,
        size: int,
        *,
        weigh: Callable[[T], int] = lambda _value: 1,
        owner: Callable[[T], Hashable] | None = None,
        each: int = 1,
    ) -> None:
        self._size, self._each = size, each
        self._weigh, self._owner = weigh, owner
        self._lock = threading.Lock()
        self._weight = 0
        self._kept: OrderedDict[Hashable, T] = OrderedDict()
        self._owned: dict[Hashable, OrderedDict[Hashable, T]] = {}

    def get(self, key: Hashable, load: Callable[[], T]) -> T:
        """The value under a key, loaded if it isn't there."""
        with self._lock:
            if key in self._kept:
                value = self._kept[key]
                self._kept.move_to_end(key)
                if self._owner is not None:
                    self._owned[self._owner(value)].move_to_end(key)
                return value
        value = load()
        with self._lock:
            if key not in self._kept:  # nobody was faster
                self._keep(key, value)
        return value

    def values_of_owner(self, owner: Hashable) -> list[T]:
        """What is kept of an owner, the last asked for first."""
        with self._lock:
            return list(reversed(self._owned.get(owner, {}).values()))

    def clear(self) -> None:
        """Forget all values."""
        with self._lock:
            self._kept.clear()
            self._owned.clear()
            self._weight = 0

    def __len__(self) -> int:
        with self._lock:
            return len(self._kept)

    def _keep(self, key: Hashable, value: T) -> None:
        self._kept[key] = value
        self._weight += self._weigh(value)
        if self._owner is not None:
            owned = self._owned.setdefault(self._owner(value), OrderedDict())
            owned[key] = value
            if len(owned) > self._each:
                self._forget(next(iter(owned)))
        while self._weight > self._size and len(self._kept) > 1:
            self._forget(next(iter(self._kept)))

    def _forget(self, key: Hashable) -> None:
        value = self._kept.pop(key)
        self._weight -= self._weigh(value)
        if self._owner is not None:
            owner = self._owner(value)
            del self._owned[owner][key]
            if not self._owned[owner]:
                del self._owned[owner]
