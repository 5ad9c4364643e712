"""The pending queue: every unit without a receipt, oldest first, and what its messages hold until they end.

A message takes room in the queue and memory of the client from the moment it is accepted, batched or not, until it
ends; each exactly once. One that goes in chunks takes a place for each of them, until that one has its receipt. A unit
older than the send time-out fails, younger ones stay.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence

from assay_conformance.client.mutations import Mutation
from assay_conformance.client.ops import Op, Sent
from assay_conformance.client.settings import ProducerSettings
from assay_conformance.client.shared import MS, Shared
from assay_conformance.client.timers import Timer
from assay_conformance.client.values import Done, Failed, Result
from assay_conformance.model.event import ErrorClass

_PASSED_BY_NS = 20 * MS

_KEPT_BY = {
    ErrorClass.TIMEOUT: Mutation.TIMED_OUT_KEEPS_MEMORY,
    ErrorClass.CLOSED: Mutation.CLOSED_KEEPS_MEMORY,
}


class Pending:
    """`room` is called when messages have left, so that waiting sends may try again."""

    def __init__(self, shared: Shared, settings: ProducerSettings, room: Callable[[], None]) -> None:
        self._shared = shared
        self._settings = settings
        self._room = room
        self._ops: deque[Op] = deque()
        self._places = 0
        self._bytes = 0
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
        """Why another message, of so many units, has to wait; None when there is room."""
        limit, memory = self._settings.max_pending_messages, self._shared.settings.memory_limit_bytes
        if 0 < limit < self._places + units and not self._shared.mutated(Mutation.IGNORES_PENDING_LIMIT):
            return f"{self._places} messages and chunks wait for receipts, at most {limit} may"
        # One message may cross the memory limit, or one larger than it could never be sent (PIP-74).
        alone = self._shared.mutated(Mutation.MEMORY_PER_PRODUCER)
        held_bytes = self._bytes if alone else self._shared.memory_bytes
        underflown = held_bytes < 0 and self._shared.mutated(Mutation.CHUNKED_MEMORY_UNDERFLOWS)
        if memory > 0 and (memory <= held_bytes or underflown):
            return f"{held_bytes} bytes wait for receipts, at most {memory} may"
        return None

    def accept(self, sent: Sent, units: int = 1) -> None:
        """A message begins to hold room and memory."""
        self._places += units
        self._bytes += len(sent.message.payload)
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
        """A chunk that is not its message's last leaves a place behind: the message ends with the last."""
        if op.part_of is None:
            return
        leaks = (Mutation.CHUNKS_LEAK_PERMITS, Mutation.CHUNKS_HOLD_ONE_PERMIT)
        if not any(map(self._shared.mutated, leaks)):
            self._places -= 1
        twice = (Mutation.CHUNKED_MEMORY_UNDERFLOWS, Mutation.CHUNKED_MEMORY_DRIFTS)
        if any(map(self._shared.mutated, twice)):
            self._shared.memory_bytes -= len(op.part_of.message.payload)

    def refused(self, sent: Sent, failed: Failed) -> None:
        """A message ends that found no room. Nothing of it had been taken in."""
        numbered = sent.sequence_id >= 0
        if numbered and self._shared.mutated(Mutation.REFUSED_CHUNKS_KEEP_PERMITS):
            self._places = self._settings.max_pending_messages - 1
        self.complete(sent, failed)

    def release(self, group: Sequence[Sent], result: Result) -> None:
        """These messages end so: their room and memory are free again."""
        for sent in group:
            self._places -= 1
            self._bytes -= len(sent.message.payload)
            if not self._keeps_memory(result):
                self._shared.memory_bytes -= len(sent.message.payload)
            self.complete(sent, result)

    def _keeps_memory(self, result: Result) -> bool:
        """Only mutations do."""
        error = result.error if isinstance(result, Failed) else None
        kept_by = Mutation.MEMORY_NEVER_FREED, _KEPT_BY.get(error) if error is not None else None
        return any(mutation is not None and self._shared.mutated(mutation) for mutation in kept_by)

    def complete(self, sent: Sent, result: Result) -> None:
        op = sent.op
        if op is None:
            return
        if self._shared.mutated(Mutation.COMPLETES_OUT_OF_ORDER) and self._ops and sent.sequence_id % 2 == 0:
            self._shared.after(_PASSED_BY_NS, lambda: self._shared.completed(op, result))
        else:
            self._shared.completed(op, result)

    def fail(self, ops: Iterable[Op], error: ErrorClass, text: str) -> None:
        """Units that have left the queue fail, surely not sent where no byte of them was written."""
        for op in ops:
            failed = 1 if self._shared.mutated(Mutation.BATCH_FAILS_FIRST_ONLY) else len(op.sent)
            self.release(op.sent[:failed], Failed(error, text, op.certain))
            self.release(op.sent[failed:], Done())

    def settled(self) -> None:
        """Units have left the queue, and their messages have ended."""
        self._arm()
        self._finish_flushes()
        self._room()
        if self._shared.settings.memory_limit_bytes:
            # Another producer's blocked send may fit now.
            for room in self._shared.memory_waiters:
                room()

    # --- flush ---

    def flush(self, flushed: Callable[[Result], None]) -> None:
        """`flushed` is called when every unit added before has left the queue."""
        if self._shared.mutated(Mutation.FLUSH_FORGETS_EARLIER):
            self._flushes.clear()
        self._flushes.append((self._added, flushed))
        self._finish_flushes()

    def _finish_flushes(self) -> None:
        oldest = self._ops[0].number if self._ops else self._added
        while self._flushes and self._flushes[0][0] <= oldest:
            self._flushes.popleft()[1](Done())

    # --- time-out ---

    def due_ns(self, created_ns: int) -> int | None:
        """When what was created then times out; None for never."""
        if self._settings.send_timeout_ms == 0 or self._shared.mutated(Mutation.NEVER_TIMES_OUT):
            return None
        return created_ns + self._age_ns()

    def _age_ns(self) -> int:
        return self._settings.send_timeout_ms * MS + self._shared.lateness_ns(Mutation.SEND_TIMEOUT_LATE)

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
