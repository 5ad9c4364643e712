"""Chunks of messages on their way to be joined.

| arriving chunk                          | what happens                                                              |
|-----------------------------------------|---------------------------------------------------------------------------|
| 0, nothing held                         | a new message begins                                                      |
| 0, held under the same position         | the broker redelivers: begin again                                        |
| 0, held under another                   | the producer sent it again: acknowledge what was held, begin again        |
| the one after the last                  | append; with the last of all the message is whole                         |
| one already held, at a held position    | redelivered: ignore                                                       |
| one already held, at another            | sent again by the producer: acknowledge it, ignore it                     |
| one beyond the next, or none held       | a gap: forget the message, leave its chunks to the broker's redelivery    |
"""

from __future__ import annotations

from dataclasses import dataclass, field

from assay_conformance.client.entries import Position
from assay_conformance.wire import MessageMetadata


@dataclass(slots=True)
class Partial:
    began_ns: int = 0
    last: int = -1
    parts: list[bytes] = field(default_factory=list)
    positions: list[Position] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Joined:
    """A whole message, still compressed, and where its chunks stand."""

    data: bytes
    positions: tuple[Position, ...]


@dataclass(frozen=True, slots=True)
class Progress:
    """What one chunk led to: perhaps a whole message, and positions to acknowledge now."""

    joined: Joined | None = None
    acks: tuple[Position, ...] = ()


class ChunkBuffer:
    """Messages being joined, by uuid, at most `max_pending` (0 = any number); beyond it the oldest goes.

    Its chunks are then acknowledged with `auto_ack_oldest`, and otherwise left unacknowledged. Those of a message that
    began too long ago are taken out by `expired`.
    """

    def __init__(self, max_pending: int, auto_ack_oldest: bool) -> None:
        self._max_pending = max_pending
        self._auto_ack_oldest = auto_ack_oldest
        self._partials: dict[str, Partial] = {}

    def clear(self) -> None:
        """Drop the chunks that are held: the broker will deliver everything unacknowledged again."""
        self._partials.clear()

    @property
    def oldest_ns(self) -> int | None:
        """When the message began that has been incomplete for longest."""
        return min((partial.began_ns for partial in self._partials.values()), default=None)

    def expired(self, before_ns: int) -> tuple[Position, ...]:
        """Forget what began then or earlier; the chunks of that."""
        old = [uuid for uuid, partial in self._partials.items() if partial.began_ns <= before_ns]
        return tuple(position for uuid in old for position in self._partials.pop(uuid).positions)

    def add(self, metadata: MessageMetadata, data: bytes, position: Position, now_ns: int) -> Progress:
        uuid = metadata.uuid
        acks: tuple[Position, ...] = ()
        if metadata.chunk_id == 0:
            acks = self._begin(uuid, position, now_ns)
        partial = self._partials.get(uuid)
        if partial is None:
            return self._gap(position)
        if metadata.chunk_id <= partial.last:
            return self._repeated(uuid, partial, data, position)
        if self._leaves_gap(partial, metadata.chunk_id):
            del self._partials[uuid]
            return self._gap(position)
        partial.last = metadata.chunk_id
        partial.parts.append(data)
        partial.positions.append(position)
        if metadata.chunk_id < metadata.num_chunks_from_msg - 1:
            return Progress(acks=acks)
        del self._partials[uuid]
        return Progress(Joined(b"".join(partial.parts), tuple(partial.positions)), acks)

    def _leaves_gap(self, partial: Partial, chunk_id: int) -> bool:
        return chunk_id > partial.last + 1

    def _gap(self, position: Position) -> Progress:
        """Leave the chunk after a gap to the broker's redelivery."""
        del position
        return Progress()

    def _begin(self, uuid: str, position: Position, now_ns: int) -> tuple[Position, ...]:
        """Take the first chunk of a message; return the positions to acknowledge now."""
        held = self._partials.get(uuid)
        if held is not None:
            return self._begin_again(uuid, held, position, now_ns)
        self._partials[uuid] = Partial(now_ns)
        return self._evict() if 0 < self._max_pending < len(self._partials) else ()

    def _begin_again(self, uuid: str, held: Partial, position: Position, now_ns: int) -> tuple[Position, ...]:
        self._partials[uuid] = Partial(now_ns)
        return () if position in held.positions else tuple(held.positions)

    def _evict(self) -> tuple[Position, ...]:
        oldest = self._partials.pop(next(iter(self._partials)))
        return tuple(oldest.positions) if self._auto_ack_oldest else ()

    def _repeated(self, uuid: str, partial: Partial, data: bytes, position: Position) -> Progress:
        del uuid, data
        return Progress() if position in partial.positions else Progress(acks=(position,))
