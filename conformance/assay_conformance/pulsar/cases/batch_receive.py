"""Cases for batch receive: each limit, too few messages or none, and what may happen meanwhile."""

from __future__ import annotations

from assay_conformance.cases.build import EARLIEST, STARVED_MS, Schedule, up
from assay_conformance.cases.stored import plain, plains
from assay_conformance.model.case import Case, Topic, Topology
from assay_conformance.model.fault import Cut, Fault
from assay_conformance.pulsar.cases.seek.targets import FIRST_MS, STEP_MS, timed

BATCHES = ("batch_receive",)
LIMITS = ("batch-receive.within-limits", "batch-receive.ends-at-first-limit", "batch-receive.takes-what-is-there")

SHORT_MS = 600
"""A time-out for which a full batch does not wait: longer than any answer takes."""

ARRIVED_MS = 700
"""The time in which requested messages arrive: longer than any answer takes."""

NACK_DELAY_MS = 200


def limit_of_number() -> Case:
    plan, consumer = Schedule.with_consumer(stored=plains(range(10)))
    plan.wait_ms(ARRIVED_MS)
    for _ in range(3):
        plan.wait_ops(plan.batch_receive(consumer))
    return plan.case(
        "batch-receive/limit-of-number",
        "Ten messages are received in batches of at most four: two full ones, and one that ends by its time-out",
        LIMITS,
        capabilities=BATCHES,
        consumer={**EARLIEST, "batch_receive_max_messages": 4, "batch_receive_timeout_ms": 3 * SHORT_MS},
    )


def limit_of_bytes() -> Case:
    """Receive a message of a thousand bytes, which is a batch of its own."""
    plan = Schedule()
    sizes = (100, 100, 100, 1_000, 100, 100)
    plan.broker("store_entries", topic="t", entries=[plain(number, size) for number, size in enumerate(sizes)])
    consumer = plan.consumer(plan.client())
    plan.wait_ms(ARRIVED_MS)
    for _ in range(4):
        plan.wait_ops(plan.batch_receive(consumer))
    return plan.case(
        "batch-receive/limit-of-bytes",
        "Messages of 100 bytes, and one of 1,000, are received in batches of at most 250 bytes",
        LIMITS,
        capabilities=BATCHES,
        consumer={**EARLIEST, "batch_receive_max_bytes": 250, "batch_receive_timeout_ms": SHORT_MS},
    )


def bytes_that_were_received() -> Case:
    """Receive one by one, and in a batch; then ask for batches of less than the limit."""
    plan, consumer = Schedule.with_consumer(stored=plains(range(8)))
    plan.wait_ops(plan.receive(consumer, 4, STARVED_MS))
    for _ in range(2):
        plan.wait_ops(plan.batch_receive(consumer))
    plan.broker("store_entries", topic="t", entries=plains([8]))
    plan.wait_ops(plan.batch_receive(consumer))
    plan.wait_ops(plan.ack(consumer))
    return plan.case(
        "batch-receive/bytes-that-were-received",
        "Four messages are received one by one, and two in a full batch; the next two wait for a third one",
        LIMITS,
        capabilities=BATCHES,
        consumer={**EARLIEST, "batch_receive_max_bytes": 130, "batch_receive_timeout_ms": SHORT_MS},
    )


def bytes_from_before_a_seek() -> Case:
    """Seek the last message when more bytes than a batch holds lie in the client."""
    plan, consumer = Schedule.with_consumer(stored=[timed(number) for number in range(6)])
    plan.wait_ms(ARRIVED_MS)
    plan.wait_ops(plan.seek(consumer, publish_time_ms=FIRST_MS + 5 * STEP_MS))
    plan.wait_ms(ARRIVED_MS)
    plan.wait_ops(plan.batch_receive(consumer))
    return plan.case(
        "batch-receive/bytes-from-before-a-seek",
        "A consumer that has prefetched six messages seeks the last one, and its batch waits for more",
        ("batch-receive.ends-at-first-limit",),
        capabilities=BATCHES,
        consumer={**EARLIEST, "batch_receive_max_bytes": 200, "batch_receive_timeout_ms": SHORT_MS},
    )


def empty_and_partial() -> Case:
    """Call the second batch receive before its messages arrive."""
    plan, client = Schedule.with_client()
    producer, consumer = plan.producer(client), plan.consumer(client)
    plan.wait_ops(plan.batch_receive(consumer))
    batch = plan.batch_receive(consumer)
    plan.send(producer, 3)
    plan.wait_ops(batch)
    plan.wait_ops(plan.batch_receive(consumer))
    return plan.case(
        "batch-receive/empty-and-partial",
        "A batch receive ends empty, the next one with three messages that arrive during it, and the last one empty",
        LIMITS,
        capabilities=BATCHES,
        consumer={**EARLIEST, "batch_receive_max_messages": 10, "batch_receive_timeout_ms": 2 * SHORT_MS},
    )


def beside_single_receives() -> Case:
    """Receive by both calls: together they deliver each message once and in order."""
    plan, client = Schedule.with_client()
    producer, consumer = plan.producer(client), plan.consumer(client)
    plan.send(producer, 12)
    for _ in range(3):
        plan.wait_ops(plan.receive(consumer, 1, STARVED_MS))
        plan.wait_ops(plan.batch_receive(consumer))
    plan.wait_ops(plan.ack(consumer))
    plan.wait_ops(plan.receive(consumer, 1, SHORT_MS))
    return plan.case(
        "batch-receive/beside-single-receives",
        "Twelve messages are received, alternately by a receive and a batch receive of three, and acknowledged; then "
        "no more arrive",
        (
            *LIMITS,
            "ordering.delivers-in-message-id-order",
            "delivery.no-unexplained-duplicates",
            "delivery.successful-send-is-delivered",
        ),
        capabilities=BATCHES,
        consumer={**EARLIEST, "batch_receive_max_messages": 3, "batch_receive_timeout_ms": STARVED_MS},
    )


