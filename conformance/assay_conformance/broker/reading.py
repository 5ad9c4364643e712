"""Reading of one connection, which may pause: what comes meanwhile waits, unread, in its order.

Four things pause it: a publish rate that is used up, too many SENDs the store has not written, too many bytes of them
on all connections of the broker, and a client that does not read its answers. Each pause is ended by its own cause;
frames are read again once none is left.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from assay_conformance.broker.buffer import PublishBuffer
from assay_conformance.broker.host import Host
from assay_conformance.wire import Frame


class Reading:
    """`read` serves one frame. `on` is what the sink was last called with."""

    __slots__ = (
        "_buffer",
        "_bytes",
        "_conn",
        "_flooded",
        "_full",
        "_most_unwritten",
        "_pauses",
        "_read",
        "_sink",
        "_unwritten",
        "_waiting",
        "on",
    )

    def __init__(self, host: Host, conn: int, read: Callable[[Frame], None], buffer: PublishBuffer) -> None:
        self.on = True
        self._sink = host.sink
        self._conn = conn
        self._read = read
        self._pauses = 0
        self._waiting: deque[Frame] = deque()
        self._most_unwritten = host.settings.max_pending_sends
        self._unwritten = 0
        self._full = False
        self._flooded = False
        self._buffer = buffer
        self._bytes = 0
        buffer.join(self)

    def receive(self, frame: Frame) -> None:
        """Take one frame: serve it, or keep it while reading is paused."""
        if self._pauses:
            self._waiting.append(frame)
        else:
            self._read(frame)

    def pause(self) -> None:
        """Stop reading; `resume` has to be called as often."""
        self._pauses += 1
        if self.on:
            self.on = False
            self._sink.pause_reading(self._conn)

    def resume(self) -> None:
        """Read what waited, until something pauses again; then the connection."""
        self._pauses -= 1
        while self._waiting and not self._pauses:
            self._read(self._waiting.popleft())
        if not self._pauses and not self.on:
            self.on = True
            self._sink.resume_reading(self._conn)

    def write_begins(self, size: int) -> None:
        """Count a SEND of so many bytes that waits for the store."""
        self._unwritten += 1
        self._bytes += size
        self._buffer.begin(size)
        if self._has_too_many and not self._full:
            self._full = True
            self.pause()

    @property
    def _has_too_many(self) -> bool:
        return self._unwritten >= self._most_unwritten

    def write_ended(self, size: int) -> None:
        """Count a SEND that waited as answered."""
        self._unwritten -= 1
        if self._bytes:
            self._bytes -= size
            self._buffer.ended(size)
        if self._full and self._unwritten <= self._most_unwritten // 2:
            self._full = False
            self.resume()

    def flooded(self) -> None:
        """Let the client's commands wait until `drained`: it leaves too much unread."""
        if not self._flooded:
            self._flooded = True
            self.pause()

    def drained(self) -> None:
        """Go on: the client has read."""
        if self._flooded:
            self._flooded = False
            self.resume()

    def stop(self) -> None:
        """Stop for good: the connection has ended, so what waits is never read and no pause matters any more."""
        self._buffer.leave(self)
        left, self._bytes = self._bytes, 0
        if left:
            self._buffer.ended(left)
        self._waiting.clear()
        self.on = True
