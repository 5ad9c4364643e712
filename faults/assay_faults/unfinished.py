"""Frames that have begun to arrive and are not whole: how many bytes of them all connections of a broker may hold.

A frame has a limit of its own, and many connections with half a frame each hold many times that. Beyond the total,
connections are not read from, but for the one whose frame began first: so frames become whole one after the other, and
no client is refused for what others hold. A connection that sends nothing while others wait for it is ended.
"""

from __future__ import annotations

from typing import Generic, Protocol, TypeVar


class Stream(Protocol):
    """A connection as far as it is read from; `FrameStream` is one."""

    def hold(self, reason: str, /) -> None: ...

    def release(self, reason: str, /) -> None: ...


S = TypeVar("S", bound=Stream)
_REASON = "other connections have frames that are not whole"


class Unfinished(Generic[S]):
    """`most_bytes` may be held; `patience_ns` is how long a frame that others wait for may stand still."""

    def __init__(self, most_bytes: int, patience_ns: int) -> None:
        self._most_bytes = most_bytes
        self._patience_ns = patience_ns
        self._held: dict[S, int] = {}
        self._since_ns: dict[S, int] = {}
        self._waiting: dict[S, None] = {}
        self._total = 0

    @property
    def total_bytes(self) -> int:
        return self._total

    def holds(self, stream: S, held_bytes: int, now_ns: int, *, begun: bool) -> None:
        """Note that bytes came, and that `held_bytes` of an incomplete frame are held.

        `begun` is True when the frame is another one than before.
        """
        self._total += held_bytes - self._held.get(stream, 0)
        if not held_bytes or begun:
            self._held.pop(stream, None)
        if held_bytes:
            self._held[stream] = held_bytes
            self._since_ns[stream] = now_ns
        else:
            self._since_ns.pop(stream, None)
        self._settle(stream, now_ns)

    def gone(self, stream: S, now_ns: int) -> None:
        """Forget a connection that is over."""
        self._total -= self._held.pop(stream, 0)
        self._since_ns.pop(stream, None)
        self._waiting.pop(stream, None)
        self._settle(stream, now_ns)

    def next_deadline_ns(self) -> int | None:
        """Return when the next connection may have to be ended, or None."""
        if not self._waiting:
            return None
        return min(self._since_ns[stream] for stream in self._read()) + self._patience_ns

    def stalled(self, now_ns: int) -> list[S]:
        """Return the connections to end: others wait for them, and they made no progress for too long."""
        if not self._waiting:
            return []
        return [stream for stream in self._read() if now_ns - self._since_ns[stream] >= self._patience_ns]

    def _read(self) -> list[S]:
        return [stream for stream in self._held if stream not in self._waiting]

    def _settle(self, changed: S, now_ns: int) -> None:
        if self._total > self._most_bytes:
            if changed in self._held:
                self._wait(changed)
            # The first of all can always go on, or none would.
            self._go_on(next(iter(self._held)), now_ns)
            return
        for stream in tuple(self._waiting):
            self._go_on(stream, now_ns)

    def _wait(self, stream: S) -> None:
        if stream not in self._waiting:
            self._waiting[stream] = None
            stream.hold(_REASON)

    def _go_on(self, stream: S, now_ns: int) -> None:
        if stream in self._waiting:
            del self._waiting[stream]
            # While it was not read from it could not show that it moves.
            self._since_ns[stream] = now_ns
            stream.release(_REASON)
