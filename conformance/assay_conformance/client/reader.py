"""A consumer without a durable subscription: the broker forgets it, so it says itself where it begins.

At first that is one end of the topic; when it comes back, the last message its application was handed, which the broker
sends again and the reader passes over.
"""

from __future__ import annotations

from assay_conformance.client.entries import Position
from assay_conformance.client.settings import InitialPosition
from assay_conformance.wire import NO_ID
from assay_conformance.wire.pulsar_pb2 import MessageIdData

LATEST_ID = 2**63 - 1
"""Ledger and entry of the id that stands for the end of a topic."""

_ENDS = {InitialPosition.EARLIEST: NO_ID, InitialPosition.LATEST: LATEST_ID}


class ReadingPlace:
    """How far a reader is."""

    def __init__(self, begins: InitialPosition) -> None:
        self._begins = begins
        self._last: tuple[Position, int] | None = None

    def handed_over(self, position: Position, index: int | None) -> None:
        self._last = (position, -1 if index is None else index)

    def passes(self, position: Position, index: int | None) -> bool:
        """Whether a message is behind what was handed over."""
        return self._last is None or (position, -1 if index is None else index) > self._last

    @property
    def start(self) -> MessageIdData:
        """What the next SUBSCRIBE begins with."""
        if self._last is None:
            end = _ENDS[self._begins]
            return MessageIdData(ledgerId=end, entryId=end)
        (ledger, entry), index = self._last
        return MessageIdData(ledgerId=ledger, entryId=entry, batch_index=index)
