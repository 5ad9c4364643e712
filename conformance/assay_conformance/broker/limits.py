"""What policies allow of consumers and subscriptions: numbers, types, and how often a consumer may come.

Pulsar asks for the consumers of the topic first, then the type of the subscription, the rate of subscribing, the number
of subscriptions, and at last the consumers of the subscription, which a subscription knows by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

from assay_conformance.broker.host import Host
from assay_conformance.broker.names import TopicName
from assay_conformance.broker.rules import RefusalError
from assay_conformance.broker.subscription import Subscription
from assay_conformance.broker.throttle import LEAST_PERIOD_S
from assay_conformance.broker.timers import NS_PER_MS
from assay_conformance.model.policy import Policies, SubscribeRate, SubscriptionKind
from assay_conformance.wire.pulsar_pb2 import CommandSubscribe, ServerError

_NS_PER_S: Final = 1_000 * NS_PER_MS

KINDS: Final[Mapping[int, SubscriptionKind]] = {
    CommandSubscribe.SubType.Value(kind.value): kind for kind in SubscriptionKind
}
"""The types a SUBSCRIBE asks for."""

_TOPIC_FULL: Final = RefusalError(ServerError.ConsumerBusy, "Topic reached max consumers limit")
_TOO_OFTEN: Final = RefusalError(ServerError.NotAllowedError, "Subscribe limited by subscribe rate limit per consumer.")


def check_kind(policies: Policies, name: TopicName, kind: int) -> None:
    """Raise RefusalError for a type of subscription that is not enabled."""
    enabled = policies.subscription_kinds
    if enabled and KINDS[kind] not in enabled:
        text = f"Topic[{name.full}] doesn't support {KINDS[kind].value} sub type!"
        raise RefusalError(ServerError.NotAllowedError, text)


def check_subscriptions(policies: Policies, name: TopicName, subscriptions: int) -> None:
    """Raise RefusalError where a topic with so many subscriptions may have no further one."""
    if 0 < (policies.max_subscriptions or 0) <= subscriptions:
        text = f"Exceed the maximum number of subscriptions of the topic: {name.full}"
        raise RefusalError(ServerError.NotAllowedError, text)


def check_consumers(policies: Policies, subscriptions: Mapping[str, Subscription]) -> None:
    """Raise RefusalError where a topic may have no further consumer."""
    if 0 < (policies.max_consumers or 0) <= sum(len(kept.consumers) for kept in subscriptions.values()):
        raise _TOPIC_FULL


class SubscribeLimiter:
    """Counts how often each consumer of one topic came in a period, which begins when the rate is set."""

    def __init__(self, host: Host, rate: SubscribeRate) -> None:
        self.rate = rate
        self._host = host
        self._began_ns = host.now_ns
        self._came: Counter[tuple[str, int]] = Counter()

    def check(self, consumer_name: str, consumer_id: int) -> None:
        """Charge one coming; raises RefusalError for one too many."""
        if self.rate.per_consumer <= 0:
            return
        period_ns = max(LEAST_PERIOD_S, self.rate.period_s) * _NS_PER_S
        elapsed_ns = self._host.now_ns - self._began_ns
        if elapsed_ns >= period_ns:
            self._began_ns += elapsed_ns // period_ns * period_ns
            self._came.clear()
        if self._came[consumer_name, consumer_id] >= self.rate.per_consumer:
            raise _TOO_OFTEN
        self._came[consumer_name, consumer_id] += 1
