"""What a broker does to a topic by itself, at intervals: expire, delete, and keep backlogs within their quota.

An expired entry counts as acknowledged for every subscription, and what all have acknowledged may be deleted. An unused
subscription is deleted, and a topic compacted, where policies say so. A topic whose largest backlog is over its quota
admits no producers and sends away those it has, or drops the oldest of that backlog, as the quota says.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from assay_conformance.broker.host import Host
from assay_conformance.broker.rules import RefusalError
from assay_conformance.broker.subscription import Subscription
from assay_conformance.broker.timers import Timer
from assay_conformance.model.policy import BacklogAction, BacklogQuota, Policies, Retention
from assay_conformance.wire.pulsar_pb2 import ServerError

if TYPE_CHECKING:
    from assay_conformance.broker.topic import Topic

MS_PER_S: Final = 1_000
S_PER_MINUTE: Final = 60
KEPT_OF_QUOTA: Final = 0.9
"""Eviction goes a tenth below the quota, so as not to be due again at once."""

_TEXT: Final = "Cannot create producer on topic with backlog quota exceeded"
REFUSALS: Final[dict[BacklogAction, RefusalError]] = {
    BacklogAction.PRODUCER_REQUEST_HOLD: RefusalError(ServerError.ProducerBlockedQuotaExceededError, _TEXT),
    BacklogAction.PRODUCER_EXCEPTION: RefusalError(ServerError.ProducerBlockedQuotaExceededException, _TEXT),
}
"""What producers hear. Clients wait after the first, and fail after the second."""


class Housekeeping:
    """One topic's. `stop` ends it."""

    def __init__(self, host: Host, topic: Topic) -> None:
        self._host = host
        self._topic = topic
        self._policies = Policies()
        self._expiry: Timer | None = None
        self._check: Timer | None = None
        self._trim: Timer | None = None
        self._compaction: Timer | None = None
        self._expiry_of_subscriptions: Timer | None = None

    def apply(self, policies: Policies) -> None:
        self._policies = policies
        if self._expiry is None and policies.message_ttl_s:
            self._expiry = self._host.after(self._host.settings.expiry_check_ms, self._expire)
        if self._check is None and policies.backlog_quota is not None:
            self._check = self._host.after(self._host.settings.backlog_check_ms, self._check_at_interval)
        if self._trim is None and policies.retention is not None:
            self._trim = self._host.after(self._host.settings.retention_check_ms, self._check_retention)
        if self._compaction is None and policies.compaction_threshold:
            self._compaction = self._host.after(self._host.settings.compaction_check_ms, self._check_compaction)
        if self._expiry_of_subscriptions is None and policies.subscription_expiry_minutes:
            after_ms = self._host.settings.subscription_expiry_check_ms
            self._expiry_of_subscriptions = self._host.after(after_ms, self._expire_subscriptions)

    def stop(self) -> None:
        timers = (self._expiry, self._check, self._trim, self._compaction, self._expiry_of_subscriptions)
        for timer in timers:
            if timer is not None:
                timer.cancel()

    def refusal(self) -> RefusalError | None:
        """Return why no producer is admitted now; None when one is."""
        quota = self._policies.backlog_quota
        if quota is None:
            return None
        actions = (action for over, action in self._exceeded(quota) if over)
        return next((refusal for action in actions if (refusal := REFUSALS.get(action)) is not None), None)

    def _expire(self) -> None:
        self._expiry = None
        ttl_s = self._policies.message_ttl_s
        if ttl_s:
            self._expire_older(ttl_s)
        self.apply(self._policies)

    def _expire_older(self, ttl_s: int) -> None:
        end = self._index_of_age(ttl_s)
        for subscription in self._topic.subscriptions.values():
            subscription.skip_before(end)

    def _check_at_interval(self) -> None:
        self._check = None
        self.check_backlogs()
        self.apply(self._policies)

    def check_backlogs(self) -> None:
        """Do what the quotas say to the producers and backlogs there are."""
        quota = self._policies.backlog_quota
        if quota is not None:
            refusal = self.refusal()
            if refusal is not None:
                self._topic.admission.evict(None, refusal)
            large, old = self._exceeded(quota)
            for subscription in large[0] if large[1] is BacklogAction.CONSUMER_BACKLOG_EVICTION else ():
                while subscription.backlog_bytes() > KEPT_OF_QUOTA * quota.limit_bytes:
                    subscription.skip(1)
            for subscription in old[0] if old[1] is BacklogAction.CONSUMER_BACKLOG_EVICTION else ():
                subscription.skip_before(self._index_of_age(quota.limit_s))

    def _check_retention(self) -> None:
        self._trim = None
        self.trim()
        self.apply(self._policies)

    def trim(self) -> None:
        """Delete, ledger by ledger, what every durable subscription has acknowledged and retention does not keep. The
        ledger that is written to stays. Where no retention is set nothing is deleted: see docs/parity.md."""
        retention = self._policies.retention
        store = self._topic.store
        if retention is None:
            return
        marks = [kept.cursor.mark for kept in self._topic.subscriptions.values() if kept.durable]
        consumed = self._consumed(marks) if marks else len(store.entries)
        for end in store.closed_ledgers():
            if end > consumed or not self._is_past(retention, end):
                break
            store.deleted = end
        for kept in self._topic.subscriptions.values():
            kept.cursor.ack_up_to(store.deleted - 1)

    def _consumed(self, marks: Sequence[int]) -> int:
        """Return the index up to which every subscription has acknowledged."""
        return min(marks)

    def _is_past(self, retention: Retention, end: int) -> bool:
        """Return whether the ledgers below an entry are too old, or enough is retained without them."""
        entries = self._topic.store.entries
        too_old = retention.minutes >= 0 and end <= self._index_of_age(retention.minutes * S_PER_MINUTE)
        behind = sum(len(entry.payload.block) for entry in entries[end:])
        return too_old or 0 <= retention.bytes <= behind

    def _exceeded(self, quota: BacklogQuota) -> tuple[tuple[list[Subscription], BacklogAction], ...]:
        """Return the durable subscriptions with too large, and those with too old a backlog, each with its action."""
        durable = [kept for kept in self._topic.subscriptions.values() if kept.durable]
        large = [kept for kept in durable if self._is_large(kept, quota)]
        old = [kept for kept in durable if self._is_old(kept, quota)]
        return (large, quota.action), (old, quota.of_age)

    def _is_large(self, subscription: Subscription, quota: BacklogQuota) -> bool:
        return 0 < quota.limit_bytes < subscription.backlog_bytes()

    def _is_old(self, subscription: Subscription, quota: BacklogQuota) -> bool:
        return quota.limit_s > 0 and subscription.cursor.mark < self._index_of_age(quota.limit_s)

    def _check_compaction(self) -> None:
        """Compact once more than the threshold came after the last compaction (PersistentTopic.checkCompaction)."""
        self._compaction = None
        threshold = self._policies.compaction_threshold
        before = self._topic.compaction
        behind = self._topic.store.entries[0 if before is None else before.horizon :]
        if threshold and sum(len(entry.payload.block) for entry in behind) > threshold:
            self._topic.compact()
        self.apply(self._policies)

    def _expire_subscriptions(self) -> None:
        """Delete the subscriptions without a consumer for long enough (PersistentTopic.checkInactiveSubscriptions)."""
        self._expiry_of_subscriptions = None
        minutes = self._policies.subscription_expiry_minutes
        for kept in list(self._topic.subscriptions.values()) if minutes else ():
            idle_ms = self._host.unix_ms - kept.active_ms
            if not kept.consumers and kept.durable and idle_ms > (minutes or 0) * S_PER_MINUTE * MS_PER_S:
                self._topic.drop(kept)
        self.apply(self._policies)

    def _index_of_age(self, seconds: int) -> int:
        """Return the index of the first entry that is younger than this."""
        return self._topic.store.index_of_time(self._host.unix_ms - seconds * MS_PER_S)
