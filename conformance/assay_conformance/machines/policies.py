"""What is set of brokers, of a namespace and of topics: rates at every level, and settings of broker.conf.

A table of each: a life has one row, most often the plain one. Rates are a few messages a second, so that a life of a
few messages is beyond them.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from assay_conformance.model.case import Rate
from assay_conformance.model.needs import changed
from assay_conformance.model.policy import BrokerSettings, DelayedDelivery, Policies, nearest


class Rules(msgspec.Struct, frozen=True):
    """What is set at each level; what is left out is as by default."""

    topic: Policies = Policies()
    namespace: Policies = Policies()
    broker: BrokerSettings = BrokerSettings()

    def __or__(self, other: Rules) -> Rules:
        """Return both; where both set something, what this one says."""
        said = {name: getattr(self.broker, name) for name in changed(self.broker)}
        return Rules(
            nearest(self.topic, other.topic),
            nearest(self.namespace, other.namespace),
            msgspec.structs.replace(other.broker, **said),
        )

    @property
    def lasts(self) -> bool:
        """Whether it takes a period of a second or more until it shows."""
        rates = (self.topic.dispatch_rate, self.namespace.dispatch_rate, self.broker.dispatch_rate)
        return any(rate is not None and rate.is_set for rate in rates)

    @property
    def stops_reading(self) -> bool:
        """Whether a broker reads on late from who publishes too much."""
        rate, broker = self.topic.publish_rate, self.broker
        bounded = broker.max_pending_sends < BrokerSettings().max_pending_sends or broker.max_pending_mb > 0
        return bounded or broker.publish_rate.is_set or (rate is not None and rate.is_set)


PLAIN = Rules()

_TWO, _SIX = Rate(messages=2), Rate(messages=6)


def _dispatch(rate: Rate | None = None, *, subscription: Rate | None = None, namespace: Rate | None = None) -> Rules:
    return Rules(
        topic=Policies(dispatch_rate=rate, subscription_rate=subscription), namespace=Policies(dispatch_rate=namespace)
    )


RATES: Sequence[Rules] = (
    _dispatch(_TWO),
    _dispatch(_SIX),
    _dispatch(Rate(bytes=1_000)),
    _dispatch(Rate(messages=2, bytes=100_000)),
    _dispatch(Rate(messages=100, bytes=1_000)),
    _dispatch(Rate(messages=4, period_s=3)),
    _dispatch(_TWO, subscription=_SIX),
    _dispatch(_SIX, subscription=_TWO),
    _dispatch(_TWO, namespace=_SIX),
    _dispatch(_SIX, namespace=_TWO),
    Rules(topic=Policies(dispatch_rate=_SIX), broker=BrokerSettings(dispatch_rate=_TWO)),
    Rules(topic=Policies(publish_rate=Rate(messages=5))),
)

SIX_A_SECOND = _dispatch(_SIX)

PUBLISHED: Sequence[Rules] = (
    Rules(topic=Policies(publish_rate=Rate(messages=20))),
    Rules(broker=BrokerSettings(publish_rate=Rate(messages=20))),
)

NOT_KEPT: Sequence[Rules] = (_dispatch(_TWO), _dispatch(subscription=_TWO), _dispatch(namespace=_TWO))
"""Of a topic that keeps nothing, what comes beyond these is lost."""

OWED: Sequence[Rules] = (
    _dispatch(_TWO),
    _dispatch(_SIX),
    _dispatch(Rate(bytes=1_000)),
    _dispatch(Rate(messages=4, period_s=2)),
)
"""What a backlog lasts for, several periods long."""

SNAPSHOTS = Rules(broker=BrokerSettings(dedup_snapshot_entries=2))
"""A topic that is loaded again knows most names from its last snapshot."""

FEW_NAMES = Rules(broker=BrokerSettings(dedup_snapshot_entries=2, dedup_max_producers=1))
"""And of its snapshots each has one name."""

SPARES_CAUGHT_UP = Rules(broker=BrokerSettings(throttles_caught_up=False))

COUNTS_ENTRIES = Rules(broker=BrokerSettings(rate_counts_entries=True))

SMALL_BUFFER = Rules(broker=BrokerSettings(max_pending_mb=1))

LIVENESS = Rules(broker=BrokerSettings(liveness_check_ms=200))
"""Who holds a name, and says nothing any more, is asked whether it is there."""

SETTINGS: Sequence[Rules] = (
    Rules(broker=BrokerSettings(precise_flow_control=True)),
    COUNTS_ENTRIES,
    SPARES_CAUGHT_UP,
    Rules(broker=BrokerSettings(max_pending_sends=2)),
    SNAPSHOTS,
    LIVENESS,
)

OF_DISPATCH: Sequence[Rules] = tuple(
    rules
    for rules in SETTINGS
    if rules.broker.precise_flow_control or rules.broker.rate_counts_entries or not rules.broker.throttles_caught_up
)
"""Of these what changes for those who read."""

QUICK_TICK = Rules(topic=Policies(delayed_delivery=DelayedDelivery(tick_ms=50)))
"""What is early can be distinguished from what is due."""

DELAYS: Sequence[Rules] = (QUICK_TICK, QUICK_TICK | Rules(broker=BrokerSettings(delayed_strict=True)))
