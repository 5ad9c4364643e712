"""Producers whose process is killed, stopped or paused."""

from __future__ import annotations

from assay_conformance.cases.build import Schedule, down
from assay_conformance.model.case import Case, Isolation, Topology
from assay_conformance.model.fault import AfterStep, Drop, Fault, Until
from assay_conformance.model.outside import Pause
from assay_conformance.pulsar.cases._client_process import CLIENT, KEEP_ALIVE_MS, PAUSE_MS
from assay_conformance.pulsar.cases.resend.connections import QUICK


def paused_producer() -> Case:
    plan, producer = Schedule.with_producer()
    plan.send(producer, 4)
    plan.wait_sends(4)
    pause = plan.last
    plan.wait_healed(1)
    plan.send(producer, 2)
    plan.wait_ops()
    return plan.case(
        "process/paused-producer",
        "A producer process with two pending sends is paused until its broker has closed the connection, and continues",
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
