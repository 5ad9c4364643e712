"""SENDs of one broker that wait for the store: too many bytes of them stop the reading of all its connections.

Who connects while they are stopped is read. They go on when half of the bound is written. What waits of a connection
that ended counts no more. Source: ServerCnx of Pulsar 4.0, and maxMessagePublishBufferSizeInMB in broker.conf.
"""

from __future__ import annotations

from typing import Protocol

from assay_conformance.broker.host import Host

_MIB = 1 << 20


class Pausing(Protocol):
    """A connection, as far as its reading can be stopped."""

    def pause(self) -> None: ...

    def resume(self) -> None: ...


class PublishBuffer:
    """`join` and `leave` are for connections; bytes `begin` to wait, and have `ended` to."""

    __slots__ = ("_bytes", "_most_bytes", "_paused", "_readings")

    def __init__(self, host: Host) -> None:
        self._most_bytes = host.settings.max_pending_mb * _MIB
        self._bytes = 0
        self._readings: dict[Pausing, None] = {}
        self._paused: list[Pausing] = []

    def join(self, reading: Pausing) -> None:
        self._readings[reading] = None

    def leave(self, reading: Pausing) -> None:
        self._readings.pop(reading, None)

    def begin(self, size: int) -> None:
        self._bytes += size
        if 0 < self._most_bytes < self._bytes and not self._paused:
            self._paused = list(self._readings)
            for reading in self._paused:
                reading.pause()

    def ended(self, size: int) -> None:
        self._bytes -= size
        if self._paused and self._bytes <= self._most_bytes // 2:
            # A connection that reads again may fill it once more, and then all of these are stopped again before they
            # resume.
            paused, self._paused = self._paused, []
            for reading in paused:
                reading.resume()
