"""Delayed delivery: too early, out of turn, waited for where nobody should, and lost with the broker."""

from __future__ import annotations

import msgspec

from assay_conformance.checks.trial import ANY_CASE
from assay_conformance.history.script import Script
from assay_conformance.model.case import Case, Step, Topic, Topology
from assay_conformance.model.event import Meta
from assay_conformance.model.policy import BrokerSettings, DelayedDelivery

TICK_MS = 100
TERMS = DelayedDelivery(tick_ms=TICK_MS)


def delayed_case(*steps: Step, strict: bool = False, active: bool = True) -> Case:
    terms = msgspec.structs.replace(TERMS, active=active)
    settings = BrokerSettings(delayed_strict=strict)
    topology = Topology(topics=(Topic(name="t", delayed_delivery=terms),), settings=settings)
    return msgspec.structs.replace(ANY_CASE, topology=topology, steps=steps)


def stored(story: Script, number: int, due_ms: int) -> None:
    meta = Meta(producer_name="p", sequence_id=number, deliver_at_ms=due_ms)
    story.stored(number, meta=meta)


def delivered(*messages: tuple[int, int], kind: str = "Shared", permits: int = 100) -> Script:
    """Messages with the times they are due, stored together for a consumer that is there, and sent at others."""
    story = Script()
    story.connected()
    story.subscribed(kind=kind, initialPosition="Earliest")
    story.flow(permits)
    for number, (due_ms, _) in enumerate(messages):
        stored(story, number, due_ms)
    for number, (_, sent_ms) in sorted(enumerate(messages), key=lambda each: each[1][1]):
        story.at(sent_ms).message(number)
    return story.after(50)
