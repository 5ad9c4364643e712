"""Cases for handshakes and requests: old brokers, limits that differ, redirects, time-outs, unsolicited answers."""

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
    plan, consumer = Schedule.with_consumer(stored=plains(range(5)))
    plan.wait_ops(plan.receive(consumer, 5, STARVED_MS))
    plan.wait_ops(plan.ack(consumer))
    plan.wait_ms(ACKS_FLUSHED_MS)
    return plan.case(
        "connection/old-broker",
        "Five acknowledgments for a broker of protocol version 11, which accepts one id per ACK",
        ("connection.negotiated-version", "connection.request-ids-unique"),
        capabilities=("consumer",),
        consumer=EARLIEST,
        topology=Topology(protocol_version=11),
    )


def sends_to_a_very_old_broker() -> Case:
    plan, producer = Schedule.with_producer()
    plan.wait_ops(plan.send(producer, 3))
    return plan.case(
        "connection/very-old-broker",
        "Three messages for a broker of protocol version 5, which does not know checksums",
        ("connection.no-checksum-to-old-broker",),
        capabilities=("producer",),
        topology=Topology(protocol_version=5),
    )


def max_message_size_changes() -> Case:
    plan, producer = Schedule.with_producer()
    plan.wait_ops(plan.send(producer, size=1_000), plan.send(producer, size=LARGE_BYTES))
    cut = plan.last
    plan.wait_fired(1)
    plan.send(producer)  # a client may reconnect only when it is used
    plan.wait_frame("PRODUCER_SUCCESS", Direction.TO_CLIENT, 2)
    plan.wait_ms(50)
    plan.send(producer, size=LARGE_BYTES)
    plan.wait_ops()
    return plan.case(
        "connection/max-message-size-changes",
        "A message is too large for the first connection, but not for the second",
        ("connection.max-message-size-per-connection",),
        isolation=Isolation.OWN_PROCESS,
        faults=(
            Fault(trigger=down("CONNECTED"), action=Rewrite({"max_message_size": SMALL_BYTES})),
            Fault(trigger=AfterStep(cut), action=Cut()),
        ),
    )


def max_message_size_differs() -> Case:
    """Connect first to the broker with the smaller limit, and send the message to it."""
    plan = Schedule()
    plan.broker("unload", topic="u", broker=1)
    client = plan.client()
    small, large = plan.producer(client, "t"), plan.producer(client, "u")
    plan.wait_ops(plan.send(small, size=1_000), plan.send(large, size=LARGE_BYTES))
    plan.wait_ops(plan.send(small, size=LARGE_BYTES))
    return plan.case(
        "connection/max-message-size-differs",
        "A message is too large for one of two brokers",
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
        "Another broker owns the topic, and the first one redirects to it",
        ("connection.follows-redirects",),
        capabilities=("producer",),
        topology=Topology(brokers=2),
        faults=(Fault(trigger=down("LOOKUP_RESPONSE"), action=Rewrite({"response": "Redirect"})),),
    )


def two_urls() -> Case:
    """Name the broker also by a second URL, at which nothing listens."""
    plan, producer = Schedule.with_producer()
    plan.wait_ops(plan.send(producer))
    answered = down("LOOKUP_RESPONSE", times=0)
    return plan.case(
        "connection/two-urls",
        "The answer to each lookup names the broker for plain TCP and for TLS",
        ("connection.url-of-its-own-scheme",),
        capabilities=("producer",),
        client=BRIEF,
        faults=(Fault(trigger=answered, action=Rewrite({"brokerServiceUrlTls": "pulsar+ssl://localhost:1"})),),
        limits=Limits(operation_ms=5_000),
    )


def endless_redirects() -> Case:
    plan = Schedule()
    plan.producer(plan.client())
    return plan.case(
        "connection/endless-redirects",
        "Every lookup is redirected to the same broker",
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
        "A consumer is registered, and the SUCCESS to its SUBSCRIBE is lost",
        ("connection.closes-timed-out-registration",),
        capabilities=("consumer",),
        client=BRIEF,
        faults=(Fault(trigger=down("SUCCESS"), action=Drop()),),
    )


