"""Subscriptions: who may join, who gets what, and what becomes of it when a consumer goes."""

from __future__ import annotations

from collections import deque

from assay_conformance.checks.dispatches import Group
from assay_conformance.model.event import Position


class HandOver:
    """What was sent to somebody and not acknowledged when a consumer took over: it has to come first, in order."""

    def __init__(self, group: Group) -> None:
        self._group = group
        self._waiting = deque(sorted(group.unacked))

    @property
    def is_due(self) -> bool:
        """Whether anything still is."""
        while self._waiting and self._waiting[0] not in self._group.unacked:
            self._waiting.popleft()
        return bool(self._waiting)

    def passed_over(self, position: Position) -> Position | None:
        """An entry is sent: the one that had to be before it, None when all is well."""
        if not self.is_due or position < self._waiting[0]:
            return None
        return None if self._waiting[0] == position and self._waiting.popleft() else self._waiting[0]
