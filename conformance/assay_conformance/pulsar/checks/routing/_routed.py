"""Routing: which partition of a topic a message goes to.

A topic that gets more partitions while a Case runs is judged by `topics.uses-added-partitions` alone: here, which
number a client knows is its own affair.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from assay_conformance.checks.base import Check, View, on
from assay_conformance.checks.tracker import Operation
from assay_conformance.model.event import Completion, Frame
from assay_conformance.model.topic_names import base_topic, is_partition, partition_number


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
