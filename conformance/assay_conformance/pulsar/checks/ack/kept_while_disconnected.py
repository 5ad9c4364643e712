"""ack.kept-while-disconnected"""

from __future__ import annotations

from dataclasses import dataclass

from assay_conformance.checks.base import ms
from assay_conformance.checks.consumption import acked_entries, entry_on, late, number_in_force, of_batch
from assay_conformance.checks.tolerance import MS, TOLERANCES
from assay_conformance.checks.tracker import Call, ConsumerSession, Entry, OpenedConsumer
from assay_conformance.checks.written import AckCheck, Written
from assay_conformance.model.event import Closed, ClosedBy, Event, Frame
from assay_conformance.model.requirement import RequirementId


@dataclass(slots=True)
class _Owed:
    """An ack asked for while away. `taken`: the client said so."""

    call: Call
    lost: Event
    taken: bool = False


class KeptWhileDisconnected(AckCheck):
    """Obligation: an ack asked for when the client must have known that its consumer had no connection.

    An ACK that is written before the new subscription was admitted is no use: the broker knows no such consumer yet.
    """

    requirement = RequirementId("ack.kept-while-disconnected")
    skips_plain = True

    def start(self) -> None:
        self._owed: dict[tuple[int, Entry], _Owed] = {}
        self._settled: set[tuple[int, Entry]] = set()
        self._reached: dict[tuple[int, str], Entry] = {}

    def asked(self, call: Call) -> None:
        if call.invoke.verb != "ack" or of_batch(call.message.message_id) or call.consumer.closing is not None:
            return
        lost = None if self._is_repeated(call) else self._lost_for(call)
        if lost is not None:
            self._owed.setdefault((call.consumer.handle, call.entry), _Owed(call, lost))

    def called(self, call: Call) -> None:
        owed = self._owed.get((call.consumer.handle, call.entry))
        if owed is not None and owed.call.operation is call.operation:
            owed.taken = True

    def _is_repeated(self, call: Call) -> bool:
        """It says nothing that an earlier one had not said: it need not be sent."""
        key, place = (call.consumer.handle, call.entry), (call.consumer.handle, call.entry.topic)
        reached = self._reached.get(place)
        repeated = key in self._settled or (reached is not None and call.entry <= reached)
        self._settled.add(key)
        if call.cumulative:
            self._reached[place] = max(reached or call.entry, call.entry)
        return repeated

    def _lost_for(self, call: Call) -> Event | None:
        """What ended the session the message came on, when the client has noticed and is not back yet."""
        live = call.consumer.live_on(call.entry.topic)
        if live is not None and live.ready is not None:
            return None
        sessions = [session for session in call.consumer.sessions if session.topic == call.entry.topic]
        before = [session for session in sessions if session.request.seq < call.message.seq]
        if not before or any(session.ended is None and session.ready is not None for session in sessions):
            return None
        ends = [session.ended for session in sessions if session.ended is not None]
        if before[-1].ended is None or call.invoke.t_ns < ends[-1].t_ns + TOLERANCES["notice"].slack_ns:
            return None
        return ends[-1]

    def acked(self, ack: Written) -> None:
        consumer, session, event = ack
        if session.ready is None or not self._owed or not event.ids:
            return
        handle = consumer.handle
        acked = set(acked_entries(session, event))
        reached = entry_on(session, event.ids[0]) if event.ack_type == "Cumulative" else None
        for key in [key for key in self._owed if key[0] == handle and key[1].topic == session.topic]:
            if key[1] in acked or (reached is not None and key[1] <= reached):
                del self._owed[key]
                self.exercise(event)

    def closing(self, consumer: OpenedConsumer, event: Event) -> None:
        for session in reversed(consumer.sessions):
            if session.ended is None:
                self.over(session, event)
            self._drop(consumer, session.topic)

    def over(self, session: ConsumerSession, event: Event) -> None:
        consumer, ready = session.consumer, session.ready
        if consumer is None:
            return
        interval_ms = number_in_force(self.view, consumer, "ack_group_ms")
        if ready is None or interval_ms is None:
            return
        overdue = late("ack-flush", ready.t_ns + interval_ms * MS, event.t_ns)
        for (handle, entry), owed in self._owed.items():
            if overdue and owed.taken and handle == consumer.handle and entry.topic == session.topic:
                self._lost(owed, ready, event)
        if overdue or _hides_acks(event) or (isinstance(event, Frame) and event.command in ("SEEK", "UNSUBSCRIBE")):
            self._drop(consumer, session.topic)

    def _lost(self, owed: _Owed, ready: Frame, event: Event) -> None:
        call = owed.call
        self.suspect(
            "ack-flush",
            owed.lost.t_ns,
            event.t_ns,
            "lost-while-away",
            f"consumer {call.consumer.handle} lost its connection at {ms(owed.lost.t_ns)} and took an ack of "
            f"{call.entry} at {ms(call.invoke.t_ns)}; it was subscribed again at {ms(ready.t_ns)} and had sent no ACK "
            f"of it by {ms(event.t_ns)}",
            call.invoke,
            ready,
            event,
        )

    def _drop(self, consumer: OpenedConsumer, topic: str) -> None:
        for key in [key for key in self._owed if key[0] == consumer.handle and key[1].topic == topic]:
            del self._owed[key]


def _hides_acks(event: Event) -> bool:
    """Whether an ACK that was sent on a session that ends so may have been lost before anybody saw it."""
    return isinstance(event, Closed) and event.by is not ClosedBy.CLIENT
