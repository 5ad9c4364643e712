"""Cases for the handshake's agreements and for requests: old brokers, limits that differ, redirects, time-outs, answers
nobody asked for."""

from __future__ import annotations

from assay_conformance.cases.build import ACKS_FLUSHED_MS, EARLIEST, STARVED_MS, Schedule, down, up
from assay_conformance.cases.stored import plains
from assay_conformance.model.case import Case, Config, Isolation, Limits, Topic, Topology
from assay_conformance.model.fault import (
    AfterStep,
    AnswerError,
    Cut,
    CutHow,
    Direction,
    Drop,
    Fault,
    Hold,
    Inject,
    Rewrite,
    Scope,
    Until,
)

BRIEF: Config = {"operation_timeout_ms": 1_000}


SMALL_BYTES = 2_000
LARGE_BYTES = 3_000
"""Too large for a limit of SMALL_BYTES."""


def several_acks_on_an_old_broker() -> Case:
    plan = Schedule()
    plan.broker("store_entries", topic="t", entries=plains(range(5)))
    consumer = plan.consumer(plan.client())
    plan.wait_ops(plan.receive(consumer, 5, STARVED_MS))
    plan.wait_ops(plan.ack(consumer))
    plan.wait_ms(ACKS_FLUSHED_MS)
    return plan.case(
        "connection/old-broker",
        "Five acknowledgments for a broker of protocol version 11, which takes one at a time",
        ("connection.negotiated-version", "connection.request-ids-unique"),
        capabilities=("consumer",),
        consumer=EARLIEST,
        topology=Topology(protocol_version=11),
    )


def sends_to_a_very_old_broker() -> Case:
    plan = Schedule()
    producer = plan.producer(plan.client())
    plan.wait_ops(plan.send(producer, 3))
    return plan.case(
        "connection/very-old-broker",
        "Three messages for a broker of protocol version 5, which knows no checksum",
        ("connection.no-checksum-to-old-broker",),
        capabilities=("producer",),
        topology=Topology(protocol_version=5),
    )


def max_message_size_changes() -> Case:
    plan = Schedule()
    producer = plan.producer(plan.client())
    plan.wait_ops(plan.send(producer, size=1_000), plan.send(producer, size=LARGE_BYTES))
    cut = plan.last
    plan.wait_frame("PRODUCER_SUCCESS", Direction.TO_CLIENT, 2)
    plan.wait_ms(50)
    plan.wait_ops(plan.send(producer, size=LARGE_BYTES))
    return plan.case(
        "connection/max-message-size-changes",
        "A message is too large for the first connection, and not for the second",
        ("connection.max-message-size-per-connection",),
        isolation=Isolation.OWN_PROCESS,
        faults=(
            Fault(trigger=down("CONNECTED"), action=Rewrite({"max_message_size": SMALL_BYTES})),
            Fault(trigger=AfterStep(cut), action=Cut()),
        ),
    )


def max_message_size_differs() -> Case:
    """The second connection is to the broker with the larger limit; the message is for the other one."""
    plan = Schedule()
    plan.broker("unload", topic="u", broker=1)
    client = plan.client()
    small, large = plan.producer(client, "t"), plan.producer(client, "u")
    plan.wait_ops(plan.send(small, size=1_000), plan.send(large, size=LARGE_BYTES))
    plan.wait_ops(plan.send(small, size=LARGE_BYTES))
    return plan.case(
        "connection/max-message-size-differs",
        "Two brokers, and a message that is too large for one of them",
        ("connection.max-message-size-per-connection",),
        isolation=Isolation.OWN_PROCESS,
        topology=Topology(brokers=2, topics=(Topic(name="t"), Topic(name="u"))),
        faults=(
            Fault(
                trigger=down("CONNECTED", times=0),
                scope=Scope(broker=0),
                action=Rewrite({"max_message_size": SMALL_BYTES}),
            ),
        ),
    )


