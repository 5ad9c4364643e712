"""Shared by the checks of chunked messages: what each chunk that reached a consumer did to its message.

Judged by the table of `_assembly`: the incomplete messages of a session, and the effect of each arriving chunk.
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
"""Incomplete messages a consumer keeps where neither Case nor client sets a number; beyond it the oldest is dropped."""


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
    """The chunks of its message that were held when it arrived."""

    @property
    def key(self) -> tuple[int, str]:
        """Session and uuid of the message."""
        return (self.session.request.seq, self.meta.uuid or "")


Story = tuple[str, tuple[Event, ...]]
"""Text that continues a sentence, and the events it refers to."""


class ChunkedCheck(ConsumerCheck):
    """Consumers of chunked messages: assembles chunks as the table says, and expects whole messages to be received."""

    needs = (Trait.CHUNK,)

    def start(self) -> None:
        self._assemblies: dict[int, Assembly] = {}
        """SUBSCRIBE -> what its session holds."""
        self._newest: dict[tuple[int, str], Assembly] = {}
        """Consumer handle and topic -> the assembly of its last session there."""
        self._chunk_entries: dict[Entry, set[Entry]] = {}
        self._began_ns: dict[tuple[int, str], int] = {}
        """Session and uuid -> when the first chunk of the message arrived."""
        self._acked_by_call: set[tuple[int, Entry]] = set()
        self._acked_up_to: dict[tuple[int, str], Entry] = {}
        self.handover = Handover(self.view)

    def arrived(self, arrival: Arrival) -> None:
        """Called for each intact chunk that reached a consumer."""

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
            self._chunk_entries.setdefault(entry, set()).update((*before, entry))
        if arrival.fate is ChunkFate.COMPLETE and event.members and not self._may_have_expired(arrival):
            self.handover.offer(session, event)
        self.arrived(arrival)

    def _may_have_expired(self, arrival: Arrival) -> bool:
        """Whether its chunks took so long that the client may have dropped the message."""
        expiry_ns = self.expiry_ns(arrival.consumer)
        began_ns = self._began_ns.get(arrival.key, arrival.frame.t_ns)
        return 0 < expiry_ns <= arrival.frame.t_ns - began_ns + EARLY_NS

    def expiry_ns(self, consumer: OpenedConsumer) -> int:
        """Return how long an incomplete message is kept; 0 means without a limit."""
        return (number_in_force(self.view, consumer, "expire_incomplete_chunked_ms") or 0) * MS

    @on(Frame, "REDELIVER_UNACKNOWLEDGED_MESSAGES")
    def everything_again(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is not None and session.consumer is not None and from_client(event) and not event.ids:
            self.assembly(session).everything_again()
            self.handover.asked_again(session, event)

    def assembly(self, session: ConsumerSession) -> Assembly:
        """Return what a session's consumer holds; at first, what the session before left."""
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
        self._acked_by_call.update((call.consumer.handle, entry) for entry in self.chunks_of(call))
        if call.cumulative:
            place = (call.consumer.handle, call.entry.topic)
            self._acked_up_to[place] = max(self._acked_up_to.get(place, call.entry), call.entry)

    def chunks_of(self, call: Call) -> set[Entry]:
        """Return all chunks that arrived of the message that a call names."""
        return self._chunk_entries.get(call.entry, set()) | {call.entry}

    def may_be_acked(self, consumer: OpenedConsumer, entry: Entry) -> bool:
        """Whether its message may be acknowledged, by the application or to dead-letter it: the application may have
        received an earlier delivery of a message that is incomplete again."""
        reached = self._acked_up_to.get((consumer.handle, entry.topic))
        named = (consumer.handle, entry) in self._acked_by_call or (reached is not None and entry <= reached)
        return named or buries(self.view, consumer)

    def overflowed(self, session: ConsumerSession) -> bool:
        """Whether there were more incomplete messages than the consumer keeps: which it dropped is its own choice."""
        assert session.consumer is not None
        limit = number_in_force(self.view, session.consumer, "max_pending_chunked_messages")
        return self.assembly(session).most > (DEFAULT_MAX_PENDING if limit is None else limit or 1 << 30)

    def taken(self, event: Received) -> tuple[OpenedConsumer | None, Entry | None]:
        """Return the consumer and the entry of a delivery, and mark it as received."""
        consumer = self.tracker.opened_consumers.get(event.handle)
        if consumer is None:
            return None, None
        self.handover.received(consumer, event)
        return consumer, self.tracker.entries.get(event.seq)

    def not_delivered(self, event: Completion) -> None:
        """Report a receive that ended with too few messages although a whole message had arrived."""
        operation = self.tracker.operations.get(event.op)
        if operation is None:
            return
        for offer in self.handover.withheld(operation):
            past = self.story(event.handle or 0, offer.entry)
            if past is None or self.overflowed(offer.session):
                continue
            text, causes = past
            self.suspect(
                "answer",
                offer.frame.t_ns,
                event.t_ns,
                "not-delivered",
                f"the last chunk of a whole message arrived at consumer {event.handle} as {offer.entry} at "
                f"{ms(offer.frame.t_ns)}{text}; expected the message to be received; a receive ended without it at "
                f"{ms(event.t_ns)}",
                *causes,
                offer.frame,
                event,
            )

    def story(self, handle: int, entry: Entry) -> Story | None:
        """Return what had happened to a message that was not received; None where another requirement judges it."""
        raise NotImplementedError
