"""What comes again although its ack is on its way: it is dropped, and its permit returned."""

from __future__ import annotations

from dataclasses import dataclass

from assay_conformance.checks.base import CAME, ms, on
from assay_conformance.checks.consumption import acked_entries, entry_on, from_client, holds_acks, late, of_batch
from assay_conformance.checks.tracker import Call, ConsumerSession, Entry
from assay_conformance.checks.written import AckCheck, Written
from assay_conformance.model.direction import Direction
from assay_conformance.model.event import Event, Frame, Received
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.timeline.permits import queue_of

Key = tuple[int, Entry]


@dataclass(slots=True)
class _Held:
    """An ack. `taken`: the client said so; `again`: its message came once more; `handed`: the application got it then.

    `stale`: earlier copies of the message that the application may still get.
    """

    call: Call
    stale: int
    taken: bool = False
    again: Frame | None = None
    handed: Received | None = None
    certain: bool = False


@dataclass(slots=True)
class _Permits:
    """Of one session. `used`: messages the application got, and those that had to be dropped."""

    granted: int = 0
    dispatched: int = 0
    used: int = 0
    last: Frame | None = None


class GroupedAckFiltersRedelivery(AckCheck):
    """A message was covered by a held ack for certain when the ACK left a good while after it had come again.

    What a cumulative ack covers stays covered when its ACK has left. A permit that never comes back shows when none is
    left: everything granted was used, and nothing more is asked for.
    """

    requirement = RequirementId("ack.grouped-ack-filters-redelivery")
    skips_plain = True

    def start(self) -> None:
        self._held: dict[Key, _Held] = {}
        self._reached: dict[tuple[int, str], Call] = {}
        self._copies: dict[Key, int] = {}
        """How often an entry came that was not handed over yet."""
        self._permits: dict[int, _Permits] = {}

    def asked(self, call: Call) -> None:
        if call.invoke.verb == "ack" and not of_batch(call.message.message_id) and self.session_of(call) is not None:
            key = (call.consumer.handle, call.entry)
            self._held.setdefault(key, _Held(call, self._copies.get(key, 0)))

    def called(self, call: Call) -> None:
        place = (call.consumer.handle, call.entry.topic)
        held = self._held.get((call.consumer.handle, call.entry))
        if held is not None and held.call.operation is call.operation:
            held.taken = True
        seek = call.consumer.last_seek
        sought_since = seek is not None and seek.seq > call.invoke.seq
        if not holds_acks(self.view, call.consumer):
            return
        if not call.cumulative or of_batch(call.message.message_id) or sought_since:
            return
        if place not in self._reached or self._reached[place].entry < call.entry:
            self._reached[place] = call

    @on(Frame, "FLOW")
    def flow(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is not None and from_client(event):
            self._permits_of(session).granted += event.permits or 0

    @on(Frame, "MESSAGE", seen=CAME)
    def message(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is None or session.consumer is None or event.dir is not Direction.TO_CLIENT:
            return
        key = (session.consumer.handle, entry_on(session, event.ids[0]))
        meta = event.meta
        permits = self._permits_of(session)
        permits.dispatched += event.messages
        permits.last = event
        plain = meta is not None and not meta.batch and meta.chunk_id is None and event.intact is not False
        held = self._covering(key) if plain and (self._held or self._reached) else None
        if held is None or held.again is not None:
            self._copies[key] = self._copies.get(key, 0) + 1
            if self._held:
                self._held.pop(key, None)
            return
        held.again = event
        if held.call.cumulative:
            self._settle(session, held, event)

    def _permits_of(self, session: ConsumerSession) -> _Permits:
        permits = self._permits.get(session.request.seq)
        if permits is None:
            permits = self._permits[session.request.seq] = _Permits()
        return permits

    def _covering(self, key: Key) -> _Held | None:
        """The ack, held as far as is known, that covers this entry; a cumulative one covers all before it."""
        reached = self._reached.get((key[0], key[1].topic))
        if reached is not None and key[1] <= reached.entry:
            self._held[key] = _Held(reached, self._copies.get(key, 0), taken=True)
        held = self._held.get(key)
        return held if held is not None and held.taken else None

    @on(Received)
    def received(self, event: Received) -> None:
        entry = self.tracker.entries.get(event.seq)
        consumer = self.tracker.opened_consumers.get(event.handle)
        if entry is None or consumer is None:
            return
        key = (event.handle, entry)
        session = consumer.live_on(entry.topic)
        if session is not None:
            self._permits_of(session).used += 1
        held = self._held.get(key) if self._held else None
        if held is None or held.again is None or held.stale > 0:
            if (copies := self._copies.pop(key, 0)) > 1:
                self._copies[key] = copies - 1
            if held is not None:
                held.stale = max(0, held.stale - 1)
            return
        held.handed = held.handed or event
        if held.certain:
            self._handed_again(held, event)

    def acked(self, ack: Written) -> None:
        consumer, session, event = ack
        for entry in acked_entries(session, event) if event.ack_type != "Cumulative" else ():
            key = (consumer.handle, entry)
            held = self._held.get(key)
            if held is None or held.call.cumulative:
                continue
            if held.again is not None and late("crossing", held.again.t_ns, event.t_ns):
                self._settle(session, held, event)
            else:
                del self._held[key]

    def _settle(self, session: ConsumerSession, held: _Held, event: Event) -> None:
        """From here on it is certain that the message had to be dropped."""
        held.certain = True
        self.exercise(event)
        permits = self._permits_of(session)
        if held.handed is None:
            permits.used += 1
        else:
            self._handed_again(held, held.handed)

    def _handed_again(self, held: _Held, event: Received) -> None:
        assert held.again is not None
        call = held.call
        self.suspect(
            "crossing",
            held.again.t_ns,
            event.t_ns,
            "handed-over-again",
            f"consumer {call.consumer.handle} was told at {ms(call.called_ns)} to acknowledge {call.entry}; "
            f"{held.again.ids[0].name} came again at {ms(held.again.t_ns)} and was handed "
            f"over at {ms(event.t_ns)}, expected it to be dropped",
            call.invoke,
            held.again,
            event,
        )
        self._held.pop((call.consumer.handle, call.entry), None)

    def over(self, session: ConsumerSession, event: Event) -> None:
        consumer = session.consumer
        permits = self._permits.pop(session.request.seq, None)
        if consumer is None:
            return
        dropped = [held for key, held in self._held.items() if key[0] == consumer.handle and held.certain]
        if dropped and permits is not None and isinstance(event, Frame):
            self._permits_back(session, permits, dropped[-1], event)
        for key in [key for key in self._held if key[0] == consumer.handle]:
            del self._held[key]
        if isinstance(event, Frame) and event.command in ("SEEK", "UNSUBSCRIBE"):
            self._reached.pop((consumer.handle, session.topic), None)

    def _permits_back(self, session: ConsumerSession, permits: _Permits, held: _Held, event: Frame) -> None:
        assert session.consumer is not None
        assert held.again is not None
        queue = queue_of(self.view, session)
        starved = 0 < permits.granted <= permits.dispatched <= permits.used
        if queue and starved and permits.last and late("answer", permits.last.t_ns, event.t_ns):
            self.suspect(
                "answer",
                permits.last.t_ns,
                event.t_ns,
                "permit-not-returned",
                f"consumer {session.consumer.handle} granted {permits.granted} permits, which {permits.dispatched} "
                f"messages used up by {ms(permits.last.t_ns)}, one among them that it had to drop; it granted no more "
                f"until {ms(event.t_ns)} although its queue was empty",
                held.again,
                event,
            )
