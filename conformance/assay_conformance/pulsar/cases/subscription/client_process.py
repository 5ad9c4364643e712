"""Consumers whose process is killed, stopped or paused."""

from __future__ import annotations

from assay_conformance.cases.build import Schedule
from assay_conformance.cases.stored import plains
from assay_conformance.model.case import Case, Isolation, Topology
from assay_conformance.model.fault import AfterStep, Fault, Until
from assay_conformance.model.outside import Kill, Pause, Stop
from assay_conformance.pulsar.cases._client_process import CLIENT, KEEP_ALIVE_MS, PAUSE_MS, started_again
from assay_conformance.pulsar.cases.resend.connections import QUICK


def _four_of_six_unacknowledged(plan: Schedule) -> int:
    """Return the consumer that has received them."""
    plan.broker("store_entries", topic="t", entries=plains(range(6)))
    consumer = plan.consumer(plan.client())
    plan.receive(consumer, 6, wait=True)
    plan.wait_ops(plan.ack(consumer, numbers=[0, 1]))
    return consumer


def _consumer_ends(words: str, title: str, how: Kill | Stop) -> Case:
    plan = Schedule()
    _four_of_six_unacknowledged(plan)
    end = plan.last
    again = plan.consumer(started_again(plan, fault=0))
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


def paused_consumer() -> Case:
    plan = Schedule()
    consumer = _four_of_six_unacknowledged(plan)
    pause = plan.last
    plan.wait_healed(0)
    plan.receive(consumer, 4)
    plan.wait_ops()
    return plan.case(
        "process/paused-consumer",
        "A consumer process with four of six messages unacknowledged is paused until its broker has closed the "
        "consumer, and resumed",
        ("subscription.resumes-at-first-unacked",),
        consumer={"ack_group_ms": 0},
        capabilities=("consumer",),
        topology=Topology(keep_alive_ms=KEEP_ALIVE_MS),
        faults=(Fault(trigger=AfterStep(pause), action=Pause(target=CLIENT), until=Until(after_ms=PAUSE_MS)),),
        isolation=Isolation.OWN_PROCESS,
        limits=QUICK,
    )


CASES = (
    _consumer_ends(
        "killed-consumer",
        "A consumer process is killed with four of six messages unacknowledged, and started again",
        Kill(target=CLIENT),
    ),
    _consumer_ends(
        "stopped-consumer",
        "A consumer process gets SIGTERM with four of six messages unacknowledged, and is started again",
        Stop(target=CLIENT),
    ),
    paused_consumer(),
)
