"""Which policy holds for a topic: its own, else its namespace's, else the broker's. Each policy by itself: a topic that
sets a dispatch rate still takes its time to live from the namespace."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from assay_conformance.model.policy import Policies, nearest


class PolicyLevels:
    """What is set at each level. A partition has the policies of its topic; names are complete ones."""

    def __init__(self, broker: Policies, namespaces: Iterable[tuple[str, Policies]]) -> None:
        self._broker = broker
        self._namespaces = dict(namespaces)
        self._topics: dict[str, Policies] = {}

    def namespaces(self) -> list[str]:
        """The names of those there are."""
        return sorted(self._namespaces)

    def has_namespace(self, namespace: str) -> bool:
        return namespace in self._namespaces

    def forget_namespace(self, namespace: str) -> None:
        self._namespaces.pop(namespace, None)

    def of_topic(self, topic: str) -> Policies:
        """What a topic sets itself."""
        return self._topics.get(topic, Policies())

    def of_namespace(self, namespace: str) -> Policies:
        return self._namespaces.get(namespace, Policies())

    def set_topic(self, topic: str, policies: Policies) -> None:
        self._topics[topic] = policies

    def set_namespace(self, namespace: str, policies: Policies) -> None:
        self._namespaces[namespace] = policies

    def forget_topic(self, topic: str) -> None:
        self._topics.pop(topic, None)

    def effective(self, topic: str, namespace: str, *, overruled: bool = False) -> Policies:
        """What holds for a topic; `overruled`: what would if its namespace came first."""
        levels = [self.of_topic(topic), self.of_namespace(namespace)]
        return nearest(*(reversed(levels) if overruled else levels), self._broker)


def changed(policies: Policies, by: Policies) -> Policies:
    """These policies, with those the other sets in their place."""
    given = {name: value for name in Policies.__struct_fields__ if (value := getattr(by, name)) is not None}
    return msgspec.structs.replace(policies, **given)


def with_share(policies: Policies, partitions: int) -> Policies:
    """These policies with one partition's share of the dispatch rate, as a broker would have it that divides it."""
    rate = policies.dispatch_rate
    if rate is None:
        return policies
    share = msgspec.structs.replace(rate, messages=rate.messages // partitions, bytes=rate.bytes // partitions)
    return msgspec.structs.replace(policies, dispatch_rate=share)
