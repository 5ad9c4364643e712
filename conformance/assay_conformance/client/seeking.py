"""Seeks of one consumer: the broker moves the subscription, sends its consumers away, and they come again.

    SEEK ->   <- CLOSE_CONSUMER   SUBSCRIBE ->   <- SUCCESS of both, in any order

A seek ends when the broker has answered it and the consumer is subscribed again, whichever comes last; where the broker
has not closed the consumer by then, with the answer. What was prefetched before belongs to the old place, and so do
acknowledgments that have not left: they go before SEEK does, and none of that time follows it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from assay_conformance.client.acks import Outlet
from assay_conformance.client.entries import Position, ack_set_of
from assay_conformance.client.refusal import Cause, Refusal
from assay_conformance.client.values import Done, Failed, Result
from assay_conformance.model.event import ErrorClass
from assay_conformance.wire import NO_ID, BaseCommand, CommandType, Frame, command, message_id

Sought = Callable[[Result], None]


@dataclass(frozen=True, slots=True)
class Place:
    """After a message, or, where `publish_time_ms` is given, at the first one published then or later.

    `positions` are those of the message's chunks, or its only one; `index` is its place in a batch of `size`, if any.
    """

    positions: tuple[Position, ...] = ()
    index: int | None = None
    size: int = 0
    publish_time_ms: int | None = None


@dataclass(slots=True, eq=False)
class PendingSeek:
    place: Place
    sought: Sought
    answered: bool = False
    away: bool = False
    """The consumer was closed by the broker, and is not subscribed again."""
    again: bool = False


class Seeking:
    """`clear` empties the consumer's queue of what came before; `inclusive`: a message sought is delivered itself."""

    def __init__(self, outlet: Outlet, clear: Callable[[], None], *, inclusive: bool = False) -> None:
        self._outlet = outlet
        self._clear = clear
        self._inclusive = inclusive
        self._pending: PendingSeek | None = None
        self._start: Place | None = None

    @property
    def drops(self) -> bool:
        """Whether what arrives now is of the old place."""
        return self._pending is not None and not self._pending.again

    def begin(self, place: Place, sought: Sought) -> None:
        if self._pending is not None:
            sought(Failed(ErrorClass.OTHER, "another seek is under way", certain=True))
            return
        pending = self._pending = PendingSeek(place, sought)
        self._outlet.ask(
            lambda request_id: _seek(self._outlet.consumer_id, request_id, self._named(place)),
            lambda answer: self._answered(pending, answer),
        )

    def _named(self, place: Place) -> Place:
        """Return the place to seek: for a chunked message its first chunk, or it could not be made whole (PIP-107)."""
        return place

    def passes(self, position: Position, index: int | None) -> bool:
        """Return whether a message is after the one sought: the broker starts with that one, or with its batch."""
        start = self._start
        if start is None or not start.positions:
            return True
        if position != start.positions[-1] or (self._inclusive and index == start.index):
            return True
        return index is not None and start.index is not None and index > start.index

    def passes_over(self, position: Position) -> bool:
        """Return whether some of this entry is before the message sought."""
        return self._start is not None and position in self._start.positions[-1:]

    def lost(self) -> None:
        """Note that the consumer is not subscribed any more."""
        if self._pending is not None:
            self._pending.away, self._pending.again = True, False

    def registered(self) -> None:
        """Note that the consumer is subscribed again."""
        pending = self._pending
        if pending is not None:
            pending.away, pending.again = False, True
            # Messages of the new place may come ahead of the answer.
            self._start = pending.place
            if pending.answered:
                self._end(pending, Done())

    def ended(self) -> None:
        """Fail a pending seek: the consumer will not subscribe again."""
        if self._pending is not None:
            self._end(self._pending, Failed(ErrorClass.CLOSED, "the consumer was closed"))

    def _answered(self, pending: PendingSeek, answer: Frame | Refusal) -> None:
        if pending is not self._pending:
            return
        if isinstance(answer, Refusal):
            self._end(pending, answer.failed(certain=answer.cause is Cause.SERVER))
            return
        self._start = pending.place
        pending.answered = True
        if not pending.away and not pending.again:
            self._clear()
        if self._is_over(pending):
            self._end(pending, Done())

    def _is_over(self, pending: PendingSeek) -> bool:
        """Return whether a seek that was answered has ended with that: not before the consumer is subscribed again."""
        return not pending.away

    def _end(self, pending: PendingSeek, result: Result) -> None:
        self._pending = None
        pending.sought(result)


def _seek(consumer_id: int, request_id: int, place: Place) -> BaseCommand:
    if place.publish_time_ms is not None:
        return command(
            CommandType.SEEK,
            consumer_id=consumer_id,
            request_id=request_id,
            message_publish_time=place.publish_time_ms,
        )
    ledger, entry = place.positions[0]
    id = message_id(ledger & NO_ID, entry & NO_ID)
    if place.index is not None and place.size:
        # Members from the one sought on stay to be delivered; those before it are as good as acknowledged.
        id.ack_set.extend(ack_set_of((1 << place.size) - (1 << place.index)))
    return command(CommandType.SEEK, consumer_id=consumer_id, request_id=request_id, message_id=id)
