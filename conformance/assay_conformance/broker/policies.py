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
        """Return the names of the namespaces."""
        return sorted(self._namespaces)

    def has_namespace(self, namespace: str) -> bool:
        return namespace in self._namespaces

    def forget_namespace(self, namespace: str) -> None:
        self._namespaces.pop(namespace, None)

    def of_topic(self, topic: str) -> Policies:
        """Return what is set for the topic itself."""
        return self._topics.get(topic, Policies())

    def of_namespace(self, namespace: str) -> Policies:
        return self._namespaces.get(namespace, Policies())

    def set_topic(self, topic: str, policies: Policies) -> None:
        self._topics[topic] = policies

    def set_namespace(self, namespace: str, policies: Policies) -> None:
        self._namespaces[namespace] = policies

    def forget_topic(self, topic: str) -> None:
        self._topics.pop(topic, None)

    def effective(self, topic: str, namespace: str) -> Policies:
        """Return what holds for a topic."""
        return nearest(*self._levels(topic, namespace), self._broker)

    def _levels(self, topic: str, namespace: str) -> tuple[Policies, Policies]:
        """Return what is set nearer to the topic than the broker's, the nearest first."""
        return self.of_topic(topic), self.of_namespace(namespace)


def changed(policies: Policies, by: Policies) -> Policies:
    """Return these policies, with those that `by` sets in their place."""
    given = {name: value for name in Policies.__struct_fields__ if (value := getattr(by, name)) is not None}
    return msgspec.structs.replace(policies, **given)
