"""Routing: which partition of a topic a message goes to.

A topic that gets more partitions while a Case runs is judged by `grown.py` alone: here, which number a client knows is
its own affair.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, NamedTuple

from assay_conformance.checks.base import Check, View, ms, on
from assay_conformance.checks.tracker import Operation
from assay_conformance.model.event import Completion, Frame
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.topic_names import base_topic, is_partition, partition_number

KEYS_THAT_SPREAD = 20
"""So many different keys, hashed, share one of three partitions or more by chance once in 10^9 times."""


class Routed(NamedTuple):
    """One message and where it went, of `partitions`."""

    handle: int
    send: Operation
    partition: int
    partitions: int
    frame: Frame

    @property
    def number(self) -> int:
        return self.send.invoke.number or 0

    @property
    def key(self) -> str | None:
        return self.send.invoke.args.get("key")

    def __str__(self) -> str:
        key = "" if self.key is None else f" with key {self.key!r}"
        return f"message {self.number}{key} of producer {self.handle}"


class Queues:
    """What waits for its receipt at each partition, by producer."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._open: dict[tuple[int, int], set[int]] = {}
        self._places: dict[int, tuple[int, int]] = {}

    def left(self, message: Routed) -> None:
        place = self._places[message.send.invoke.op] = (message.handle, message.partition)
        if message.send.completion is None:
            self._open.setdefault(place, set()).add(message.send.invoke.op)

    def ended(self, event: Completion) -> None:
        place = self._places.pop(event.op, None)
        if place is not None:
            self._open.get(place, set()).discard(event.op)

    def is_full(self, message: Routed, partition: int) -> bool:
        """Whether another message of this producer would have found no room there."""
        setting = self._view.producer_setting
        limit = int(setting(message.handle, "max_pending_messages") or 0)
        across = int(setting(message.handle, "max_pending_across_partitions") or 0) // message.partitions
        limits = [each for each in (limit, across) if each]
        return bool(limits) and len(self._open.get((message.handle, partition), ())) >= min(limits)


class RoutingCheck(Check):
    """Messages as they first leave for a partition."""

    def start(self) -> None:
        grown = {step.args.get("topic") for step in self.view.case.steps if step.verb == "grow"}
        self._partitions = {
            topic.name: topic.partitions
            for topic in self.view.case.topology.topics
            if topic.partitions > 1 and topic.name not in grown
        }

    def concerned(self) -> bool:
        return bool(self._partitions)

    def routed(self, message: Routed) -> None:
        """A message left, on a topic of several partitions."""

    def is_own(self, handle: int) -> bool:
        """Whether the client chooses the partitions of this producer, and not a router of the application."""
        return self.view.producer_setting(handle, "router") is None

    @on(Frame, "SEND")
    def send(self, event: Frame) -> None:
        unit = self.tracker.lines.first(event)
        if unit is None:
            return
        topic = unit.line.topic
        count = self._partitions.get(base_topic(topic))
        if count is None or not is_partition(topic):
            return
        handle = unit.line.handle or 0
        if not self.is_own(handle):
            return
        for number in unit.numbers:
            send = self.tracker.send_of(handle, number)
            if send is not None:
                self.routed(Routed(handle, send, partition_number(topic), count, event))


class TurnsCheck(RoutingCheck):
    """Messages of producers that take partitions by turns, kept until the whole order of their calls is known."""

    batching: ClassVar[bool]

    def start(self) -> None:
        super().start()
        self.seen: dict[int, dict[int, Routed]] = {}
        """Producer -> number of a message -> where it went."""

    def routed(self, message: Routed) -> None:
        setting = self.view.producer_setting
        by_turns = setting(message.handle, "routing") == "round_robin"
        if by_turns and setting(message.handle, "batching") is self.batching:
            self.seen.setdefault(message.handle, {}).setdefault(message.number, message)


