"""Consumers without a queue: one permit for each message the application waits for, and again behind a reconnect.

Judged are consumers of one unpartitioned topic.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from assay_conformance.checks.base import on
from assay_conformance.checks.consumption import (
    ConsumerCheck,
    entry_on,
    from_client,
    number_in_force,
    plain_acks,
    to_client,
)
from assay_conformance.checks.occasions import Trait
from assay_conformance.checks.tracker import ConsumerSession, Entry, OpenedConsumer
from assay_conformance.model.event import Completion, Frame, Invoke, Received
from assay_conformance.model.topic_names import is_partition
from assay_conformance.pulsar.checks.flow._permits import charged


@dataclass(slots=True)
class Wanted:
    """What the application of one consumer asked for and got. `waiting`: receives that have not ended."""

    asked: int = 0
    got: int = 0
    waiting: int = 0
    asked_ns: int = 0
    """When the last receive was asked for."""
    kept: Counter[Entry] = field(default_factory=Counter)
    """How many messages of an entry came and were not handed over."""


@dataclass(slots=True)
class Granted:
    """Of one session. `got` is what the application had got before it; `lost` came garbled, or was reported as what
    nobody can read, so that it gets none of it. `read`: what else came, by its entry."""

    got: int
    permits: int = 0
    came: int = 0
    lost: int = 0
    read: dict[Entry, int] = field(default_factory=dict)


class ZeroQueueCheck(ConsumerCheck):
    needs = (Trait.NO_QUEUE,)

    def start(self) -> None:
        self._wanted: dict[int, Wanted] = {}
        self._sessions: dict[int, Granted] = {}

    def flowed(self, session: ConsumerSession, granted: Granted, event: Frame) -> None:
        """A FLOW of a consumer without a queue; `granted` has it already."""

    def wanted(self, consumer: OpenedConsumer) -> Wanted:
        return self._wanted.setdefault(consumer.handle, Wanted())

    def granted(self, session: ConsumerSession | None) -> Granted | None:
        consumer = session.consumer if session is not None else None
        if session is None or consumer is None or len(consumer.topics) != 1 or is_partition(session.topic):
            return None
        if number_in_force(self.view, consumer, "receiver_queue_size") != 0:
            return None
        return self._sessions.setdefault(session.request.seq, Granted(self.wanted(consumer).got))

    @on(Invoke, "receive")
    def asks(self, event: Invoke) -> None:
        wanted = self._wanted.setdefault(event.handle or 0, Wanted())
        wanted.asked += event.args.get("count", 0)
        wanted.waiting += 1
        wanted.asked_ns = event.t_ns

    @on(Completion, "receive")
    def has(self, event: Completion) -> None:
        self._wanted.setdefault(event.handle or 0, Wanted()).waiting -= 1

    @on(Received)
    def gets(self, event: Received) -> None:
        wanted = self._wanted.setdefault(event.handle, Wanted())
        wanted.got += 1
        if (entry := self.tracker.entries.get(event.seq)) is not None:
            wanted.kept[entry] -= 1

    @on(Frame, "MESSAGE")
    def message(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        granted = self.granted(session)
        if session is None or granted is None or not to_client(event):
            return
        granted.came += charged(event)
        if session.consumer is not None and event.ids:
            self.wanted(session.consumer).kept[entry_on(session, event.ids[0])] += charged(event)
        if event.intact is False:
            granted.lost += charged(event)
        elif event.ids:
            granted.read[entry_on(session, event.ids[0])] = charged(event)

    @on(Frame, "ACK")
    def reported(self, event: Frame) -> None:
        """One that names a validation error says that its messages were thrown away."""
        session = self.tracker.consumer_of(event)
        granted = self.granted(session)
        if session is not None and granted is not None and from_client(event) and not plain_acks(event):
            granted.lost += sum(granted.read.pop(entry_on(session, id), 0) for id in event.ids)

    @on(Frame, "FLOW")
    def flow(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        granted = self.granted(session)
        if session is not None and granted is not None and from_client(event):
            granted.permits += event.permits or 0
            self.flowed(session, granted, event)
