"""Ids of chunked messages, as they are told, and sought."""

from __future__ import annotations

from assay_conformance.cases.build import EARLIEST, Schedule
from assay_conformance.cases.chunking import CHUNKING, LARGE_BYTES, RECEIVE_MS, SMALL
from assay_conformance.model.case import Case, Isolation


def seek_to_chunked_message() -> Case:
    plan = Schedule()
    client = plan.client()
    consumer, producer = plan.consumer(client), plan.producer(client)
    for size in (100, LARGE_BYTES, 100):
        plan.send(producer, size=size)
    plan.wait_ops(plan.receive(consumer, 3, RECEIVE_MS))
    plan.wait_ops(plan.seek(consumer, delivery=2))
    plan.receive(consumer, 1, RECEIVE_MS)
    plan.wait_ops()
    return plan.case(
        "chunking/seek-to-chunked-message",
        "A message of four chunks between two small ones is sent, received, and sought again",
        ("chunking.message-id-spans-chunks",),
        topology=SMALL,
        isolation=Isolation.OWN_PROCESS,
        producer=CHUNKING,
        consumer=EARLIEST,
    )


CASES = (seek_to_chunked_message(),)
