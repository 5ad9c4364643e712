"""A consumer without a durable subscription: the broker forgets it, so it says itself where it begins.

At first that is one end of the topic; when it comes back, the last message its application was handed, or the one it
sought, which the broker sends again and the reader passes over.
"""

from __future__ import annotations

from assay_conformance.client.entries import Position
from assay_conformance.client.seeking import Place
from assay_conformance.client.settings import InitialPosition
from assay_conformance.wire import NO_ID
from assay_conformance.wire import pulsar_pb2 as pb
from assay_conformance.wire.pulsar_pb2 import MessageIdData

LATEST_ID = 2**63 - 1
"""Ledger and entry of the id that stands for the end of a topic."""

_ENDS = {InitialPosition.EARLIEST: NO_ID, InitialPosition.LATEST: LATEST_ID}


class ReadingPlace:
    """How far a reader is."""

    def __init__(self, begins: InitialPosition, *, inclusive: bool = False) -> None:
        self._begins = begins
        self._inclusive = inclusive
        self._last: tuple[Position, int] | None = None
        self._at_last = False
        """What it sought is the next it reads, and not what it has read."""

    def moved(self, place: Place) -> ReadingPlace:
        """Return the place of a reader that has sought `place`."""
        sought = type(self)(InitialPosition.EARLIEST, inclusive=self._inclusive)
        if place.positions:
            sought.handed_over(place.positions[-1], place.index)
            sought._at_last = self._inclusive
        return sought

    def handed_over(self, position: Position, index: int | None) -> None:
        self._last, self._at_last = (position, -1 if index is None else index), False

    def passes(self, position: Position, index: int | None) -> bool:
        """Return whether a message is after what was delivered."""
        return self._last is None or self._is_next((position, -1 if index is None else index))

    def has_more(self, answer: pb.CommandGetLastMessageIdResponse) -> bool:
        """Return whether the topic's last message is after this place, or, before any, after the broker's cursor."""
        last, cursor = position_of(answer.last_message_id), position_of(answer.consumer_mark_delete_position)
        if last < (0, 0):
            return False
        if self._last is None:
            return self._is_behind_cursor(last, cursor)
        return self._is_next((last, answer.last_message_id.batch_index))

    def _is_behind_cursor(self, last: Position, cursor: Position) -> bool:
        return last > cursor

    def _is_next(self, place: tuple[Position, int]) -> bool:
        assert self._last is not None
        return place > self._last or (self._at_last and place == self._last)

    @property
    def start(self) -> MessageIdData:
        """What the next SUBSCRIBE begins with."""
        if self._last is None:
            end = _ENDS[self._begins]
            return MessageIdData(ledgerId=end, entryId=end)
        (ledger, entry), index = self._last
        return MessageIdData(ledgerId=ledger, entryId=entry, batch_index=index)


def position_of(id: MessageIdData) -> Position:
    """Return the position of an id. In front of a topic's first message both are -1, sent as the highest number."""
    ledger, entry = (number - 2**64 if number >= 2**63 else number for number in (id.ledgerId, id.entryId))
    return (ledger, entry)
