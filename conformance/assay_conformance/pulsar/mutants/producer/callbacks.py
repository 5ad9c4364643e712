"""Clients that stop where the callback of a send calls them, or while it runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from assay_conformance.client.publisher import Publisher
from assay_conformance.client.shared import MS
from assay_conformance.client.subscription import Subscription
from assay_conformance.client.values import Outgoing, Result

LOOKS_AGAIN_MS = 20
_BREAKS = ("producer.calls-in-callback-end", "robustness.calls-do-not-hang")


class SendInCallbackHangs(Publisher):
    """A send that is called while the callback of another one runs never ends."""

    breaks = _BREAKS
    stands_for = "a callback that runs under the producer's lock, which is not reentrant"

    def send(self, op: int, message: Outgoing, *, sync: bool = False) -> None:
        if not self._shared.callbacks.is_busy:
            super().send(op, message, sync=sync)


class FlushBesideCallbackHangs(Publisher):
    """A flush that is called while the callback of a send runs never ends."""

    breaks = _BREAKS
    stands_for = (
        "pulsar-client-python#123: a flush holds the lock that the callback needs while it waits for the producer's"
    )

    def flush(self, flushed: Callable[[Result], None]) -> None:
        if not self._shared.callbacks.is_busy:
            super().flush(flushed)


class CloseBesideCallbackHangs(Publisher):
    """A close that is called while the callback of a send runs never ends."""

    breaks = _BREAKS
    stands_for = "pulsar-client-cpp#187: close and the end of a send take two locks in different orders"

    def close(self, closed: Callable[[Result], None]) -> None:
        if not self._shared.callbacks.is_busy:
            super().close(closed)


class AckInCallbackHangs(Subscription):
    """An acknowledgment that is called while the callback of a send runs never ends."""

    breaks = _BREAKS
    stands_for = "a blocking acknowledgment that is completed by the thread on which it is called"

    def ack(self, op: int, numbers: Sequence[int], *, cumulative: bool, of: Subscription) -> None:
        if not self._shared.callbacks.is_busy:
            super().ack(op, numbers, cumulative=cumulative, of=of)


class FlushInCallbackWaitsForIt(Publisher):
    """A flush called inside the callback of a send, or while one runs, ends only when the callback has returned."""

    breaks = "producer.waiting-calls-in-callback-end"
    stands_for = "callbacks on the thread that serves connections: C++, and Java says so (apache/pulsar#24601)"

    def flush(self, flushed: Callable[[Result], None]) -> None:
        if self._shared.callbacks.is_busy:
            self._shared.after(LOOKS_AGAIN_MS * MS, lambda: self.flush(flushed))
        else:
            super().flush(flushed)
