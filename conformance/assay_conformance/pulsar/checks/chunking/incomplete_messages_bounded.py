"""chunking.incomplete-messages-bounded"""

from __future__ import annotations

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import in_force, number_in_force
from assay_conformance.model.event import Frame, Received
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.chunking._acked_chunks import Place
from assay_conformance.pulsar.checks.chunking._assembly import ChunkFate
from assay_conformance.pulsar.checks.chunking._chunked import DEFAULT_MAX_PENDING, Arrival
from assay_conformance.pulsar.checks.chunking._given_up import GivenUp, GivingUp


class IncompleteMessagesBounded(GivingUp):
    """Beyond the configured number of incomplete messages the oldest is dropped: acknowledged where that is configured,
    otherwise left to the broker.

    A message of which a chunk comes twice may start over or go on; a client that dropped it has room for another one,
    so it does not count for older ones. What one connection began may be held over the next.
    """

    requirement = RequirementId("chunking.incomplete-messages-bounded")
    left_code = "dropped-not-acked"
    acked_code = "dropped-acked"

    def start(self) -> None:
        super().start()
        self._dropped: dict[int, dict[str, Frame]] = {}
        self._order: dict[int, list[str]] = {}
        self._dropped_whole: dict[Place, tuple[Frame, Arrival]] = {}
        self._begun: dict[tuple[int, str], set[str]] = {}
        """Consumer handle and topic -> messages begun there, on any connection, that may be incomplete."""
        self._doubted: dict[tuple[int, str], set[str]] = {}
        """Those of them that the consumer need not hold."""

    def arrived(self, arrival: Arrival) -> None:
        session, uuid = arrival.session.request.seq, arrival.meta.uuid or ""
        order, dropped = self._order.setdefault(session, []), self._dropped.setdefault(session, {})
        self._doubt(arrival, uuid)
        if arrival.fate in (ChunkFate.STARTED, ChunkFate.RESTARTED):
            dropped.pop(uuid, None)
            if uuid in order:
                order.remove(uuid)
            order.append(uuid)
            self._make_room(arrival, order, dropped)
        elif uuid in dropped:
            if arrival.fate is ChunkFate.COMPLETE:
                self._dropped_whole[arrival.consumer.handle, arrival.entry] = (dropped.pop(uuid), arrival)
        elif arrival.fate in (ChunkFate.COMPLETE, ChunkFate.GAP, ChunkFate.UNSURE) and uuid in order:
            order.remove(uuid)
            # It was dropped, came again with all its chunks, and there was room this time.
            self._dropped_whole.pop((arrival.consumer.handle, arrival.entry), None)

    def _doubt(self, arrival: Arrival, uuid: str) -> None:
        place = (arrival.consumer.handle, arrival.session.topic)
        begun, doubted = self._begun.setdefault(place, set()), self._doubted.setdefault(place, set())
        if arrival.fate in (ChunkFate.STARTED, ChunkFate.RESTARTED):
            if uuid in begun:
                doubted.add(uuid)
            begun.add(uuid)
        elif arrival.fate in (ChunkFate.REPEATED, ChunkFate.REDELIVERED, ChunkFate.UNSURE):
            doubted.add(uuid)
        elif arrival.fate is ChunkFate.COMPLETE or (arrival.fate is ChunkFate.GAP and arrival.before):
            begun.discard(uuid)
            doubted.discard(uuid)

    def _make_room(self, arrival: Arrival, order: list[str], dropped: dict[str, Frame]) -> None:
        limit = number_in_force(self.view, arrival.consumer, "max_pending_chunked_messages")
        limit = DEFAULT_MAX_PENDING if limit is None else limit
        if not limit:
            return
        doubted = self._doubted[arrival.consumer.handle, arrival.session.topic]
        while sum(uuid not in doubted for uuid in order[1:]) >= limit:
            oldest = order.pop(0)
            dropped[oldest] = arrival.frame
            if oldest not in doubted:
                entries = tuple(self.assembly(arrival.session).held.get(oldest, ()))
                to_ack = bool(in_force(self.view, arrival.consumer, "auto_ack_oldest_chunked"))
                self.give_up(arrival, entries, to_ack=to_ack)
        # A consumer that holds messages in doubt has dropped these.
        doubted.update(order[:-limit])

    def why(self, given_up: GivenUp) -> str:
        return f"it was dropped with its message, the oldest, when another one began at {ms(given_up.because.t_ns)}"

    @on(Received)
    def received(self, event: Received) -> None:
        consumer, entry = self.taken(event)
        if consumer is None or entry is None or (consumer.handle, entry) not in self._dropped_whole:
            return
        because, arrival = self._dropped_whole.pop((consumer.handle, entry))
        self.breach(
            "kept-beyond-limit",
            f"consumer {consumer.handle} received {entry} at {ms(event.t_ns)}; expected it to be dropped at "
            f"{ms(because.t_ns)}, since at most {number_in_force(self.view, consumer, 'max_pending_chunked_messages')} "
            "incomplete messages are kept",
            because,
            arrival.frame,
            event,
        )
