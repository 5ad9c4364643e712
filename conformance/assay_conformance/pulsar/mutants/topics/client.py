"""Clients that miss what happens to their topic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from assay_conformance.client.connection import Connection
from assay_conformance.client.consumer import Consumer
from assay_conformance.client.growth import Growth
from assay_conformance.client.handler import Handler, Phase
from assay_conformance.client.producer import Producer
from assay_conformance.client.publisher import Publisher
from assay_conformance.client.refusal import Refusal
from assay_conformance.client.shared import MS
from assay_conformance.client.values import Outgoing
from assay_conformance.wire import Frame
from assay_conformance.wire import pulsar_pb2 as pb


class IgnoresCloseConsumer(Connection):
    """A consumer ignores the broker's CLOSE_CONSUMER and does not subscribe again."""

    breaks = ("topics.ownership-change-loses-nothing", "subscription.keeps-reconnecting")
    stands_for = "pulsar-rs (read in its source, for producers): the broker's CLOSE is ignored"

    def _close_consumer(self, frame: Frame) -> None:
        pass


class IgnoresAssignedBroker(Handler):
    """A lookup is made although the broker named the topic's new broker."""

    breaks = "topics.reconnects-to-assigned-broker"
    stands_for = "pulsar-rs and DotPulsar (read in their source): the assigned broker is not read"

    def closed_by_broker(self, assigned_url: str | None) -> None:
        super().closed_by_broker(None)


class KeepsAssignedAddress(Handler):
    """A broker that was named once is gone to in every later attempt."""

    breaks = "topics.reconnects-to-assigned-broker"
    stands_for = "apache/pulsar#26009: the address stays with the handler, and the topic is never looked up again"

    _kept: str | None = None

    def _seek(self, url: str | None) -> None:
        self._kept = url or self._kept
        super()._seek(self._kept)


class PausesBeforeAssignedBroker(Handler):
    """A producer or consumer waits for three seconds before it connects to its assigned broker."""

    breaks = "topics.reconnects-to-assigned-broker"
    stands_for = "DotPulsar's fixed pause before every attempt, here where none is due"

    def _go_to(self, assigned_url: str) -> None:
        self._attempt += 1
        self.phase = Phase.WAITING
        self._retry_timer = self.shared.after(
            3_000 * MS, lambda: super(PausesBeforeAssignedBroker, self)._go_to(assigned_url)
        )


class ProducerRetriesTopicNotFound(Producer):
    """A producer whose topic was deleted keeps reconnecting."""

    breaks = "topics.topic-not-found-is-final"
    stands_for = "C++ client (read in its source): once it was open, a producer retries whatever the error"

    def _is_final(self, refusal: Refusal) -> bool:
        return (self._opening or refusal.code != pb.TopicNotFound) and super()._is_final(refusal)


class ConsumerRetriesTopicNotFound(Consumer):
    """A consumer whose topic was deleted keeps reconnecting."""

    breaks = "topics.topic-not-found-is-final"
    stands_for = "C++ client (read in its source): once it was open, a consumer retries whatever the error"

    def _is_final(self, refusal: Refusal) -> bool:
        return (self._opening or refusal.code != pb.TopicNotFound) and super()._is_final(refusal)


class OpeningRetriesTopicNotFound(Handler):
    """An opening that gets TopicNotFound is repeated until its time-out."""

    breaks = "topics.topic-not-found-is-final"
    stands_for = "every error of an opening taken for a temporary one"

    def _is_final(self, refusal: Refusal) -> bool:
        return not (self._opening and refusal.code == pb.TopicNotFound) and super()._is_final(refusal)


class IgnoresMigration(Handler):
    """A topic that migrated to another cluster is looked up in the old one."""

    breaks = "topics.follows-migration"
    stands_for = "a command without a handler"

    def migrated(self, url: str) -> None:
        pass


class LooksForPartitionsOnce(Growth):
    """Once a partition update has found no new partition, no other update follows."""

    breaks = "topics.finds-added-partitions"
    stands_for = "pulsar-client-cpp#295: the next update was scheduled only if partitions had been added"

    def _counted(self, partitions: int | Refusal) -> None:
        if isinstance(partitions, Refusal) or partitions > self._known:
            super()._counted(partitions)


class AddedPartitionsNotFound(Growth):
    """Added partitions are never looked for."""

    breaks = "topics.finds-added-partitions"
    stands_for = "pulsar-rs (read in its source): a producer keeps its first partitions"

    def _arm(self) -> None:
        pass


class AddedPartitionsUnused(Publisher):
    """A producer registers on added partitions, but sends nothing to them."""

    breaks = "topics.uses-added-partitions"
    stands_for = "the number of partitions read when the producer opened, and kept by its router"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._at_first = len(self._producers)

    def _spread_over(self, message: Outgoing) -> int:
        return self._at_first


class KeysHashedByOldPartitionCount(Publisher):
    """Keys are hashed modulo the first number of partitions."""

    breaks = "topics.uses-added-partitions"
    stands_for = "a hash that gets the number once, while round robin reads it each time"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._at_first = len(self._producers)

    def _spread_over(self, message: Outgoing) -> int:
        return super()._spread_over(message) if message.key is None else self._at_first


class RefusedPartitionClosesAll(Publisher):
    """If an added partition is refused, the producer is closed with all its partitions."""

    breaks = "topics.refused-partition-leaves-others"
    stands_for = "one path for partitions refused at the opening, and for those added later"

    def _widen(self, partitions: range, on_done: Callable[[bool], None]) -> None:
        def widened(has_all: bool) -> None:
            if not has_all and not self._closed:
                self.close(lambda _: None)
            on_done(has_all)

        super()._widen(partitions, widened)


class FailedUpdateIsTheLast(Growth):
    """An update of the partitions that fails is the last one."""

    breaks = "topics.finds-added-partitions"
    stands_for = "apache/pulsar#14408: the next update is scheduled where one succeeds"

    def _counted(self, partitions: int | Refusal) -> None:
        if not isinstance(partitions, Refusal):
            super()._counted(partitions)


class CloseWhileRegisteringIgnored(Handler):
    """A CLOSE that arrives while a registration is pending is ignored until the operation time-out."""

    breaks = "topics.follows-migration"
    stands_for = "pulsar-client-cpp#406: a reconnect in progress prevents the one to the named cluster"

    def closed_by_broker(self, assigned_url: str | None) -> None:
        if self.phase is not Phase.REGISTERING:
            super().closed_by_broker(assigned_url)
