"""The life of a producer: its name, flushes, a close with sends in flight, and access modes."""

from __future__ import annotations

from assay_conformance.cases.build import Schedule, down, up
from assay_conformance.model.case import Case, Limits, Topic, Topology
from assay_conformance.model.fault import AfterStep, AnswerError, Cut, CutHow, Direction, Drop, Fault, Hold, Until
from assay_conformance.model.policy import BrokerSettings
from assay_conformance.pulsar.cases.batching.keyed import KEYED
from assay_conformance.pulsar.cases.resend.connections import QUICK, cut_at_send
from assay_conformance.pulsar.cases.routing.hooks import routed


def assigned_name_kept_on_reconnect() -> Case:
    plan, producer = Schedule.with_producer()
    plan.wait_ops(plan.send(producer))
    plan.wait_ops(plan.send(producer))
    return plan.case(
        "producer/assigned-name-kept-on-reconnect",
        "A producer with a name from the broker reconnects under that name",
        ("producer.keeps-assigned-name",),
        capabilities=("resend_pending",),
        faults=(cut_at_send(2),),
        limits=QUICK,
    )


def keys_and_ordering_keys() -> Case:
    plan, producer = Schedule.with_producer()
    messages = [{"key": "k"}, {"key": "k", "ordering_key": "o"}, {"ordering_key": "o"}, {"key": ""}]
    plan.agent("send", {"producer": producer, "messages": messages})
    plan.wait_ops()
    return plan.case(
        "producer/keys-and-ordering-keys",
        "Four messages are sent: with a key, with an ordering key, with both, and with an empty key",
        ("producer.keys-as-given", "batching.send-counts-messages"),
    )


def closed_with_batches_by_key() -> Case:
    """Close a producer that holds batches of three keys, none of which is due."""
    plan, producer = Schedule.with_producer()
    plan.agent("send", {"producer": producer, "messages": [{"key": key} for key in "abcab"]})
    plan.wait_ops(plan.close(producer))
    plan.wait_ops()
    return plan.case(
        "producer/closed-with-batches-by-key",
        "A producer is closed while batches of three keys are open",
        ("producer.close-ends-pending-sends", "robustness.calls-do-not-hang"),
        producer=KEYED,
        limits=QUICK,
    )


def interceptor_of_batches() -> Case:
    """Send batches of three, and one that is not full."""
    plan, producer = Schedule.with_producer()
    plan.send(producer, 7)
    plan.wait_ops(plan.flush(producer))
    plan.wait_ops()
    return plan.case(
        "producer/interceptor-of-batches",
        "Seven messages are sent in batches of three by a producer with an interceptor",
        ("producer.interceptors-run-first",),
        producer={"interceptor": "notes", "batching": True, "batching_max_messages": 3},
    )


def assigned_names() -> Case:
    plan, client = Schedule.with_client()
    for _ in range(2):
        producer = plan.producer(client)
        plan.wait_ops(plan.send(producer))
        plan.wait_ops(plan.close(producer))
    return plan.case(
        "producer/assigned-names",
        "Two producers without a name are opened one after the other",
        ("producer.assigned-names-unique", "connection.request-ids-unique"),
        capabilities=("producer",),
    )


def _late_receipt(k: int, until: int) -> Fault:
    """Return a fault that holds a receipt; it is optional, since the broker itself may take longer."""
    return Fault(trigger=down("SEND_RECEIPT", k=k), action=Hold(), until=Until(step=until), optional=True)


def _flush_without_receipt(plan: Schedule, producer: int) -> int:
    """Flush; return the step up to which there is no receipt, so that the flush must not end before it."""
    plan.flush(producer)
    plan.wait_ms(200)
    until = plan.last
    plan.wait_ops()
    return until


def flush_waits_for_receipts() -> Case:
    plan, producer = Schedule.with_producer()
    plan.send(producer, 3)
    plan.flush(producer)
    plan.wait_sends(3)
    plan.wait_ms(200)  # the flush must not have ended yet
    quiet = plan.last
    plan.wait_ops()
    return plan.case(
        "producer/flush-waits-for-receipts",
        "The last of three receipts is delayed, and so is the end of a flush",
        ("producer.flush-waits",),
        faults=(_late_receipt(3, quiet),),
    )


