"""Clients that grant the broker too many or too few permits."""

from __future__ import annotations

from collections.abc import Sequence

from assay_conformance.client.arrivals import Arrivals
from assay_conformance.client.connection import Connection
from assay_conformance.client.consumer import Consumer
from assay_conformance.client.entries import Entry, Opened
from assay_conformance.client.permits import Permits
from assay_conformance.client.refusal import Refusal
from assay_conformance.wire import Frame, MessageMetadata, Payload
from assay_conformance.wire import pulsar_pb2 as pb


class FirstFlowTooLarge(Permits):
    """The first FLOW grants one permit more than the queue holds."""

    breaks = "flow.initial-permits-equal-queue-size"
    stands_for = "off by one"

    def _whole(self, *, first: bool) -> int:
        return super()._whole(first=first) + (1 if first else 0)


class GrantsNothingOnSuccess(Permits):
    def registered(self, *, first: bool) -> None:
        if self._paused or not self._size:
            super().registered(first=first)
        else:
            self._consumed = 0
            self._asked_one = False

    def grant_early(self) -> None:
        if self._size:
            self._flow(self._size)


class FlowBeforeSubscribed(Consumer):
    """The first FLOW is sent with SUBSCRIBE, before its answer."""

    breaks = "flow.initial-permits-equal-queue-size"
    stands_for = "an answer assumed to be a success"
    also = (GrantsNothingOnSuccess,)

    def _register(self, connection: Connection) -> None:
        super()._register(connection)
        assert isinstance(self._permits, GrantsNothingOnSuccess)
        self._permits.grant_early()


class FlowAfterWholeQueue(Permits):
    """Permits are renewed only when the whole queue was received."""

    breaks = "flow.permits-renewed-at-half-queue"
    stands_for = "DotPulsar (read in its source): FLOW(n) follows the n-th message, the pipeline runs dry"

    @property
    def _is_enough(self) -> bool:
        return self._consumed >= self._size


class PermitsForFiltered(Consumer):
    """Permits are returned for messages that an ack_set had removed from a batch."""

    breaks = "flow.no-permit-for-ack-set-filtered"
    stands_for = "Go and C++ clients (read in their source): skipped messages count as used, and the prefetch grows"

    def _charged_for(self, entry: Entry) -> int:
        return entry.size


class ReturnsPermitTwice(Permits):
    """The permit of a message is returned twice when it is delivered."""

    breaks = "flow.permits-within-queue"
    stands_for = "two queues, of a consumer and of its parent, that both return it"

    def handed_over(self, *, current: bool) -> None:
        if self._size and current:
            self.give_back(2)
        else:
            super().handed_over(current=current)


class EarlyChunkKeepsPermit(Arrivals):
    """A chunk that is not the last returns no permit."""

    breaks = "flow.dropped-message-returns-permit"
    stands_for = (
        "Java and Go clients (read in their source), for some chunks: an early return that skips the permit accounting"
    )

    def _give_back_chunk(self, metadata: MessageMetadata) -> None:
        if metadata.chunk_id == metadata.num_chunks_from_msg - 1:
            super()._give_back_chunk(metadata)


class CompactedKeepsPermit(Consumer):
    """A compacted batch returns permits only for its remaining messages."""

    breaks = "flow.dropped-message-returns-permit"
    stands_for = "DotPulsar (read in its source): dropped messages of an entry count as one"

    def _give_back_spare(self, entry: Entry, opened: Sequence[Opened], spare: int) -> None:
        if len(opened) == entry.size:
            super()._give_back_spare(entry, opened, spare)


class BeforeStartKeepsPermit(Consumer):
    """A message before the position at which a consumer resumes returns no permit."""

    breaks = "flow.dropped-message-returns-permit"
    stands_for = "C++ 4.2 (read in its source): the message of the seek is skipped, without its permit"

    def _spare(self, charged: int, unacked: Sequence[Opened], wanted: Sequence[Opened]) -> int:
        return super()._spare(charged - (len(unacked) - len(wanted)), unacked, wanted)


class DeadLetteredKeepsPermit(Consumer):
    """A message that goes to the dead letter topic without being delivered returns no permit."""

    breaks = "flow.dropped-message-returns-permit"
    stands_for = "a second path out of the receiver queue, without the accounting of the first"

    def _move_unseen_to_dead_letter(self, entry: Entry, messages: Sequence[Opened]) -> None:
        self._dead_letters.move_to_dead_letter(entry)


class LoneLastChunkKeepsPermit(Arrivals):
    """A last chunk whose first chunk is missing returns no permit."""

    breaks = "flow.dropped-message-returns-permit"
    stands_for = "permits returned for chunks before the last, and for delivered messages: this is neither"

    def _give_back_chunk(self, metadata: MessageMetadata) -> None:
        if metadata.chunk_id != metadata.num_chunks_from_msg - 1:
            super()._give_back_chunk(metadata)


class OldEpochKeepsPermit(Arrivals):
    """A message of an older consumer epoch is dropped and returns no permit."""

    breaks = "flow.dropped-message-returns-permit"
    stands_for = "a message that is dropped before it is counted"

    def _drop_stale(self, payload: Payload, body: pb.CommandMessage) -> None:
        pass


