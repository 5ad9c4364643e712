"""Which messages the witnesses know, and which deliveries have a topic, a payload or an id that none of them knows.

A payload is known by size and digest, on a topic, from a send call, a SEND, a stored entry or a MESSAGE. It is compared
where the record of a topic is complete: its MESSAGE frames were seen, or it was read back, and none of its payloads is
unreadable (encrypted, damaged, a chunk that could not be joined). Ids are compared where the agent's convention is
evident, which is when most of its deliveries name the entry that carried their payload.
"""

from __future__ import annotations

from typing import NamedTuple

from assay_conformance.history.events import OPENS
from assay_conformance.model.event import Began, Frame, MessageId, Position, ReadBack, Received, Stored
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.timeline import ConsumerSession, ProducerSession, Timeline, ms, topics_of

ANY_TOPIC = ""
"""The topic of a frame whose producer or consumer was not seen being opened."""

Payload = tuple[int, int]
"""Size and digest."""


class UnknownDelivery(NamedTuple):
    """A delivery of a message that no witness knows."""

    event: Received
    code: str
    sentence: str


class Witnessed:
    """What witnesses know of a history. Topics are local names without partition; ANY_TOPIC matches all."""

    def __init__(self, timeline: Timeline) -> None:
        events = timeline.events
        self._topics = _topics(timeline)
        self._subscribed = bool(events.frames("SUBSCRIBE"))
        self._payloads: set[tuple[str, Payload]] = set()
        self._positions: set[Position] = set()
        self._readable: set[Position] = set()
        self._carried: set[tuple[Position, Payload]] = set()
        self._complete = {base_topic(event.topic) for event in events.of(ReadBack)}
        self._unreadable: set[str] = set()
        stored = events.of(Stored)
        self._pieces = {(one.id.position, one.size) for one in stored if one.meta.chunk_id is not None}
        """Chunks, with their sizes: receiving one as a message is judged by another requirement, and is no phantom."""
        for call in events.invokes("send"):
            opening = timeline.openings.get(-1 if call.handle is None else call.handle)
            if opening is not None and call.size is not None and call.digest is not None:
                self._payloads |= {(topic, (call.size, call.digest)) for topic in topics_of(timeline, opening)}
        for frame in events.frames("SEND"):
            self._carries(_topic_of(timeline.session_of(frame)), frame)
        for frame in events.frames("MESSAGE"):
            topic = _topic_of(timeline.consumer_sessions.of(frame))
            self._complete.add(topic)
            self._carries(topic, frame, *frame.ids)
        for entry in stored:
            self._carries(base_topic(entry.topic), entry, entry.id)

    def _carries(self, topic: str, holder: Frame | Stored, *ids: MessageId) -> None:
        meta, members = holder.meta, holder.members
        self._payloads.update([(topic, member.payload) for member in members])
        is_piece = meta is not None and meta.chunk_id is not None and meta.chunk_id + 1 != meta.chunks
        if not members and not is_piece:
            self._unreadable.add(topic)
        for id in ids:
            self._positions.add(id.position)
            self._readable |= {id.position} if members else set()
            self._carried.update([(id.position, member.payload) for member in members])

    def unknown_deliveries(self, timeline: Timeline) -> list[UnknownDelivery]:
        """Return all unknown deliveries, in order of arrival."""
        misnamed: list[UnknownDelivery] = []
        found: list[UnknownDelivery] = []
        fitting, doubtful = 0, list[tuple[Received, str | None]]()
        for event in timeline.events.of(Received):
            topic = _topic_received(timeline, event)
            known = self._knows_topic(topic) and self._knows_payload(topic, event.payload)
            if known and (event.message_id.position, event.payload) in self._carried:
                fitting += 1
            elif not known or event.message_id.position not in self._positions:
                doubtful.append((event, topic))
        for event, topic in doubtful:
            position = event.message_id.position
            if not self._knows_topic(topic):
                if self._subscribed:
                    found.append(_unknown(event, "unknown-topic", f"expected a known topic, got {topic}"))
            elif not self._knows_payload(topic, event.payload):
                judged = self._is_complete(topic) or (bool(fitting) and position in self._readable)
                if judged and (position, event.size) not in self._pieces:
                    text = f"no witness knows such a message{'' if topic is None else f' on {topic}'}"
                    what = f"expected a message that was sent or stored; {text}"
                    found.append(_unknown(event, "unknown-payload", what))
            elif self._is_complete(topic) and min(position) >= 0:
                # An agent whose client shows no ids gives negative numbers.
                text = "expected the id of an entry; none with this id was stored or sent to a client"
                misnamed.append(_unknown(event, "unknown-id", text))
        if fitting > len(misnamed):
            found += misnamed
        return sorted(found, key=lambda one: one.event.seq)

    def _knows_topic(self, topic: str | None) -> bool:
        return topic is None or topic in self._topics

    def _knows_payload(self, topic: str | None, payload: Payload) -> bool:
        topics = self._topics if topic is None else (topic,)
        return (ANY_TOPIC, payload) in self._payloads or any((one, payload) in self._payloads for one in topics)

    def _is_complete(self, topic: str | None) -> bool:
        """Return whether all that a topic holds is known. `topic`: None where it may be any of them."""
        if ANY_TOPIC in self._unreadable:
            return False
        if topic is None:
            return bool(self._complete) and not self._unreadable
        return topic in self._complete and topic not in self._unreadable


def _topics(timeline: Timeline) -> set[str]:
    events, topology = timeline.events, timeline.topology
    found = {topic.name for topic in topology.topics} | {base_topic(one.topic) for one in events.of(Stored)}
    for began in events.of(Began):
        found.update(began.topics)
    for opening in events.invokes(*OPENS):
        found.update(topics_of(timeline, opening))
    named = events.frames("PRODUCER", "SUBSCRIBE", "LOOKUP")
    return found | {base_topic(timeline.local_topic(frame)) for frame in named}


def _topic_of(session: ProducerSession | ConsumerSession | None) -> str:
    return ANY_TOPIC if session is None else base_topic(session.topic)


def _topic_received(timeline: Timeline, event: Received) -> str | None:
    """Return the topic of a delivery; None where neither the delivery nor its consumer names one."""
    if event.topic is not None:
        return base_topic(timeline.local_name(event.topic))
    consumer = timeline.consumer(event.handle)
    return base_topic(consumer.topics[0]) if consumer is not None and len(consumer.topics) == 1 else None


def _unknown(event: Received, code: str, what: str) -> UnknownDelivery:
    came = f"message {event.message_id.name} of {event.size} bytes, CRC-32 {event.digest:08x}"
    return UnknownDelivery(event, code, f"consumer {event.handle} received {came}, at {ms(event.t_ns)}; {what}")
