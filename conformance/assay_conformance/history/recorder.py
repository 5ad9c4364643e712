"""Where every event of one attempt gets its number and its time, so that all witnesses share one order of arrival."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Final, TypeVar

from assay_conformance.model.event import Event

E = TypeVar("E", bound=Event)

MOST_UNSETTLED: Final = 8
"""A caller that records more than this at a time is after throughput: then memory that is at hand counts."""


class Recorder:
    """Numbers events from 0, stamps them with `now_ns` (nanoseconds since the Case began) and hands them to `write`.

    An event is complete before `write` sees it, so `write` may itself add events.
    """

    def __init__(self, now_ns: Callable[[], int], write: Callable[[Event], None]) -> None:
        self._now_ns = now_ns
        self._write = write
        self._next = 0
        self._unsettled: deque[tuple[type[Event], int, Callable[[], dict[str, Any]]]] = deque()

    def add(self, kind: type[E], **fields: Any) -> E:
        """Record an event of this kind; `fields` are all of its fields but `seq` and `t_ns`."""
        if self._unsettled:
            self.settle()
        return self._record(kind, self._now_ns(), fields)

    def add_soon(self, kind: type[Event], fields: Callable[[], dict[str, Any]]) -> None:
        """Record an event that happens now, where finding its fields must not hold up what happens next: that is done
        by `settle`, or before another event is recorded, so that the order is that of the calls."""
        self._unsettled.append((kind, self._now_ns(), fields))
        if len(self._unsettled) > MOST_UNSETTLED:
            self.settle()

    def settle(self) -> None:
        """Write what is outstanding: `write` has seen every event when this returns."""
        while self._unsettled:
            kind, at_ns, fields = self._unsettled.popleft()
            self._record(kind, at_ns, fields())

    def _record(self, kind: type[E], at_ns: int, fields: dict[str, Any]) -> E:
        event = kind(seq=self._next, t_ns=at_ns, **fields)
        self._next += 1
        self._write(event)
        return event
