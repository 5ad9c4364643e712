"""Clocks that cannot be right: a message that was delivered before it was sent shows them."""

from __future__ import annotations

from collections.abc import Iterator

from assay_reports.ledgers.ingest.certifying import Columns, groups
from assay_reports.ledgers.ingest.flags import Times
from assay_reports.ledgers.layout import NULL

SAMPLED = 64
"""Of so many messages of a stream the time of one is kept."""


class FirstSends:
    """When messages were asked for, for the first time."""

    def __init__(self) -> None:
        self._of: dict[int, Times] = {}

    def take(self, attempts: Columns) -> None:
        for (stream,), at in groups(attempts["stream"]):
            first = at[attempts["attempt"][at] == 0]
            times = self._of.setdefault(stream, Times(NULL, SAMPLED))
            times.set(attempts["seq"][first], attempts["t"][first])

    def early_us(self, deliveries: Columns) -> Iterator[tuple[int, int]]:
        """Yield (stream, µs): by how much, at most, a delivery of the stream comes before its own send.

        0 or less means that none does.
        """
        for (stream,), at in groups(deliveries["stream"]):
            if stream not in self._of:
                continue
            sent = self._of[stream].of(deliveries["seq"][at])
            known = sent != NULL
            if known.any():
                yield stream, int((sent[known] - deliveries["t"][at][known]).max())