def one_redirect() -> Case:
    plan = Schedule()
    plan.broker("unload", topic="t", broker=1)
    producer = plan.producer(plan.client())
    plan.wait_ops(plan.send(producer))
    return plan.case(
        "connection/one-redirect",
        "The topic is another broker's, and the first one asked says so",
        ("connection.follows-redirects",),
        capabilities=("producer",),
        topology=Topology(brokers=2),
        faults=(Fault(trigger=down("LOOKUP_RESPONSE"), action=Rewrite({"response": "Redirect"})),),
    )


def endless_redirects() -> Case:
    plan = Schedule()
    plan.producer(plan.client())
    return plan.case(
        "connection/endless-redirects",
        "Every lookup is redirected, to where it came from",
        ("connection.follows-redirects",),
        capabilities=("producer",),
        client=BRIEF,
        faults=(Fault(trigger=down("LOOKUP_RESPONSE", times=60), action=Rewrite({"response": "Redirect"})),),
        limits=Limits(operation_ms=5_000),
    )


def subscribe_response_lost() -> Case:
    plan = Schedule()
    plan.consumer(plan.client())
    plan.wait_ms(700)
    return plan.case(
        "connection/subscribe-response-lost",
        "A consumer is let in, and never hears of it",
        ("connection.closes-timed-out-registration",),
        capabilities=("consumer",),
        client=BRIEF,
        faults=(Fault(trigger=down("SUCCESS"), action=Drop()),),
    )


AGAIN_MS = 4_000
"""A client whose operations have BRIEF's time has registered again by then."""


def reconnect_times_out() -> Case:
    """The answer comes after all, when nobody waits for it any more."""
    plan = Schedule()
    producer = plan.producer(plan.client())
    plan.wait_ops(plan.send(producer))
    cut = plan.last
    plan.wait_frame("PRODUCER_SUCCESS", Direction.TO_CLIENT, 3, deadline_ms=5_000)
    plan.wait_ops(plan.send(producer))
    return plan.case(
        "connection/reconnect-times-out",
        "A producer comes back after a lost connection, and is answered later than it waits",
        ("connection.closes-timed-out-registration",),
        capabilities=("producer",),
        client=BRIEF,
        faults=(
            Fault(trigger=AfterStep(cut), action=Cut()),
            Fault(
                trigger=down("PRODUCER_SUCCESS", k=2),
                action=Hold(overtake=True),
                # A client that does not register again gets it in the end, too.
                until=Until(frame=down("PRODUCER_SUCCESS"), after_ms=AGAIN_MS),
            ),
        ),
    )


PATIENT: Config = {"operation_timeout_ms": 5_000}
"""Time for many attempts to open something."""


def not_ready(command: str) -> Case:
    """The first answer is an error that passes."""
    plan = Schedule()
    client = plan.client()
    if command == "PRODUCER":
        plan.wait_ops(plan.send(plan.producer(client)))
    else:
        plan.broker("store_entries", topic="t", entries=plains(range(1)))
        plan.wait_ops(plan.receive(plan.consumer(client), 1, STARVED_MS))
    return plan.case(
        f"connection/not-ready-for-{command.lower()}",
        f"The broker is not ready for the first {command}",
        ("connection.retries-service-not-ready",),
        capabilities=("producer" if command == "PRODUCER" else "consumer",),
        client=PATIENT,
        consumer=EARLIEST,
        faults=(Fault(trigger=up(command), action=AnswerError("ServiceNotReady")),),
        limits=Limits(operation_ms=8_000),
    )


def never_ready(command: str) -> Case:
    """However often it is asked."""
    plan = Schedule()
    client = plan.client()
    if command == "PRODUCER":
        plan.producer(client)
    else:
        plan.consumer(client)
    return plan.case(
        f"connection/never-ready-for-{command.lower()}",
        f"The broker is not ready for any {command}, and the opening fails when its time is up",
        # Who never asks again was not seen to end in time.
        (
            "connection.retries-service-not-ready",
            *(("connection.reconnects-while-opening",) if command == "PRODUCER" else ()),
        ),
        capabilities=("producer" if command == "PRODUCER" else "consumer",),
        client={"operation_timeout_ms": 2_000},
        faults=(Fault(trigger=up(command, times=0), action=AnswerError("ServiceNotReady")),),
        limits=Limits(operation_ms=9_000),
    )


