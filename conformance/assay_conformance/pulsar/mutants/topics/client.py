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
    """A consumer that the broker sends away does not come back."""

    breaks = ("topics.ownership-change-loses-nothing", "subscription.keeps-reconnecting")
    stands_for = "pulsar-rs (read in its source, for producers): the broker's CLOSE is ignored"

    def _close_consumer(self, frame: Frame) -> None:
        pass


class IgnoresAssignedBroker(Handler):
    """A topic's new broker is looked up although the broker named it."""

    breaks = "topics.reconnects-to-assigned-broker"
    stands_for = "pulsar-rs and DotPulsar (read in their source): the assigned broker is not looked at"

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
    """A producer or consumer that is assigned a broker waits for three seconds before it connects there."""

    breaks = "topics.reconnects-to-assigned-broker"
    stands_for = "DotPulsar's fixed pause before every attempt, at a place where none is due"

    def _go_to(self, assigned_url: str) -> None:
        self._attempt += 1
        self.phase = Phase.WAITING
        self._retry_timer = self.shared.after(
            3_000 * MS, lambda: super(PausesBeforeAssignedBroker, self)._go_to(assigned_url)
        )


class ProducerRetriesTopicNotFound(Producer):
    """A producer whose topic was deleted keeps coming back."""

    breaks = "topics.topic-not-found-is-final"
    stands_for = "C++ client (read in its source): once it was open, a producer retries whatever the error"

    def _is_final(self, refusal: Refusal) -> bool:
        return (self._opening or refusal.code != pb.TopicNotFound) and super()._is_final(refusal)


class ConsumerRetriesTopicNotFound(Consumer):
    """A consumer whose topic was deleted keeps coming back."""

    breaks = "topics.topic-not-found-is-final"
    stands_for = "C++ client (read in its source): once it was open, a consumer retries whatever the error"

    def _is_final(self, refusal: Refusal) -> bool:
        return (self._opening or refusal.code != pb.TopicNotFound) and super()._is_final(refusal)


class OpeningRetriesTopicNotFound(Handler):
    """Who opens on a topic that is not there asks again until its time is over."""

    breaks = "topics.topic-not-found-is-final"
    stands_for = "every refusal of an opening taken for a passing one"

    def _is_final(self, refusal: Refusal) -> bool:
        return not (self._opening and refusal.code == pb.TopicNotFound) and super()._is_final(refusal)


class IgnoresMigration(Handler):
    """A topic that went to another cluster is looked up in the old one."""

    breaks = "topics.follows-migration"
    stands_for = "a command without a handler"

    def migrated(self, url: str) -> None:
        pass


class LooksForPartitionsOnce(Growth):
    """Once an update has found as many partitions as before, no other one follows."""

    breaks = "topics.finds-added-partitions"
    stands_for = "pulsar-client-cpp#295: the next update was arranged for where partitions had been added"

    def _counted(self, partitions: int | Refusal) -> None:
        if isinstance(partitions, Refusal) or partitions > self._known:
            super()._counted(partitions)


class AddedPartitionsNotFound(Growth):
    """Partitions that are added are never looked for."""

    breaks = "topics.finds-added-partitions"
    stands_for = "pulsar-rs (read in its source): a producer keeps the partitions it began with"

    def _arm(self) -> None:
        pass


class AddedPartitionsUnused(Publisher):
    """Partitions that are added are registered with, and nothing is sent to them."""

    breaks = "topics.uses-added-partitions"
    stands_for = "a number of partitions read when the producer opened, and kept by whoever chooses among them"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._at_first = len(self._producers)

    def _spread_over(self, message: Outgoing) -> int:
        return self._at_first


class KeysHashedByOldPartitionCount(Publisher):
    """Keys are hashed by the number of partitions there were at first."""

    breaks = "topics.uses-added-partitions"
    stands_for = "a hash that is handed the number once, beside turns that ask for it"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._at_first = len(self._producers)

    def _spread_over(self, message: Outgoing) -> int:
        return super()._spread_over(message) if message.key is None else self._at_first


class RefusedPartitionClosesAll(Publisher):
    """A producer of which an added partition is refused is closed, with all its partitions."""

    breaks = "topics.refused-partition-leaves-others"
    stands_for = "one path for partitions that are refused at the opening, and for those that are added later"

    def _widen(self, partitions: range, on_done: Callable[[bool], None]) -> None:
        def widened(has_all: bool) -> None:
            if not has_all and not self._closed:
                self.close(lambda _: None)
            on_done(has_all)

        super()._widen(partitions, widened)


class CloseWhileRegisteringIgnored(Handler):
    """A broker that sends away who waits for the answer to its registration is waited for until the operation
    time-out."""

    breaks = "topics.follows-migration"
    stands_for = "pulsar-client-cpp#406: a reconnect that is under way keeps out the one to the cluster that was named"

    def closed_by_broker(self, assigned_url: str | None) -> None:
        if self.phase is not Phase.REGISTERING:
            super().closed_by_broker(assigned_url)
