"""The pending queue: every unit without a receipt, oldest first, and what its messages hold until they end.

A message takes room in the queue and memory of the client from the moment it is accepted, batched or not, until it
ends; each exactly once. One that goes in chunks takes a place for each of them, until that one has its receipt. A unit
older than the send time-out fails, younger ones stay.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence

from assay_conformance.client.ops import Op, Sent
from assay_conformance.client.settings import ProducerSettings
from assay_conformance.client.shared import MS, Shared
from assay_conformance.client.timers import Timer
from assay_conformance.client.values import Done, Failed, Result
from assay_conformance.model.event import ErrorClass


class Pending:
    """`room` is called when messages have left, so that waiting sends may try again."""

    def __init__(self, shared: Shared, settings: ProducerSettings, room: Callable[[], None]) -> None:
        self._shared = shared
        self._settings = settings
        self._room = room
        self._ops: deque[Op] = deque()
        self._places = 0
        self._added = 0
        self._flushes: deque[tuple[int, Callable[[Result], None]]] = deque()
        self._timer: Timer | None = None
        shared.memory_waiters.append(room)

    def __iter__(self) -> Iterator[Op]:
        return iter(self._ops)

    def __len__(self) -> int:
        return len(self._ops)

    @property
    def head(self) -> Op | None:
        return self._ops[0] if self._ops else None

    # --- in ---

    def why_full(self, units: int = 1) -> str | None:
        """Return why another message, of so many units, has to wait; None when there is room."""
        if self._is_crowded(units):
            most = self._settings.max_pending_messages
            return f"{self._places} messages and chunks wait for receipts, at most {most} may"
        held_bytes = self._held_bytes()
        if self._fills_memory(held_bytes):
            most = self._shared.settings.memory_limit_bytes
            return f"{held_bytes} bytes wait for receipts, at most {most} may"
        return None

    def _is_crowded(self, units: int) -> bool:
        return 0 < self._settings.max_pending_messages < self._places + units

    def _held_bytes(self) -> int:
        """Return what is compared with the memory limit: the bytes of all producers of the client."""
        return self._shared.memory_bytes

    def _fills_memory(self, held_bytes: int) -> bool:
        """Return whether memory is full. One message may cross the limit, or a larger one could not leave (PIP-74)."""
        return 0 < self._shared.settings.memory_limit_bytes <= held_bytes

    def accept(self, sent: Sent, units: int = 1) -> None:
        """Take a message in: it holds places in the queue, and memory."""
        self._places += units
        self._shared.memory_bytes += len(sent.message.payload)

    def add(self, op: Op) -> None:
        op.number = self._added
        self._added += 1
        self._ops.append(op)
        if len(self._ops) == 1:
            self._arm()

    # --- out ---

    def pop_head(self) -> Op:
        op = self._ops.popleft()
        self._left(op)
        return op

    def take(self, wanted: Callable[[Op], bool]) -> list[Op]:
        """Take these units out, oldest first."""
        taken = [op for op in self._ops if wanted(op)]
        gone = set(taken)
        self._ops = deque(op for op in self._ops if op not in gone)
        for op in taken:
            self._left(op)
        return taken

    def _left(self, op: Op) -> None:
        """Note that a unit has left. A chunk that is not the last of its message leaves a place behind."""
        if op.part_of is not None:
            self._chunk_left(op.part_of)

    def _chunk_left(self, part_of: Sent) -> None:
        del part_of
        self._places -= 1

    def refused(self, sent: Sent, failed: Failed) -> None:
        """Fail a message that found no room, of which nothing had been taken in."""
        self.complete(sent, failed)

    def release(self, group: Sequence[Sent], result: Result) -> None:
        """End these messages with this result, and free their places and memory."""
        for sent in group:
            self._places -= 1
            self._free_memory(sent, result)
            self.complete(sent, result)

    def _free_memory(self, sent: Sent, result: Result) -> None:
        del result
        self._shared.memory_bytes -= len(sent.message.payload)

    def complete(self, sent: Sent, result: Result) -> None:
        if sent.op is not None:
            self._shared.completed(sent.op, result)

    def fail(self, ops: Iterable[Op], error: ErrorClass, text: str) -> None:
        """Fail units that have left the queue; as certainly not sent if no byte of them was written."""
        for op in ops:
            self.release(op.sent, Failed(error, text, op.certain))

    def settled(self) -> None:
        """Go on after units have left the queue and their messages have ended."""
        self._arm()
        self._finish_flushes()
        self._room()
        if self._shared.settings.memory_limit_bytes:
            # Another producer's blocked send may fit now.
            for room in self._shared.memory_waiters:
                room()

    # --- flush ---

    def flush(self, flushed: Callable[[Result], None]) -> None:
        """Call `flushed` when every unit added before has left the queue."""
        self._flushes.append((self._added, flushed))
        self._finish_flushes()

    def _finish_flushes(self) -> None:
        oldest = self._ops[0].number if self._ops else self._added
        while self._flushes and self._flushes[0][0] <= oldest:
            self._flushes.popleft()[1](Done())

    # --- time-out ---

    def due_ns(self, created_ns: int) -> int | None:
        """Return when a message created at `created_ns` times out; None for never."""
        if self._settings.send_timeout_ms == 0:
            return None
        return created_ns + self._age_ns()

    def _age_ns(self) -> int:
        return self._settings.send_timeout_ms * MS

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        due_ns = self.due_ns(self._ops[0].created_ns) if self._ops else None
        if due_ns is not None:
            self._timer = self._shared.timers.at(due_ns, self.time_out)

    def time_out(self) -> None:
        """Fail every unit whose time is up."""
        expired_ns = self._shared.now_ns - self._age_ns()
        expired = []
        while self._ops and self._ops[0].created_ns <= expired_ns:
            expired.append(self.pop_head())
        self.fail(expired, ErrorClass.TIMEOUT, "no receipt within the send time-out")
        self.settled()
