"""What every part of a timeline needs: the events, how operations ended, and time bounds."""

from __future__ import annotations

from functools import cached_property
from typing import Final

from assay_conformance.checks.base import View
from assay_conformance.history.events import Events
from assay_conformance.judging.patterns import Bounds
from assay_conformance.judging.tolerance import MS
from assay_conformance.model.case import Topology
from assay_conformance.model.event import (
    Closed,
    Completion,
    Ended,
    Event,
    Invoke,
    Overdue,
)

_UNREAD: Final = "a broker that limits publishing may have read late what else came over the producer's connection"


class Occurring:
    """The events of a timeline."""

    def __init__(self, view: View) -> None:
        self.view = view
        self._tracker = view.tracker

    @property
    def topology(self) -> Topology:
        """What the Case says of topics and of the broker."""
        return self.view.case.topology

    def operation_timeout_ns(self, handle: int | None = None, *, otherwise_ms: int = 0) -> int:
        """Return how long the client of a handle lets an operation take, `otherwise_ms` where that is not known."""
        limit_ms = self.view.client_setting(handle, "operation_timeout_ms")
        return (limit_ms if isinstance(limit_ms, int) else otherwise_ms) * MS

    @cached_property
    def bounds(self) -> Bounds:
        """Time bounds, with the load of the machine."""
        unread = _UNREAD if self.view.shares_slow_connection() else ""
        return Bounds(self._tracker.load, self._tracker.end_ns, unread)

    @cached_property
    def events(self) -> Events:
        """The history by types, commands and verbs."""
        return Events(self._tracker.history)

    @property
    def ended(self) -> Event:
        """The end of the Case, or the last event where it has none."""
        return next(iter(self.events.of(Ended)), self._tracker.history[-1])

    def closed(self, number: int | None) -> Closed | None:
        """Return how a connection ended."""
        return None if number is None else self._tracker.closed.get(number)

    def had_closed(self, number: int, by: Event) -> bool:
        """Return whether a connection had ended by an event."""
        closed = self.closed(number)
        return closed is not None and closed.seq < by.seq

    def end_of(self, op: int) -> Completion | None:
        """Return how an operation ended."""
        operation = self._tracker.operations.get(op)
        return None if operation is None else operation.completion

    def end_or_overdue(self, op: int) -> Completion | Overdue | None:
        """Return how an operation ended, or else that it had not ended in its time."""
        return self.end_of(op) or self.overdue_of(op)

    def overdue_of(self, op: int) -> Overdue | None:
        """Return that an operation had not ended in its time."""
        return self._overdue.get(op)

    @cached_property
    def _overdue(self) -> dict[int, Overdue]:
        return {one.op: one for one in reversed(self.events.of(Overdue))}

    def call_of(self, op: int) -> Invoke | None:
        """Return the call of an operation."""
        operation = self._tracker.operations.get(op)
        return None if operation is None else operation.invoke
