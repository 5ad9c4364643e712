"""A MESSAGE that cannot be read costs that message only: reported with its reason, its permit back, nothing else lost.

What makes a message unreadable differs from clause to clause; what a client owes then does not.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import (
    ConsumerCheck,
    entry_on,
    from_client,
    late,
    plain_acks,
    to_client,
)
from assay_conformance.checks.leaving import LeavingCheck
from assay_conformance.checks.tracker import ConsumerSession, Entry
from assay_conformance.model.event import AgentEnded, Closed, Event, Fate, Fired, Frame, Received
from assay_conformance.pulsar.timeline.permits import queue_of


@dataclass(slots=True)
class _Unreadable:
    """`reason` is what the client has to name in its ACK."""

    session: ConsumerSession
    frame: Frame
    entry: Entry
    reason: str
    messages: int
    reported: bool = False
    delivered: int = 0

    @property
    def handed(self) -> int:
        """How many of its messages left the client's queue: one that it takes for good lies there until it is taken."""
        return self.messages if self.reported else min(self.delivered, self.messages)


@dataclass(slots=True)
class _Permits:
    """What one session granted, and what came for it. `handed` are the readable ones that left the client's queue."""

    granted: int = 0
    dispatched: int = 0
    handed: int = 0
    last_ns: int = 0