def flush_after_full_batches() -> Case:
    """Flush after full batches have been sent: the flush has no batch to close, but receipts to wait for."""
    plan, producer = Schedule.with_producer()
    plan.send(producer, 4)
    plan.wait_sends(2)
    quiet = _flush_without_receipt(plan, producer)
    return plan.case(
        "producer/flush-after-full-batches",
        "Two full batches were sent; the receipt of the second one is delayed, and so is the end of a flush",
        ("producer.flush-waits",),
        capabilities=("batching",),
        producer={"batching": True, "batching_max_messages": 2, "batching_max_publish_delay_ms": 1_000},
        faults=(_late_receipt(2, quiet),),
    )


def concurrent_flushes() -> Case:
    """Let two flushes run at the same time: each waits for what was sent before it, whatever other flush is running."""
    plan, producer = Schedule.with_producer()
    plan.send(producer)
    plan.flush(producer)
    plan.wait_sends(1)
    plan.send(producer)
    quiet = _flush_without_receipt(plan, producer)
    return plan.case(
        "producer/concurrent-flushes",
        "While a flush waits for its receipt another message is sent to a partitioned topic, and flushed",
        ("producer.flush-waits",),
        capabilities=("batching", "partitioned_topics"),
        topology=Topology(topics=(Topic(name="t", partitions=2),)),
        producer={"routing": "single", "batching": True, "batching_max_publish_delay_ms": 1_000},
        faults=(_late_receipt(1, quiet),),
    )


def close_with_sends_in_flight() -> Case:
    """Close with sends in flight.

    The broker answers CLOSE_PRODUCER when everything before it is stored, and the receipts come first.
    """
    plan, producer = Schedule.with_producer()
    with plan.held():
        plan.send(producer, 3)
        plan.wait_sends(3)
        plan.close(producer)
        plan.wait_frame("CLOSE_PRODUCER", Direction.TO_BROKER)
    plan.wait_ops()
    plan.wait_ops(plan.send(producer))
    return plan.case(
        "producer/close-with-sends-in-flight",
        "A producer is closed while three sends wait for the store, which then stores them",
        ("producer.close-ends-pending-sends",),
        limits=QUICK,
    )


def close_without_receipts() -> Case:
    plan, producer = Schedule.with_producer()
    plan.send(producer, 3)
    plan.wait_sends(3)
    plan.wait_ops(plan.close(producer))
    plan.wait_ops()
    return plan.case(
        "producer/close-without-receipts",
        "A producer is closed while three receipts are missing, and its close ends the sends",
        ("producer.close-ends-pending-sends",),
        faults=(Fault(trigger=down("SEND_RECEIPT", times=0), action=Drop()),),
        limits=QUICK,
    )


def second_exclusive_rejected() -> Case:
    plan, client = Schedule.with_client()
    first = plan.producer(client, access_mode="exclusive")
    plan.producer(client, access_mode="exclusive")
    plan.wait_ops(plan.send(first), plan.close(first))
    plan.wait_ops(plan.send(plan.producer(client, access_mode="exclusive")))
    return plan.case(
        "producer/second-exclusive-rejected",
        "A second Exclusive producer is refused, and a third one is admitted after the first was closed",
        ("producer.access-modes",),
        capabilities=("access_modes",),
        limits=QUICK,
    )


def waits_for_exclusive() -> Case:
    plan, first = Schedule.with_producer(access_mode="exclusive")
    second = plan.producer(plan.client(), access_mode="wait_for_exclusive", wait=False)
    plan.wait_frame("PRODUCER_SUCCESS", Direction.TO_CLIENT, 2)
    plan.wait_ops(plan.send(first))
    plan.wait_ops(plan.close(first))
    plan.wait_ops(second)
    plan.wait_ops(plan.send(second))
    return plan.case(
        "producer/waits-for-exclusive",
        "A WaitForExclusive producer is admitted once the Exclusive one is closed",
        ("producer.access-modes",),
        capabilities=("access_modes",),
        limits=QUICK,
    )


