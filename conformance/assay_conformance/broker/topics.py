"""Which topics there are, and which broker has each.

A topic of the topology exists from the start; any other in a known namespace is created when a client first uses it. A
topic is loaded at its broker by the first look-up that reaches this broker: until then another broker redirects the
client there, afterwards every broker names it. A request at a broker that does not have the topic is refused.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from assay_conformance.broker.host import Host
from assay_conformance.broker.names import DEFAULT_NAMESPACE, TopicName, parse, partition_of
from assay_conformance.broker.policies import PolicyLevels, changed, stated
from assay_conformance.broker.rules import RefusalError
from assay_conformance.broker.topic import Topic
from assay_conformance.model.case import Topic as Policy
from assay_conformance.model.case import Topology
from assay_conformance.model.errors import UsageError
from assay_conformance.model.policy import Policies
from assay_conformance.wire.pulsar_pb2 import ServerError


class Directions(NamedTuple):
    """Where a look-up leads: the broker to connect to, or (`redirect`) to ask again."""

    url: str
    redirect: bool


class Topics:
    """`urls[i]` is the service url of broker i; `names` maps local names to full ones."""

    def __init__(self, host: Host, topology: Topology, urls: Sequence[str], names: Mapping[str, str]) -> None:
        self._host = host
        self._urls = urls
        self._ledgers = itertools.count(1)
        self._producers = itertools.count(1)
        self._policies = {parse(names[policy.name]).full: policy for policy in topology.topics}
        self._locals = {parse(names[policy.name]).full: policy.name for policy in topology.topics}
        self._full = {local: full for full, local in self._locals.items()}
        self._namespaces = {DEFAULT_NAMESPACE, *(parse(full).namespace for full in self._policies)}
        self.policies = PolicyLevels(
            topology.settings.policies, ((namespace, topology.namespace) for namespace in self._namespaces)
        )
        for full, policy in self._policies.items():
            self.policies.set_topic(full, stated(policy))
        self._topics: dict[str, Topic] = {}
        self._owners: dict[str, int] = {}
        self._loaded: set[str] = set()

    def __iter__(self) -> Iterator[Topic]:
        return iter(self._topics.values())

    def resolve(self, text: str) -> TopicName:
        """The complete name a client meant. Raises RefusalError for a bad name and an unknown namespace."""
        name = parse(text)
        if name.namespace not in self._namespaces:
            raise RefusalError(ServerError.TopicNotFound, "Namespace not found")
        return name

    def partitions(self, name: TopicName, *, create: bool) -> int:
        """How many partitions a topic has, 0 for none. Raises RefusalError for one that is not and must not become."""
        policy = self._policies.get(name.full)
        if policy is None and not create and name.full not in self._topics:
            raise RefusalError(ServerError.TopicNotFound, "")
        return 0 if policy is None else policy.partitions

    def look_up(self, name: TopicName, broker: int) -> Directions:
        owner = self._owners.get(name.full, 0)
        if name.full in self._loaded or owner == broker:
            self._loaded.add(name.full)
            return Directions(self._urls[owner], redirect=False)
        return Directions(self._urls[owner], redirect=True)

    def open(self, name: TopicName, broker: int, *, create: bool = True) -> Topic:
        """The topic, for a producer or consumer at this broker."""
        if name.domain != "persistent":
            raise RefusalError(ServerError.NotAllowedError, "Non-persistent topics are not served by this broker")
        if self._owners.get(name.full, 0) != broker:
            raise RefusalError(
                ServerError.ServiceNotReady, f"Topic {name.full} is not served by this broker: redo the lookup"
            )
        if self.partitions(name, create=True):
            raise RefusalError(ServerError.NotAllowedError, f"{name.full} is partitioned: name one of its partitions")
        if not create and name.full not in self._topics and self._policy(name) is None:
            raise RefusalError(ServerError.TopicNotFound, f"Topic {name.full} does not exist")
        self._loaded.add(name.full)
        return self._topic(name)

    def new_producer_name(self, broker: int) -> str:
        """A name no other producer of this cluster was given."""
        return f"assay-{broker}-{next(self._producers)}"

    def of_namespace(self, namespace: str) -> list[str]:
        """The full names of its persistent topics, partitions one by one."""
        prefix = f"persistent://{namespace}/"
        found = set(self._topics)
        for full, policy in self._policies.items():
            found.update([partition_of(full, index) for index in range(policy.partitions)] or [full])
        return sorted(full for full in found if full.startswith(prefix))

    # --- for the steps of a Case ------------------------------------------------------------------------------------

    def stated(self) -> list[Topic]:
        """Every topic and partition the topology states, used or not."""
        return [topic for local in self._full for topic in self.of_local(local)]

    def of_local(self, local: str) -> list[Topic]:
        """The topic a step names: one, or all partitions. Raises UsageError for a name the topology does not have."""
        if local in self._full:
            full = self._full[local]
            count = self._policies[full].partitions
            names = [partition_of(full, index) for index in range(count)] or [full]
        else:
            base, dash, index = local.rpartition("-partition-")
            if not dash or base not in self._full:
                raise UsageError(f"topic {local!r}: expected one of the topology's: {', '.join(sorted(self._full))}")
            names = [f"{self._full[base]}-partition-{index}"]
        return [self._topic(parse(full)) for full in names]

    def move(self, topic: Topic, broker: int) -> str:
        """Give a topic to another broker; its url. It is loaded there by the next look-up or use."""
        self.check_broker(broker)
        self._owners[topic.name.full] = broker
        self._loaded.discard(topic.name.full)
        return self._urls[broker]

    def check_broker(self, broker: int) -> None:
        """Raises UsageError for a broker that is not there."""
        if not 0 <= broker < len(self._urls):
            raise UsageError(f"broker {broker}: expected one of 0 to {len(self._urls) - 1}")

    def owned_by(self, broker: int) -> list[Topic]:
        return [topic for topic in self._topics.values() if self._owners.get(topic.name.full, 0) == broker]

    def apply_policies(self) -> None:
        """Let every topic take on what is set now; what did not change for it goes on."""
        for topic in self._topics.values():
            topic.apply(self.policies.effective(_base(topic.name), topic.name.namespace))

    def change_policies(self, topics: Iterable[Topic], by: Policies) -> None:
        """Set policies of these topics themselves."""
        for full in {_base(topic.name) for topic in topics}:
            self.policies.set_topic(full, changed(self.policies.of_topic(full), by))
        self.apply_policies()

    def change_namespaces(self, by: Policies) -> None:
        """Set policies of every namespace there is: a Case has one."""
        for namespace in self._namespaces:
            self.policies.set_namespace(namespace, changed(self.policies.of_namespace(namespace), by))
        self.apply_policies()

    def _topic(self, name: TopicName) -> Topic:
        topic = self._topics.get(name.full)
        if topic is None:
            policies = self.policies.effective(_base(name), name.namespace)
            topic = Topic(self._host, name, self._local(name), policies, lambda: next(self._ledgers))
            self._topics[name.full] = topic
        return topic

    def _policy(self, name: TopicName) -> Policy | None:
        policy = self._policies.get(name.full) or self._policies.get(_base(name))
        return None if policy is None else msgspec.structs.replace(policy, partitions=0)

    def _local(self, name: TopicName) -> str:
        base = _base(name)
        if name.full in self._locals:
            return self._locals[name.full]
        return self._locals[base] + name.full[len(base) :] if base in self._locals else name.full


def _base(name: TopicName) -> str:
    """The full name of the topic this is a partition of; its own where it is none."""
    return name.full if name.partition < 0 else name.full.rpartition("-partition-")[0]
