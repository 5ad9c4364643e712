"""Order at the application: an Exclusive or Failover consumer receives messages as they came, a Key_Shared one those of
each key."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from assay_conformance.model.event import FORGED, Frame, Position, Received
from assay_conformance.pulsar.timeline import REDELIVER, Consumer, ConsumerSession, Timeline


class Reading(NamedTuple):
    """What a consumer received from one topic or partition, in order, and its sessions there."""

    consumer: Consumer
    topic: str
    messages: list[Received]
    sessions: list[ConsumerSession]


def readings(timeline: Timeline, *kinds: str) -> Iterator[Reading]:
    """Yield the readings on subscriptions of these types."""
    for consumer in timeline.consumers:
        found: dict[str, list[Received]] = {}
        for message in timeline.received(consumer):
            entry = timeline.entry_of(message)
            if entry is not None:
                found.setdefault(entry.topic, []).append(message)
        for topic, messages in found.items():
            sessions = [one for one in consumer.sessions if one.topic == topic]
            if sessions and sessions[-1].request.fields.get("subType") in kinds:
                yield Reading(consumer, topic, messages, sessions)


def came(timeline: Timeline, reading: Reading) -> Iterator[tuple[ConsumerSession, Frame]]:
    """Yield the MESSAGEs that came on these sessions, session by session."""
    for session, frame in _frames(timeline, reading, "MESSAGE"):
        if frame.to_receiver and frame.ids:
            yield session, frame


def restarts(timeline: Timeline, reading: Reading) -> Iterator[Frame]:
    """Yield what makes messages come again: another subscription, a request for redelivery, or a seek."""
    yield from (one.request for one in reading.sessions[1:] if one.request.from_sender)
    yield from (frame for _, frame in _frames(timeline, reading, REDELIVER, "SEEK") if frame.from_sender)


def _frames(timeline: Timeline, reading: Reading, *commands: str) -> Iterator[tuple[ConsumerSession, Frame]]:
    return (one for one in timeline.frames_of(reading.consumer, *commands) if one[0].topic == reading.topic)


class Returns:
    """How often ids may go back, by when: once for each restart, and for each of these MESSAGEs that came after a later
    one of its session or was made up. What came is looked up session by session."""

    def __init__(self, restarts: Iterable[Frame], came: Iterable[tuple[ConsumerSession, Frame]]) -> None:
        self._may = [frame.seq for frame in restarts]
        self._gone_back = 0
        furthest: dict[int, Position] = {}
        for session, frame in came:
            position, before = frame.ids[0].position, furthest.get(session.request.seq)
            is_behind = before is not None and position <= before
            if not is_behind:
                furthest[session.request.seq] = position
            if is_behind or frame.fate in FORGED:
                self._may.append(frame.seq)
        self._may.sort()

    def allow(self, event: Received, *, where: bool = True) -> bool:
        """Return whether ids may go back at an event, `where` nothing else forbids it; if so, this was one time."""
        allowed = where and bisect_left(self._may, event.seq) > self._gone_back
        self._gone_back += allowed
        return allowed


def place(message: Received) -> tuple[int, int, int]:
    """Return ledger, entry and index in a batch."""
    id = message.message_id
    return id.ledger, id.entry, id.batch_index
