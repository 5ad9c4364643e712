"""Chunks that are given up: of one message too many, of one that began anew, and around a gap.

(Of one that expired: `chunk_expiry.py`.)
"""

from __future__ import annotations

from dataclasses import dataclass

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.chunking.assembling import ChunkFate
from assay_conformance.checks.chunking.chunked import DEFAULT_MAX_PENDING, Arrival
from assay_conformance.checks.chunking.settling import IntactCheck, Place, SettlingCheck
from assay_conformance.checks.consumption import in_force, number_in_force
from assay_conformance.checks.tolerance import MS
from assay_conformance.checks.tracker import Call, ConsumerSession, Entry, OpenedConsumer
from assay_conformance.model.event import Event, Frame, Meta, Received
from assay_conformance.model.requirement import RequirementId


@dataclass(slots=True)
class _GivenUp:
    """Chunks of a message that is assembled no more, and the chunk that was the reason."""

    session: ConsumerSession
    consumer: OpenedConsumer
    entries: tuple[Entry, ...]
    because: Frame
    to_ack: bool
    told: bool = False


class _GivingUp(SettlingCheck):
    """Chunks that were given up must be acknowledged in time, or must not be, as the rule of each kind says."""

    acked_code = "acked"
    left_code = "not-acked"

    def start(self) -> None:
        super().start()
        self.given_up: list[_GivenUp] = []

    def give_up(self, arrival: Arrival, entries: tuple[Entry, ...], *, to_ack: bool) -> None:
        self.given_up.append(_GivenUp(arrival.session, arrival.consumer, entries, arrival.frame, to_ack))

    def why(self, given_up: _GivenUp) -> str:
        """Why they were given up, as a clause."""
        raise NotImplementedError

    def may_expire(self, consumer: OpenedConsumer, meta: Meta | None, event: Frame) -> bool:
        """A message so long incomplete is dropped, and its chunks are acknowledged."""
        expiry_ms = self.expiry_ns(consumer) // MS
        began = self.tracker.began
        now_ms = event.t_ns // MS + (began.unix_ms if began is not None else 0)
        return bool(expiry_ms) and meta is not None and meta.publish_time_ms + expiry_ms <= now_ms

    def asked(self, call: Call) -> None:
        """What the application acknowledges itself is settled, whatever came of its chunks."""
        super().asked(call)
        if call.invoke.verb == "ack":
            for given_up in self.given_up:
                named = call.cumulative or not self.chunks_of(call).isdisjoint(given_up.entries)
                if given_up.consumer is call.consumer and named:
                    given_up.told = True

    def settles(self, session: ConsumerSession, entry: Entry, event: Frame) -> None:
        for given_up in self.given_up:
            wrong = not given_up.to_ack and not given_up.told and entry in given_up.entries
            wrong = wrong and not self.is_asked_for(given_up.consumer, entry)
            wrong = wrong and not self.may_expire(given_up.consumer, given_up.because.meta, event)
            if given_up.session is session and wrong and event.seq > given_up.because.seq:
                given_up.told = True
                self.breach(
                    self.acked_code,
                    f"consumer {given_up.consumer.handle} acknowledged chunk {entry} at {ms(event.t_ns)}; "
                    f"{self.why(given_up)}, and nobody has read it: it is lost",
                    given_up.because,
                    event,
                )

    def over(self, session: ConsumerSession, event: Event) -> None:
        mine = [given_up for given_up in self.given_up if given_up.session is session]
        self.given_up = [given_up for given_up in self.given_up if given_up.session is not session]
        for given_up in mine:
            if not given_up.to_ack:
                if not given_up.told:
                    self.exercise(given_up.because)
                continue
            flush_ns = self.flush_ns(given_up.consumer)
            if all(self.settled(session).has(entry) for entry in given_up.entries):
                self.exercise(given_up.because)
            elif flush_ns is not None and not given_up.told:
                self._left(given_up, session, given_up.because.t_ns + flush_ns, event)

    def _left(self, given_up: _GivenUp, session: ConsumerSession, due_ns: int, event: Event) -> None:
        left = self.owed(session, due_ns, event, *given_up.entries)
        if left is not None:
            self.suspect(
                "ack-flush",
                given_up.because.t_ns,
                self.until_ns(due_ns, event),
                self.left_code,
                f"consumer {given_up.consumer.handle}: {self.why(given_up)}; chunk {left} had not been acknowledged by "
                f"{ms(event.t_ns)} and stays in the backlog",
                given_up.because,
                event,
            )


