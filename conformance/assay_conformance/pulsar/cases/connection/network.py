"""Connections over a network that is late, slow, lossy or interrupted."""

from __future__ import annotations

from assay_conformance.cases.build import Schedule, up
from assay_conformance.model.case import Case, Limits, Tier
from assay_conformance.model.fault import Fault, Until
from assay_conformance.model.outside import Latency, Shape, Timeout
from assay_conformance.pulsar.cases._packets import with_packet_faults
from assay_conformance.pulsar.cases._toxics import TO_BROKER, with_toxics
from assay_conformance.pulsar.cases.connection.handshake import KEEP_ALIVE_MS


def silence_that_a_keep_alive_ends() -> Case:
    plan, producer = Schedule.with_producer()
    send = plan.send(producer)
    plan.wait_frame("CONNECT", TO_BROKER, 2, deadline_ms=75_000)
    until = plan.last
    plan.wait_ops(send)
    return plan.case(
        "connection/silent-network",
        "The network no longer delivers anything to the client, which opens a new connection",
        ("connection.closes-silent-connection",),
        capabilities=("producer",),
        client={"keep_alive_ms": KEEP_ALIVE_MS},
        faults=(Fault(trigger=up("SEND"), action=Timeout(timeout_ms=0), until=Until(step=until)),),
        tier=Tier.FULL,
        limits=Limits(operation_ms=90_000, case_ms=200_000, least_wall_ms=60_000),
    )


CASES = (
    with_packet_faults(
        "connection/distant-network",
        "Each packet takes 50 ms, give or take 20, in each direction",
        ("connection.handshake-first",),
        Shape(delay_ms=50, jitter_ms=20),
    ),
    with_toxics(
        "connection/far-broker",
        "Each direction takes 60 ms, and no command may follow CONNECT before CONNECTED arrives",
        ("connection.handshake-first",),
        Latency(latency_ms=60),
        Latency(latency_ms=60, direction=TO_BROKER),
    ),
    silence_that_a_keep_alive_ends(),
)
