"""nack.acked-not-redelivered"""

from __future__ import annotations

from dataclasses import dataclass

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import (
    ConsumerCheck,
    EntryKey,
    acked_entries,
    elapsed,
    entry_on,
    of_batch,
    plain_acks,
)
from assay_conformance.checks.tracker import Call, ConsumerSession
from assay_conformance.checks.written import REDELIVER, Request
from assay_conformance.model.event import Closed, ClosedBy, Completion, Event, Frame, Invoke, Received
from assay_conformance.model.fault import Direction
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.nack._windows import window_of


@dataclass(slots=True)
class _Settled:
    """Refused, then acknowledged. `allowed` deliveries were under way when the ACK reached the broker.

    `judged`: exercised already, or not to be, since redelivery had been asked for before.
    """

    nack: Call
    ack: Call
    arrived: Frame | None = None
    dispatch: Frame | None = None
    allowed: int = 0
    judged: bool = False


class AckedNotRedelivered(ConsumerCheck):
    """Refused, acknowledged before the delay was over: the application must not see it again.

    The REDELIVER may still be sent. What the broker had dispatched before the ACK reached it may still arrive, and so
    may what it had been asked for by then.
    """

    requirement = RequirementId("nack.acked-not-redelivered")
    needs = ((Invoke, "nack"),)

    def start(self) -> None:
        self._nacked: dict[EntryKey, Call] = {}
        self._settled: dict[EntryKey, _Settled] = {}
        self._dispatched: dict[EntryKey, int] = {}
        self._received: dict[EntryKey, int] = {}
        self._requested: set[EntryKey] = set()
        self._awaited: set[EntryKey] = set()
        """What the broker was asked for and has not sent since."""

    def asked(self, call: Call) -> None:
        key = (call.consumer.handle, call.entry)
        if of_batch(call.message.message_id) or self.session_of(call) is None:
            return
        if call.invoke.verb == "nack":
            self._nacked.setdefault(key, call)
        elif not call.cumulative and key in self._nacked:
            self._settled.setdefault(key, _Settled(self._nacked[key], call))

    @on(Frame, REDELIVER)
    def redeliver(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is not None and session.consumer is not None and event.at_broker:
            again = set(Request(session.consumer, session, event).asks_for(self._nacked))
            self._requested |= again
            self._awaited |= again

    @on(Frame, "ACK")
    def ack(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is None or session.consumer is None or not event.at_broker or not plain_acks(event):
            return
        if session.ended is not None:
            return  # The broker had closed the consumer, and takes no ACK of it any more.
        for entry in acked_entries(session, event) if event.ack_type != "Cumulative" else ():
            key = (session.consumer.handle, entry)
            settled = self._settled.get(key)
            if settled is not None and settled.arrived is None:
                settled.arrived = event
                settled.judged = key in self._requested
                settled.allowed = self._dispatched.get(key, 0) - self._received.get(key, 0) + (key in self._awaited)

    @on(Frame, "MESSAGE")
    def message(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is None or session.consumer is None or event.dir is not Direction.TO_CLIENT:
            return
        key = (session.consumer.handle, entry_on(session, event.ids[0]))
        settled = self._settled.get(key)
        if event.from_sender:
            self._awaited.discard(key)
        if settled is not None and settled.arrived is not None:
            if event.from_sender:
                settled.dispatch = settled.dispatch or event
            elif settled.dispatch is None:
                # A frame held since before the ACK, or a copy of one.
                settled.allowed += 1
        elif event.to_receiver:
            self._dispatched[key] = self._dispatched.get(key, 0) + 1

    @on(Received)
    def received(self, event: Received) -> None:
        consumer = self.tracker.opened_consumers.get(event.handle)
        entry = None if consumer is None else self.tracker.entries.get(event.seq)
        if entry is None:
            return
        key = (event.handle, entry)
        self._received[key] = self._received.get(key, 0) + 1
        settled = self._settled.get(key)
        if settled is None or settled.arrived is None:
            return
        settled.allowed -= 1
        if settled.allowed < 0:
            dispatched = [settled.dispatch] if settled.dispatch is not None else []
            self.breach(
                "redelivered-after-ack",
                f"consumer {event.handle} got {entry} again at {ms(event.t_ns)}; its ACK had reached the broker at "
                f"{ms(settled.arrived.t_ns)}, {elapsed(settled.arrived.t_ns, settled.nack.invoke.t_ns)} after it was "
                "refused",
                settled.arrived,
                *dispatched,
                event,
            )
            del self._settled[key]

    @on(Completion, "receive")
    def receive_ended(self, event: Completion) -> None:
        """A receive that ended short after the delay shows that nothing came."""
        for (handle, _entry), settled in self._settled.items():
            window = window_of(self.view, settled.nack.consumer)
            if handle != event.handle or settled.arrived is None or settled.judged or window is None:
                continue
            if event.t_ns >= settled.nack.invoke.t_ns + window.latest_ns:
                settled.judged = True
                self.exercise(event)

    def over(self, session: ConsumerSession, event: Event) -> None:
        """A seek or an unsubscribe brings acknowledged messages back by intent; and a broker that ends the connection
        may have ended itself, with acknowledgments it had not written."""
        by_intent = isinstance(event, Frame) and event.command in ("SEEK", "UNSUBSCRIBE")
        forgets = isinstance(event, Closed) and event.by is ClosedBy.BROKER
        if session.consumer is not None and (by_intent or forgets):
            for key in [key for key in self._settled if key[0] == session.consumer.handle]:
                del self._settled[key]
