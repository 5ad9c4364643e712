"""Bytes that arrive late, slowly, in pieces or incompletely: toxics of toxiproxy, with requirements that always hold.

A toxic acts on every connection of the Case. One that ends connections is healed after a while by its `until`, since no
client can succeed while it lasts.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from assay_conformance.cases.build import Schedule, down
from assay_conformance.cases.ways import there_and_back
from assay_conformance.model.case import Case, Limits
from assay_conformance.model.fault import Direction, Fault, Until
from assay_conformance.pulsar.cases.resend.connections import lost_receipts

TO_BROKER, TO_CLIENT = Direction.TO_BROKER, Direction.TO_CLIENT
PATIENT = Limits(operation_ms=10_000, case_ms=30_000)

SENDS = 12
SEND_BYTES = 2_000
with_toxics = partial(there_and_back, sends=SENDS, size=SEND_BYTES, limits=PATIENT)
SOON = Until(after_ms=400)
ALL_LOST = down("SEND_RECEIPT", k=1 + SENDS)
"""All sends but the first are stored, and their receipts are lost, also with a slow broker."""


def interrupted(words: str, title: str, requirements: tuple[str, ...], *faults: Fault, **fields: Any) -> Case:
    """Send, and end the connection by a network fault while receipts are pending."""
    plan, producer = Schedule.with_producer()
    plan.wait_ops(plan.send(producer))
    plan.send(producer, SENDS, size=SEND_BYTES)
    plan.wait_fired(1)
    plan.send(producer)  # some toxics act only on the next byte
    plan.wait_ops()
    return plan.case(
        words,
        title,
        requirements,
        capabilities=("producer",),
        faults=(lost_receipts(SENDS, k=2), *faults),
        limits=PATIENT,
        **fields,
    )
