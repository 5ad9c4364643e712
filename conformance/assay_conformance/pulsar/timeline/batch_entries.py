"""Batch entries: what one consumer got of an entry of several messages, and how it was acknowledged.

A broker stores a batch as one entry. The application acknowledges its messages one by one; a client writes an ACK of
the whole entry, or one with an ack_set, whose bits are the messages that stay unacknowledged (PIP-54).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from assay_conformance.checks.consumption import bit_of, is_open
from assay_conformance.model.event import Event, Frame, Invoke, MessageId, Received
from assay_conformance.pulsar.timeline.consumers import Call, Consumer, Entry
from assay_conformance.pulsar.timeline.moments import (
    AckWritten,
    Delivered,
    Dispatched,
    Moment,
    SessionOver,
    SettleCalled,
    SettleCompleted,
)
from assay_conformance.pulsar.timeline.reach import Reach


class BatchAck(NamedTuple):
    """An ACK that names a batch. `ack_set`: its words for it; none where it is about all of the entry."""

    frame: Frame
    is_cumulative: bool
    ack_set: Sequence[int]

    def cleared(self, size: int) -> set[int]:
        """Return the messages that it acknowledges."""
        return {place for place in range(size) if not (self.ack_set and bit_of(self.ack_set, place))}


@dataclass(slots=True, eq=False)
class BatchEntry:
    """One batch of one consumer. `came`: each MESSAGE that brought it, damaged or not; `asked`: the first ack call that
    was about a message, by its place; `called`: acks of its messages that ended well; `ends`: of all sessions on its
    topic."""

    consumer: Consumer
    entry: Entry
    size: int
    ends: Sequence[SessionOver]
    _passing: _Passing
    came: list[Frame] = field(default_factory=list)
    received: list[Received] = field(default_factory=list)
    asked: dict[int, Call] = field(default_factory=dict)
    called: list[SettleCompleted] = field(default_factory=list)
    acks: list[BatchAck] = field(default_factory=list)

    @property
    def intact(self) -> list[Frame]:
        """Each MESSAGE that brought it undamaged."""
        return [frame for frame in self.came if frame.intact is not False]

    @property
    def completing(self) -> Call | None:
        """The call that acknowledged the last of its messages."""
        return [*self.asked.values()][self.size - 1] if len(self.asked) >= self.size else None

    def acked(self, by: Event) -> set[int]:
        """Return the messages that a client may acknowledge by an event.

        The application had asked for it, in whichever delivery, or for all up to a later entry, or a seek had passed
        over them. They count from the call on, so that only an ACK against all evidence is a breach.
        """
        if self._passing.calls.is_beyond(self.entry, by):
            return {*range(self.size)}
        asked = {place for place, call in self.asked.items() if call.invoke.seq <= by.seq}
        return asked | self._passing.sought(self.entry, self.size, by)

    def is_passed(self, after: Event, before: Event) -> bool:
        """Return whether the client wrote a cumulative ACK of a later entry between two events."""
        return self._passing.acks.passes(self.entry, after, before)


def open_places(frame: Frame, size: int) -> list[int]:
    """Return the messages of a batch that its MESSAGE leaves to be delivered, by its ack_set."""
    return [place for place in range(size) if is_open(frame, place)]


def batch_entries(moments: Iterable[Moment], consumer: Consumer, seeks: Iterable[Invoke]) -> dict[Entry, BatchEntry]:
    """Return the batches of a consumer in the order in which they came first."""
    found: dict[Entry, BatchEntry] = {}
    passing, ends = _Passing(seeks), dict[str, list[SessionOver]]()
    for moment in moments:
        if isinstance(moment, Dispatched):
            frame, entry = moment.event, moment.entry
            size = (None if frame.meta is None else frame.meta.batch) or 0
            if size > 1 and frame.to_receiver:
                its_ends = ends.setdefault(entry.topic, [])
                found.setdefault(entry, BatchEntry(consumer, entry, size, its_ends, passing)).came.append(frame)
        elif isinstance(moment, Delivered):
            if moment.entry in found:
                found[moment.entry].received.append(moment.event)
        elif isinstance(moment, SessionOver):
            ends.setdefault(moment.session.topic, []).append(moment)
        elif isinstance(moment, AckWritten):
            _is_written(found, passing, moment)
        elif isinstance(moment, SettleCalled | SettleCompleted) and not moment.is_nack:
            _is_acked(found, passing, moment)
    return found


def _is_acked(found: dict[Entry, BatchEntry], passing: _Passing, moment: SettleCalled | SettleCompleted) -> None:
    call, own = moment.call, found.get(moment.call.entry)
    if isinstance(moment, SettleCompleted):
        if own is not None:
            own.called.append(moment)
        return
    if call.cumulative:
        passing.calls.add(call.invoke, call.entry)
    for place in call.members if own is not None else ():
        own.asked.setdefault(place, call)  # type: ignore[union-attr]


def _is_written(found: dict[Entry, BatchEntry], passing: _Passing, wrote: AckWritten) -> None:
    frame = wrote.event
    for place, id in enumerate(frame.ids):
        entry = Entry(wrote.session.topic, id.ledger, id.entry)
        if wrote.is_cumulative:
            passing.acks.add(frame, entry)
        if entry in found:
            words = frame.ack_sets[place] if place < len(frame.ack_sets) else ()
            found[entry].acks.append(BatchAck(frame, wrote.is_cumulative, words))


class _Passing:
    """What settles a batch without naming it: cumulative calls and ACKs of later entries, and seeks to its messages."""

    def __init__(self, seeks: Iterable[Invoke]) -> None:
        self.calls, self.acks = Reach(), Reach()
        named = ((call.seq, call.args.get("message_id")) for call in seeks)
        self._sought = [(seq, MessageId(*id)) for seq, id in named if id is not None]

    def sought(self, entry: Entry, size: int, before: Event) -> set[int]:
        """Return the messages of a batch that a seek passed over: what is before its own message, and that itself."""
        found: set[int] = set()
        for seq, id in self._sought:
            if seq < before.seq and id.position == (entry.ledger, entry.entry):
                found.update(range(size if id.batch_index < 0 else min(id.batch_index + 1, size)))
        return found
