"""What checks of chunked messages have in common: what each chunk that reached a consumer did to its message.

Judged against the table of `_assembly`: a session's incomplete messages, and what each arriving chunk does to them.
"""

from __future__ import annotations

from dataclasses import dataclass

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import (
    ConsumerCheck,
    buries,
    entry_on,
    from_client,
    number_in_force,
    to_client,
)
from assay_conformance.checks.handover import Handover
from assay_conformance.checks.occasions import Trait
from assay_conformance.checks.tolerance import MS, TOLERANCES
from assay_conformance.checks.tracker import Call, ConsumerSession, Entry, OpenedConsumer
from assay_conformance.model.event import Completion, Event, Frame, Meta, Received
from assay_conformance.pulsar.checks.chunking._assembly import Assembly, ChunkFate

EARLY_NS = TOLERANCES["time-out-early"].slack_ns

DEFAULT_MAX_PENDING = 10
"""Incomplete messages a consumer keeps where neither Case nor client says; beyond, the oldest is dropped."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """An intact chunk that reached a consumer, and what it did to its message."""

    session: ConsumerSession
    consumer: OpenedConsumer
    frame: Frame
    meta: Meta
    entry: Entry
    fate: ChunkFate
    before: tuple[Entry, ...] = ()
    """The chunks of its message that were held when it came."""

    @property
    def key(self) -> tuple[int, str]:
        """The message, on this session."""
        return (self.session.request.seq, self.meta.uuid or "")


Story = tuple[str, tuple[Event, ...]]
"""Words to continue a sentence with, and the events they tell of."""


class ChunkedCheck(ConsumerCheck):
    """Consumers that get chunks: assembles each session's as the table says, and offers whole messages."""

    needs = (Trait.CHUNK,)

    def start(self) -> None:
        self._assemblies: dict[int, Assembly] = {}
        """SUBSCRIBE -> what its session holds."""
        self._newest: dict[tuple[int, str], Assembly] = {}
        """Consumer handle and topic -> that of its last session there."""
        self._pieces: dict[Entry, set[Entry]] = {}
        self._began_ns: dict[tuple[int, str], int] = {}
        """Session and uuid -> when the first chunk of the message came."""
        self._named: set[tuple[int, Entry]] = set()
        self._named_to: dict[tuple[int, str], Entry] = {}
        self.handover = Handover(self.view)

    def arrived(self, arrival: Arrival) -> None:
        """An intact chunk reached a consumer."""

    @on(Frame, "MESSAGE")
    def message(self, event: Frame) -> None:
        meta, session = event.meta, self.tracker.consumer_of(event)
        if meta is None or meta.chunk_id is None or session is None or not to_client(event) or event.intact is False:
            return
        consumer = session.consumer
        if consumer is None:
            return
        entry = entry_on(session, event.ids[0])
        before = self.assembly(session).of(meta.uuid or "")
        arrival = Arrival(session, consumer, event, meta, entry, self.assembly(session).add(meta, entry), before)
        if arrival.fate in (ChunkFate.STARTED, ChunkFate.RESTARTED):
            self._began_ns[arrival.key] = event.t_ns
        elif arrival.fate in (ChunkFate.COMPLETE, ChunkFate.UNSURE):
            self._pieces.setdefault(entry, set()).update((*before, entry))
        if arrival.fate is ChunkFate.COMPLETE and event.members and not self._may_be_given_up(arrival):
            self.handover.offer(session, event)
        self.arrived(arrival)

    def _may_be_given_up(self, arrival: Arrival) -> bool:
        """Its chunks took so long that the client need not have them any more."""
        expiry_ns = self.expiry_ns(arrival.consumer)
        began_ns = self._began_ns.get(arrival.key, arrival.frame.t_ns)
        return 0 < expiry_ns <= arrival.frame.t_ns - began_ns + EARLY_NS

    def expiry_ns(self, consumer: OpenedConsumer) -> int:
        """How long an incomplete message is kept; 0 for ever."""
        return (number_in_force(self.view, consumer, "expire_incomplete_chunked_ms") or 0) * MS

    @on(Frame, "REDELIVER_UNACKNOWLEDGED_MESSAGES")
    def everything_again(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is not None and session.consumer is not None and from_client(event) and not event.ids:
            self.assembly(session).everything_again()
            self.handover.asked_again(session, event)

    def assembly(self, session: ConsumerSession) -> Assembly:
        """What a session's consumer holds; at first, what its session before left it."""
        assert session.consumer is not None
        assembly = self._assemblies.get(session.request.seq)
        if assembly is None:
            place = (session.consumer.handle, session.topic)
            before = self._newest.get(place)
            assembly = Assembly() if before is None else before.carried_over()
            self._assemblies[session.request.seq] = self._newest[place] = assembly
        return assembly

    def asked(self, call: Call) -> None:
        if call.invoke.verb != "ack":
            return
        self._named.update((call.consumer.handle, entry) for entry in self.chunks_of(call))
        if call.cumulative:
            place = (call.consumer.handle, call.entry.topic)
            self._named_to[place] = max(self._named_to.get(place, call.entry), call.entry)

    def chunks_of(self, call: Call) -> set[Entry]:
        """All chunks, as far as they came, of the message that a call names."""
        return self._pieces.get(call.entry, set()) | {call.entry}

    def is_asked_for(self, consumer: OpenedConsumer, entry: Entry) -> bool:
        """Whether its message may be acknowledged, for a letter or by the application: that may have an older delivery
        of one that is on its way again, and incomplete."""
        reached = self._named_to.get((consumer.handle, entry.topic))
        named = (consumer.handle, entry) in self._named or (reached is not None and entry <= reached)
        return named or buries(self.view, consumer)

    def overflowed(self, session: ConsumerSession) -> bool:
        """More incomplete messages than the consumer keeps: which of them it dropped is its own choice."""
        assert session.consumer is not None
        limit = number_in_force(self.view, session.consumer, "max_pending_chunked_messages")
        return self.assembly(session).most > (DEFAULT_MAX_PENDING if limit is None else limit or 1 << 30)

    def taken(self, event: Received) -> tuple[OpenedConsumer | None, Entry | None]:
        """Whose delivery it is, and of which entry; the offer it takes up is gone."""
        consumer = self.tracker.opened_consumers.get(event.handle)
        if consumer is None:
            return None, None
        self.handover.received(consumer, event)
        return consumer, self.tracker.entries.get(event.seq)

    def not_delivered(self, event: Completion) -> None:
        """A receive that ended short, although a whole message had been there."""
        operation = self.tracker.operations.get(event.op)
        if operation is None:
            return
        for offer in self.handover.withheld(operation):
            past = self.story(event.handle or 0, offer.entry)
            if past is None or self.overflowed(offer.session):
                continue
            words, causes = past
            self.suspect(
                "answer",
                offer.frame.t_ns,
                event.t_ns,
                "not-delivered",
                f"the last chunk of a whole message came to consumer {event.handle} as {offer.entry} at "
                f"{ms(offer.frame.t_ns)}{words}; the message had not been handed over by {ms(event.t_ns)}, when a "
                "receive ended short",
                *causes,
                offer.frame,
                event,
            )

    def story(self, handle: int, entry: Entry) -> Story | None:
        """What had happened to a message that is withheld; None when that is not this requirement's matter."""
        raise NotImplementedError
