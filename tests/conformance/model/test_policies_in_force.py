"""Which policies hold for a Case's topic, each by itself: its own, else its namespace's, else the broker's."""

from __future__ import annotations

from assay_conformance.model.case import Topic, Topology
from assay_conformance.model.policy import BrokerSettings, Policies, Rate

TOPOLOGY = Topology(
    topics=(Topic(name="t", publish_rate=Rate(messages=5)), Topic(name="d", deduplication=True)),
    namespace=Policies(publish_rate=Rate(messages=7), deduplication=True),
    settings=BrokerSettings(policies=Policies(deduplication=False, message_ttl_s=3)),
)


def _held(name: str) -> Policies:
    return TOPOLOGY.policies_of(TOPOLOGY.named(name))


def test_nearest_level_that_sets_a_policy_counts() -> None:
    assert _held("t") == Policies(publish_rate=Rate(messages=5), deduplication=True, message_ttl_s=3)


def test_topic_of_nobody_has_what_its_namespace_says() -> None:
    assert _held("other") == Policies(publish_rate=Rate(messages=7), deduplication=True, message_ttl_s=3)


def test_topic_that_does_not_ask_for_deduplication_sets_none() -> None:
    assert [topic.own_policies.deduplication for topic in TOPOLOGY.topics] == [None, True]
