"""Message handlers of the application: what calls them, with which message, and when the next call may begin.

A client has so many threads for them. A consumer keeps the thread that it was given, and a thread makes one call at a
time: those of one consumer are made one after another, in the order of its queue, and a handler that does not return
holds up nothing but what else is on its thread.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from assay_conformance.client.handed import Inbound


class HandlerThread:
    """Calls handlers one after another."""

    def __init__(self) -> None:
        self._waiting: deque[Listening] = deque()
        self._calls = 0
        self._is_choosing = False

    @property
    def is_busy(self) -> bool:
        """Whether a call runs."""
        return self._calls > 0

    @property
    def _is_free(self) -> bool:
        """Whether another call may begin."""
        return not self._calls

    def has_work(self, listening: Listening) -> None:
        """Queue a consumer that has a message for its handler."""
        if listening not in self._waiting:
            self._waiting.append(listening)
        self._go_on()

    def returned(self) -> None:
        """Note that a call ended, and go on with the next."""
        self._calls -= 1
        self._go_on()

    def _go_on(self) -> None:
        # A handler that returns at once says so before its call is over here: the loop below goes on then.
        if self._is_choosing:
            return
        self._is_choosing = True
        while self._waiting and self._is_free:
            listening = self._waiting.popleft()
            self._calls += 1
            if not listening.call():
                self._calls -= 1
        self._is_choosing = False


class HandlerThreads:
    """Those of one client: consumers get them in turn. `make` makes one."""

    def __init__(self, count: int, make: Callable[[], HandlerThread]) -> None:
        self._make = make
        self._threads = [make() for _ in range(count)]
        self._given = 0

    @property
    def is_busy(self) -> bool:
        """Whether a call runs on any."""
        return any(thread.is_busy for thread in self._threads)

    def next(self) -> HandlerThread:
        """Return the thread of another consumer."""
        thread = self._threads[self._given % len(self._threads)]
        self._given += 1
        return thread


class Listening:
    """The handler of one consumer. `take` takes the next message from its queue, `hand_over` calls the handler."""

    def __init__(
        self, thread: HandlerThread, take: Callable[[], Inbound | None], hand_over: Callable[[Inbound], None]
    ) -> None:
        self._thread = thread
        self._take = take
        self._hand_over = hand_over
        self._calls = 0
        self._over = False

    @property
    def wants(self) -> bool:
        """Whether a call would begin if there were a message."""
        return not self._calls and not self._over

    def arrived(self) -> None:
        """Note that there may be something in the queue."""
        if not self._over:
            self._thread.has_work(self)

    def call(self) -> bool:
        """Call the handler with the next message; False where there is none."""
        inbound = None if self._over else self._take()
        if inbound is None:
            return False
        self._calls += 1
        self._hand_over(inbound)
        return True

    def returned(self, *, raised: bool) -> None:
        """Note that a call of the handler ended. An exception of the application makes no difference to the client."""
        del raised
        self._calls -= 1
        self._thread.returned()
        self.arrived()

    def stop(self) -> None:
        """Begin no call any more; one that runs is not waited for."""
        self._over = True
