"""Cases for flow control."""

from __future__ import annotations

from assay_conformance.cases.build import Schedule
from assay_conformance.cases.stored import plains
from assay_conformance.model.case import Case


def first_permits() -> Case:
    plan = Schedule()
    plan.broker("store_entries", topic="t", entries=plains(range(3)))
    consumer = plan.consumer(plan.client())
    plan.receive(consumer, 3)
    plan.wait_ops()
    return plan.case(
        "flow/first-permits",
        "A consumer with a queue of seven subscribes and takes three messages",
        ("flow.first-permits-fill-the-queue",),
        consumer={"initial_position": "earliest", "receiver_queue_size": 7},
    )


CASES = (first_permits(),)
