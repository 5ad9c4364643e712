"""Shared by the checks of kept and dropped chunks: messages that must arrive intact, and what was acknowledged."""

from __future__ import annotations

from dataclasses import dataclass, field

from assay_conformance.checks.base import on
from assay_conformance.checks.consumption import acked_entries, entry_on, from_client, late, number_in_force
from assay_conformance.checks.tolerance import MS, TOLERANCES
from assay_conformance.checks.tracker import ConsumerSession, Entry, OpenedConsumer
from assay_conformance.model.event import AgentEnded, Closed, Completion, Event, Frame, Received
from assay_conformance.pulsar.checks.chunking._chunked import Arrival, ChunkedCheck, Story

Place = tuple[int, Entry]
"""Consumer handle, and the entry of a whole message: that of its last chunk."""


class IntactCheck(ChunkedCheck):
    """Judges that the messages of `self.watched` are received once they are whole, and as they were sent."""

    def start(self) -> None:
        super().start()
        self.watched: dict[Place, Arrival] = {}

    def what(self) -> str:
        """Return what is special about these messages, to follow "one of "."""
        raise NotImplementedError

    def story(self, handle: int, entry: Entry) -> Story | None:
        return (f", one of {self.what()}", ()) if (handle, entry) in self.watched else None

    @on(Received)
    def received(self, event: Received) -> None:
        consumer, entry = self.taken(event)
        if consumer is None or entry is None or (arrival := self.watched.get((consumer.handle, entry))) is None:
            return
        member = arrival.frame.members[0] if arrival.frame.members else None
        if member is None or event.payload == member.payload:
            self.exercise(event)
            return
        self.breach(
            "wrong-content",
            f"consumer {event.handle} received {entry}, one of {self.what()}, as {event.size} bytes of digest "
            f"{event.digest:08x}; expected {member.size} bytes of digest {member.digest:08x}",
            arrival.frame,
            event,
        )

    @on(Completion, "receive")
    def receive_ended(self, event: Completion) -> None:
        self.not_delivered(event)


@dataclass(slots=True)
class _Acked:
    """What one session acknowledged on the wire: individual ids and the highest cumulative one."""

    entries: dict[Entry, Frame] = field(default_factory=dict)
    up_to: Entry | None = None

    def has(self, entry: Entry) -> bool:
        return entry in self.entries or (self.up_to is not None and entry <= self.up_to)


class AckedCheck(ChunkedCheck):
    """Keeps what each session acknowledged: the broker drops the entry, with a `validation_error` or without."""

    def start(self) -> None:
        super().start()
        self._acked: dict[int, _Acked] = {}

    def acked(self, session: ConsumerSession) -> _Acked:
        return self._acked.setdefault(session.request.seq, _Acked())

    def entry_acked(self, session: ConsumerSession, entry: Entry, event: Frame) -> None:
        """An entry was acknowledged by its own id."""

    @on(Frame, "ACK")
    def ack(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is None or session.consumer is None or not from_client(event):
            return
        acked = self.acked(session)
        if event.ack_type == "Cumulative":
            for id in event.ids:
                entry = entry_on(session, id)
                acked.up_to = entry if acked.up_to is None else max(acked.up_to, entry)
            return
        for entry in acked_entries(session, event):
            acked.entries.setdefault(entry, event)
            self.entry_acked(session, entry, event)

    def flush_ns(self, consumer: OpenedConsumer) -> int | None:
        """Return how long an acknowledgment may be grouped with others; None where that is unknown."""
        interval_ms = number_in_force(self.view, consumer, "ack_group_ms")
        return None if interval_ms is None else interval_ms * MS

    def until_ns(self, due_ns: int, event: Event) -> int:
        """Return the end of the time in which an acknowledgment had to leave, in which the machine must have been
        quiet."""
        return min(event.t_ns, due_ns + 2 * TOLERANCES["ack-flush"].slack_ns)

    def first_unacked(self, session: ConsumerSession, due_ns: int, event: Event, *entries: Entry) -> Entry | None:
        """Return the first of these entries that had to be acknowledged before the session ended, and was not."""
        if isinstance(event, Closed | AgentEnded) or not late("ack-flush", due_ns, event.t_ns):
            return None
        return next((entry for entry in entries if not self.acked(session).has(entry)), None)
