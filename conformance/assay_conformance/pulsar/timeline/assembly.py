"""How a consumer assembles chunks, as a table: one arriving chunk against the message it belongs to.

| arriving chunk            | its message        | its entry          | fate               |
|---------------------------|--------------------|--------------------|--------------------|
| 0                         | unknown            |                    | STARTED            |
| 0                         | held               | the same, or other | RESTARTED          |
| last + 1                  | held               |                    | APPENDED, COMPLETE |
| 1 .. last                 | held               | the same           | REDELIVERED        |
| 1 .. last                 | held               | another            | REPEATED           |
| beyond last + 1, or not 0 | held, or unknown   |                    | GAP                |
| not 0                     | may be dropped     |                    | UNSURE             |

A gap discards what was held. A consumer that requested redelivery of everything, or reconnected, may drop what it
holds, until the message starts over.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from assay_conformance.checks.tracker import Entry
from assay_conformance.model.event import Meta


class ChunkFate(Enum):
    STARTED = "started"
    RESTARTED = "restarted"
    APPENDED = "appended"
    COMPLETE = "complete"
    REDELIVERED = "redelivered"
    REPEATED = "repeated"
    GAP = "gap"
    UNSURE = "unsure"


@dataclass(slots=True)
class Assembly:
    """The incomplete messages of one consumer session. `most`: the largest number held at once. `loose`: messages that
    the consumer may have kept or dropped."""

    held: dict[str, list[Entry]] = field(default_factory=dict)
    most: int = 0
    loose: dict[str, list[Entry]] = field(default_factory=dict)

    def everything_again(self) -> None:
        """Take a request for redelivery of everything: all chunks are redelivered, so the consumer may drop what it
        holds."""
        self.loose.update(self.held)
        self.held.clear()

    def carried_over(self) -> Assembly:
        """Return what the next session of the consumer starts with: messages held here, which it may keep or drop."""
        return Assembly(loose={uuid: list(ids) for uuid, ids in (self.loose | self.held).items()})

    def of(self, uuid: str) -> tuple[Entry, ...]:
        """Return the chunks of a message that are held, or may be."""
        return tuple(self.held.get(uuid, self.loose.get(uuid, [])))

    def add(self, meta: Meta, entry: Entry) -> ChunkFate:
        """Take a chunk; `meta` is its metadata."""
        uuid, number = meta.uuid or "", meta.chunk_id or 0
        ids = self.held.get(uuid)
        if number == 0:
            return self._start(uuid, ids, entry, alone=meta.chunks == 1)
        if uuid in self.loose:
            self.loose[uuid].append(entry)
            return ChunkFate.UNSURE
        if ids is None or number > len(ids):
            self.held.pop(uuid, None)
            return ChunkFate.GAP
        if number < len(ids):
            return ChunkFate.REDELIVERED if entry == ids[number] else ChunkFate.REPEATED
        ids.append(entry)
        if len(ids) == meta.chunks:
            del self.held[uuid]
            return ChunkFate.COMPLETE
        return ChunkFate.APPENDED

    def _start(self, uuid: str, ids: list[Entry] | None, entry: Entry, alone: bool) -> ChunkFate:
        if alone:
            return ChunkFate.COMPLETE
        self.loose.pop(uuid, None)
        self.held[uuid] = [entry]
        self.most = max(self.most, len(self.held))
        return ChunkFate.STARTED if ids is None else ChunkFate.RESTARTED
