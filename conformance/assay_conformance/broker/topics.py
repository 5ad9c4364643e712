"""Which topics there are.

A topic of the topology exists from the start. Any other in a known namespace is created by an administrator, or, where
policies allow it, when a client first uses it. A partitioned topic is a number of partitions that may grow; the topics
themselves are the partitions. A request at a broker that does not have the topic is refused.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from assay_conformance.broker.host import Host
from assay_conformance.broker.names import DEFAULT_NAMESPACE, LocalNames, TopicName, parse
from assay_conformance.broker.pacing import PublishGate
from assay_conformance.broker.placement import Directions, Placement
from assay_conformance.broker.policies import PolicyLevels, changed
from assay_conformance.broker.rules import MigratedError, RefusalError
from assay_conformance.broker.schemas import Schemas
from assay_conformance.broker.throttle import DispatchLimiter
from assay_conformance.broker.topic import Topic
from assay_conformance.model.case import Topology
from assay_conformance.model.policy import AutoCreation, Policies
from assay_conformance.model.topic_names import base_topic, part_names, partition_name, partition_number
from assay_conformance.wire.pulsar_pb2 import ServerError

Change = Callable[[list[str], list[str]], None]
"""Called with the full names of topics that were created and of those that were deleted."""


class Topics:
    """`urls[i]` is the service url of broker i; `names` maps local names to full ones."""

    def __init__(self, host: Host, topology: Topology, urls: Sequence[str], names: Mapping[str, str]) -> None:
        self._host = host
        self._ledgers = itertools.count(1)
        self._producers = itertools.count(1)
        full = {topic.name: parse(names[topic.name]).full for topic in topology.topics}
        self.names = LocalNames(full)
        self._partitions = {full[topic.name]: topic.partitions for topic in topology.topics if topic.partitions}
        self._created = {full[topic.name] for topic in topology.topics if not topic.partitions}
        self._deleted: set[str] = set()
        self._topics: dict[str, Topic] = {}
        self.placement = Placement(urls, proxied=topology.settings.proxied)
        rate = topology.settings.publish_rate
        gate, limiter = host.implementation(PublishGate), host.implementation(DispatchLimiter)
        self._gates = [gate(host, rate) for _ in urls] if rate.limits else []
        dispatch = topology.settings.dispatch_rate
        self._limiters = [limiter(host, dispatch) for _ in urls] if dispatch.limits else []
        self.schemas = host.implementation(Schemas)(lambda: host.unix_ms)
        self.changed: list[Change] = []
        namespaces = {DEFAULT_NAMESPACE, *(parse(name).namespace for name in full.values())}
        self.policies = host.implementation(PolicyLevels)(
            topology.settings.policies, ((namespace, topology.namespace) for namespace in namespaces)
        )
        for topic in topology.topics:
            self.policies.set_topic(full[topic.name], topic.own_policies)

    def __iter__(self) -> Iterator[Topic]:
        """Iterate over the topics that were used."""
        return iter(self._topics.values())

    # --- what clients ask -------------------------------------------------------------------------------------------

    def resolve(self, text: str) -> TopicName:
        """Return the complete name that a client meant. Raises RefusalError for a bad name or an unknown namespace."""
        name = parse(text)
        if not self.policies.has_namespace(name.namespace):
            raise RefusalError(ServerError.TopicNotFound, "Namespace not found")
        return name

    def has_namespace(self, namespace: str) -> bool:
        return self.policies.has_namespace(namespace)

    def partitions(self, name: TopicName, *, create: bool) -> int:
        """Return how many partitions a topic has, 0 for none.

        Raises RefusalError for a topic that does not exist and may not be created.
        """
        full = name.full
        if full in self._partitions:
            return self._partitions[full]
        if self.exists(full):
            return 0
        if not create or name.partition >= self._partitions.get(base_topic(full), name.partition + 1):
            raise RefusalError(ServerError.TopicNotFound, "")
        rule = self._auto_creation(name)
        if rule.enabled and rule.partitions and name.partition < 0:
            self.check_room(name, rule.partitions)
            self.create(name, rule.partitions)
            return rule.partitions
        return 0

    def look_up(self, name: TopicName, broker: int) -> Directions:
        """Return directions to a client that asks this broker."""
        return self.placement.look_up(name.full, broker)

    def open(self, name: TopicName, broker: int, *, create: bool = True) -> Topic:
        """Return the topic, for a producer or consumer at this broker."""
        full = name.full
        if create and not self.policies.has_namespace(name.namespace):
            raise RefusalError(ServerError.ServiceNotReady, f"Namespace of {full} is served by nobody: redo the lookup")
        if (url := self.placement.migrated(full)) is not None and self.placement.owner(full) != broker:
            raise MigratedError(url)
        if self.placement.owner(full) != broker:
            raise RefusalError(
                ServerError.ServiceNotReady, f"Topic {full} is not served by this broker: redo the lookup"
            )
        count = self._partitions.get(base_topic(full), 0)
        if count and name.partition >= count:
            raise RefusalError(ServerError.TopicNotFound, f"{full}: its topic has only {count} partitions")
        if not self.exists(full) and not (create and self._auto_creation(name).enabled):
            raise RefusalError(ServerError.TopicNotFound, f"Topic {full} does not exist")
        if not self.exists(full):
            self.check_room(name, 1)
        self.placement.load(full)
        return self._topic(name)

    def new_producer_name(self, broker: int) -> str:
        """Return a name that no other producer of this cluster was given."""
        return f"assay-{broker}-{next(self._producers)}"

    def exists(self, full: str) -> bool:
        """Return whether this is a topic or a partition that was created."""
        partition = parse(full).partition
        is_partition = 0 <= partition < self._partitions.get(base_topic(full), 0)
        return full in self._created or (is_partition and full not in self._deleted)

    def is_known(self, full: str) -> bool:
        """Return whether this is a topic, with partitions or without."""
        return full in self._partitions or self.exists(full)

    def of_namespace(self, namespace: str, domain: str = "persistent") -> list[str]:
        """Return the full names of its topics, partitions singly; of non-persistent ones those in use."""
        prefix = f"{domain}://{namespace}/"
        found = sorted(full for full in self._all() if full.startswith(prefix))
        return found if domain == "persistent" else [full for full in found if self._is_in_use(full)]

    def _is_in_use(self, full: str) -> bool:
        topic = self._topics.get(full)
        return topic is not None and (
            bool(topic.producers) or any(known.consumers for known in topic.subscriptions.values())
        )

    def _all(self) -> Iterator[str]:
        yield from self._created
        for full, count in self._partitions.items():
            yield from (name for name in part_names(full, range(count)) if name not in self._deleted)

    # --- what is created, grows and goes ----------------------------------------------------------------------------

    def partitioned(self) -> dict[str, int]:
        """Return the full names of partitioned topics, each with its number of partitions."""
        return dict(self._partitions)

    def check_room(self, name: TopicName, topics: int) -> None:
        """Raise RefusalError where the namespace of this name may not have so many topics more.

        Those that are not persistent do not count.
        """
        limit = self._effective(name).max_topics or 0
        if name.domain == "persistent" and 0 < limit < len(self.of_namespace(name.namespace)) + topics:
            raise RefusalError(ServerError.NotAllowedError, "Exceed maximum number of topics in namespace.")

    def create(self, name: TopicName, partitions: int = 0) -> None:
        """Make a topic, 0 partitions: one that has none. Raises RefusalError where there is one of this name."""
        full = name.full
        if self.exists(full) or full in self._partitions:
            raise RefusalError(ServerError.NotAllowedError, f"{full} exists already")
        if partitions:
            self._partitions[full] = partitions
            self._notify(part_names(full, range(partitions)), [])
        else:
            self._add(full)

    def _add(self, full: str) -> None:
        """Add a topic without partitions, or a partition that was deleted by itself.

        There may be a partitioned topic of the same name, which Pulsar 4.0 allows.
        """
        if full in self._deleted:
            self._deleted.remove(full)
        else:
            self._created.add(full)
        self._notify([full], [])

    def create_missing(self, full: str) -> None:
        """Make the partitions of a topic again that were deleted by themselves."""
        for name in part_names(full, range(self._partitions.get(full, 0))):
            if name in self._deleted:
                self._add(name)

    def grow(self, full: str, partitions: int) -> None:
        """Add partitions; each has the subscriptions of the first from its beginning, as Pulsar makes them.

        Raises RefusalError for a topic without partitions, and for a number that adds none.
        """
        before = self._partitions.get(full, 0)
        if not before:
            raise RefusalError(ServerError.TopicNotFound, f"{full} has no partitions")
        if partitions <= before:
            text = f"{full} has {before} partitions and cannot have {partitions}: a topic only grows"
            raise RefusalError(ServerError.NotAllowedError, text)
        self._partitions[full] = partitions
        added = part_names(full, range(before, partitions))
        first = self._topics.get(partition_name(full, 0))
        for name in added if first is not None else []:
            topic = self._topic(parse(name))
            for subscription in first.subscriptions.values() if first is not None else ():
                if subscription.durable:
                    topic.subscribe(subscription.name, 0, durable=True)
        self._notify(added, [])

    def delete(self, full: str) -> None:
        """Send all clients of a topic, or of all its partitions, away and forget what it held."""
        count = self._partitions.pop(full, 0)
        gone = part_names(full, range(count))
        self._deleted.difference_update(gone)
        for name in gone:
            self._created.discard(name)
            self.placement.forget(name)
            topic = self._topics.pop(name, None)
            if topic is not None:
                topic.close()
        if base_topic(full) == full:
            self.policies.forget_topic(full)
            if self.schemas.versions(full):
                self.schemas.delete(full)
        elif full not in self._created and partition_number(full) < self._partitions.get(base_topic(full), 0):
            self._deleted.add(full)
        self._notify([], gone)

    def _notify(self, added: list[str], gone: list[str]) -> None:
        for change in tuple(self.changed):
            change(added, gone)

    # --- policies ---------------------------------------------------------------------------------------------------

    def apply_policies(self) -> None:
        """Let every topic take on what is set now; what did not change for it goes on."""
        for topic in self._topics.values():
            topic.apply(self._effective(topic.name))

    def change_policies(self, topics: Iterable[Topic], by: Policies) -> None:
        """Set policies of these topics themselves."""
        for full in {base_topic(topic.name.full) for topic in topics}:
            self.policies.set_topic(full, changed(self.policies.of_topic(full), by))
        self.apply_policies()

    def change_namespaces(self, by: Policies) -> None:
        """Set policies of every namespace there is: a Case has one."""
        for namespace in self.policies.namespaces():
            self.policies.set_namespace(namespace, changed(self.policies.of_namespace(namespace), by))
        self.apply_policies()

    def _effective(self, name: TopicName) -> Policies:
        full = base_topic(name.full)
        return self.policies.effective(full, name.namespace)

    def _auto_creation(self, name: TopicName) -> AutoCreation:
        return self._effective(name).auto_creation or AutoCreation()

    # --- for the steps of a Case ------------------------------------------------------------------------------------

    def stated(self) -> list[Topic]:
        """Return every topic and partition of the topology that still exists, used or not."""
        return [topic for full in self.names.full.values() for topic in self._of_full(full)]

    def of_local(self, local: str) -> list[Topic]:
        """Return the topic that a step names, or its partitions.

        Raises UsageError for a name that the topology does not have.
        """
        return self._of_full(self.names.full_of(local))

    def _of_full(self, full: str) -> list[Topic]:
        count = self._partitions.get(full, 0)
        names = part_names(full, range(count))
        return [self._topic(parse(name)) for name in names if self.exists(name) or name in self._topics]

    def move(self, topic: Topic, broker: int) -> str:
        """Give a topic to another broker; its url."""
        url = self.placement.move(topic.name.full, broker)
        self._share_rates(topic)
        return url

    def migrate(self, topic: Topic, broker: int) -> str:
        """Give a topic to a broker of another cluster; its url."""
        url = self.placement.migrate(topic.name.full, broker)
        self._share_rates(topic)
        return url

    def _share_rates(self, topic: Topic) -> None:
        """Let a topic have the rates of its broker."""
        owner = self.placement.owner(topic.name.full)
        if self._gates:
            topic.publishing.share(self._gates[owner])
        if self._limiters:
            topic.share(self._limiters[owner])

    def owned_by(self, broker: int) -> list[Topic]:
        return [topic for topic in self._topics.values() if self.placement.owner(topic.name.full) == broker]

    def find(self, full: str) -> Topic | None:
        """Return the topic of this name, where it exists."""
        return self._topic(parse(full)) if self.exists(full) else None

    def _topic(self, name: TopicName) -> Topic:
        topic = self._topics.get(name.full)
        if topic is None:
            policies = self._effective(name)
            made, local = self._host.implementation(Topic), self.names.local_of(name.full)
            topic = made(self._host, name, local, policies, lambda: next(self._ledgers))
            self._topics[name.full] = topic
            self._share_rates(topic)
            if not self.exists(name.full):
                self._add(name.full)
        return topic
