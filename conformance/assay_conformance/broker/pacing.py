"""Publish rates: whose connections wait for tokens.

A rate holds for one topic, or for all topics of a broker together. The SEND that uses up its last token is taken; then
the connection it came on is not read until tokens are there again, and with it wait all other producers and consumers
on that connection. Connections go on first come, first served. Source: PIP-322.
"""

from __future__ import annotations

from collections import deque

from assay_conformance.broker.host import Host
from assay_conformance.broker.reading import Reading
from assay_conformance.broker.throttle import PublishLimiter
from assay_conformance.broker.timers import Timer
from assay_conformance.model.policy import Rate


class PublishGate:
    """One rate, and the connections that wait for it."""

    __slots__ = ("_host", "_limiter", "_timer", "_waiting")

    def __init__(self, host: Host, rate: Rate) -> None:
        self._host = host
        self._limiter = PublishLimiter(rate, host.now_ns)
        self._waiting: deque[Reading] = deque()
        self._timer: Timer | None = None

    @property
    def is_shut(self) -> bool:
        """Whether tokens are used up."""
        return self._limiter.pause_ns(self._host.now_ns) > 0

    def charge(self, messages: int, size: int) -> bool:
        """Take the tokens of an accepted SEND; False when none is left."""
        return self._limiter.consume(messages, size, self._host.now_ns)

    def hold(self, reading: Reading) -> None:
        """Stop reading a connection until there are tokens."""
        reading.pause()
        self._waiting.append(reading)
        if self._timer is None:
            self._wait()

    def remove(self) -> None:
        """Remove the rate: all that waited for it go on."""
        if self._timer is not None:
            self._timer.cancel()
        while self._waiting:
            self._waiting.popleft().resume()

    def _wait(self) -> None:
        now_ns = self._host.now_ns
        self._timer = self._host.timers.at(now_ns + self._limiter.pause_ns(now_ns), self._open)

    def _open(self) -> None:
        self._timer = None
        while self._waiting:
            if self.is_shut:
                self._wait()
                return
            self._waiting.popleft().resume()
