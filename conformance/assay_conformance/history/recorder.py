"""Where every event of one attempt gets its number and its time, so that all witnesses share one order of arrival."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from assay_conformance.model.event import Event

E = TypeVar("E", bound=Event)


class Recorder:
    """Numbers events from 0, stamps them with `now_ns` (nanoseconds since the Case began) and hands them to `write`.

    An event is complete before `write` sees it, so `write` may itself add events.
    """

    def __init__(self, now_ns: Callable[[], int], write: Callable[[Event], None]) -> None:
        self._now_ns = now_ns
        self._write = write
        self._next = 0

    def add(self, kind: type[E], **fields: Any) -> E:
        """Record an event of this kind; `fields` are all of its fields but `seq` and `t_ns`."""
        event = kind(seq=self._next, t_ns=self._now_ns(), **fields)
        self._next += 1
        self._write(event)
        return event