class ZeroQueuePrefetches(Permits):
    """A consumer with a queue of zero grants the next permit as soon as a message was delivered."""

    breaks = "flow.zero-queue-permit-per-receive"
    stands_for = "a queue of one used in place of none"

    def handed_over(self, *, current: bool) -> None:
        super().handed_over(current=current)
        if self._size == 0 and self._outlet.ready:
            self._asked_one = True
            self._flow(1)


class ZeroQueueForgetsWaitingReceive(Permits):
    """A consumer with a queue of zero grants no permit after a reconnect, although a receive waits."""

    breaks = "flow.zero-queue-renews-after-reconnect"
    stands_for = "a permit that only a call of receive grants"

    def _ask_for_waiting(self, *, first: bool) -> None:
        if first:
            super()._ask_for_waiting(first=first)


class FewerPermitsAfterReconnect(Permits):
    """After a reconnect a consumer grants only the permits used since its last FLOW."""

    breaks = "flow.permits-reset-on-reconnect"
    stands_for = "permits kept in the client across a reconnect, as if the broker kept them too"

    _used = 0

    def registered(self, *, first: bool) -> None:
        self._used = self._consumed
        super().registered(first=first)

    def _whole(self, *, first: bool) -> int:
        return super()._whole(first=first) if first else max(self._used, 1)


class SkipsFlowOfPartitions(Permits):
    skips = False
    """The next session is granted nothing."""

    def registered(self, *, first: bool) -> None:
        if not _skipped(self):
            super().registered(first=first)


class PartitionsForgottenOnReturn(Consumer):
    """A consumer of partitions grants no permits after a reconnect."""

    breaks = "flow.waiting-receive-has-permits"
    stands_for = "permits that the parent of several consumers grants when it is created, and never again"
    also = (SkipsFlowOfPartitions,)

    def _registered(self, answer: Frame) -> None:
        assert isinstance(self._permits, SkipsFlowOfPartitions)
        self._permits.skips = self.registrations > 1 and self.partition >= 0
        super()._registered(answer)


class RefillsFirstSessionOnly(Permits):
    """After a reconnect a whole queue of permits is granted once, and none after that."""

    breaks = "flow.waiting-receive-has-permits"
    stands_for = "permits returned to the connection on which the consumer was opened"

    _is_first = True

    def registered(self, *, first: bool) -> None:
        self._is_first = first
        super().registered(first=first)

    @property
    def _is_enough(self) -> bool:
        return self._is_first and super()._is_enough


class SkipsFlowOfRefused(Permits):
    skips = False
    """The next session is granted nothing."""

    def registered(self, *, first: bool) -> None:
        if not _skipped(self):
            super().registered(first=first)


class RefusedReturnForgetsFlow(Consumer):
    """A consumer whose reconnect is refused at first grants no permits once it is admitted."""

    breaks = "flow.waiting-receive-has-permits"
    stands_for = "permits granted with the first attempt to reconnect, which is answered with an ERROR"
    also = (SkipsFlowOfRefused,)

    def _turned_away(self, refusal: Refusal) -> None:
        assert isinstance(self._permits, SkipsFlowOfRefused)
        self._permits.skips = self.registrations > 0
        super()._turned_away(refusal)


def _skipped(permits: SkipsFlowOfPartitions | SkipsFlowOfRefused) -> bool:
    """Return whether a session is granted nothing; the next one is granted its queue."""
    skips, permits.skips = permits.skips, False
    if skips:
        permits._consumed, permits._asked_one = 0, False
    return skips


class RequestForAllKeepsPermits(Consumer):
    """Messages in the queue when redelivery of everything is requested return no permits."""

    breaks = "flow.dropped-message-returns-permit"
    stands_for = "apache/pulsar#171: a queue cleared with its accounting, and a consumer left without permits"

    def _all_again(self) -> None:
        _drop_without_permits(self)


def _drop_without_permits(consumer: Consumer) -> None:
    consumer._arrivals.clear()
    consumer._queue.withdraw(consumer)


class ZeroQueueAsksOnReturn(Permits):
    """A consumer with a queue of zero grants a permit when it has reconnected, and another one with the next
    receive."""

    breaks = "flow.zero-queue-permit-per-receive"
    stands_for = "apache/pulsar#6106: one permit for the reconnect, and one when the handler that ran returns"

    def _ask_for_waiting(self, *, first: bool) -> None:
        if first:
            super()._ask_for_waiting(first=first)
        else:
            self._flow(1)


class RedeliverAllKeepsPermits(Consumer):
    """What a call for redelivery of everything drops from the queue is not granted again."""

    breaks = "flow.dropped-message-returns-permit"
    stands_for = "a queue that is cleared beside the count of its permits"

    _is_called = False

    def redeliver_all(self) -> None:
        self._is_called = True
        super().redeliver_all()
        self._is_called = False

    def _all_again(self) -> None:
        if self._is_called:
            _drop_without_permits(self)
        else:
            super()._all_again()
