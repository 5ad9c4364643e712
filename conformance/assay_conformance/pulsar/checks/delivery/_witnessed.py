"""Which messages the witnesses know, and which deliveries have a topic, a payload or an id that none of them knows.

A payload is known by size and digest, on a topic, from a send call, a SEND, a stored entry or a MESSAGE. It is compared
where the record of a topic is complete: its MESSAGE frames were seen, or it was read back, and none of its payloads is
unreadable (encrypted, damaged, a chunk that could not be joined). Ids are compared where the agent's convention is
evident, which is when most of its deliveries name the entry that carried their payload.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from assay_conformance.checks.base import ms
from assay_conformance.model.event import Frame, Member, MessageId, Position, Received, Stored
from assay_conformance.model.topic_names import base_topic

ANY_TOPIC = ""
"""The topic of a frame whose producer or consumer was not seen being opened."""

Payload = tuple[int, int]
"""Size and digest."""


class UnknownDelivery(NamedTuple):
    """A delivery of a message that no witness knows."""

    event: Received
    code: str
    sentence: str


@dataclass(slots=True)
class Witnessed:
    """Topics are local names without partition; ANY_TOPIC matches all."""

    topics: set[str] = field(default_factory=set)
    subscribed: bool = False
    """Whether a SUBSCRIBE was seen on the wire."""
    _payloads: set[tuple[str, Payload]] = field(default_factory=set)
    _positions: set[Position] = field(default_factory=set)
    _readable: set[Position] = field(default_factory=set)
    _carried: set[tuple[Position, Payload]] = field(default_factory=set)
    _pieces: set[tuple[Position, int]] = field(default_factory=set)
    """Chunks, with their sizes: receiving one as a message is judged by another requirement, and is no phantom."""
    _complete: set[str] = field(default_factory=set)
    _unreadable: set[str] = field(default_factory=set)
    _doubtful: list[tuple[Received, str | None]] = field(default_factory=list)
    """Deliveries that were unknown when they came, with their topics: what is read back is known only at the end."""
    _fitting: int = 0

    def send_called(self, topic: str, payload: Payload) -> None:
        self._payloads.add((topic, payload))

    def sent(self, topic: str, frame: Frame) -> None:
        """Take a SEND."""
        self._add(topic, frame, frame.members)

    def dispatched(self, topic: str, frame: Frame) -> None:
        """Take a MESSAGE."""
        self._complete.add(topic)
        self._add(topic, frame, frame.members)
        for id in frame.ids:
            self._at(id, frame.members)

    def stored(self, entry: Stored) -> None:
        self._add(base_topic(entry.topic), entry, entry.members)
        self._at(entry.id, entry.members)
        if entry.meta.chunk_id is not None:
            self._pieces.add((entry.id.position, entry.size))

    def read_back(self, topic: str) -> None:
        self._complete.add(topic)

    def delivered(self, event: Received, topic: str | None) -> None:
        """`topic` is None where neither the delivery nor its consumer names one."""
        position = event.message_id.position
        if self._knows_topic(topic) and self._knows_payload(topic, event.payload):
            if (position, event.payload) in self._carried:
                self._fitting += 1
                return
            if position in self._positions:
                return
        self._doubtful.append((event, topic))

    def unknown_deliveries(self) -> list[UnknownDelivery]:
        """Return them in order of arrival; to be called after the whole attempt was seen."""
        misnamed: list[UnknownDelivery] = []
        found: list[UnknownDelivery] = []
        for event, topic in self._doubtful:
            if not self._knows_topic(topic):
                if self.subscribed:
                    found.append(_unknown(event, "unknown-topic", f"expected a known topic, got {topic}"))
            elif not self._knows_payload(topic, event.payload):
                judged = self._is_complete(topic) or self._names_readable_entry(event)
                if judged and (event.message_id.position, event.size) not in self._pieces:
                    text = f"no witness knows such a message{'' if topic is None else f' on {topic}'}"
                    found.append(
                        _unknown(event, "unknown-payload", f"expected a message that was sent or stored; {text}")
                    )
            elif (event.message_id.position, event.payload) in self._carried:
                self._fitting += 1
            elif self._is_complete(topic) and self._is_made_up(event.message_id):
                text = "expected the id of an entry; none with this id was stored or sent to a client"
                misnamed.append(_unknown(event, "unknown-id", text))
        if self._fitting > len(misnamed):
            found += misnamed
        return sorted(found, key=lambda one: one.event.seq)

    def _add(self, topic: str, holder: Frame | Stored, members: tuple[Member, ...]) -> None:
        meta = holder.meta
        self._payloads.update([(topic, member.payload) for member in members])
        is_piece = meta is not None and meta.chunk_id is not None and meta.chunk_id + 1 != meta.chunks
        if not members and not is_piece:
            self._unreadable.add(topic)

    def _at(self, id: MessageId, members: tuple[Member, ...]) -> None:
        position = id.position
        self._positions.add(position)
        if members:
            self._readable.add(position)
        self._carried.update([(position, member.payload) for member in members])

    def _knows_topic(self, topic: str | None) -> bool:
        return topic is None or topic in self.topics

    def _knows_payload(self, topic: str | None, payload: Payload) -> bool:
        if (ANY_TOPIC, payload) in self._payloads:
            return True
        if topic is None:
            return any((one, payload) in self._payloads for one in self.topics)
        return (topic, payload) in self._payloads

    def _is_complete(self, topic: str | None) -> bool:
        """`topic`: None where it may be any of them."""
        if ANY_TOPIC in self._unreadable:
            return False
        if topic is None:
            return bool(self._complete) and not self._unreadable
        return topic in self._complete and topic not in self._unreadable

    def _names_readable_entry(self, event: Received) -> bool:
        """Whether it names a readable entry, whatever else is on its topic."""
        return bool(self._fitting) and event.message_id.position in self._readable

    def _is_made_up(self, id: MessageId) -> bool:
        """Whether no witness knows the id. An agent whose client shows no ids gives negative numbers."""
        return min(id.position) >= 0 and id.position not in self._positions


def _unknown(event: Received, code: str, what: str) -> UnknownDelivery:
    came = f"message {event.message_id.name} of {event.size} bytes, CRC-32 {event.digest:08x}"
    return UnknownDelivery(event, code, f"consumer {event.handle} received {came}, at {ms(event.t_ns)}; {what}")
