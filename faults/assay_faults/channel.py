"""One direction of one connection: what waits to leave, and in which order it may.

Nothing overtakes by itself: an entry that waits holds the later ones, unless one of its waits lets others by. The cut
of a connection is an entry too, so that it comes after the bytes in front of it.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from assay_conformance.model.event import Fate
from assay_conformance.model.fault import Cut, Direction
from assay_conformance.wire import Frame


@dataclass(slots=True, eq=False)
class Wait:
    """Why an entry may not leave yet: until `due_ns`, or until `frames` others have passed, or until a fault ends."""

    overtake: bool = False
    due_ns: int | None = None
    frames: int = 0
    done: bool = False

    def over(self, now_ns: int) -> bool:
        return self.done or (self.due_ns is not None and self.due_ns <= now_ns)


@dataclass(frozen=True, slots=True, eq=False)
class Severance:
    """A cut to be made; `healed` is when a black hole ends."""

    cut: Cut
    healed: Wait


@dataclass(slots=True, eq=False)
class Entry:
    """A frame, bytes that are none any more, or a cut, on its way out.

    `event` holds the fields of the receiver-side event; None where there is none to record, as the frame was recorded
    with both sides already, or what leaves is no frame.
    """

    frame: Frame | None = None
    data: bytes = b""
    number: int = 0
    fate: Fate = Fate.PASSED
    event: dict[str, Any] | None = None
    waits: tuple[Wait, ...] = ()
    severance: Severance | None = None

    @property
    def size_bytes(self) -> int:
        return len(self.data if self.frame is None else self.frame.raw)

    def ready(self, now_ns: int) -> bool:
        return all(wait.over(now_ns) for wait in self.waits)

    def blocks(self, now_ns: int) -> bool:
        """Return whether later entries have to wait for it."""
        return any(not wait.overtake and not wait.over(now_ns) for wait in self.waits)

    def stuck(self, now_ns: int) -> bool:
        """Return whether the frames after this entry have to wait for an unknown time."""
        return any(not wait.overtake and wait.due_ns is None and not wait.over(now_ns) for wait in self.waits)


@dataclass(slots=True, eq=False)
class Segmenter:
    """Cuts a stream into pieces of `piece_bytes`, which leave `gap_ns` apart, until `until`."""

    until: Wait
    piece_bytes: int
    gap_ns: int
    next_ns: int = 0
    _bytes: bytearray = field(default_factory=bytearray)
    _ends: deque[tuple[int, Entry]] = field(default_factory=deque)
    _fed: int = 0
    _left: int = 0

    def passes_at_once(self, size: int, now_ns: int) -> bool:
        """Return whether a frame of this size would leave whole and now."""
        return self.gap_ns == 0 or (not self._bytes and now_ns >= self.next_ns and size <= self.piece_bytes)

    def push(self, entry: Entry) -> None:
        raw = entry.data if entry.frame is None else entry.frame.raw
        self._bytes += raw
        self._fed += len(raw)
        self._ends.append((self._fed, entry))

    def pop(self, now_ns: int, whole: bool = False) -> tuple[bytes, list[Entry]] | None:
        """Return the next piece and the entries that end in it, or None when nothing may leave yet.

        With `whole` the piece is all that is left.
        """
        if not self._ends or (now_ns < self.next_ns and self._bytes and not whole):
            return None
        piece = bytes(self._bytes if whole else self._bytes[: self.piece_bytes])
        del self._bytes[: len(piece)]
        self._left += len(piece)
        if piece:
            self.next_ns = now_ns + self.gap_ns
        ended: list[Entry] = []
        while self._ends and self._ends[0][0] <= self._left:
            ended.append(self._ends.popleft()[1])
        return piece, ended

    @property
    def pending_bytes(self) -> int:
        return len(self._bytes)


class Channel:
    """What waits in one direction. `swallowed`: a black hole takes everything that comes."""

    __slots__ = ("_queued_bytes", "direction", "queue", "segmenter", "swallowed")

    def __init__(self, direction: Direction) -> None:
        self.direction = direction
        self.queue: list[Entry] = []
        self._queued_bytes = 0
        self.segmenter: Segmenter | None = None
        self.swallowed = False

    def clear(self) -> bool:
        """Return whether a frame that no fault acts on passes without delay."""
        return not self.queue and self.segmenter is None and not self.swallowed

    @property
    def waiting_bytes(self) -> int:
        if self.clear():
            return 0
        pieces = 0 if self.segmenter is None else self.segmenter.pending_bytes
        return pieces + self._queued_bytes

    def put(self, *entries: Entry) -> None:
        """Queue these entries after all others."""
        self.queue += entries
        self._queued_bytes += sum(entry.size_bytes for entry in entries)

    def stuck(self, now_ns: int) -> bool:
        """Return whether a frame queued last would have to wait for an unknown time."""
        return any(entry.stuck(now_ns) for entry in self.queue)

    def passes_at_once(self, size: int, now_ns: int) -> bool:
        """Return whether a frame of this size that itself waits for nothing would leave now if it were queued last."""
        if any(entry.ready(now_ns) or entry.blocks(now_ns) for entry in self.queue):
            return False
        return self.segmenter is None or self.segmenter.passes_at_once(size, now_ns)

    def take(self, now_ns: int) -> Entry | None:
        """Remove and return the first entry that may leave now."""
        for index, entry in enumerate(self.queue):
            if entry.ready(now_ns):
                del self.queue[index]
                self._queued_bytes -= entry.size_bytes
                for wait in entry.waits:
                    wait.done = True
                if entry.frame is not None or entry.data:
                    self._count_past(index)
                return entry
            if entry.blocks(now_ns):
                return None
        return None

    def abandon(self) -> None:
        """Discard what waits, so that none of it leaves."""
        for entry in self.queue:
            for wait in entry.waits:
                wait.done = True
        self.queue.clear()
        self._queued_bytes = 0
        if self.segmenter is not None:
            self.segmenter.until.done = True
            self.segmenter = None

    def _count_past(self, index: int) -> None:
        """Count a frame that has overtaken others, in their waits."""
        for wait in {wait for earlier in self.queue[:index] for wait in earlier.waits}:
            if wait.frames:
                wait.frames -= 1
                wait.done = wait.frames == 0
