"""What a broker remembers of producer names: each rule on a history that keeps it and on one that breaks it."""

from __future__ import annotations

import msgspec

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import Script
from assay_conformance.model.case import Case, Step, Topic, Topology, Who
from assay_conformance.model.event import Stepped
from assay_conformance.model.fault import AtTime, Fault, Rewrite
from assay_conformance.model.policy import BrokerSettings

CASE = msgspec.structs.replace(ANY_CASE, topology=Topology(topics=(Topic(name="t", deduplication=True),)))
RESTARTED = msgspec.structs.replace(CASE, steps=(Step(Who.BROKER, "restart"),))


def judged(check: type[Check], story: Script, case: Case = CASE) -> tuple[list[str], int]:
    said = trial(check, story.done(), case)
    return [finding.code for finding in said.findings], said.exercised


def restarted(*, last: int) -> Script:
    """A message is stored, the broker dies, and the producer comes back."""
    story = Script()
    story.producer()
    story.send_frame(0)
    story.stored(0)
    story.cut()
    story.add(Stepped, step=0)
    story.producer_again(1, last_sequence_id=last)
    return story


MARKED = msgspec.structs.replace(CASE, faults=(Fault(trigger=AtTime(0), action=Rewrite({"marker": True})),))
ONE_NAME = msgspec.structs.replace(
    RESTARTED,
    topology=msgspec.structs.replace(
        CASE.topology, settings=BrokerSettings(dedup_snapshot_entries=1, dedup_max_producers=1)
    ),
)


def two_names(*told: int, behind: int = 2) -> Script:
    """Two names send a message each, and a third so many; the broker dies, and says of the two what it knows."""
    story = Script()
    for producer_id, name in enumerate(("first", "second", "third")):
        story.producer(name=name, producer_id=producer_id)
        for sequence_id in range(behind if producer_id == 2 else 1):
            number = 10 * producer_id + sequence_id
            story.send_frame(number, producer_id=producer_id, sequence_id=sequence_id)
            story.receipt(sequence_id, producer_id=producer_id)
    story.cut()
    story.add(Stepped, step=0)
    for producer_id, (name, last) in enumerate(zip(("first", "second"), told, strict=True)):
        story.producer(conn=1, name=name, producer_id=producer_id, last_sequence_id=last)
    return story


A_MINUTE = msgspec.structs.replace(
    CASE,
    topology=Topology(topics=(Topic(name="t", deduplication=True),), settings=BrokerSettings(dedup_idle_minutes=1)),
)


def asked_again(*, left_at_ms: int, told: int, asked_at_ms: int = 90_000) -> Script:
    """A message is stored at once, its producer goes, and its name is asked for."""
    story = Script()
    story.producer()
    story.send_frame(0)
    story.stored(0)
    story.at(left_at_ms).cut()
    story.at(asked_at_ms).producer_again(1, last_sequence_id=told)
    return story
