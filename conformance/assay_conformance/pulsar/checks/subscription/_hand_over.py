"""What a consumer that takes over has to receive first."""

from __future__ import annotations

from collections import deque

from assay_conformance.checks.dispatches import Group
from assay_conformance.model.event import Position


class HandOver:
    """The entries that were delivered and unacknowledged when a consumer took over: they come first, in order."""

    def __init__(self, group: Group) -> None:
        self._group = group
        self._waiting = deque(sorted(group.unacked))

    @property
    def is_due(self) -> bool:
        """Whether any of them is still to be delivered."""
        while self._waiting and self._waiting[0] not in self._group.unacked:
            self._waiting.popleft()
        return bool(self._waiting)

    def passed_over(self, position: Position) -> Position | None:
        """Take an entry that is sent. Return the entry that had to be sent before it, or None."""
        if not self.is_due or position < self._waiting[0]:
            return None
        return None if self._waiting[0] == position and self._waiting.popleft() else self._waiting[0]
