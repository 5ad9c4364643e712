"""What the checks of kept and dropped chunks share: messages that must arrive intact, and what was acknowledged."""

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
    """Judges that the messages of `self.watched` are handed over once they are whole, and as they were sent."""

    def start(self) -> None:
        super().start()
        self.watched: dict[Place, Arrival] = {}

    def what(self) -> str:
        """What is special about these messages, to follow "one of "."""
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
            f"consumer {event.handle} handed {entry} over as {event.size} bytes of digest {event.digest:08x}, one of "
            f"{self.what()}; expected {member.size} bytes of digest {member.digest:08x}",
            arrival.frame,
            event,
        )

    @on(Completion, "receive")
    def receive_ended(self, event: Completion) -> None:
        self.not_delivered(event)


@dataclass(slots=True)
class _Acked:
    """What one session acknowledged on the wire, individual acks and the greatest cumulative one."""

    entries: dict[Entry, Frame] = field(default_factory=dict)
    up_to: Entry | None = None

    def has(self, entry: Entry) -> bool:
        return entry in self.entries or (self.up_to is not None and entry <= self.up_to)


class SettlingCheck(ChunkedCheck):
    """Keeps what each session acknowledged; `validation_error` or not, the broker forgets the entry."""

    def start(self) -> None:
        super().start()
        self._acked: dict[int, _Acked] = {}

    def settled(self, session: ConsumerSession) -> _Acked:
        return self._acked.setdefault(session.request.seq, _Acked())

    def settles(self, session: ConsumerSession, entry: Entry, event: Frame) -> None:
        """An entry was acknowledged by its own id."""

    @on(Frame, "ACK")
    def ack(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is None or session.consumer is None or not from_client(event):
            return
        settled = self.settled(session)
        if event.ack_type == "Cumulative":
            for id in event.ids:
                entry = entry_on(session, id)
                settled.up_to = entry if settled.up_to is None else max(settled.up_to, entry)
            return
        for entry in acked_entries(session, event):
            settled.entries.setdefault(entry, event)
            self.settles(session, entry, event)

    def flush_ns(self, consumer: OpenedConsumer) -> int | None:
        """How long an acknowledgment may wait for others; None where that is not told."""
        interval_ms = number_in_force(self.view, consumer, "ack_group_ms")
        return None if interval_ms is None else interval_ms * MS

    def until_ns(self, due_ns: int, event: Event) -> int:
        """The end of the time in which an acknowledgment had to leave: only that has to have been quiet."""
        return min(event.t_ns, due_ns + 2 * TOLERANCES["ack-flush"].slack_ns)

    def owed(self, session: ConsumerSession, due_ns: int, event: Event, *entries: Entry) -> Entry | None:
        """The first of these entries that should have been acknowledged when a session was over, and was not."""
        if isinstance(event, Closed | AgentEnded) or not late("ack-flush", due_ns, event.t_ns):
            return None
        return next((entry for entry in entries if not self.settled(session).has(entry)), None)
