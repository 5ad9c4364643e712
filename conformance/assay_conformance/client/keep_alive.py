"""Keep-alive of one connection: after an interval without a byte a PING, and after another the peer is given up."""

from __future__ import annotations

from collections.abc import Callable

from assay_conformance.client.shared import MS, Shared
from assay_conformance.client.timers import Timer


class KeepAlive:
    """`ping` asks the peer for a sign of life; `silent` is called when none came."""

    def __init__(self, shared: Shared, ping: Callable[[], None], silent: Callable[[], None]) -> None:
        self._shared = shared
        self._ping = ping
        self._silent = silent
        self._interval_ns = shared.settings.keep_alive_ms * MS
        self._heard_ns = shared.now_ns
        self._timer: Timer | None = None

    def heard(self) -> None:
        """Note that the peer is alive, which any inbound byte proves."""
        self._heard_ns = self._shared.now_ns

    def listen(self) -> None:
        self._timer = self._shared.timers.at(self._heard_ns + self._interval_ns, self._idle)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _idle(self) -> None:
        if self._shared.now_ns < self._heard_ns + self._interval_ns:
            self.listen()
            return
        heard_ns = self._heard_ns
        self._ping()
        self._timer = self._shared.after(self._interval_ns, lambda: self._judge_silence(heard_ns))

    def _judge_silence(self, heard_ns: int) -> None:
        if self._heard_ns > heard_ns:
            self.listen()
        else:
            self._silent()