class Discarding(ConsumerCheck, LeavingCheck):
    """A message that cannot be read is not delivered; an ACK says why, its permit comes back, and the connection goes
    on.

    A permit that never comes back shows when none is left: everything granted was used, the application took all that
    came, and nothing more is asked for. Consumers of several topics or partitions share a queue among them in ways of
    their own, so of those the permits are not judged.
    """

    state: ClassVar[str]
    """What such a message is, in one word, for codes and sentences."""
    how: ClassVar[str]
    """How it had come, as the rest of a sentence."""

    @abstractmethod
    def reason(self, event: Frame) -> str | None:
        """The validation error that this MESSAGE calls for; None when it can be read."""

    def start(self) -> None:
        self._unreadable: list[_Unreadable] = []
        self._intact: dict[tuple[int, Entry], int] = {}
        self._delivered: dict[tuple[int, Entry], int] = {}
        self._permits: dict[int, _Permits] = {}

    @on(Frame, "MESSAGE")
    def message(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is None or session.consumer is None or not to_client(event):
            return
        if session.ready is None:
            return  # Held back from an earlier session: no consumer is attached yet that could take it.
        entry = entry_on(session, event.ids[0])
        permits = self._permits.setdefault(session.request.seq, _Permits())
        # How many messages a damaged entry holds, its own metadata says: a client that returns one permit is right.
        count = event.messages if event.intact else 1
        permits.dispatched += count
        permits.last_ns = event.t_ns
        reason = self.reason(event)
        if reason is not None:
            self._unreadable.append(_Unreadable(session, event, entry, reason, count))
        else:
            self.came_beside(event, Fate.ALTERED)
            key = (session.consumer.handle, entry)
            self._intact[key] = self._intact.get(key, 0) + count

    @on(Received)
    def received(self, event: Received) -> None:
        consumer = self.tracker.opened_consumers.get(event.handle)
        entry = None if consumer is None else self.tracker.entries.get(event.seq)
        if consumer is None or entry is None:
            return
        key = (event.handle, entry)
        count = self._delivered[key] = self._delivered.get(key, 0) + 1
        unreadable = next((d for d in self._unreadable if d.session.consumer is consumer and d.entry == entry), None)
        if unreadable is not None and count > self._intact.get(key, 0):
            unreadable.delivered += 1
            self.breach(
                f"{self.state}-delivered",
                f"consumer {event.handle} received {entry} at {ms(event.t_ns)}, which had come at "
                f"{ms(unreadable.frame.t_ns)} {self.how}; expected it to be discarded",
                unreadable.frame,
                event,
            )
        elif (session := consumer.latest.get(entry.topic)) is not None:
            self._permits.setdefault(session.request.seq, _Permits()).handed += 1

    @on(Frame, "FLOW")
    def flow(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is not None and from_client(event):
            self._permits.setdefault(session.request.seq, _Permits()).granted += event.permits or 0

    @on(Frame, "ACK")
    def ack(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is None or not from_client(event) or not self._unreadable or event.ack_type == "Cumulative":
            return
        entries = {entry_on(session, id) for id in event.ids}
        for unreadable in self._unreadable:
            if unreadable.session is session and unreadable.entry in entries and not unreadable.reported:
                unreadable.reported = True
                self._judge(unreadable, event)

    def _judge(self, unreadable: _Unreadable, event: Frame) -> None:
        reported = event.fields.get("validation_error")
        assert unreadable.session.consumer is not None
        handle = unreadable.session.consumer.handle
        if reported == unreadable.reason:
            self.exercise(event)
        elif plain_acks(event) and self._intact.get((handle, unreadable.entry)):
            unreadable.reported = False  # It also arrived intact, and this acknowledges that copy.
        elif plain_acks(event) and self._delivered.get((handle, unreadable.entry)):
            return  # The application received it, which is reported already, and acknowledges it.
        else:
            self.breach(
                "wrong-report",
                f"consumer {handle} got {unreadable.entry} {self.state} at {ms(unreadable.frame.t_ns)}; expected an "
                f"ACK with validation_error {unreadable.reason}; the ACK at {ms(event.t_ns)} has {reported or 'none'}",
                unreadable.frame,
                event,
            )

    @on(Fired)
    def fired(self, event: Fired) -> None:
        if event.conn is not None and event.action != "corrupt":
            self.reasons_to_leave.add(event.conn)

    def over(self, session: ConsumerSession, event: Event) -> None:
        mine = [unreadable for unreadable in self._unreadable if unreadable.session is session]
        self._unreadable = [unreadable for unreadable in self._unreadable if unreadable.session is not session]
        if mine and isinstance(event, Closed):
            self._closed_over(mine[-1], event)
        if not mine or isinstance(event, Closed | AgentEnded) or session.consumer is None:
            return
        for unreadable in mine:
            if not unreadable.reported and late("answer", unreadable.frame.t_ns, event.t_ns):
                self.suspect(
                    "answer",
                    unreadable.frame.t_ns,
                    event.t_ns,
                    "not-reported",
                    f"consumer {session.consumer.handle} got {unreadable.entry} {self.state} at "
                    f"{ms(unreadable.frame.t_ns)}; expected an ACK with validation_error {unreadable.reason}; none had "
                    f"left by {ms(event.t_ns)}",
                    unreadable.frame,
                    event,
                )
        self._permits_back(session, mine, event)

    def _closed_over(self, unreadable: _Unreadable, event: Closed) -> None:
        if not late("answer", unreadable.frame.t_ns, event.t_ns) and self.was_left(event):
            self.breach(
                "connection-closed",
                f"a {self.state} message ({unreadable.entry}) came over connection {event.conn} at "
                f"{ms(unreadable.frame.t_ns)}; expected the client to go on without that message; it closed the "
                f"connection at {ms(event.t_ns)}",
                unreadable.frame,
                event,
            )

    def _permits_back(self, session: ConsumerSession, mine: list[_Unreadable], event: Event) -> None:
        permits = self._permits[session.request.seq]
        assert session.consumer is not None
        queue = queue_of(self.view, session)
        handed = permits.handed + sum(unreadable.handed for unreadable in mine)
        starved = permits.granted <= permits.dispatched <= handed
        if queue and permits.granted and starved and late("answer", permits.last_ns, event.t_ns):
            self.suspect(
                "answer",
                permits.last_ns,
                event.t_ns,
                "permit-not-returned",
                f"consumer {session.consumer.handle} granted {permits.granted} permits, which {permits.dispatched} "
                f"messages used up by {ms(permits.last_ns)}, {self.state} ones among them; it granted no more until "
                f"{ms(event.t_ns)} although its queue was empty",
                mine[-1].frame,
                event,
            )
