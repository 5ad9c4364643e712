"""Helpers of the Cases in which packets are lost, duplicated, reordered, damaged, late or blocked.

TCP repairs that, and a client notices only a delay. What TCP cannot repair in time ends a connection: a partition that
lasts longer than a keep-alive.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from assay_conformance.cases.build import Schedule
from assay_conformance.cases.ways import there_and_back
from assay_conformance.model.case import Case, Limits
from assay_conformance.model.fault import AfterStep, Fault, Until
from assay_conformance.model.outside import Partition

PATIENT = Limits(operation_ms=15_000, case_ms=40_000)
SENDS = 40
SEND_BYTES = 3_000
"""More than two packets each."""
with_packet_faults = partial(there_and_back, sends=SENDS, size=SEND_BYTES, limits=PATIENT)


def partitioned(
    words: str, title: str, requirements: tuple[str, ...], action: Partition, for_ms: int, *more: Fault, **fields: Any
) -> Case:
    """Send before a network partition, during it, and after it."""
    plan, producer = Schedule.with_producer()
    plan.wait_ops(plan.send(producer))
    begins = plan.last
    plan.wait_fired(0)
    plan.send(producer, 5)
    plan.wait_ops()
    plan.wait_ops(plan.send(producer))
    return plan.case(
        words,
        title,
        requirements,
        capabilities=("producer",),
        faults=(Fault(trigger=AfterStep(begins), action=action, until=Until(after_ms=for_ms)), *more),
        limits=PATIENT,
        **fields,
    )
