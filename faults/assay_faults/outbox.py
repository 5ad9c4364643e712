"""What the link passes to its sink: at once towards the client, one thing at a time towards the broker.

A frame written towards a client cannot lead to anything before the call returns. One delivered to the broker makes the
broker answer, and the answer comes back through the link while the delivery is still running; so does a cut, which the
broker has to be notified of. Calls to the broker wait here meanwhile, so that it is never called from within its own
call. By then a connection that a frame cut is closed, so the frame is not answered on it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from assay_conformance.model.fault import CutHow, Direction
from assay_conformance.wire import Frame


class LinkSink(Protocol):
    """Both ends of the link's connections."""

    def deliver(self, conn: int, direction: Direction, frame: Frame) -> None:
        """Deliver a whole frame to the receiving side."""
        ...

    def deliver_bytes(self, conn: int, direction: Direction, data: bytes) -> None:
        """Deliver bytes that may be a piece of a frame, of several frames, or of none."""
        ...

    def close_link(self, conn: int, how: CutHow, abrupt: bool) -> None:
        """End the connection towards both sides; RST waits for bytes not sent yet unless `abrupt`."""
        ...


class Outbox:
    """Calls that reach the broker, in the order they were made, the next one only when the one before has returned."""

    __slots__ = ("_calls", "_running")

    def __init__(self) -> None:
        self._calls: deque[tuple[Callable[..., None], tuple[Any, ...]]] = deque()
        self._running = False

    def call(self, function: Callable[..., None], *arguments: Any) -> None:
        """Queue a call for the next `run`."""
        self._calls.append((function, arguments))

    def run(self) -> None:
        """Make the calls, and those that they lead to; does nothing when called from within one."""
        if self._running:
            return
        self._running = True
        try:
            while self._calls:
                function, arguments = self._calls.popleft()
                function(*arguments)
        finally:
            self._running = False

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Make no calls meanwhile."""
        was_running, self._running = self._running, True
        try:
            yield
        finally:
            self._running = was_running
