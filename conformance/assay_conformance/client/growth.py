"""Partitions that are added to a topic while a producer or consumer of it is open: looked for again and again."""

from __future__ import annotations

from collections.abc import Callable

from assay_conformance.client.lookup import Lookup
from assay_conformance.client.refusal import Refusal
from assay_conformance.client.shared import MS, Shared
from assay_conformance.client.timers import Timer

Widen = Callable[[range, Callable[[bool], None]], None]
"""Open these partitions, and report whether all of them opened."""


class Growth:
    """Asks every `interval_ms` (0 = never) from when it is made until it is stopped. Partitions that do not open are
    tried again with the next answer. `known` is how many there were at first."""

    def __init__(self, shared: Shared, lookup: Lookup, topic: str, interval_ms: int, known: int, widen: Widen) -> None:
        self._shared = shared
        self._lookup = lookup
        self._topic = topic
        self._interval_ms = interval_ms
        self._known = known
        self._widen = widen
        self._timer: Timer | None = None
        self._stopped = False
        self._arm()

    def stop(self) -> None:
        self._stopped = True
        if self._timer is not None:
            self._timer.cancel()

    def _arm(self) -> None:
        # A topic without partitions never gets any.
        if self._interval_ms and self._known and not self._stopped:
            self._timer = self._shared.after(
                self._interval_ms * MS, lambda: self._lookup.partitions(self._topic, self._counted)
            )

    def _counted(self, partitions: int | Refusal) -> None:
        if self._stopped:
            return
        if isinstance(partitions, Refusal) or partitions <= self._known:
            self._arm()
        else:
            self._widen(range(self._known, partitions), lambda opened: self._widened(partitions, opened))

    def _widened(self, partitions: int, opened: bool) -> None:
        if opened:
            self._known = partitions
        self._arm()
