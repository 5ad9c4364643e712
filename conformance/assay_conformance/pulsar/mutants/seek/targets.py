"""Clients that seek to the wrong place, or mix up what came before and after."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from assay_conformance.client.consumer import Consumer
from assay_conformance.client.entries import Position
from assay_conformance.client.reader import ReadingPlace, position_of
from assay_conformance.client.seeking import PendingSeek, Place, Seeking, Sought
from assay_conformance.client.settings import InitialPosition
from assay_conformance.client.shared import MS
from assay_conformance.client.values import Result
from assay_conformance.model.topic_names import NO_PARTITION
from assay_conformance.wire import Frame
from assay_conformance.wire import pulsar_pb2 as pb


class SeekRepeatsTarget(Seeking):
    """After an exclusive seek to a message, that message is delivered once more."""

    breaks = "seek.starts-at-target"
    stands_for = "the broker's position taken for the application's: it starts with the message itself, or its batch"

    def passes(self, position: Position, index: int | None) -> bool:
        return True


class SeekIgnoresInclusive(Seeking):
    """After an inclusive seek the consumer starts after the message."""

    breaks = "seek.starts-at-target"
    stands_for = "an option used when a consumer opens, and not when it seeks"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._inclusive = False


class SeekKeepsPrefetched(Consumer):
    """Messages prefetched before a seek are delivered after it."""

    breaks = "seek.discards-prefetched"
    stands_for = "DotPulsar (read in its source): a seek clears its batch handling, and not the queue"

    def _drop_prefetched(self) -> None:
        if not self._seeking.drops:
            super()._drop_prefetched()


class PartitionsSeekKeepsPrefetched(Consumer):
    """Messages of partitions prefetched before a seek are delivered after it."""

    breaks = "seek.discards-prefetched"
    stands_for = "pulsar-client-cpp#388: the consumers of partitions are emptied, and not the queue they share"

    def _drop_prefetched(self) -> None:
        if self.partition == NO_PARTITION or not self._seeking.drops:
            super()._drop_prefetched()


class SeekKeepsAcks(Consumer):
    """Grouped acknowledgments from before a seek are sent after it."""

    breaks = "seek.discards-prefetched"
    stands_for = "an acknowledgment group that ignores seeks, and acknowledges messages that are to be read again"

    def _flush_before_seek(self) -> None:
        pass

    def _drop_acks_of_old_place(self) -> None:
        pass


class SeekKeepsAcknowledged(Consumer):
    """What was acknowledged before a seek is dropped for a moment after it, as if it were a redelivery."""

    breaks = "seek.starts-at-target"
    stands_for = "apache/pulsar#10414: the filter of acknowledged messages is cleared after messages may come"

    _is_to_clear = False

    def seek(self, place: Place, sought: Callable[[Result], None]) -> None:
        reach = self._acks._reach
        super().seek(place, sought)
        if self._seeking._pending is not None:
            self._acks._reach, self._is_to_clear = reach, True

    def _registered(self, answer: Frame) -> None:
        super()._registered(answer)
        if self._is_to_clear:
            self._is_to_clear = False
            self.shared.after(20 * MS, self._acks.start_over)


class SeekCompletesBeforeResubscribe(Seeking):
    """A seek ends with the broker's answer, before the consumer has subscribed again."""

    breaks = "seek.completes-after-resubscribe"
    stands_for = "the answer taken for the end: the next message may still be from before the seek"

    def _is_over(self, pending: PendingSeek) -> bool:
        return True


class ConcurrentSeekIgnored(Seeking):
    """A seek that is called during another seek is not sent, and succeeds with that one."""

    breaks = "seek.one-at-a-time"
    stands_for = "one future for all seeks in progress"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._also: list[Sought] = []

    def begin(self, place: Place, sought: Sought) -> None:
        if self._pending is None:
            super().begin(place, sought)
        else:
            self._also.append(sought)

    def _end(self, pending: PendingSeek, result: Result) -> None:
        also, self._also = self._also, []
        super()._end(pending, result)
        for sought in also:
            sought(result)


class SeekIntoBatchWithoutAckSet(Seeking):
    """A seek into a batch names the batch without an ack_set."""

    breaks = "seek.into-batch-carries-ack-set"
    stands_for = "C++ (read in its source): the client itself skips the messages before the target"

    def _named(self, place: Place) -> Place:
        return replace(place, size=0)


class HasMoreAfterTimeSeek(ReadingPlace):
    """After a seek to a time has_message_available compares with the broker's cursor for ever."""

    breaks = "seek.has-message-available-after-read"
    stands_for = "pulsar-client-cpp#498: at the end of the topic it still returns true"

    _by_time = False

    def moved(self, place: Place) -> ReadingPlace:
        sought = super().moved(place)
        assert isinstance(sought, HasMoreAfterTimeSeek)
        sought._by_time = not place.positions
        return sought

    def has_more(self, answer: pb.CommandGetLastMessageIdResponse) -> bool:
        last = position_of(answer.last_message_id)
        if self._by_time and last >= (0, 0):
            return self._is_behind_cursor(last, position_of(answer.consumer_mark_delete_position))
        return super().has_more(answer)


class HasMoreAfterInclusiveTimeSeek(ReadingPlace):
    """After an inclusive seek to a time, has_message_available returns true at the end of the topic."""

    breaks = "seek.has-message-available-before-read"
    stands_for = "pulsar-client-cpp#556, apache/pulsar#23501: the option is applied to seeks by time as well"

    def _is_behind_cursor(self, last: Position, cursor: Position) -> bool:
        return last >= cursor if self._inclusive else super()._is_behind_cursor(last, cursor)


class EmptyTopicHasMore(ReadingPlace):
    """has_message_available takes -1, the last entry id of an empty topic, for a message."""

    breaks = "seek.has-message-available-before-read"
    stands_for = "-1 read without its sign"

    def has_more(self, answer: pb.CommandGetLastMessageIdResponse) -> bool:
        return position_of(answer.last_message_id) < (0, 0) or super().has_more(answer)


class LatestHasNoMore(ReadingPlace):
    """For a reader that starts at the end, has_message_available returns false until something was read."""

    breaks = "seek.has-message-available-before-read"
    stands_for = "latest taken for the greatest of all ids"

    def has_more(self, answer: pb.CommandGetLastMessageIdResponse) -> bool:
        is_at_end = self._last is None and self._begins is InitialPosition.LATEST
        return not is_at_end and super().has_more(answer)


class SaysMoreOfEmptyTopicToInclusive(ReadingPlace):
    """A reader that begins with the latest message says that an empty topic holds one."""

    breaks = "seek.has-message-available-before-read"
    stands_for = "apache/pulsar#8735: the id of no message, taken for that of the message to begin with"

    def has_more(self, answer: pb.CommandGetLastMessageIdResponse) -> bool:
        begins_with_latest = self._begins is InitialPosition.LATEST and self._inclusive and self._last is None
        return (begins_with_latest and position_of(answer.last_message_id) < (0, 0)) or super().has_more(answer)
