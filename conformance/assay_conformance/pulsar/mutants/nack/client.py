"""Clients that request redelivery of nacked messages at the wrong time, or in the wrong way."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from assay_conformance.client.consumer import Consumer
from assay_conformance.client.entries import Entry, Opened, Position
from assay_conformance.client.handed import Handed, Inbound
from assay_conformance.client.nacks import DueTracker, nack_delay_ms
from assay_conformance.client.redelivery import Redelivery
from assay_conformance.client.settings import ConsumerSettings
from assay_conformance.client.values import Result
from assay_conformance.pulsar.mutants._late import late_ns
from assay_conformance.wire import MessageMetadata, message_id
from assay_conformance.wire import pulsar_pb2 as pb


class NacksEndWithConnection(Redelivery[Any]):
    """After the connection was lost once, redelivery of negatively acknowledged messages is not requested any more."""

    breaks = "nack.redelivery-requested-in-time"
    stands_for = "a sibling of apache/pulsar#16337: a timer's task that raises without a connection, and ends with that"

    _is_dead = False

    def lost(self) -> None:
        super().lost()
        self._is_dead = True

    def _nacks_due(self, due: Sequence[Any]) -> None:
        if not self._is_dead:
            super()._nacks_due(due)


class TimeoutsOfSeveralAskTwice(Redelivery[Any]):
    """After the acknowledgment time-out a consumer of several topics requests redelivery twice."""

    breaks = "nack.requested-once"
    stands_for = "apache/pulsar#9028: the consumer of each topic counts the time-out, and their owner does, too"

    def _ask(self, due: Sequence[Any], *, nacked: bool = False) -> None:
        super()._ask(due, nacked=nacked)
        if not nacked and len(due[0].consumer._queue.consumers) > 1:
            super()._ask(due, nacked=nacked)


class NacksAskTwice(Redelivery[Any]):
    """Redelivery of negatively acknowledged messages is requested twice."""

    breaks = "nack.requested-once"
    stands_for = "a sibling of apache/pulsar#9028: two trackers that both get what is refused"

    def _ask(self, due: Sequence[Any], *, nacked: bool = False) -> None:
        super()._ask(due, nacked=nacked)
        if nacked:
            super()._ask(due, nacked=nacked)


class NackLate(Redelivery[Any]):
    """Redelivery of nacked messages is requested late."""

    breaks = "nack.redelivery-requested-in-time"
    stands_for = "a timer that ticks coarsely"
    lateness_ms = 300

    def _nack_delay_ns(self, redelivery_count: int) -> int:
        return super()._nack_delay_ns(redelivery_count) + late_ns(self._shared, NackLate)


class NackEarly(Redelivery[Any]):
    """Redelivery of nacked messages is requested early."""

    breaks = "nack.redelivery-requested-in-time"
    stands_for = "a due time rounded down too far"
    lateness_ms = 20

    def _nack_delay_ns(self, redelivery_count: int) -> int:
        return max(0, super()._nack_delay_ns(redelivery_count) - late_ns(self._shared, NackEarly))


class NackDefaultDelayZero(Redelivery[Any]):
    """Without a configured delay, redelivery of nacked messages is requested at once."""

    breaks = "nack.redelivery-requested-in-time"
    stands_for = "pulsar-rs, DotPulsar: no delay unless one is set"

    def _nack_delay_ms(self, redelivery_count: int) -> float:
        delay_ms = super()._nack_delay_ms(redelivery_count)
        return 0 if delay_ms == ConsumerSettings().nack_delay_ms else delay_ms


class NackDelayUnclamped(Redelivery[Any]):
    """A redelivery delay below 100 ms is used as it is."""

    breaks = "nack.minimum-delay"
    stands_for = "Go client (read in its source): no minimum"

    LEAST_NACK_DELAY_MS = 0


class NacksOneByOne(Redelivery[Any]):
    """Each nacked message is requested by a separate command."""

    breaks = "nack.requests-merged"
    stands_for = "pulsar-rs: one command for each nack"

    MOST_IDS = 1


class NacksLastChunkOnly(Redelivery[Any]):
    """Redelivery of only the last chunk of a nacked chunked message is requested."""

    breaks = "nack.requests-all-chunks"
    stands_for = "apache/pulsar-client-cpp#604: a nack keeps one id of a message that has several"

    def _named(self, message: Any, *, nacked: bool) -> Iterator[pb.MessageIdData]:
        if nacked:
            yield message_id(*message.entry.position)
        else:
            yield from super()._named(message, nacked=nacked)


class ForgetsNackedMember(Redelivery[Handed]):
    def _nacks_due(self, due: Sequence[Handed]) -> None:
        for handed in due:
            assert isinstance(handed.consumer, NackedMemberComesAlone)
            handed.consumer.seen.discard((handed.entry.position, handed.index))
        super()._nacks_due(due)


class NackedMemberComesAlone(Consumer):
    """Of a redelivered batch only the nacked messages are delivered."""

    breaks = "nack.requests-whole-batch"
    stands_for = "a client that requests an entry, and filters its messages by the one that was nacked"
    also = (ForgetsNackedMember,)

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.seen: set[tuple[Position, int | None]] = set()

    def handed_over(self, inbound: Inbound) -> Handed:
        self.seen.add((inbound.entry.position, inbound.opened.index))
        return super().handed_over(inbound)

    def _arrived(self, entry: Entry, opened: list[Opened], metadata: MessageMetadata, redelivery_count: int) -> None:
        wanted = [one for one in opened if one.index is None or (entry.position, one.index) not in self.seen]
        super()._arrived(entry, wanted, metadata, redelivery_count)


class ForgetsNacked(Redelivery[Handed]):
    def _nacks_due(self, due: Sequence[Handed]) -> None:
        for handed in due:
            assert isinstance(handed.consumer, DropsRedeliveredMessages)
            handed.consumer.seen.discard(handed.entry.position)
        super()._nacks_due(due)


class DropsRedeliveredMessages(Consumer):
    """Messages redelivered together with a nacked one are dropped if they were delivered before."""

    breaks = "nack.exclusive-redelivers-all-in-order"
    stands_for = "a duplicate filter that takes redeliveries for duplicates"
    also = (ForgetsNacked,)

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.seen: set[Position] = set()

    def handed_over(self, inbound: Inbound) -> Handed:
        self.seen.add(inbound.entry.position)
        return super().handed_over(inbound)

    def _arrived(self, entry: Entry, opened: list[Opened], metadata: MessageMetadata, redelivery_count: int) -> None:
        if entry.position in self.seen:
            self._permits.give_back(entry.unacked.bit_count())
        else:
            super()._arrived(entry, opened, metadata, redelivery_count)


class NackTimerRearmed(DueTracker[Any]):
    """Each nack restarts the redelivery timer."""

    breaks = "nack.later-nacks-do-not-postpone"
    stands_for = "C++ client (read in its source): a steady stream of nacks starves all of them"

    def _arm(self, due_ns: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
        super()._arm(due_ns)


class NackBackoffNeverGrows(Redelivery[Any]):
    """The redelivery delay of repeated nacks does not grow."""

    breaks = "nack.backoff-grows"
    stands_for = "Go client (read in its source): a nack by id knows no redelivery count"

    def _nack_delay_ms(self, redelivery_count: int) -> float:
        return super()._nack_delay_ms(0)


class NackBackoffUnbounded(Redelivery[Any]):
    """The backoff of nacks grows beyond its maximum."""

    breaks = "nack.backoff-grows"
    stands_for = "a bound read and never used"

    def _nack_delay_ms(self, redelivery_count: int) -> float:
        if not self._settings.nack_backoff_max_ms:
            return super()._nack_delay_ms(redelivery_count)
        return nack_delay_ms(msgspec.structs.replace(self._settings, nack_backoff_max_ms=sys.maxsize), redelivery_count)


class ShortNackWaitsForLong(DueTracker[Any]):
    """A nack with a short delay waits for the timer of one that is due later."""

    breaks = "nack.short-delay-not-behind-long"
    stands_for = "Java client since PIP-393 (read in its source): the timer is armed only where none runs"

    def _arm(self, due_ns: int) -> None:
        if self._timer is None or not self._timer.live:
            super()._arm(due_ns)


class RequeuesCopies(Redelivery[Handed]):
    def _nacks_due(self, due: Sequence[Handed]) -> None:
        for handed in due:
            assert isinstance(handed.consumer, NackRequeuesLocally)
            handed.consumer.requeue(handed)
        super()._nacks_due(due)


class NackRequeuesLocally(Consumer):
    """When a nack is due, the client also delivers its own copy of the message again."""

    breaks = "nack.acked-not-redelivered"
    stands_for = "a retry inside the client that no later acknowledgment stops"
    also = (RequeuesCopies,)

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._copies: dict[Handed, Inbound] = {}

    def handed_over(self, inbound: Inbound) -> Handed:
        handed = super().handed_over(inbound)
        self._copies[handed] = inbound
        return handed

    def requeue(self, handed: Handed) -> None:
        self._queue.arrived(self._copies[handed])


class NackKeepsAckTimeout(Redelivery[Any]):
    """A nack does not end the acknowledgment time-out of its message."""

    breaks = "nack.ends-ack-timeout"
    stands_for = "two trackers that do not know of each other"

    def _stop_holding(self, message: Any) -> None:
        pass


class KnowsLast(DueTracker[Any]):
    @property
    def last_ns(self) -> int | None:
        return max((due_ns for due_ns, _ in self._held.values()), default=None)


class CloseWaitsForNacks(Consumer):
    """Close waits until redelivery of nacked messages was requested."""

    breaks = "nack.dropped-on-close"
    stands_for = "an orderly end taken too far"
    also = (KnowsLast,)

    def close(self, closed: Callable[[Result], None]) -> None:
        nacks = self._redelivery._nacks
        assert isinstance(nacks, KnowsLast)
        if (last_ns := nacks.last_ns) is None:
            super().close(closed)
        else:
            self.shared.timers.at(last_ns + 1, lambda: self.close(closed))


class EmptyRequestAsksForAll(Redelivery[Any]):
    """If all due messages have become dead letters, a redelivery request without ids is sent all the same."""

    breaks = "nack.request-names-messages"
    stands_for = "apache/pulsar#7021: the ids filtered out of a request leave one that requests everything"

    def _ask(self, due: Sequence[Any], *, nacked: bool = False) -> None:
        is_over = bool(due) and all(one.entry.letters for one in due)
        super()._ask(due, nacked=nacked)
        if is_over and self._outlet.ready and self._settings.individual_redelivery:
            self._request([])


class NacksOfSeveralTopicsLost(Consumer):
    """A consumer of several topics or partitions asks for nothing that was nacked."""

    breaks = "nack.redelivery-requested-in-time"
    stands_for = "apache/pulsar#15312: the timer of nacks raises on the ids of a consumer of several topics"

    def nack(self, handed: Handed) -> None:
        if len(getattr(self._queue, "consumers", ())) < 2:
            super().nack(handed)


class NackedMemberKeepsAckTimeout(Redelivery[Any]):
    """A nacked message of a batch still runs into its acknowledgment time-out."""

    breaks = "nack.ends-ack-timeout"
    stands_for = "apache/pulsar#23060: what times out is kept by entry, and looked for by the id of a batch's message"

    def _stop_holding(self, message: Any) -> None:
        if message.index is None:
            super()._stop_holding(message)
