"""Connections: a slow handshake, pings, silence, new credentials, a proxy."""

from __future__ import annotations

from assay_conformance.cases.build import EARLIEST, Schedule, down
from assay_conformance.model.case import Case, Limits, Tier, Topology
from assay_conformance.model.fault import Cut, CutHow, Delay, Direction, Fault, Inject
from assay_conformance.model.policy import BrokerSettings

KEEP_ALIVE_MS = 1_000
"""Used where it can be set; a client with a fixed interval is judged by its own."""


def slow_handshake() -> Case:
    plan, producer = Schedule.with_producer()
    plan.wait_ops(plan.send(producer))
    return plan.case(
        "connection/slow-handshake",
        "CONNECTED is delayed by 150 ms, and no command may follow CONNECT before it",
        ("connection.handshake-first",),
        capabilities=("producer",),
        # Some clients connect when they are opened, others with their first producer. The length of the pause does not
        # matter: a command that is sent too early is sent right after CONNECT.
        faults=(Fault(trigger=down("CONNECTED"), action=Delay(150)),),
    )


def ping_is_answered() -> Case:
    plan, producer = Schedule.with_producer()
    plan.wait_ops(plan.send(producer))
    plan.wait_frame("PONG", Direction.TO_BROKER, 2, deadline_ms=3_000)
    return plan.case(
        "connection/ping-is-answered",
        "The broker sends PING on an idle and on a busy connection",
        ("connection.answers-ping",),
        capabilities=("producer",),
        faults=(
            Fault(trigger=down("PRODUCER_SUCCESS"), action=Inject(command="PING")),
            Fault(trigger=down("SEND_RECEIPT"), action=Inject(command="PING", before=True)),
        ),
    )


def silent_broker() -> Case:
    plan, producer = Schedule.with_producer()
    plan.wait_ops(plan.send(producer))
    plan.wait_frame("PRODUCER", Direction.TO_BROKER, 2, deadline_ms=75_000)
    return plan.case(
        "connection/silent-broker",
        "The broker stops answering, and the producer reconnects over a new connection",
        ("connection.closes-silent-connection",),
        capabilities=("producer",),
        client={"keep_alive_ms": KEEP_ALIVE_MS},
        faults=(
            Fault(
                trigger=down("SEND_RECEIPT"),
                action=Cut(how=CutHow.BLACKHOLE, direction=Direction.TO_CLIENT),
            ),
        ),
        tier=Tier.FULL,
        limits=Limits(case_ms=100_000, least_wall_ms=60_000),
    )


def credentials_expire() -> Case:
    plan, producer = Schedule.with_producer()
    plan.wait_ops(plan.send(producer))
    plan.broker("challenge", tokens=["second"])
    plan.wait_frame("AUTH_RESPONSE", Direction.TO_BROKER, deadline_ms=2_000)
    plan.wait_ops(plan.send(producer))
    return plan.case(
        "connection/credentials-expire",
        "The broker asks for new credentials because the old ones have expired",
        ("connection.answers-auth-challenge",),
        capabilities=("producer", "auth_refresh"),
        client={"tokens": "first,second"},
        topology=Topology(settings=BrokerSettings(tokens=("first", "second"), auth_refresh_ms=1_000)),
    )


def behind_a_proxy() -> Case:
    plan = Schedule()
    plan.broker("unload", topic="t", broker=1)
    client = plan.client()
    consumer, producer = plan.consumer(client), plan.producer(client)
    plan.wait_ops(plan.send(producer))
    plan.wait_ops(plan.receive(consumer, 1, 2_000))
    return plan.case(
        "connection/behind-a-proxy",
        "Two brokers behind a proxy, and a topic that the second one owns",
        ("connection.proxy-to-broker-url",),
        capabilities=("producer", "consumer"),
        consumer=EARLIEST,
        topology=Topology(brokers=2, settings=BrokerSettings(proxied=True)),
    )