def fencing_ends_other_producer() -> Case:
    """Fence a producer, which may try to return until its sends time out, but must not get the topic back."""
    plan, first = Schedule.with_producer(access_mode="exclusive", send_timeout_ms=600)
    plan.wait_ops(plan.send(first))
    second = plan.producer(plan.client(), access_mode="exclusive_with_fencing")
    plan.wait_ops(plan.send(second))
    plan.wait_ms(150)  # any receipt in flight for the first producer has arrived by then
    plan.wait_ops(plan.send(first), plan.send(second))
    return plan.case(
        "producer/fencing-ends-other-producer",
        "A producer takes over a topic by fencing, and the one that had it can send no more",
        ("producer.access-modes",),
        capabilities=("access_modes",),
        limits=QUICK,
    )


def name_in_use() -> Case:
    plan, first = Schedule.with_producer()
    second = plan.client(operation_timeout_ms=1_000)
    plan.producer(second)
    plan.wait_ops(plan.send(first), plan.close(first))
    plan.wait_ops(plan.send(plan.producer(second)))
    return plan.case(
        "producer/name-in-use",
        "A second connection registers a producer name that is in use, and again when it is free",
        ("producer.name-unique-on-topic",),
        producer={"producer_name": "orders"},
        limits=QUICK,
    )


def name_held_by_silent_connection() -> Case:
    """Open a name whose connection is half open: the broker learns of its end only when it sends a PING."""
    plan = Schedule()
    plan.wait_ops(plan.send(plan.producer(plan.client())))
    second = plan.producer(plan.client(operation_timeout_ms=1_000))
    plan.wait_ops(plan.send(second))
    return plan.case(
        "producer/name-held-by-silent-connection",
        "The connection of a producer name no longer delivers anything, and a second connection registers the name",
        ("producer.name-unique-on-topic",),
        producer={"producer_name": "orders"},
        topology=Topology(settings=BrokerSettings(liveness_check_ms=300)),
        faults=(Fault(trigger=down("SEND_RECEIPT"), action=Cut(how=CutHow.BLACKHOLE)),),
        limits=QUICK,
    )


def waits_beyond_operation_timeout() -> Case:
    """Wait for access beyond the operation time-out, with no other call of that client that could time out."""
    plan, first = Schedule.with_producer(access_mode="exclusive")
    second = plan.producer(
        plan.client(operation_timeout_ms=1_000), access_mode="wait_for_exclusive", wait=False, send_timeout_ms=0
    )
    plan.wait_frame("PRODUCER_SUCCESS", Direction.TO_CLIENT, 2)
    plan.wait_ms(2_500)
    plan.wait_ops(plan.close(first))
    plan.wait_ops(second)
    plan.wait_ops(plan.send(second))
    return plan.case(
        "producer/waits-beyond-operation-timeout",
        "A WaitForExclusive producer waits for two and a half operation time-outs",
        ("producer.waits-for-exclusive-access",),
        capabilities=("access_modes",),
        client={"operation_timeout_ms": 1_000},
        limits=Limits(operation_ms=6_000, case_ms=20_000, least_wall_ms=2_500),
    )


def disconnected_while_waiting() -> Case:
    plan, first = Schedule.with_producer(access_mode="exclusive", producer_name="first")
    second = plan.producer(plan.client(), access_mode="wait_for_exclusive", producer_name="second", wait=False)
    plan.wait_frame("PRODUCER", Direction.TO_BROKER, 3, deadline_ms=3_000)
    plan.wait_ops(plan.close(first))
    plan.wait_ops(second)
    plan.wait_ops(plan.send(second))
    return plan.case(
        "producer/disconnected-while-waiting",
        "A WaitForExclusive producer loses its connection while it waits",
        ("producer.waits-for-exclusive-access",),
        capabilities=("access_modes",),
        faults=(Fault(trigger=down("PRODUCER_SUCCESS", k=2), action=Cut()),),
        limits=QUICK,
    )


