"""A dict whose items before a key are found without a pass over those after it."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TypeVar

K = TypeVar("K", bound=tuple[object, ...])
V = TypeVar("V")


class Ascending(dict[K, V]):
    """A dict for entries that wait for a cumulative acknowledgment: `keys_before` finds what `put` has set."""

    def __init__(self) -> None:
        super().__init__()
        self._keys: list[K] = []

    def put(self, key: K, value: V) -> None:
        """Set it."""
        if key not in self:
            heappush(self._keys, key)
        self[key] = value

    def keys_before(self, key: K) -> list[K]:
        """Return what lies before a key, in order, for the caller to pop: it is not found a second time."""
        found: dict[K, None] = {}
        while self._keys and self._keys[0] < key:
            known = heappop(self._keys)
            if known in self:
                found[known] = None
        return [*found]
