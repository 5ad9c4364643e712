"""A chunk that comes twice counts once."""

from __future__ import annotations

from dataclasses import dataclass

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import (
    acked_entries,
    entry_on,
    from_client,
    in_force,
    late,
    number_in_force,
    plain_acks,
)
from assay_conformance.checks.tolerance import MS
from assay_conformance.checks.tracker import ConsumerSession, Entry, OpenedConsumer
from assay_conformance.model.event import AgentEnded, Closed, Completion, Event, Frame, Received
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.chunking._assembly import ChunkFate
from assay_conformance.pulsar.checks.chunking._chunked import Arrival, ChunkedCheck, Story


@dataclass(slots=True)
class _Repeat:
    """A chunk that came again while its message was incomplete; `other`: as another entry."""

    session: ConsumerSession
    frame: Frame
    entry: Entry
    other: bool
    began_ns: int
    acked: bool = False


@dataclass(slots=True)
class _Joined:
    """A message that was completed in spite of repeated chunks. `arrived`: how often it came whole."""

    repeats: list[_Repeat]
    frame: Frame
    arrived: int = 1
    delivered: int = 0


class RepeatedChunkDropped(ChunkedCheck):
    """A repeated chunk is dropped. As another entry it was sent twice by the producer, and is acknowledged. As the same
    entry it is a redelivery: an ACK would acknowledge part of a message that the application does not have yet."""

    requirement = RequirementId("chunking.repeated-chunk-dropped")

    def start(self) -> None:
        super().start()
        self._began: dict[tuple[int, str], int] = {}
        """When the first chunk of a message came, in ns."""
        self._repeats: dict[tuple[int, str], list[_Repeat]] = {}
        self._joined: dict[tuple[int, Entry], _Joined] = {}
        self._repeated: list[_Repeat] = []

    def arrived(self, arrival: Arrival) -> None:
        fate, key = arrival.fate, arrival.key
        if fate in (ChunkFate.STARTED, ChunkFate.RESTARTED):
            self._began[key] = arrival.frame.t_ns
        if fate in (ChunkFate.REPEATED, ChunkFate.REDELIVERED):
            began_ns = self._began.get(key, arrival.frame.t_ns)
            repeat = _Repeat(arrival.session, arrival.frame, arrival.entry, fate is ChunkFate.REPEATED, began_ns)
            self._repeats.setdefault(key, []).append(repeat)
            self._repeated.append(repeat)
        elif fate in (ChunkFate.STARTED, ChunkFate.RESTARTED, ChunkFate.GAP, ChunkFate.UNSURE):
            for repeat in self._repeats.pop(key, ()):
                self._repeated.remove(repeat)
        elif fate is ChunkFate.COMPLETE:
            self._complete(arrival, self._repeats.pop(key, []))

    def _complete(self, arrival: Arrival, repeats: list[_Repeat]) -> None:
        place = (arrival.consumer.handle, arrival.entry)
        if place in self._joined:
            self._joined[place].arrived += 1
        elif repeats:
            self._joined[place] = _Joined(repeats, arrival.frame)

    @on(Received)
    def received(self, event: Received) -> None:
        consumer, entry = self.taken(event)
        joined = None if consumer is None or entry is None else self._joined.get((consumer.handle, entry))
        if joined is None:
            return
        joined.delivered += 1
        member = joined.frame.members[0] if joined.frame.members else None
        if joined.delivered > joined.arrived:
            self.breach(
                "delivered-twice",
                f"consumer {event.handle} received {entry} {joined.delivered} times, last at {ms(event.t_ns)}; "
                f"expected {joined.arrived}, since only one of its chunks came twice",
                joined.repeats[0].frame,
                event,
            )
        elif member is not None and event.payload != member.payload:
            self.breach(
                "wrong-content",
                f"consumer {event.handle} received {entry} as {event.size} bytes of digest {event.digest:08x}; "
                f"expected {member.size} bytes of digest {member.digest:08x}, since a chunk that comes twice counts "
                "once",
                joined.repeats[0].frame,
                event,
            )
        else:
            self.exercise(event)

    @on(Frame, "ACK")
    def ack(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if not self._repeated or session is None or session.consumer is None or not from_client(event):
            return
        if event.ack_type == "Cumulative":
            acked = {r.entry for r in self._repeated if event.ids and r.entry <= entry_on(session, event.ids[0])}
        else:
            acked = set(acked_entries(session, event)) if plain_acks(event) else set()
        for repeat in self._repeated:
            if repeat.session is session and repeat.entry in acked and not repeat.acked:
                repeat.acked = True
                if not repeat.other and self._is_premature(session.consumer, repeat, event):
                    self.breach(
                        "redelivery-acked",
                        f"consumer {session.consumer.handle} acknowledged chunk {repeat.entry} at {ms(event.t_ns)}, "
                        f"which had come again at {ms(repeat.frame.t_ns)} as the same entry; expected no ACK before "
                        "the application acknowledges its message",
                        repeat.frame,
                        event,
                    )

    def _is_premature(self, consumer: OpenedConsumer, repeat: _Repeat, ack: Frame) -> bool:
        expiry_ns = self.expiry_ns(consumer)
        if expiry_ns and ack.t_ns - repeat.began_ns >= expiry_ns:
            return False  # The message was dropped, and its chunks with it.
        if self.overflowed(repeat.session) or in_force(self.view, consumer, "auto_ack_oldest_chunked"):
            return False
        whole = [entry for (_, entry), joined in self._joined.items() if repeat in joined.repeats]
        return not any(self.may_be_acked(consumer, entry) for entry in (repeat.entry, *whole))

    @on(Completion, "receive")
    def receive_ended(self, event: Completion) -> None:
        self.not_delivered(event)

    def story(self, handle: int, entry: Entry) -> Story | None:
        joined = self._joined.get((handle, entry))
        if joined is None:
            return None
        repeat = joined.repeats[0]
        return f", after another chunk of it had come again as {repeat.entry} at {ms(repeat.frame.t_ns)}", (
            repeat.frame,
        )

    def _delivered(self, repeat: _Repeat) -> bool:
        """Whether its message was received: if it was lost because of the repeat, the loss is reported instead."""
        return any(repeat in joined.repeats and joined.delivered for joined in self._joined.values())

    def over(self, session: ConsumerSession, event: Event) -> None:
        mine = [repeat for repeat in self._repeated if repeat.session is session]
        self._repeated = [repeat for repeat in self._repeated if repeat.session is not session]
        consumer = session.consumer
        interval_ms = None if consumer is None else number_in_force(self.view, consumer, "ack_group_ms")
        if consumer is None or interval_ms is None or isinstance(event, Closed | AgentEnded):
            return
        for repeat in mine:
            due_ns = repeat.frame.t_ns + interval_ms * MS
            overdue = late("ack-flush", due_ns, event.t_ns)
            if repeat.other and not repeat.acked and overdue and self._delivered(repeat):
                self.suspect(
                    "ack-flush",
                    repeat.frame.t_ns,
                    event.t_ns,
                    "repeat-not-acked",
                    f"consumer {consumer.handle} got a chunk again as {repeat.entry} at {ms(repeat.frame.t_ns)}, sent "
                    "twice by its producer; expected it to be acknowledged, so that it leaves the backlog; it was not "
                    f"by {ms(event.t_ns)}",
                    repeat.frame,
                    event,
                )
