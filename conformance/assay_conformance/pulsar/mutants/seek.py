"""Clients that seek to the wrong place, or mix up what came before and after."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from assay_conformance.client.consumer import Consumer
from assay_conformance.client.entries import Position
from assay_conformance.client.reader import ReadingPlace, position_of
from assay_conformance.client.seeking import PendingSeek, Place, Seeking, Sought
from assay_conformance.client.settings import InitialPosition
from assay_conformance.client.values import Result
from assay_conformance.model.topic_names import NO_PARTITION
from assay_conformance.wire import pulsar_pb2 as pb


class SeekRepeatsTarget(Seeking):
    """A seek to a message hands that message out once more."""

    breaks = "seek.starts-at-target"
    stands_for = "the broker's place taken for the application's: it starts with the message sought, or with its batch"

    def passes(self, position: Position, index: int | None) -> bool:
        return True


class SeekIgnoresInclusive(Seeking):
    """A consumer that is to begin with the message it seeks begins after it."""

    breaks = "seek.starts-at-target"
    stands_for = "an option that is looked at where a consumer opens, and not where it seeks"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._inclusive = False


class SeekKeepsPrefetched(Consumer):
    """What was prefetched before a seek is handed over after it."""

    breaks = "seek.discards-prefetched"
    stands_for = "DotPulsar (read in its source): a seek clears its batch handling, and not the queue"

    def _drop_prefetched(self) -> None:
        if not self._seeking.drops:
            super()._drop_prefetched()


class PartitionsSeekKeepsPrefetched(Consumer):
    """What was prefetched of partitions before a seek is handed over after it."""

    breaks = "seek.discards-prefetched"
    stands_for = "pulsar-client-cpp#388: the consumers of partitions are emptied, and not the queue they share"

    def _drop_prefetched(self) -> None:
        if self.partition == NO_PARTITION or not self._seeking.drops:
            super()._drop_prefetched()


class SeekKeepsAcks(Consumer):
    """Grouped acknowledgments from before a seek leave after it."""

    breaks = "seek.discards-prefetched"
    stands_for = "an acknowledgment group that knows nothing of seeks: it acknowledges what is to be read again"

    def _flush_before_seek(self) -> None:
        pass

    def _drop_acks_of_old_place(self) -> None:
        pass


class SeekCompletesBeforeResubscribe(Seeking):
    """A seek ends with the broker's answer, while the consumer is away."""

    breaks = "seek.completes-after-resubscribe"
    stands_for = "an answer taken for the whole: what is received next may still be from before"

    def _is_over(self, pending: PendingSeek) -> bool:
        return True


class ConcurrentSeekIgnored(Seeking):
    """A seek that is called while another is under way is forgotten, and ends well with it."""

    breaks = "seek.one-at-a-time"
    stands_for = "one future for every seek that is under way"

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
    """A seek into a batch names the batch alone."""

    breaks = "seek.into-batch-carries-ack-set"
    stands_for = (
        "C++ (read in its source): what is before the message sought is taken from the whole batch by the client"
    )

    def _named(self, place: Place) -> Place:
        return replace(place, size=0)


class HasMoreAfterTimeSeek(ReadingPlace):
    """Behind a seek to a time a reader looks at the broker's cursor for good."""

    breaks = "seek.has-message-available-after-read"
    stands_for = "pulsar-client-cpp#498: read to the end, it still says that there is more"

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
    """A reader that is to begin with the message it names says that there is more, where its cursor is at the end."""

    breaks = "seek.has-message-available-before-read"
    stands_for = "pulsar-client-cpp#556, apache/pulsar#23501: the option is heeded behind a seek to a time, too"

    def _is_behind_cursor(self, last: Position, cursor: Position) -> bool:
        return last >= cursor if self._inclusive else super()._is_behind_cursor(last, cursor)


class EmptyTopicHasMore(ReadingPlace):
    """A reader takes -1, the last id of an empty topic, for a message."""

    breaks = "seek.has-message-available-before-read"
    stands_for = "-1 read without its sign"

    def has_more(self, answer: pb.CommandGetLastMessageIdResponse) -> bool:
        return position_of(answer.last_message_id) < (0, 0) or super().has_more(answer)


class LatestHasNoMore(ReadingPlace):
    """A reader that begins at the end of its topic says that there is no more until it has read something."""

    breaks = "seek.has-message-available-before-read"
    stands_for = "the end of the topic taken for the last of all ids, behind which nothing can be"

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