class BoundedBuffer(_GivingUp):
    """Beyond so many incomplete messages the oldest goes: acknowledged where that is configured, else left.

    A message of which a chunk comes twice begins anew or goes on, and that is for others to judge: a client that threw
    it away has room for another one, so it counts for none that is older. What one connection began may be held over
    the next.
    """

    requirement = RequirementId("chunking.incomplete-messages-bounded")
    left_code = "dropped-not-acked"
    acked_code = "dropped-acked"

    def start(self) -> None:
        super().start()
        self._dropped: dict[int, dict[str, Frame]] = {}
        self._order: dict[int, list[str]] = {}
        self._gone: dict[Place, tuple[Frame, Arrival]] = {}
        self._begun: dict[tuple[int, str], set[str]] = {}
        """Consumer handle and topic -> messages begun there, on whichever connection, that may be incomplete."""
        self._doubted: dict[tuple[int, str], set[str]] = {}
        """Those of them that it need not hold."""

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
                self._gone[arrival.consumer.handle, arrival.entry] = (dropped.pop(uuid), arrival)
        elif arrival.fate in (ChunkFate.COMPLETE, ChunkFate.GAP, ChunkFate.UNSURE) and uuid in order:
            order.remove(uuid)
            # What was dropped, came again with all its chunks, and found room this time.
            self._gone.pop((arrival.consumer.handle, arrival.entry), None)

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
        # Who holds what is in doubt has dropped these.
        doubted.update(order[:-limit])

    def why(self, given_up: _GivenUp) -> str:
        return f"it was dropped with its message, the oldest, when another one began at {ms(given_up.because.t_ns)}"

    @on(Received)
    def received(self, event: Received) -> None:
        consumer, entry = self.taken(event)
        if consumer is None or entry is None or (consumer.handle, entry) not in self._gone:
            return
        because, arrival = self._gone.pop((consumer.handle, entry))
        self.breach(
            "kept-beyond-limit",
            f"consumer {consumer.handle} handed {entry} over at {ms(event.t_ns)}, a message it had to drop at "
            f"{ms(because.t_ns)}: it may keep {number_in_force(self.view, consumer, 'max_pending_chunked_messages')} "
            "incomplete ones",
            because,
            arrival.frame,
            event,
        )


class RestartsAtFirstChunk(_GivingUp, IntactCheck):
    """A first chunk that comes under another id begins its message anew, and what was held is acknowledged; under the
    same id it was redelivered, and the rest will be."""

    requirement = RequirementId("chunking.restarts-at-first-chunk")
    left_code = "old-not-acked"
    acked_code = "redelivered-acked"

    def start(self) -> None:
        super().start()
        self._anew: set[tuple[int, str]] = set()

    def what(self) -> str:
        return "those that began anew"

    def arrived(self, arrival: Arrival) -> None:
        if arrival.fate is ChunkFate.RESTARTED and self.overflowed(arrival.session):
            self._anew.discard(arrival.key)  # It may have been dropped for another, and begin for the first time.
        elif arrival.fate is ChunkFate.RESTARTED:
            self._anew.add(arrival.key)
            redelivered = arrival.entry in arrival.before
            if not redelivered:
                self._forgive(arrival)
            # One that expired had nothing left, and what came of it since then it did not hold.
            if redelivered or not self.may_expire(arrival.consumer, arrival.meta, arrival.frame):
                self.give_up(arrival, arrival.before, to_ack=not redelivered)
        elif arrival.fate is ChunkFate.COMPLETE and arrival.key in self._anew:
            self._anew.discard(arrival.key)
            self.watched.setdefault((arrival.consumer.handle, arrival.entry), arrival)
            self._forgive(arrival)
        elif arrival.fate not in (ChunkFate.APPENDED, ChunkFate.COMPLETE):
            self._anew.discard(arrival.key)

    def _forgive(self, arrival: Arrival) -> None:
        """Redelivered chunks belong to the whole message now, or to what began anew, and are settled with it."""
        chunks = {*arrival.before, arrival.entry}
        for given_up in self.given_up:
            if not given_up.to_ack and chunks.intersection(given_up.entries):
                given_up.told = True

    def why(self, given_up: _GivenUp) -> str:
        return f"its message began anew at {ms(given_up.because.t_ns)}"


class GapDiscards(_GivingUp):
    """A chunk behind a gap ends its message, and is left to the broker's redelivery like those before the gap."""

    requirement = RequirementId("chunking.missing-chunk-discards-message")
    acked_code = "gap-acked"

    def arrived(self, arrival: Arrival) -> None:
        if arrival.fate is ChunkFate.GAP:
            if not self.may_expire(arrival.consumer, arrival.meta, arrival.frame):
                self.give_up(arrival, (*arrival.before, arrival.entry), to_ack=False)
        else:
            # What comes again may be assembled after all, and settled with its message.
            for given_up in self.given_up:
                if arrival.entry in given_up.entries:
                    given_up.told = True

    def why(self, given_up: _GivenUp) -> str:
        return f"a chunk of its message was missing at {ms(given_up.because.t_ns)}"