def owner_unreachable(words: str, how: Cut) -> Case:
    """The broker that has the topic ends the first connection before it has said anything."""
    plan = Schedule()
    plan.broker("unload", topic="t", broker=1)
    plan.wait_ops(plan.send(plan.producer(plan.client())))
    return plan.case(
        f"connection/owner-{words}",
        "The first connection to the topic's own broker ends before its handshake",
        ("connection.reconnects-while-opening",),
        capabilities=("producer",),
        client=PATIENT,
        topology=Topology(brokers=2),
        faults=(Fault(trigger=up("CONNECT"), scope=Scope(broker=1), action=how),),
        limits=Limits(operation_ms=8_000),
    )


def unsolicited_responses() -> Case:
    plan = Schedule()
    client = plan.client()
    consumer, producer = plan.consumer(client), plan.producer(client)
    for _ in range(5):
        plan.wait_ops(plan.send(producer))
    plan.receive(consumer, 5, STARVED_MS)
    plan.wait_ops()
    plan.wait_ops(plan.send(producer))
    return plan.case(
        "connection/unsolicited-responses",
        "Answers to no request, and news of producers and consumers that are not there",
        ("connection.ignores-unknown-ids",),
        capabilities=("producer", "consumer"),
        consumer=EARLIEST,
        faults=tuple(
            Fault(trigger=down("SEND_RECEIPT", k=k), action=Inject(command=command, fields=fields))
            for k, (command, fields) in enumerate(NEWS, start=1)
        ),
    )


NEWS: tuple[tuple[str, dict[str, int | str | bool]], ...] = (
    ("SUCCESS", {"request_id": 999_999}),
    ("PRODUCER_SUCCESS", {"request_id": 999_998, "producer_name": "nobody"}),
    ("ERROR", {"request_id": 999_997, "error": "UnknownError", "message": "injected"}),
    ("SEND_RECEIPT", {"producer_id": 777, "sequence_id": 5}),
    ("CLOSE_CONSUMER", {"consumer_id": 777, "request_id": 999_996}),
)


def _lookups_fail(words: str, title: str, *errors: str, command: str = "LOOKUP") -> Case:
    plan = Schedule()
    producer = plan.producer(plan.client())
    plan.wait_ops(plan.send(producer))
    return plan.case(
        f"connection/{words}",
        title,
        ("connection.retries-lookups",),
        capabilities=("producer",),
        client={"operation_timeout_ms": 10_000},
        faults=tuple(
            Fault(trigger=up(command, k=k), action=AnswerError(error)) for k, error in enumerate(errors, start=1)
        ),
    )


def lookups_fail() -> Case:
    return _lookups_fail(
        "lookups-fail",
        "The broker is not ready for the first look-ups, and then has too many of them",
        "ServiceNotReady",
        "TooManyRequests",
        "ServiceNotReady",
    )


def partition_metadata_not_ready() -> Case:
    return _lookups_fail(
        "partition-metadata-not-ready",
        "The broker is not ready to say how many partitions a topic has",
        "ServiceNotReady",
        "TooManyRequests",
        command="PARTITIONED_METADATA",
    )


def lookup_is_forbidden() -> Case:
    return _lookups_fail("lookup-is-forbidden", "The client may not look the topic up", "AuthorizationError")


CASES = (
    several_acks_on_an_old_broker(),
    sends_to_a_very_old_broker(),
    max_message_size_changes(),
    max_message_size_differs(),
    one_redirect(),
    endless_redirects(),
    subscribe_response_lost(),
    reconnect_times_out(),
    not_ready("SUBSCRIBE"),
    not_ready("PRODUCER"),
    never_ready("SUBSCRIBE"),
    never_ready("PRODUCER"),
    owner_unreachable("unreachable", Cut(before=True)),
    owner_unreachable("closes-first-connection", Cut(how=CutHow.FIN)),
    unsolicited_responses(),
    lookups_fail(),
    partition_metadata_not_ready(),
    lookup_is_forbidden(),
)
