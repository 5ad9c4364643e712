"""Cases in which the disk of a bookie fills or fails while messages are under way, and works again."""

from __future__ import annotations

from assay_conformance.cases.build import Schedule, up
from assay_conformance.cases.durability import MESSAGE_BYTES
from assay_conformance.model.case import Case, Config, Destructive, Isolation, Limits, Tier
from assay_conformance.model.fault import Fault, Until
from assay_conformance.model.outside import FillDisk, OnDisk, ReadOnlyDisk, Role, Target

BOOKIE = Target(role=Role.BOOKIE)

SENDS = 400
AT_SEND = 100

LASTS_MS = 4_000
"""A bookie looks at its disks every second, and has noticed by then."""

_PATIENT: Config = {"send_timeout_ms": 0, "max_pending_messages": SENDS, "block_if_queue_full": True}
"""Every send is to end as sent: what is unknown binds nobody."""

_BACK_MS = 60_000


def on_a_bookie(id: str, title: str, action: OnDisk) -> Case:
    """Messages are sent before, while and after the disk of one bookie of three is of no use, and all are received."""
    plan = Schedule()
    client = plan.client()
    consumer, producer = plan.consumer(client), plan.producer(client)
    plan.send(producer, SENDS, MESSAGE_BYTES)
    plan.wait_healed(0, deadline_ms=_BACK_MS)
    plan.send(producer, SENDS, MESSAGE_BYTES)
    plan.wait_ops(plan.receive(consumer, 2 * SENDS, _BACK_MS), deadline_ms=_BACK_MS)
    plan.wait_ops(plan.ack(consumer), deadline_ms=_BACK_MS)
    return plan.case(
        id,
        title,
        ("ordering.keeps-send-order", "ordering.ids-grow"),
        producer=_PATIENT,
        capabilities=("producer", "consumer", "resend_pending"),
        faults=(Fault(trigger=up("SEND", k=AT_SEND), action=action, until=Until(after_ms=LASTS_MS)),),
        limits=Limits(operation_ms=_BACK_MS, case_ms=4 * _BACK_MS, quiet_ms=500),
        isolation=Isolation.EXCLUSIVE,
        destructive=Destructive.BROKER,
        tier=Tier.FULL,
    )


CASES = (
    on_a_bookie("topics/full-disk", "The disk of a bookie fills, and is freed", FillDisk(target=BOOKIE)),
    on_a_bookie("topics/failed-disk", "The disk of a bookie fails, and is mounted anew", ReadOnlyDisk(target=BOOKIE)),
)
