"""Bytes that come late, slowly, in pieces or not to the end: toxics of toxiproxy, with the requirements of any day.

A toxic lies on every connection of the Case. One that ends connections is healed after a while by its `until`, since a
client is not to be asked to get through for ever.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from assay_conformance.cases.build import EARLIEST, Schedule, down, up
from assay_conformance.cases.chunking import CHUNKING, LARGE_BYTES, SMALL
from assay_conformance.cases.connection import KEEP_ALIVE_MS
from assay_conformance.cases.dedup import DEDUPLICATED, NAMED
from assay_conformance.cases.resend import lost_before_cut, lost_receipts
from assay_conformance.cases.ways import FROM_THE_START, always, there_and_back
from assay_conformance.model.case import Case, Isolation, Limits, Tier
from assay_conformance.model.fault import Cut, CutHow, Direction, Drop, Fault, Hold, Scope, Until
from assay_conformance.model.outside import (
    Bandwidth,
    Disable,
    Latency,
    LimitData,
    ResetPeer,
    Slicer,
    SlowClose,
    Timeout,
)

TO_BROKER, TO_CLIENT = Direction.TO_BROKER, Direction.TO_CLIENT
PATIENT = Limits(operation_ms=10_000, case_ms=30_000)

SENDS = 12
SEND_BYTES = 2_000
over_the_way = partial(there_and_back, sends=SENDS, size=SEND_BYTES, limits=PATIENT)
SOON = Until(after_ms=400)
LATER = Until(after_ms=1_000)
RESENT = ("resend.pending-sends-resent",)
ALL_LOST = down("SEND_RECEIPT", k=1 + SENDS)
"""All but the first of the sends are stored, and their receipts are lost: on a broker that takes its time, too."""


def interrupted(words: str, title: str, requirements: tuple[str, ...], *faults: Fault, **fields: Any) -> Case:
    """Sends whose connection ends for a reason below the protocol while they wait for their receipts."""
    plan = Schedule()
    producer = plan.producer(plan.client())
    plan.wait_ops(plan.send(producer))
    plan.send(producer, SENDS, size=SEND_BYTES)
    plan.wait_fired(1)
    plan.send(producer)  # some toxics act on the next byte only
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


def sends_without_their_end() -> Case:
    """Receipts of those that arrived are lost by a fault, or by the end of the connection if that comes first."""
    plan = Schedule()
    producer = plan.producer(plan.client())
    plan.wait_ops(plan.send(producer))
    plan.send(producer, SENDS, size=SEND_BYTES)
    plan.wait_ops()
    return plan.case(
        "resend/connection-ends-inside-a-send",
        "After 9 kB each connection ends in the middle of a SEND",
        RESENT,
        capabilities=("producer",),
        faults=(
            lost_before_cut(3, k=2),
            Fault(trigger=FROM_THE_START, action=LimitData(limit_bytes=9_000, direction=TO_BROKER), until=LATER),
        ),
        limits=PATIENT,
    )


def chunks_without_their_end() -> Case:
    """Only so many bytes arrive that the connection ends inside the third chunk. Receipts before that are lost, so that
    the resend does not depend on which of them were in time, and it begins when the way is whole again."""
    plan = Schedule()
    consumer = plan.consumer(plan.client())
    producer = plan.producer(plan.client())
    send = plan.send(producer, size=LARGE_BYTES)
    plan.wait_healed(1)
    plan.wait_fired(2)
    whole = plan.last
    plan.wait_ops(send)
    plan.receive(consumer, 1, timeout_ms=4_000)
    plan.wait_ops()
    return plan.case(
        "chunking/connection-ends-inside-a-chunk",
        "The producer's connection ends in the middle of the third of four chunks",
        ("chunking.survives-reconnect",),
        topology=SMALL,
        isolation=Isolation.OWN_PROCESS,
        producer=CHUNKING,
        consumer=EARLIEST,
        faults=(
            Fault(trigger=down("SEND_RECEIPT", times=2), action=Drop(), scope=Scope(connection=1), optional=True),
            Fault(
                trigger=FROM_THE_START,
                action=LimitData(limit_bytes=40_000, direction=TO_BROKER),
                until=Until(frame=up("PRODUCER", k=2)),
            ),
            Fault(trigger=down("PRODUCER_SUCCESS", k=2), action=Hold(), until=Until(step=whole)),
        ),
        limits=PATIENT,
    )


def silence_that_a_keep_alive_ends() -> Case:
    plan = Schedule()
    producer = plan.producer(plan.client())
    send = plan.send(producer)
    plan.wait_frame("CONNECT", TO_BROKER, 2, deadline_ms=75_000)
    until = plan.last
    plan.wait_ops(send)
    return plan.case(
        "connection/silent-network",
        "No byte arrives at the client any more, and it makes a new connection",
        ("connection.closes-silent-connection",),
        capabilities=("producer",),
        client={"keep_alive_ms": KEEP_ALIVE_MS},
        faults=(Fault(trigger=up("SEND"), action=Timeout(timeout_ms=0), until=Until(step=until)),),
        tier=Tier.FULL,
        limits=Limits(operation_ms=90_000, case_ms=200_000, least_wall_ms=60_000),
    )


CASES = (
    sends_without_their_end(),
    over_the_way(
        "ordering/receipts-with-jitter",
        "What comes from the broker takes 30 ms, give or take 25",
        ("ordering.callbacks-in-send-order", "ordering.keeps-send-order"),
        Latency(latency_ms=30, jitter_ms=25),
    ),
    over_the_way(
        "ordering/sends-with-jitter",
        "What goes to the broker takes 30 ms, give or take 25",
        ("ordering.keeps-send-order", "ordering.sequence-ids-increase-by-one"),
        Latency(latency_ms=30, jitter_ms=25, direction=TO_BROKER),
    ),
    over_the_way(
        "connection/far-broker",
        "Each way takes 60 ms, and nothing follows CONNECT before CONNECTED is there",
        ("connection.handshake-first",),
        Latency(latency_ms=60),
        Latency(latency_ms=60, direction=TO_BROKER),
    ),
    over_the_way(
        "ordering/low-bandwidth-to-broker",
        "50 kB a second go to the broker, and half a second of sends is waiting",
        ("ordering.keeps-send-order",),
        Bandwidth(rate_kb_s=50, direction=TO_BROKER),
    ),
    over_the_way(
        "flow/low-bandwidth-from-broker",
        "50 kB a second come from the broker",
        ("flow.permits-within-queue",),
        Bandwidth(rate_kb_s=50),
        config={**EARLIEST, "receiver_queue_size": 4},
    ),
    over_the_way(
        "robustness/small-segments",
        "Bytes come in pieces of one to five, and go so",
        ("robustness.any-segmentation",),
        Slicer(average_bytes=3, variation_bytes=2, delay_us=100),
        Slicer(average_bytes=3, variation_bytes=2, delay_us=100, direction=TO_BROKER),
        size=64,
    ),
    interrupted(
        "resend/connection-reset",
        "The connection is reset with sends under way, and so are those after it for a while",
        RESENT,
        Fault(trigger=ALL_LOST, action=ResetPeer(direction=TO_BROKER), until=SOON),
    ),
    interrupted(
        "resend/network-down",
        "The connection ends with sends under way, and nobody listens for a while",
        RESENT,
        Fault(trigger=ALL_LOST, action=Disable(), until=SOON),
    ),
    interrupted(
        "resend/network-silent-then-closed",
        "Nothing comes from the broker for a while, and then the connection's end",
        RESENT,
        Fault(trigger=ALL_LOST, action=Timeout(timeout_ms=0), until=SOON),
    ),
    interrupted(
        "resend/network-timeout",
        "Nothing goes to the broker, and the connection ends 150 ms later, and so do those after it for a while",
        RESENT,
        Fault(trigger=ALL_LOST, action=Timeout(timeout_ms=150, direction=TO_BROKER), until=SOON),
    ),
    interrupted(
        "resend/disconnect-noticed-late",
        "The broker ends the connection, and the client learns of it 250 ms later",
        RESENT,
        *always(SlowClose(delay_ms=250)),
        Fault(trigger=ALL_LOST, action=Cut(how=CutHow.FIN)),
    ),
    interrupted(
        "dedup/effectively-once-through-resets",
        "The connection is reset with sends under way, and so are those after it for a while; each is stored once",
        ("dedup.effectively-once",),
        Fault(trigger=ALL_LOST, action=ResetPeer(direction=TO_BROKER), until=SOON),
        topology=DEDUPLICATED,
        producer=NAMED,
    ),
    chunks_without_their_end(),
    silence_that_a_keep_alive_ends(),
)
