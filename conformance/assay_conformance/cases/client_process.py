"""The client's own process is killed or stopped, and a fresh one takes its place; or it is paused for a while."""

from __future__ import annotations

from assay_conformance.cases.build import Schedule, down
from assay_conformance.cases.dedup import DEDUPLICATED, NAMED
from assay_conformance.cases.resend import QUICK
from assay_conformance.cases.stored import plains
from assay_conformance.model.case import Case, Isolation, Topology
from assay_conformance.model.fault import AfterStep, Drop, Fault, Scope, Until
from assay_conformance.model.outside import Kill, Pause, Role, Stop, Target

CLIENT = Target(role=Role.CLIENT)
KEEP_ALIVE_MS = 400
PAUSE_MS = 3 * KEEP_ALIVE_MS
"""The broker asks after one interval of silence, and leaves after another."""


def _started_again(plan: Schedule, fault: int) -> int:
    """A client of the process that takes the place of the one this fault has ended."""
    plan.wait_fired(fault)
    plan.heal(fault)
    plan.wait_healed(fault)
    return plan.client()


def _producer_ends(words: str, title: str, how: Kill | Stop) -> Case:
    plan = Schedule()
    first = plan.producer(plan.client())
    plan.send(first, 5)
    plan.wait_sends(5)
    end = plan.last
    again = plan.producer(_started_again(plan, fault=1))
    plan.send(again, 3)
    plan.wait_ops()
    return plan.case(
        f"process/{words}",
        title,
        ("dedup.resumes-after-last-sequence-id",),
        producer=NAMED,
        capabilities=("dedup_resume",),
        topology=DEDUPLICATED,
        faults=(
            # It may end before any receipt has come.
            Fault(trigger=down("SEND_RECEIPT", k=3, times=3), action=Drop(), scope=Scope(connection=0), optional=True),
            Fault(trigger=AfterStep(end), action=how),
        ),
        isolation=Isolation.OWN_PROCESS,
        limits=QUICK,
    )


def _four_of_six_unacknowledged(plan: Schedule) -> int:
    """The consumer that has them."""
    plan.broker("store_entries", topic="t", entries=plains(range(6)))
    consumer = plan.consumer(plan.client())
    plan.receive(consumer, 6)
    plan.wait_received(consumer, 6)
    plan.wait_ops(plan.ack(consumer, numbers=[0, 1]))
    return consumer


def _consumer_ends(words: str, title: str, how: Kill | Stop) -> Case:
    plan = Schedule()
    _four_of_six_unacknowledged(plan)
    end = plan.last
    again = plan.consumer(_started_again(plan, fault=0))
    plan.receive(again, 4)
    plan.wait_ops()
    return plan.case(
        f"process/{words}",
        title,
        ("subscription.resumes-at-first-unacked",),
        consumer={"ack_group_ms": 0},
        capabilities=("consumer",),
        faults=(Fault(trigger=AfterStep(end), action=how),),
        isolation=Isolation.OWN_PROCESS,
        limits=QUICK,
    )


def paused_producer() -> Case:
    plan = Schedule()
    producer = plan.producer(plan.client())
    plan.send(producer, 4)
    plan.wait_sends(4)
    pause = plan.last
    plan.wait_healed(1)
    plan.send(producer, 2)
    plan.wait_ops()
    return plan.case(
        "process/paused-producer",
        "A producer with two unreceipted sends is paused until its broker has left it, and goes on",
        ("resend.pending-sends-resent", "resend.keeps-queue-order"),
        capabilities=("resend_pending",),
        topology=Topology(keep_alive_ms=KEEP_ALIVE_MS),
        faults=(
            Fault(trigger=down("SEND_RECEIPT", k=3, times=2), action=Drop()),
            Fault(trigger=AfterStep(pause), action=Pause(target=CLIENT), until=Until(after_ms=PAUSE_MS)),
        ),
        isolation=Isolation.OWN_PROCESS,
        limits=QUICK,
    )


def paused_consumer() -> Case:
    plan = Schedule()
    consumer = _four_of_six_unacknowledged(plan)
    pause = plan.last
    plan.wait_healed(0)
    plan.receive(consumer, 4)
    plan.wait_ops()
    return plan.case(
        "process/paused-consumer",
        "A consumer with four of six messages unacknowledged is paused until its broker has left it, and goes on",
        ("subscription.resumes-at-first-unacked",),
        consumer={"ack_group_ms": 0},
        capabilities=("consumer",),
        topology=Topology(keep_alive_ms=KEEP_ALIVE_MS),
        faults=(Fault(trigger=AfterStep(pause), action=Pause(target=CLIENT), until=Until(after_ms=PAUSE_MS)),),
        isolation=Isolation.OWN_PROCESS,
        limits=QUICK,
    )


CASES = (
    _producer_ends(
        "killed-producer",
        "A producer is killed before three of five receipts reach it, and started again under its name",
        Kill(target=CLIENT),
    ),
    _producer_ends(
        "stopped-producer",
        "A producer is asked to end before three of five receipts reach it, and started again under its name",
        Stop(target=CLIENT),
    ),
    _consumer_ends(
        "killed-consumer",
        "A consumer is killed with four of six messages unacknowledged, and started again",
        Kill(target=CLIENT),
    ),
    _consumer_ends(
        "stopped-consumer",
        "A consumer is asked to end with four of six messages unacknowledged, and started again",
        Stop(target=CLIENT),
    ),
    paused_producer(),
    paused_consumer(),
)
