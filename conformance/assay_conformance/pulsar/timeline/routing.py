"""Routing: producers of topics with several partitions, and the partition to which each message was sent.

A topic that gets more partitions while a Case runs is treated separately: only `topics.uses-added-partitions` judges
which number of them a client uses.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from assay_conformance.checks.base import View
from assay_conformance.model.case import ConfigValue
from assay_conformance.model.event import Frame, Invoke
from assay_conformance.model.topic_names import base_topic, is_partition, partition_number
from assay_conformance.pulsar.timeline.producers import Send


@dataclass(frozen=True, slots=True, eq=False)
class PartitionedProducer:
    """A producer of a topic of `partitions` partitions; `opening` is the call that opened it."""

    view: View
    handle: int
    opening: Invoke
    partitions: int

    @property
    def topic(self) -> str:
        """What the application asked for."""
        return str(self.opening.args.get("topic", ""))

    def setting(self, key: str) -> ConfigValue | None:
        """Return a configuration value in force for it."""
        return self.view.producer_setting(self.handle, key)

    def takes_turns(self, *, batching: bool) -> bool:
        """Return whether it goes from partition to partition: by message or, with batching, by window."""
        return self.setting("routing") == "round_robin" and self.setting("batching") is batching


class Routed(NamedTuple):
    """One message, and the partition to which it was sent; `frame` is its first SEND."""

    producer: PartitionedProducer
    send: Send
    partition: int
    frame: Frame

    @property
    def number(self) -> int:
        """Which of its producer's messages it is."""
        return self.send.invoke.number or 0

    @property
    def key(self) -> str | None:
        """Its key."""
        return self.send.invoke.args.get("key")

    @property
    def is_keyless(self) -> bool:
        """Whether it has no key of any kind."""
        return is_keyless(self.send.invoke)

    def __str__(self) -> str:
        key = "" if self.key is None else f" with key {self.key!r}"
        return f"message {self.number}{key} of producer {self.producer.handle}"


def is_keyless(call: Invoke) -> bool:
    """Return whether a message has neither key nor ordering key. One with only an ordering key is routed round robin in
    Java and C++ clients; the Go client uses the hash of that key (default_router.go).
    """
    return call.args.get("key") is None and call.args.get("ordering_key") is None


def fixed_topics(view: View) -> dict[str, int]:
    """Return the topics of several partitions that keep their number while the Case runs, and how many they have."""
    grown = {step.args.get("topic") for step in view.case.steps if step.verb == "grow"}
    topics = (topic for topic in view.case.topology.topics if topic.partitions > 1 and topic.name not in grown)
    return {topic.name: topic.partitions for topic in topics}


def grown_topics(view: View) -> dict[str, tuple[int, int]]:
    """Return the topics that get more partitions, and how many they begin and end with.

    Those that are deleted are not among them.
    """
    steps, found = view.case.steps, dict[str, tuple[int, int]]()
    deleted = {step.args.get("topic") for step in steps if step.verb == "delete"}
    for topic in view.case.topology.topics:
        grows = [step for step in steps if step.verb == "grow" and step.args["topic"] == topic.name]
        if grows and topic.partitions and topic.name not in deleted:
            found[topic.name] = topic.partitions, max(int(step.args["partitions"]) for step in grows)
    return found


def routed(view: View, partitions: Mapping[str, int]) -> list[Routed]:
    """Return every message that left for a partition of these topics, in order."""
    producers: dict[int, PartitionedProducer] = {}
    found = []
    for line in view.tracker.lines.all if partitions else ():
        count = partitions.get(base_topic(line.topic)) if is_partition(line.topic) else None
        if count is None or line.handle is None:
            continue
        opening = view.tracker.lines.openings[line.handle]
        producer = producers.setdefault(line.handle, PartitionedProducer(view, line.handle, opening, count))
        for unit in line.units:
            numbers = unit.numbers or view.tracker.lines.known_numbers(unit.first.members, line.topic)
            sends = (view.tracker.send_of(line.handle, number) for number in numbers)
            partition = partition_number(line.topic)
            found += [Routed(producer, send, partition, unit.first) for send in sends if send is not None]
    return sorted(found, key=lambda message: message.frame.seq)


class PartitionQueues:
    """What waits for its receipt at each partition, by producer."""

    def __init__(self, messages: Iterable[Routed]) -> None:
        self._left: dict[tuple[int, int], list[int]] = {}
        self._ended: dict[tuple[int, int], list[int]] = {}
        for message in messages:
            place, end = (message.producer.handle, message.partition), message.send.completion
            if end is None or end.seq > message.frame.seq:
                self._left.setdefault(place, []).append(message.frame.seq)
                self._ended.setdefault(place, []).extend(() if end is None else (end.seq,))
        for ends in self._ended.values():
            ends.sort()

    def is_full(self, producer: PartitionedProducer, partition: int, seq: int) -> bool:
        """Return whether one more message of this producer would have found no room there at event `seq`."""
        own = int(producer.setting("max_pending_messages") or 0)
        across = int(producer.setting("max_pending_across_partitions") or 0) // producer.partitions
        limits = [limit for limit in (own, across) if limit]
        place = (producer.handle, partition)
        waiting = bisect_left(self._left.get(place, ()), seq) - bisect_right(self._ended.get(place, ()), seq)
        return bool(limits) and waiting >= min(limits)