AGAIN_MS = 8_000
"""The time in which a client with the operation time-out of BRIEF has registered again, also one that pauses for 5 s
between attempts, as pulsar-rs does."""


def reconnect_times_out() -> Case:
    """Answer late, when the client no longer waits for the answer."""
    plan, producer = Schedule.with_producer()
    plan.wait_ops(plan.send(producer))
    cut = plan.last
    plan.wait_fired(0)
    # A client may reconnect only when it is used, and give up together with the send for which it reconnects.
    plan.wait_ops(plan.send(producer))
    plan.send(producer)
    plan.wait_frame("PRODUCER_SUCCESS", Direction.TO_CLIENT, 3, deadline_ms=AGAIN_MS)
    plan.wait_ops()
    return plan.case(
        "connection/reconnect-times-out",
        "A producer reconnects, and PRODUCER_SUCCESS comes after its operation time-out",
        ("connection.closes-timed-out-registration",),
        capabilities=("producer",),
        client=BRIEF,
        faults=(
            Fault(trigger=AfterStep(cut), action=Cut()),
            Fault(
                trigger=down("PRODUCER_SUCCESS", k=2),
                action=Hold(overtake=True),
                # A client that does not register again gets the answer in the end as well.
                until=Until(frame=down("PRODUCER_SUCCESS"), after_ms=AGAIN_MS),
            ),
        ),
    )


PATIENT: Config = {"operation_timeout_ms": 5_000}
"""Enough time for many attempts to open something."""


