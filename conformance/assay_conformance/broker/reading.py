"""Reading of one connection, which may pause: what comes meanwhile waits, unread, in its order.

Two things pause it: a publish rate that is used up, and too many SENDs the store has not written. Each pause is ended
by whoever made it; frames are read again once none is left.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from assay_conformance.broker.host import Host
from assay_conformance.broker.mutations import BrokerMutation
from assay_conformance.wire import Frame


class Reading:
    """`read` serves one frame. `on` is what the sink was told last."""

    __slots__ = (
        "_bounded",
        "_conn",
        "_full",
        "_most_unwritten",
        "_pauses",
        "_read",
        "_sink",
        "_unwritten",
        "_waiting",
        "on",
    )

    def __init__(self, host: Host, conn: int, read: Callable[[Frame], None]) -> None:
        self.on = True
        self._sink = host.sink
        self._conn = conn
        self._read = read
        self._pauses = 0
        self._waiting: deque[Frame] = deque()
        self._bounded = not host.breaks(BrokerMutation.READS_ON_UNWRITTEN)
        self._most_unwritten = host.settings.max_pending_sends
        self._unwritten = 0
        self._full = False

    def receive(self, frame: Frame) -> None:
        """One frame came."""
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

    def write_begins(self) -> None:
        """A SEND waits for the store."""
        self._unwritten += 1
        if self._bounded and self._unwritten >= self._most_unwritten and not self._full:
            self._full = True
            self.pause()

    def write_ended(self) -> None:
        """A SEND that waited is answered."""
        self._unwritten -= 1
        if self._full and self._unwritten <= self._most_unwritten // 2:
            self._full = False
            self.resume()

    def stop(self) -> None:
        """The connection is over: what waits will never be read, and no pause matters any more."""
        self._waiting.clear()
        self.on = True
