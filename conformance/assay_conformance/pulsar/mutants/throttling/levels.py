"""Brokers that take a rate from the wrong one of broker, namespace, topic and subscription."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from assay_conformance.broker.backlog import Backlog
from assay_conformance.broker.names import TopicName
from assay_conformance.broker.policies import PolicyLevels
from assay_conformance.broker.topics import Topics
from assay_conformance.model.policy import Policies
from assay_conformance.model.topic_names import base_topic


class DispatchLevelsAreAlternatives(Backlog):
    """Dispatch stops only when the rates of broker, topic and subscription are all used up."""

    breaks = "throttling.all-levels-hold"
    stands_for = "the limiters of several levels joined by 'or' instead of 'and'"

    def _of_levels(self, allowed: Sequence[int]) -> int:
        return max(allowed)


class PartitionsSplitRate(Topics):
    """The dispatch rate of a partitioned topic is divided among its partitions."""

    breaks = "throttling.rate-per-partition"
    stands_for = "the rate of a partitioned topic taken for the sum of its partitions"

    def _effective(self, name: TopicName) -> Policies:
        policies, partitions = super()._effective(name), self._partitions.get(base_topic(name.full))
        rate = policies.dispatch_rate
        if not partitions or rate is None:
            return policies
        share = msgspec.structs.replace(rate, messages=rate.messages // partitions, bytes=rate.bytes // partitions)
        return msgspec.structs.replace(policies, dispatch_rate=share)


class NamespaceOverrulesTopic(PolicyLevels):
    """A policy of the namespace overrides that of the topic."""

    breaks = "throttling.nearest-policy-wins"
    stands_for = "policies merged in the wrong order"

    def _levels(self, topic: str, namespace: str) -> tuple[Policies, Policies]:
        nearest, farther = super()._levels(topic, namespace)
        return farther, nearest