class KeysChoosePartition(RoutingCheck):
    """The same key goes to the same partition, whichever routing mode a producer of that hashing scheme has; and keys
    are spread, not sent where messages without one go.
    """

    requirement = RequirementId("routing.key-chooses-partition")

    def start(self) -> None:
        super().start()
        self._places: dict[tuple[str, object, str], Routed] = {}
        self._keyed: dict[int, dict[str, Routed]] = {}

    def routed(self, message: Routed) -> None:
        key = message.key
        if key is None:
            return
        self._keyed.setdefault(message.handle, {}).setdefault(key, message)
        topic = str(self.tracker.lines.openings[message.handle].args.get("topic", ""))
        # Producers of an unknown scheme are each alone with it.
        scheme = self.view.producer_setting(message.handle, "hashing_scheme") or message.handle
        before = self._places.setdefault((topic, scheme, key), message)
        if before is message:
            return
        self.exercise(message.frame)
        if before.partition != message.partition:
            self.breach(
                "key-moved",
                f"{message} went to partition {message.partition} at {ms(message.frame.t_ns)}, and {before} to "
                f"partition {before.partition} at {ms(before.frame.t_ns)}; there were always {message.partitions}",
                before.frame,
                message.frame,
            )

    def finish(self) -> None:
        for handle, keyed in self._keyed.items():
            messages = list(keyed.values())
            if len(keyed) < KEYS_THAT_SPREAD or messages[0].partitions < 3:
                continue
            self.exercise(messages[-1].frame)
            if len({message.partition for message in messages}) == 1:
                self.breach(
                    "keys-ignored",
                    f"producer {handle}: {len(keyed)} different keys all went to partition {messages[0].partition} of "
                    f"{messages[0].partitions}",
                    messages[0].frame,
                    messages[-1].frame,
                )


class SingleStays(RoutingCheck):
    """Under routing to a single partition all messages without a key go to one."""

    requirement = RequirementId("routing.single-partition-stays")

    def start(self) -> None:
        super().start()
        self._first: dict[int, Routed] = {}

    def routed(self, message: Routed) -> None:
        single = self.view.producer_setting(message.handle, "routing") == "single"
        if message.key is not None or not single:
            return
        first = self._first.setdefault(message.handle, message)
        if first is message:
            return
        self.exercise(message.frame)
        if message.partition != first.partition:
            self.breach(
                "moved",
                f"{message} went to partition {message.partition} at {ms(message.frame.t_ns)}, and {first} to "
                f"partition {first.partition}; expected one for all",
                first.frame,
                message.frame,
            )


class RoundRobinTurns(TurnsCheck):
    """Without batching, each message without a key goes to the partition after that of the one before.

    Messages are taken in the order they were asked for. One that never left had its turn too, where nobody saw it: of
    what follows, the first shows nothing.
    """

    requirement = RequirementId("routing.round-robin-cycle")
    batching = False

    def start(self) -> None:
        super().start()
        self._queues = Queues(self.view)
        self._passed_over: set[tuple[int, int]] = set()
        """Messages that left while the queue of the partition before theirs was full."""

    def routed(self, message: Routed) -> None:
        super().routed(message)
        if self._queues.is_full(message, (message.partition - 1) % message.partitions):
            self._passed_over.add((message.handle, message.number))
        self._queues.left(message)

    @on(Completion, "send")
    def ended(self, event: Completion) -> None:
        self._queues.ended(event)

    def finish(self) -> None:
        for seen in self.seen.values():
            for before, message in _neighbours(seen):
                self.exercise(message.frame)
                expected = (before.partition + 1) % message.partitions
                steered = (message.handle, message.number) in self._passed_over
                if message.partition != expected and not steered:
                    self.breach(
                        "out-of-turn",
                        f"{message} went to partition {message.partition} at {ms(message.frame.t_ns)}; {before} went "
                        f"to {before.partition}, so partition {expected} of {message.partitions} was next",
                        before.frame,
                        message.frame,
                    )


def _neighbours(seen: dict[int, Routed]) -> Iterator[tuple[Routed, Routed]]:
    """Messages without a key, each with the one before it, where all between them are known."""
    before: Routed | None = None
    for number in sorted(seen):
        message = seen[number]
        if number - 1 not in seen:
            before = None
        if message.key is not None:
            continue
        if before is not None:
            yield before, message
        before = message
