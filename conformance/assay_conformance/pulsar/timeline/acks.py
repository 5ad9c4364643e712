"""Acknowledgments: the application's calls, the session on which each could be sent, and the ACKs that clients
wrote."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from assay_conformance.checks.consumption import REFUSED, acked_entries, of_batch, plain_acks
from assay_conformance.checks.tracker import Call, ConsumerSession, Entry
from assay_conformance.model.event import Completion, Event, Frame, Outcome
from assay_conformance.pulsar.timeline.consumers import ConsumerSessions
from assay_conformance.pulsar.timeline.deliveries import CUMULATIVE
from assay_conformance.pulsar.timeline.reach import Reach


@dataclass(frozen=True, slots=True, eq=False)
class AckCall:
    """One message that the application acknowledged by a call that did not fail. `asked_on`, `taken_on`: the session on
    which it could be acknowledged when the call was made, and when it succeeded; None if there was none. `is_covered`:
    an earlier cumulative call reached its entry."""

    call: Call
    asked_on: ConsumerSession | None
    taken_on: ConsumerSession | None
    is_covered: bool

    @property
    def entry(self) -> Entry:
        """Of its message."""
        return self.call.entry

    @property
    def handle(self) -> int:
        """Of its consumer."""
        return self.call.consumer.handle

    @property
    def is_whole(self) -> bool:
        """It acknowledges the whole entry."""
        return not of_batch(self.call.message.message_id)

    @property
    def taken(self) -> Completion | None:
        """Its completion, if it succeeded."""
        end = self.call.operation.completion
        return end if end is not None and end.outcome is Outcome.OK else None


def ack_calls(calls: Iterable[Iterable[Call]]) -> Iterator[AckCall]:
    """Yield all acks of the attempt, in order.

    A call for several messages that failed may have acknowledged some of them.
    """
    reached: defaultdict[int, Reach] = defaultdict(Reach)
    ended: defaultdict[int, Reach] = defaultdict(Reach)
    """Handle -> entries that a cumulative call ended with; all before is covered also where it ended inside a batch."""
    for together in calls:
        named = [call for call in together if call.invoke.verb == "ack"]
        end = named[0].operation.completion if named else None
        if len(named) == 1 and end is not None and end.outcome in REFUSED:
            continue
        for call in named:
            taken_on = session_for(call, end) if end is not None and end.outcome is Outcome.OK else None
            handle, topic = call.consumer.handle, call.entry.topic
            furthest, last = (one[handle].furthest(topic, call.invoke) for one in (reached, ended))
            is_covered = (furthest is not None and call.entry <= furthest) or (last is not None and call.entry < last)
            ack = AckCall(call, session_for(call, call.invoke), taken_on, is_covered)
            if call.cumulative:
                ended[handle].add(call.invoke, call.entry)
            if call.cumulative and ack.is_whole:
                reached[handle].add(call.invoke, call.entry)
            yield ack


def session_for(call: Call, at: Event) -> ConsumerSession | None:
    """Return the session on which the message of a call came and could still be settled at an event."""
    session = call.consumer.last_on(call.entry.topic, at)
    is_its_own = session is not None and session.is_there(at) and session.request.seq < call.message.seq
    return session if is_its_own else None


class WrittenAcks:
    """The ACKs that the client wrote on one session, and the entries that each acknowledges as a whole. `reports`: also
    those that report a damaged message."""

    def __init__(self, sessions: ConsumerSessions, session: ConsumerSession, *, reports: bool = False) -> None:
        written = (frame for frame in sessions.frames(session, "ACK") if frame.at_client)
        self.frames = [frame for frame in written if reports or plain_acks(frame)]
        self._named: dict[Entry, list[Frame]] = {}
        self._whole: dict[Entry, list[Frame]] = {}
        self._cumulative: list[tuple[int, Entry, Frame]] = []
        self._reach = Reach()
        for frame in self.frames:
            if frame.ack_type != CUMULATIVE:
                for entry in acked_entries(session, frame):
                    self._whole.setdefault(entry, []).append(frame)
                for id in frame.ids:
                    self._named.setdefault(Entry(session.topic, id.ledger, id.entry), []).append(frame)
            elif frame.ids:
                reached = Entry(session.topic, frame.ids[0].ledger, frame.ids[0].entry)
                self._cumulative.append((frame.seq, reached, frame))
                self._reach.add(frame, reached)

    def of_entry(self, entry: Entry) -> Sequence[Frame]:
        """Return individual ACKs that acknowledge an entry as a whole, in order."""
        return self._whole.get(entry, ())

    def individual(self, entry: Entry, before: Event) -> Frame | None:
        """Return the last ACK ahead of an event that names an entry."""
        return next((one for one in reversed(self.of_entry(entry)) if one.seq < before.seq), None)

    def covering(self, entry: Entry) -> list[Frame]:
        """Return the ACKs that name an entry, whole or in part, or it or a later one cumulatively, in order."""
        reaching = (frame for _, reached, frame in self._cumulative if reached >= entry)
        return sorted([*self._named.get(entry, ()), *reaching], key=lambda frame: frame.seq)

    def is_settled(self, entry: Entry, before: Event) -> bool:
        """Return whether one ahead of an event named an entry, or a later one cumulatively."""
        furthest = self._reach.furthest(entry.topic, before)
        return (furthest is not None and furthest >= entry) or self.individual(entry, before) is not None

    def first(self, entry: Entry, after: Event) -> Frame | None:
        """Return the first ACK after an event that names an entry, or a later one cumulatively."""
        named = next((one for one in self._whole.get(entry, ()) if one.seq > after.seq), None)
        place = bisect_right(self._cumulative, after.seq, key=lambda one: one[0])
        reaching = next((one[2] for one in self._cumulative[place:] if one[1] >= entry), None)
        found = [one for one in (named, reaching) if one is not None]
        return min(found, key=lambda one: one.seq, default=None)
