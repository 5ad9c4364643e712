"""Cases for flow control."""

from __future__ import annotations

from assay_conformance.cases.build import Schedule, down
from assay_conformance.cases.stored import plains
from assay_conformance.model.case import Case
from assay_conformance.model.fault import Delay, Fault


def first_permits() -> Case:
    """The answer to SUBSCRIBE is held up a little, so that permits granted before it can be told from those after."""
    plan = Schedule()
    plan.broker("store_entries", topic="t", entries=plains(range(3)))
    consumer = plan.consumer(plan.client())
    plan.receive(consumer, 3, timeout_ms=1_500)
    plan.wait_ops()
    return plan.case(
        "flow/first-permits",
        "A consumer with a queue of seven subscribes and takes three messages",
        ("flow.first-permits-fill-the-queue",),
        consumer={"initial_position": "earliest", "receiver_queue_size": 7},
        faults=(Fault(trigger=down("SUCCESS"), action=Delay(delay_ms=50)),),
    )


CASES = (first_permits(),)
