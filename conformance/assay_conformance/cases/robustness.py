"""Cases for malformed input: damaged messages, and bytes in odd pieces."""

from __future__ import annotations

from assay_conformance.cases.build import Schedule, down
from assay_conformance.cases.stored import plains
from assay_conformance.model.case import Case, Config
from assay_conformance.model.fault import Corrupt, Fault, Resegment

EARLIEST: Config = {"initial_position": "earliest"}

STARVED_MS = 1_500
"""How long a consumer waits for messages that its own permits must bring: longer than any answer takes."""


def damaged_messages() -> Case:
    """Both messages of the first queueful: a client that keeps their permits never gets another one."""
    plan = Schedule()
    plan.broker("store_entries", topic="t", entries=plains(range(5)))
    consumer = plan.consumer(plan.client())
    plan.receive(consumer, 3, timeout_ms=STARVED_MS)
    plan.wait_ops()
    return plan.case(
        "robustness/damaged-messages",
        "A bit of the first two messages flips on the way to a consumer with a queue of two",
        ("robustness.damaged-message-reported",),
        consumer={**EARLIEST, "receiver_queue_size": 2},
        faults=(Fault(trigger=down("MESSAGE", times=2), action=Corrupt()),),
    )


def pieces(words: str, title: str, action: Resegment) -> Case:
    plan = Schedule()
    client = plan.client()
    consumer = plan.consumer(client)
    producer = plan.producer(client)
    plan.send(producer, 20)
    plan.receive(consumer, 20)
    plan.wait_ops()
    return plan.case(
        f"robustness/{words}",
        title,
        ("robustness.any-segmentation",),
        consumer=EARLIEST,
        faults=(Fault(trigger=down("CONNECTED"), action=action),),
    )


CASES = (
    damaged_messages(),
    pieces("byte-by-byte", "From CONNECTED on every byte comes alone", Resegment(piece_bytes=1)),
    pieces(
        "many-frames-at-once",
        "From CONNECTED on bytes come in pieces of 1,000, 5 ms apart: many frames in each, none of them at its end",
        Resegment(piece_bytes=1_000, gap_ms=5),
    ),
)
