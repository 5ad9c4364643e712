"""Opening a producer or consumer while its broker is not ready, or cannot be reached."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.consumption import from_client, to_client
from assay_conformance.checks.parts import ended_by_client, retry_letter_topic
from assay_conformance.checks.resend import ended_ns
from assay_conformance.checks.tolerance import MS, TOLERANCES
from assay_conformance.model.event import Closed, ClosedBy, Completion, Event, Frame, Invoke, Opened, Outcome
from assay_conformance.model.topic_names import base_topic

_NOT_READY = "ServiceNotReady"
_LOOK_UP = "look-up of "


@dataclass(slots=True)
class Opening:
    """An open_producer or open_consumer that has not ended; `setback` is the last one that no attempt followed."""

    invoke: Invoke
    setback: Event | None = None
    overcome: set[type[Event]] = field(default_factory=set)
    """The kinds of setbacks that an attempt followed."""
    first: dict[str, Frame] = field(default_factory=dict)
    """Topic -> its first PRODUCER or SUBSCRIBE."""
    refused: set[str] = field(default_factory=set)
    """Topics, and look-ups of topics, that got a final error: opening several may fail because of one of them, whatever
    the others get."""
    waits: bool = False
    """The broker has put the producer into a queue, where it may wait without a limit."""


class Openings(Check):
    """A setback is followed by another attempt, unless the operation time-out leaves no room for one.

    To which producer or consumer a look-up or a new connection belongs is unknown: it counts as an attempt of every
    open call that is pending. A connection that ends before its handshake is a setback of the open call that is the
    only one.
    """

    skips_plain = True
    setbacks: ClassVar[type[Event]]
    """The kind of setback that is judged; a setback of another kind replaces one of this kind."""

    def start(self) -> None:
        self._openings: dict[int, Opening] = {}
        """By handle."""
        self._opened: set[int] = set()
        self._connected: set[int] = set()
        self._assumed_setbacks: set[int] = set()
        """Connections whose end is only assumed to be a setback: an open call that succeeded had another connection."""
        self._registrations: dict[tuple[int, int | None], int] = {}
        """(connection, request id) of an unanswered PRODUCER or SUBSCRIBE -> handle."""
        self._topics: dict[tuple[int, int | None], str] = {}
        self._looked_up: dict[tuple[int, int | None], str] = {}
        """(connection, request id) of a look-up -> its topic."""
        self._registered_once: set[tuple[int, str]] = set()
        """Handle and topic that were registered once: if the connection is lost, the open call need not register
        again."""

    @on(Invoke, "open_producer", "open_consumer")
    def open_called(self, event: Invoke) -> None:
        if event.handle is not None:
            self._openings[event.handle] = Opening(event)

    @on(Opened)
    def connecting(self, event: Opened) -> None:
        del event
        self._attempted()

    @on(Frame, "LOOKUP", "PARTITIONED_METADATA")
    def looked_up(self, event: Frame) -> None:
        if from_client(event):
            self._attempted()
            topic = self._looked_up[event.conn, event.request_id] = str(event.fields.get("topic", ""))
            for opening in self._openings.values():
                opening.refused.discard(_LOOK_UP + topic)

    @on(Frame, "LOOKUP_RESPONSE", "PARTITIONED_METADATA_RESPONSE")
    def lookup_answered(self, event: Frame) -> None:
        if not to_client(event):
            return
        topic = self._looked_up.pop((event.conn, event.request_id), "")
        if event.fields.get("response") == "Failed" and event.fields.get("error") != _NOT_READY:
            for opening in self._openings.values():
                opening.refused.add(_LOOK_UP + topic)

    @on(Frame, "PRODUCER")
    def producer(self, event: Frame) -> None:
        if from_client(event):
            self._registered(event, self.tracker.foresight.owners.get(event.seq))

    @on(Frame, "SUBSCRIBE")
    def subscribe(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if from_client(event) and session is not None:
            consumer = session.consumer
            self._registered(event, self._by_retry_letter_topic(session.topic) if consumer is None else consumer.handle)

    def _by_retry_letter_topic(self, topic: str) -> int | None:
        """Return the handle whose retry letter topic this is, where it is the only one that is being opened."""
        base = base_topic(topic)
        consumers = ((handle, self.tracker.opened_consumers.get(handle)) for handle in self._openings)
        letters = {handle: retry_letter_topic(self.view, one) for handle, one in consumers if one is not None}
        found = [handle for handle, full in letters.items() if full and self.tracker.local_topic(full) == base]
        return found[0] if len(found) == 1 else None

    @on(Frame, "CONNECTED")
    def connected(self, event: Frame) -> None:
        if to_client(event):
            self._connected.add(event.conn)

    @on(Frame, "PRODUCER_SUCCESS", "SUCCESS", "ERROR")
    def answered(self, event: Frame) -> None:
        handle = self._registrations.pop((event.conn, event.request_id), None) if to_client(event) else None
        opening = None if handle is None else self._openings.get(handle)
        topic = self._topics.pop((event.conn, event.request_id), "")
        if opening is not None and event.fields.get("producer_ready") is False:
            opening.waits = True
        elif handle is not None and event.command != "ERROR":
            self._registered_once.add((handle, topic))
        if handle is None or event.command != "ERROR" or (handle, topic) in self._registered_once:
            return
        if event.fields.get("error") == _NOT_READY:
            self._set_back(handle, event)
        elif opening is not None:
            opening.refused.add(topic)

    @on(Closed)
    def connection_lost(self, event: Closed) -> None:
        for open_called in [open_called for open_called in self._registrations if open_called[0] == event.conn]:
            handle = self._registrations.pop(open_called)
            if (
                event.by is not ClosedBy.CLIENT
                and (handle, self._topics.pop(open_called, "")) not in self._registered_once
            ):
                self._set_back(handle, event)
        alone = len(self._openings) == 1 and not self._opened
        if alone and event.by is not ClosedBy.CLIENT and event.conn not in self._connected:
            self._set_back(next(iter(self._openings)), event)
            self._assumed_setbacks.add(event.conn)

    @on(Completion, "open_producer", "open_consumer")
    def ended(self, event: Completion) -> None:
        opening = None if event.handle is None else self._openings.pop(event.handle, None)
        if opening is None or event.handle is None or ended_by_client(event):
            return
        if opening.setback is not None and opening.setback.t_ns > ended_ns(event):
            opening.setback = None  # It came after the open call had ended, and before the bench recorded that.
        self._opened.add(event.handle)
        was_none = isinstance(opening.setback, Closed) and opening.setback.conn in self._assumed_setbacks
        if was_none if event.outcome is Outcome.OK else opening.refused:
            return
        if not isinstance(opening.setback, self.setbacks):
            if self._was_overcome(opening):
                self.exercise(event)
            return
        limit_ns = self._limit_ns(event.handle)
        until_ns, slack_ns = opening.invoke.t_ns + limit_ns, TOLERANCES["reconnect"].slack_ns
        # The back-off doubles: in the second half of the time the next attempt may not fit any more.
        if opening.setback.t_ns + max(slack_ns, limit_ns // 2) >= until_ns:
            if self._was_overcome(opening):
                self.exercise(event)
        else:
            self.breach(
                "gave-up" if event.t_ns + slack_ns < until_ns else "waited-in-vain",
                f"{event.verb} of handle {event.handle} met {_what(opening.setback)} at {ms(opening.setback.t_ns)}; "
                f"expected another attempt before {ms(until_ns)}, its operation time-out; there was none, and it ended "
                f"{event.outcome.value} at {ms(event.t_ns)}",
                opening.setback,
                event,
            )

    # --- inside ---

    def _registered(self, event: Frame, handle: int | None) -> None:
        if handle is not None:
            self._registrations[event.conn, event.request_id] = handle
            topic = self._topics[event.conn, event.request_id] = str(event.fields.get("topic", ""))
            if handle in self._openings:
                self._openings[handle].refused.discard(topic)
            self._in_time(handle, event)
        self._attempted()

    def _was_overcome(self, opening: Opening) -> bool:
        return self.setbacks in opening.overcome

    def _in_time(self, handle: int, event: Frame) -> None:
        """Called for each registration of a handle."""

    def _limit_ns(self, handle: int) -> int:
        limit = self.view.client_setting(handle, "operation_timeout_ms")
        return (limit if isinstance(limit, int) else 30_000) * MS

    def _set_back(self, handle: int, event: Event) -> None:
        opening = self._openings.get(handle)
        if opening is not None:
            opening.setback = event

    def _attempted(self) -> None:
        for opening in self._openings.values():
            if opening.setback is not None:
                opening.overcome.add(type(opening.setback))
                opening.setback = None


def _what(setback: Event) -> str:
    return f"the end of connection {setback.conn}" if isinstance(setback, Closed) else _NOT_READY