def partitions() -> Case:
    plan, client = Schedule.with_client()
    producer, consumer = plan.producer(client), plan.consumer(client)
    plan.send(producer, 30)
    plan.wait_ops()
    for _ in range(5):
        plan.wait_ops(plan.batch_receive(consumer))
    plan.wait_ops(plan.ack(consumer))
    return plan.case(
        "batch-receive/partitions",
        "Thirty messages of three partitions are received in batches of at most seven",
        (*LIMITS, "ordering.delivers-in-message-id-order", "delivery.successful-send-is-delivered"),
        capabilities=(*BATCHES, "partitioned_topics"),
        consumer={**EARLIEST, "batch_receive_max_messages": 7, "batch_receive_timeout_ms": STARVED_MS},
        topology=Topology(topics=(Topic(name="t", partitions=3),)),
    )


def redelivered() -> Case:
    """Nack messages, which are redelivered into a batch receive."""
    plan, consumer = Schedule.with_consumer(stored=plains(range(4)))
    plan.wait_ops(plan.batch_receive(consumer))
    plan.ack(consumer, messages=(1, 3))
    plan.wait_ops(plan.nack(consumer, messages=(2, 4)))
    plan.wait_ms(2 * NACK_DELAY_MS)
    plan.wait_ops(plan.batch_receive(consumer))
    plan.wait_ops(plan.ack(consumer))
    return plan.case(
        "batch-receive/redelivered",
        "Two messages of a batch receive of four are nacked, and are redelivered in the next one",
        (*LIMITS, "nack.redelivery-requested-in-time"),
        capabilities=(*BATCHES, "nack_delay"),
        consumer={
            **EARLIEST,
            "subscription_type": "shared",
            "nack_delay_ms": NACK_DELAY_MS,
            "batch_receive_max_messages": 4,
            "batch_receive_timeout_ms": STARVED_MS,
        },
    )


def reconnects_while_waiting() -> Case:
    """Lose the connection while a batch receive waits."""
    plan, client = Schedule.with_client()
    producer, consumer = plan.producer(client), plan.consumer(client)
    first = plan.batch_receive(consumer)
    plan.send(producer, 3)
    plan.wait_ops(first)
    plan.wait_ops(plan.batch_receive(consumer))
    plan.wait_ops(plan.ack(consumer))
    return plan.case(
        "batch-receive/reconnects-while-waiting",
        "The connection is lost at the second of three messages, while a batch receive waits for five",
        ("batch-receive.within-limits", "batch-receive.ends-at-first-limit", "ordering.delivers-in-message-id-order"),
        capabilities=BATCHES,
        consumer={**EARLIEST, "batch_receive_max_messages": 5, "batch_receive_timeout_ms": STARVED_MS},
        faults=(Fault(trigger=up("SEND", k=2), action=Cut()),),
    )


def more_than_the_queue_holds() -> Case:
    """Ask without a time-out for more than the receiver queue holds. A client may enlarge its queue, and return all."""
    plan, consumer = Schedule.with_consumer(stored=plains(range(10)))
    plan.wait_ops(plan.batch_receive(consumer))
    plan.wait_ops(plan.ack(consumer))
    return plan.case(
        "batch-receive/more-than-the-queue-holds",
        "A batch receive without a time-out may have ten messages, which are there, and the receiver queue holds four",
        ("robustness.calls-do-not-hang", "batch-receive.within-limits"),
        capabilities=BATCHES,
        consumer={
            **EARLIEST,
            "receiver_queue_size": 4,
            "batch_receive_max_messages": 10,
            "batch_receive_timeout_ms": 0,
        },
    )


def several_wait() -> Case:
    """Call batch receives of which none finds a message, and then some of which the first takes all there are."""
    plan, client = Schedule.with_client()
    producer, consumer = plan.producer(client), plan.consumer(client)
    plan.wait_ops(*(plan.batch_receive(consumer) for _ in range(3)))
    batches = [plan.batch_receive(consumer) for _ in range(3)]
    plan.wait_ops(plan.send(producer, 5))
    plan.wait_ops(*batches)
    plan.wait_ops(plan.ack(consumer))
    return plan.case(
        "batch-receive/several-wait",
        "Three batch receives wait at the same time, first without any message, then for five messages of which each "
        "takes two at most",
        ("batch-receive.ends-at-first-limit", "batch-receive.within-limits", "robustness.calls-do-not-hang"),
        capabilities=("producer", *BATCHES),
        consumer={**EARLIEST, "batch_receive_max_messages": 2, "batch_receive_timeout_ms": 2 * SHORT_MS},
    )


def closed_while_waiting() -> Case:
    plan, consumer = Schedule.with_consumer(stored=plains(range(5)))
    plan.wait_ops(plan.batch_receive(consumer))
    waiting = plan.batch_receive(consumer)
    plan.wait_ms(SHORT_MS)
    plan.wait_ops(plan.close(consumer))
    plan.wait_ops(waiting)
    return plan.case(
        "batch-receive/closed-while-waiting",
        "Five messages fill a batch receive; the consumer is closed while the next one waits",
        ("batch-receive.ends-at-first-limit", "robustness.calls-do-not-hang"),
        capabilities=BATCHES,
        consumer={**EARLIEST, "batch_receive_max_messages": 5, "batch_receive_timeout_ms": 3 * SHORT_MS},
    )