def not_ready(command: str) -> Case:
    """Answer the first attempt with a temporary error."""
    plan, client = Schedule.with_client()
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
    """Answer every attempt with the same error."""
    plan, client = Schedule.with_client()
    if command == "PRODUCER":
        plan.producer(client)
    else:
        plan.consumer(client)
    return plan.case(
        f"connection/never-ready-for-{command.lower()}",
        f"The broker is not ready for any {command}, and opening fails by its time-out",
        # For a client that does not retry, it is unknown whether its opening would end in time.
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
    """Let the broker that owns the topic close the first connection before it has answered."""
    plan = Schedule()
    plan.broker("unload", topic="t", broker=1)
    plan.wait_ops(plan.send(plan.producer(plan.client())))
    return plan.case(
        f"connection/owner-{words}",
        "The first connection to the topic's owner is closed before its handshake ends",
        ("connection.reconnects-while-opening",),
        capabilities=("producer",),
        client=PATIENT,
        topology=Topology(brokers=2),
        faults=(Fault(trigger=up("CONNECT"), scope=Scope(broker=1), action=how),),
        limits=Limits(operation_ms=8_000),
    )


def unsolicited_responses() -> Case:
    plan, client = Schedule.with_client()
    consumer, producer = plan.consumer(client), plan.producer(client)
    for _ in range(5):
        plan.wait_ops(plan.send(producer))
    plan.receive(consumer, 5, STARVED_MS)
    plan.wait_ops()
    plan.wait_ops(plan.send(producer))
    return plan.case(
        "connection/unsolicited-responses",
        "Answers to no request, and commands about producers and consumers that do not exist",
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


def _asking(command: str) -> tuple[str, ...]:
    """Return the capabilities without which a producer does not send this request: without partitions it sends no
    PARTITIONED_METADATA."""
    return ("producer", "partitioned_topics") if command == "PARTITIONED_METADATA" else ("producer",)


def _lookups_fail(words: str, title: str, *errors: str, command: str = "LOOKUP") -> Case:
    plan, producer = Schedule.with_producer()
    plan.wait_ops(plan.send(producer))
    return plan.case(
        f"connection/{words}",
        title,
        ("connection.retries-lookups",),
        capabilities=_asking(command),
        client={"operation_timeout_ms": 10_000},
        faults=tuple(
            Fault(trigger=up(command, k=k), action=AnswerError(error)) for k, error in enumerate(errors, start=1)
        ),
    )


def lookups_fail() -> Case:
    return _lookups_fail(
        "lookups-fail",
        "The first lookups get TooManyRequests and ServiceNotReady",
        "TooManyRequests",
        "ServiceNotReady",
        "TooManyRequests",
    )


def trouble_of_another_topic(command: str, words: str) -> Case:
    """Refuse the first topic until its opening times out, and the second one once."""
    plan, client = Schedule.with_client()
    plan.producer(client, "troubled")
    # Some clients close their connection over such an answer, which must not disturb the next opening.
    plan.wait_ms(200)
    plan.wait_ops(plan.send(plan.producer(client, "well")))
    return plan.case(
        f"connection/{words}-of-another-topic",
        f"{command} of one topic is refused until its opening times out; then the first {command} of another topic is "
        "refused",
        ("connection.lookup-backoff-per-topic",),
        capabilities=_asking(command),
        client={"operation_timeout_ms": 4_000},
        topology=Topology(topics=(Topic(name="troubled"), Topic(name="well"))),
        faults=(
            Fault(trigger=up(command, times=0), scope=Scope(topic="troubled"), action=AnswerError("ServiceNotReady")),
            Fault(trigger=up(command), scope=Scope(topic="well"), action=AnswerError("ServiceNotReady")),
        ),
        limits=Limits(operation_ms=12_000),
    )


def partition_metadata_not_ready() -> Case:
    return _lookups_fail(
        "partition-metadata-not-ready",
        "The first requests for the number of partitions get TooManyRequests and ServiceNotReady",
        "TooManyRequests",
        "ServiceNotReady",
        command="PARTITIONED_METADATA",
    )


def lookup_is_forbidden() -> Case:
    return _lookups_fail(
        "lookup-is-forbidden", "The client is not authorized to look up the topic", "AuthorizationError"
    )


def ended_lookups(words: str, what: str, limit: int, *faults: Fault, command: str = "LOOKUP") -> Case:
    """Let one opening after the other time out; then open as many at once, which must succeed."""
    timeout_ms = 1_000
    names = [f"t{number}" for number in range(2 * limit)]
    plan, client = Schedule.with_client()
    for name in names[:limit]:
        plan.producer(client, name)
    # A lookup's time-out may begin after that of its opening, and some clients check it only periodically.
    plan.wait_ms(timeout_ms)
    for name in names[limit:]:
        plan.wait_ops(plan.producer(client, name, wait=False))
    return plan.case(
        f"connection/{words}",
        f"{what}; after that, producers are opened",
        ("connection.ended-lookup-frees-its-place",),
        capabilities=_asking(command),
        client={"operation_timeout_ms": timeout_ms, "max_concurrent_lookups": limit},
        topology=Topology(topics=tuple(Topic(name=name) for name in names)),
        faults=faults,
        limits=Limits(operation_ms=8_000),
    )


CASES = (
    ended_lookups(
        "one-lookup-times-out",
        "With a limit of one lookup at a time, a lookup is never answered",
        1,
        Fault(trigger=down("LOOKUP_RESPONSE"), action=Drop()),
    ),
    ended_lookups(
        "lookups-time-out",
        "As many lookups as the limit allows at a time are never answered",
        3,
        Fault(trigger=down("LOOKUP_RESPONSE", times=3), action=Drop()),
    ),
    ended_lookups(
        "partition-metadata-times-out",
        "With a limit of one lookup at a time, a request for the number of partitions is never answered",
        1,
        Fault(trigger=down("PARTITIONED_METADATA_RESPONSE"), action=Drop()),
        command="PARTITIONED_METADATA",
    ),
    several_acks_on_an_old_broker(),
    sends_to_a_very_old_broker(),
    max_message_size_changes(),
    max_message_size_differs(),
    one_redirect(),
    two_urls(),
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
    trouble_of_another_topic("LOOKUP", "lookup-trouble"),
    trouble_of_another_topic("PARTITIONED_METADATA", "metadata-trouble"),
)
