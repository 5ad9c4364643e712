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
    """The first FLOW leaves with SUBSCRIBE, before its answer."""

    breaks = "flow.initial-permits-equal-queue-size"
    stands_for = "an answer taken for granted"
    also = (GrantsNothingOnSuccess,)

    def _register(self, connection: Connection) -> None:
        super()._register(connection)
        assert isinstance(self._permits, GrantsNothingOnSuccess)
        self._permits.grant_early()


class FlowAfterWholeQueue(Permits):
    """Permits are renewed only when the whole queue was taken."""

    breaks = "flow.permits-renewed-at-half-queue"
    stands_for = "DotPulsar (read in its source): FLOW(n) follows the n-th message, the pipeline runs dry"

    @property
    def _is_enough(self) -> bool:
        return self._consumed >= self._size


class PermitsForFiltered(Consumer):
    """Permits are returned for messages that an ack_set had taken out of a batch."""

    breaks = "flow.no-permit-for-ack-set-filtered"
    stands_for = "Go and C++ clients (read in their source): skipped messages count as used, the prefetch grows"

    def _charged_for(self, entry: Entry) -> int:
        return entry.size


class ReturnsPermitTwice(Permits):
    """The permit of a message is returned twice when it is handed over."""

    breaks = "flow.permits-within-queue"
    stands_for = "two queues, of a consumer and of its parent, that each return it"

    def handed_over(self, *, current: bool) -> None:
        if self._size and current:
            self.give_back(2)
        else:
            super().handed_over(current=current)


class EarlyChunkKeepsPermit(Arrivals):
    """A chunk that is not the last returns no permit."""

    breaks = "flow.dropped-message-returns-permit"
    stands_for = "Java and Go clients (read in their source), for some chunks: an early return past the accounting"

    def _give_back_chunk(self, metadata: MessageMetadata) -> None:
        if metadata.chunk_id == metadata.num_chunks_from_msg - 1:
            super()._give_back_chunk(metadata)


class CompactedKeepsPermit(Consumer):
    """A batch returns permits for the members that are left of it."""

    breaks = "flow.dropped-message-returns-permit"
    stands_for = "DotPulsar (read in its source): what is dropped of an entry counts as one"

    def _give_back_spare(self, entry: Entry, opened: Sequence[Opened], spare: int) -> None:
        if len(opened) == entry.size:
            super()._give_back_spare(entry, opened, spare)


class BeforeStartKeepsPermit(Consumer):
    """A message in front of the place from which a consumer goes on returns no permit."""

    breaks = "flow.dropped-message-returns-permit"
    stands_for = "C++ 4.2 (read in its source): the message sought is left out when it comes, and that is all"

    def _spare(self, charged: int, unacked: Sequence[Opened], wanted: Sequence[Opened]) -> int:
        return super()._spare(charged - (len(unacked) - len(wanted)), unacked, wanted)


class DeadLetteredKeepsPermit(Consumer):
    """A message that comes once too often, and goes to the dead letter topic unseen, returns no permit."""

    breaks = "flow.dropped-message-returns-permit"
    stands_for = "a second way out of the receiver queue, without what the first one does"

    def _move_unseen_to_dead_letter(self, entry: Entry, messages: Sequence[Opened]) -> None:
        self._dead_letters.move_to_dead_letter(entry)


class LoneLastChunkKeepsPermit(Arrivals):
    """A last chunk whose first is missing returns no permit."""

    breaks = "flow.dropped-message-returns-permit"
    stands_for = (
        "permits returned with chunks that are not the last, and with messages that are handed over: this is neither"
    )

    def _give_back_chunk(self, metadata: MessageMetadata) -> None:
        if metadata.chunk_id != metadata.num_chunks_from_msg - 1:
            super()._give_back_chunk(metadata)


class OldEpochKeepsPermit(Arrivals):
    """A message of an older epoch is dropped, and returns no permit."""

    breaks = "flow.dropped-message-returns-permit"
    stands_for = "a message that is sent away at the door, before anybody counts it"

    def _drop_stale(self, payload: Payload, body: pb.CommandMessage) -> None:
        pass


class ZeroQueuePrefetches(Permits):
    """A consumer without a queue asks for the next message when one was handed over."""

    breaks = "flow.zero-queue-permit-per-receive"
    stands_for = "a queue of one taken for none"

    def handed_over(self, *, current: bool) -> None:
        super().handed_over(current=current)
        if self._size == 0 and self._outlet.ready:
            self._asked_one = True
            self._flow(1)


class ZeroQueueForgetsWaitingReceive(Permits):
    """A consumer without a queue asks for nothing behind a reconnect, although a receive waits."""

    breaks = "flow.zero-queue-renews-after-reconnect"
    stands_for = "a permit that is granted where receive is called, and nowhere else"

    def _ask_for_waiting(self, *, first: bool) -> None:
        if first:
            super()._ask_for_waiting(first=first)


class FewerPermitsAfterReconnect(Permits):
    """A reconnect grants only what had been used since the last grant."""

    breaks = "flow.permits-reset-on-reconnect"
    stands_for = "permits kept in the client over a reconnect, as if the broker kept them too"

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
    """A consumer of partitions grants nothing when it comes back."""

    breaks = "flow.waiting-receive-has-permits"
    stands_for = "permits that the parent of several consumers grants when it is created, and never again"
    also = (SkipsFlowOfPartitions,)

    def _registered(self, answer: Frame) -> None:
        assert isinstance(self._permits, SkipsFlowOfPartitions)
        self._permits.skips = self.registrations > 1 and self.partition >= 0
        super()._registered(answer)


class RefillsFirstSessionOnly(Permits):
    """Behind a reconnect the queue is granted once, and what is taken of it never again."""

    breaks = "flow.waiting-receive-has-permits"
    stands_for = "permits that are returned to the connection that a consumer was opened on"

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
    """A consumer that is refused when it comes back grants nothing once it is admitted."""

    breaks = "flow.waiting-receive-has-permits"
    stands_for = "permits granted with the first attempt to come back, which an ERROR answers"
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
    """What lay in the queue when everything was asked for again returns no permit."""

    breaks = "flow.dropped-message-returns-permit"
    stands_for = "apache/pulsar#171: a queue that is cleared with its accounting, and a consumer without permits"

    def _all_again(self) -> None:
        self._arrivals.clear()
        self._queue.withdraw(self)


class ZeroQueueAsksOnReturn(Permits):
    """A consumer without a queue asks for a message when it is back, whether it waits for one or not, and again when it
    does."""

    breaks = "flow.zero-queue-permit-per-receive"
    stands_for = "apache/pulsar#6106: one permit for the reconnect, and one when the handler that ran returns"

    def _ask_for_waiting(self, *, first: bool) -> None:
        if first:
            super()._ask_for_waiting(first=first)
        else:
            self._flow(1)