def exclusive_reconnects() -> Case:
    plan, producer = Schedule.with_producer(access_mode="exclusive")
    plan.wait_ops(plan.send(producer))
    plan.wait_ops(plan.send(producer))
    return plan.case(
        "producer/exclusive-reconnects",
        "An Exclusive producer loses its connection and reconnects",
        ("producer.echoes-topic-epoch",),
        capabilities=("access_modes",),
        faults=(cut_at_send(2),),
        limits=QUICK,
    )


def fenced_while_disconnected() -> Case:
    """Delay a producer's reconnect until another one has the topic; a message waits to be sent."""
    plan, first = Schedule.with_producer(access_mode="exclusive")
    plan.wait_ops(plan.send(first))
    cut = plan.last
    plan.wait_fired(0)
    pending = plan.send(first)
    plan.wait_frame("PRODUCER", Direction.TO_BROKER, 2, deadline_ms=3_000)
    plan.wait_ms(100)  # so that it is surely pending when the refusal comes
    second = plan.producer(plan.client(), access_mode="exclusive_with_fencing")
    plan.wait_ops(plan.send(second))
    taken = plan.last
    plan.wait_ops(pending)
    plan.wait_ms(700)  # a producer that tries again has done so by then
    return plan.case(
        "producer/fenced-while-disconnected",
        "An Exclusive producer loses its connection, and another producer gets the topic before it has reconnected",
        ("producer.fenced-is-final",),
        capabilities=("access_modes", "resend_pending"),
        faults=(
            Fault(trigger=AfterStep(cut), action=Cut()),
            Fault(trigger=up("PRODUCER", k=2), action=Hold(), until=Until(step=taken)),
        ),
        limits=QUICK,
    )


def _refused_on_return(words: str, title: str, *errors: str) -> Case:
    """Cut the connection, and refuse the reconnect with these errors, one after the other; then send."""
    plan, producer = Schedule.with_producer()
    plan.wait_ops(plan.send(producer))
    cut = plan.last
    plan.wait_fired(0)
    plan.wait_ops(plan.send(producer))  # a client may reconnect only for this send, and fail it when it is refused
    plan.wait_ops(plan.send(producer))
    refusals = (Fault(trigger=up("PRODUCER", k=2 + k), action=AnswerError(error)) for k, error in enumerate(errors))
    return plan.case(
        f"producer/{words}-on-return",
        title,
        ("producer.keeps-reconnecting",),
        producer={"send_timeout_ms": 9_000},
        faults=(Fault(trigger=AfterStep(cut), action=Cut()), *refusals),
        limits=Limits(operation_ms=12_000, case_ms=30_000, least_wall_ms=300),
    )


CASES = (
    _refused_on_return(
        "backlog-quota",
        "A producer reconnects to a topic whose backlog quota is exceeded for a while",
        "ProducerBlockedQuotaExceededException",
    ),
    _refused_on_return(
        "several-errors",
        "A producer reconnects, and is refused for one reason after another",
        *("MetadataError", "PersistenceError", "AuthorizationError"),
    ),
    routed(
        "producer/interceptor-and-router",
        "Fifteen messages go to five partitions by a custom router, with an interceptor before it",
        ("producer.interceptors-run-first",),
        {"router": "by_number", "interceptor": "notes"},
    ),
    closed_with_batches_by_key(),
    interceptor_of_batches(),
    assigned_names(),
    keys_and_ordering_keys(),
    name_in_use(),
    name_held_by_silent_connection(),
    assigned_name_kept_on_reconnect(),
    flush_waits_for_receipts(),
    flush_after_full_batches(),
    concurrent_flushes(),
    close_with_sends_in_flight(),
    close_without_receipts(),
    second_exclusive_rejected(),
    waits_for_exclusive(),
    fencing_ends_other_producer(),
    waits_beyond_operation_timeout(),
    disconnected_while_waiting(),
    exclusive_reconnects(),
    fenced_while_disconnected(),
)
