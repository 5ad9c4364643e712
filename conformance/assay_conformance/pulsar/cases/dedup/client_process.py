"""Producers with a configured name whose process is killed, stopped or paused."""

from __future__ import annotations

from assay_conformance.cases.build import Schedule, down
from assay_conformance.model.case import Case, Isolation
from assay_conformance.model.fault import AfterStep, Drop, Fault, Scope
from assay_conformance.model.outside import Kill, Stop
from assay_conformance.pulsar.cases._client_process import CLIENT, started_again
from assay_conformance.pulsar.cases.dedup.client import DEDUPLICATED, NAMED
from assay_conformance.pulsar.cases.resend.connections import QUICK


def _producer_ends(words: str, title: str, how: Kill | Stop) -> Case:
    plan, first = Schedule.with_producer()
    plan.send(first, 5)
    plan.wait_sends(5)
    end = plan.last
    again = plan.producer(started_again(plan, fault=1))
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
            # The process may end before any receipt arrives.
            Fault(trigger=down("SEND_RECEIPT", k=3, times=3), action=Drop(), scope=Scope(session=0), optional=True),
            Fault(trigger=AfterStep(end), action=how),
        ),
        isolation=Isolation.OWN_PROCESS,
        limits=QUICK,
    )


CASES = (
    _producer_ends(
        "killed-producer",
        "A producer process is killed before three of five receipts reach it, and is started again under its name",
        Kill(target=CLIENT),
    ),
    _producer_ends(
        "stopped-producer",
        "A producer process gets SIGTERM before three of five receipts reach it, and is started again under its name",
        Stop(target=CLIENT),
    ),
)
