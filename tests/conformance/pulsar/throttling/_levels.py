"""Dispatch rates of several levels, of partitions and of longer periods, and what a broker's settings make of them."""

from __future__ import annotations

from typing import Any

import msgspec

from assay_conformance.checks.trial import ANY_CASE
from assay_conformance.history.script import Script
from assay_conformance.model.case import Case, Rate, Step, Topic, Topology
from assay_conformance.model.policy import BrokerSettings, Policies

TEN = Rate(messages=10)


def case_of(topology: Topology, *steps: Step) -> Case:
    return msgspec.structs.replace(ANY_CASE, topology=topology, steps=steps)


DEFAULTS = BrokerSettings()
NOTHING = Policies()


def topic_of(settings: BrokerSettings = DEFAULTS, namespace: Policies = NOTHING, **topic: Any) -> Case:
    return case_of(Topology(topics=(Topic(name="t", **topic),), settings=settings, namespace=namespace))


def backlog(*reads: tuple[int, int], stored: int = 200, members: int = 1, topic: str = "t", **reading: Any) -> Script:
    """A backlog of entries of so many messages, a consumer from the beginning, and reads (time in ms, entries)."""
    story = Script()
    for number in range(stored):
        story.stored(*range(number * members, number * members + members), topic=topic, entry=number)
    return read(story, *reads, members=members, topic=topic, **reading)


def read(
    story: Script,
    *reads: tuple[int, int],
    members: int = 1,
    topic: str = "t",
    subscription: str = "s",
    end_ms: int = 0,
    conn: int = 0,
    permits: int = 10_000,
) -> Script:
    story.connected(conn)
    story.subscribed(conn, topic=topic, subscription=subscription, initialPosition="Earliest")
    story.flow(permits, conn=conn)
    entry = 0
    for at_ms, entries in reads:
        story.at(at_ms)
        for _ in range(entries):
            story.message(*range(entry * members, entry * members + members), entry=entry, conn=conn)
            entry += 1
    story.at(end_ms or reads[-1][0] + 900)
    return story


def seconds(count: int, entries: int = 10, start_ms: int = 500) -> list[tuple[int, int]]:
    return [(start_ms + 1_000 * second, entries) for second in range(count)]


NAMESPACE = Policies(dispatch_rate=TEN)
