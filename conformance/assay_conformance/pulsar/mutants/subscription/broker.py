"""Brokers that break the rules of subscription types."""

from __future__ import annotations

from collections.abc import Sequence

from assay_conformance.broker.consumer import Consumer
from assay_conformance.broker.dispatch import SingleActive
from assay_conformance.broker.housekeeping import Housekeeping
from assay_conformance.broker.key_sharing import KeyShared
from assay_conformance.broker.sharing import Sharing
from assay_conformance.broker.store import Entry
from assay_conformance.broker.subscription import Subscription
from assay_conformance.broker.topic import Topic
from assay_conformance.wire.pulsar_pb2 import CommandSubscribe


class ExclusiveAdmitsSecondConsumer(Subscription):
    """A second consumer of an Exclusive subscription is admitted."""

    breaks = "subscription.exclusive-one-consumer"
    stands_for = "the subscription type checked only when the subscription is created"

    def holder(self, consumer: Consumer, kind: int) -> Consumer | None:
        return None if kind == CommandSubscribe.Exclusive else super().holder(consumer, kind)


class FailoverSkipsUnacked(SingleActive):
    """The next active consumer of a Failover subscription starts at the read position of the former, acknowledged or
    not."""

    breaks = "subscription.failover-redelivers-unacked"
    stands_for = "the read position of a former consumer taken for its acknowledged position"

    def _start_over(self) -> None:
        if not self._failover:
            super()._start_over()


class SharedUnackedLostOnLeave(Sharing):
    """Unacknowledged messages of a Shared consumer that leaves are not dispatched to other consumers."""

    breaks = "subscription.shared-entry-at-one-consumer"
    stands_for = "the pending acknowledgments of a consumer dropped with it, not put up for redelivery"

    def _take_back_all(self, consumer: Consumer) -> None:
        pass


class KeySharedIgnoresKeys(KeyShared):
    """Entries of a Key_Shared subscription go to any consumer with permits."""

    breaks = "subscription.key-shared-same-consumer"
    stands_for = "a Key_Shared subscription dispatched in round robin"

    def _pick(self, entry: Entry) -> Consumer | None:
        able = [known for known in self.consumers if self._rooms[known] > 0]
        # Not by single entries: a topic whose keys take turns would keep them apart by chance.
        return able[entry.index // 2 % len(able)] if able else None


class ResubscribeStartsOver(Topic):
    """A durable subscription without consumers starts again at the initial position of the next one."""

    breaks = "subscription.resumes-at-first-unacked"
    stands_for = "the initial position applied to a subscription that exists already"

    def subscribe(self, name: str, start: int, *, durable: bool) -> Subscription:
        is_known = name in self.subscriptions
        subscription = super().subscribe(name, start, durable=durable)
        if is_known and not subscription.consumers:
            subscription.cursor.reset(start)
        return subscription


class NonDurableCursorKept(Subscription):
    """A non-durable subscription remains, with its position, when its consumer leaves."""

    breaks = "subscription.non-durable-reader"
    stands_for = "the cursor of a reader kept like a durable one"

    @property
    def outlives_consumers(self) -> bool:
        return True


class DeletesUnacked(Housekeeping):
    """Messages that one durable subscription has acknowledged are deleted, although others have not acknowledged
    them."""

    breaks = "subscription.retains-until-acked"
    stands_for = "the fastest cursor of a topic taken for the slowest one when ledgers are trimmed"

    def _consumed(self, marks: Sequence[int]) -> int:
        return max(marks)


class TtlIgnored(Housekeeping):
    """Messages beyond their time to live stay in the backlog."""

    breaks = "subscription.retains-until-acked"
    stands_for = "the check of message expiry never scheduled"

    def _expire_older(self, ttl_s: int) -> None:
        pass
