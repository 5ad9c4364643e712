"""Order at the application: an Exclusive or Failover consumer receives messages as they came, a Key_Shared one those of
each key."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.model.event import Frame, MessageId, Received
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


def place(message: Received) -> tuple[int, int, int]:
    """Return ledger, entry and index in a batch."""
    id = message.message_id
    return id.ledger, id.entry, id.batch_index


def describe(id: MessageId) -> str:
    """Return how sentences name a message."""
    return id.name + (f" message {id.batch_index}" if id.batch_index >= 0 else "")
