"""Cases for flow control: permits of consumers, and pending queues of producers."""

from __future__ import annotations

from assay_conformance.cases.build import EARLIEST, STARVED_MS, Schedule, down, up
from assay_conformance.cases.stored import batch, chunks, plain, plains
from assay_conformance.model.case import Case, Config, Isolation, Topic, Topology
from assay_conformance.model.fault import AfterStep, Cut, Fault, Hold, Until

LIMIT_BYTES = 16 * 1024

SUBSCRIBED_MS = 100
"""For so long no permit may be granted, as the consumer is not subscribed."""
REFUSED_MS = 100
"""The time in which sends that follow are refused."""


def initial_permits() -> Case:
    """Delay the answer to SUBSCRIBE, so that permits granted before it can be distinguished from those after."""
    plan, consumer = Schedule.with_consumer(wait=False, stored=plains(range(3)))
    plan.wait_fired(0)
    plan.wait_ms(SUBSCRIBED_MS)
    quiet = plan.last
    plan.wait_ops()
    plan.wait_ops(plan.receive(consumer, 3, 1_500))
    return plan.case(
        "flow/initial-permits",
        "A consumer with a queue of seven subscribes and receives three messages",
        ("flow.initial-permits-equal-queue-size",),
        consumer={"initial_position": "earliest", "receiver_queue_size": 7},
        faults=(Fault(trigger=down("SUCCESS"), action=Hold(), until=Until(step=quiet)),),
    )


def half_a_queue() -> Case:
    """Pause for longer than any answer takes, so that a consumer shows itself that grants permits only when its queue
    is empty."""
    plan, consumer = Schedule.with_consumer(stored=plains(range(30)))
    plan.wait_ops(plan.receive(consumer, 6, STARVED_MS))
    plan.wait_ms(600)
    plan.receive(consumer, 24, STARVED_MS)
    plan.wait_ops()
    return plan.case(
        "flow/half-a-queue",
        "An application receives six messages with a queue of ten, pauses, and receives the rest",
        ("flow.permits-renewed-at-half-queue", "flow.permits-within-queue"),
        consumer={**EARLIEST, "receiver_queue_size": 10},
    )


def partly_acked_batch() -> Case:
    """Acknowledge nine messages of a batch: the broker charges one permit for the redelivery, which leaves out these
    nine."""
    plan, consumer = Schedule.with_consumer(stored=[batch(range(10))])
    plan.wait_ops(plan.receive(consumer, 10, STARVED_MS))
    plan.ack(consumer, messages=range(1, 10))
    plan.wait_fired(0)
    plan.wait_ops(plan.receive(consumer, 1, STARVED_MS))
    plan.broker("store_entries", topic="t", entries=plains(range(10, 22)))
    plan.receive(consumer, 12, STARVED_MS)
    plan.wait_ops()
    return plan.case(
        "flow/partly-acked-batch",
        "Nine of ten messages of a batch are acknowledged, the connection is lost, and the batch is redelivered for "
        "the tenth",
        ("flow.no-permit-for-ack-set-filtered", "flow.permits-within-queue"),
        capabilities=("batch_index_ack",),
        consumer={**EARLIEST, "subscription_type": "shared", "receiver_queue_size": 10, "batch_index_ack": True},
        faults=(Fault(trigger=up("ACK"), action=Cut()),),
    )


def batches_beyond_permits() -> Case:
    plan = Schedule()
    plan.consumer_of([batch(range(first, first + 3)) for first in range(0, 18, 3)], receives=19, timeout_ms=STARVED_MS)
    return plan.case(
        "flow/batches-beyond-permits",
        "A consumer with a queue of four receives batches of three, and waits for more",
        ("flow.permits-count-messages", "flow.permits-within-queue", "flow.waiting-receive-has-permits"),
        consumer={**EARLIEST, "receiver_queue_size": 4},
    )


def seek_before_first_chunk() -> Case:
    """Seek to before the first chunk; the pause shows what a broker sends to a full queue. When a broker sends chunks
    to the consumer that got the first of them before the seek, it charges no attached consumer.
    """
    plan, consumer = Schedule.with_consumer(stored=[plain(0), chunks(1, 3)[0]])
    plan.wait_ops(plan.receive(consumer, 1, STARVED_MS))
    plan.wait_ops(plan.seek(consumer, delivery=1))
    plan.broker("store_entries", topic="t", entries=[*plains(range(2, 8)), batch(range(8, 10))])
    plan.wait_ms(300)
    plan.receive(consumer, 8, STARVED_MS)
    plan.wait_ops()
    return plan.case(
        "flow/seek-before-first-chunk",
        "A shared consumer with a queue of three seeks to the start of a chunked message of which it got only the "
        "first chunk",
        ("flow.permits-count-messages", "flow.permits-within-queue"),
        capabilities=("batching", "chunking_consumer", "seek"),
        consumer={**EARLIEST, "subscription_type": "shared", "receiver_queue_size": 3},
    )


def reconnect_with_a_full_queue() -> Case:
    plan, consumer = Schedule.with_consumer(stored=plains(range(30)))
    plan.wait_ops(plan.receive(consumer, 3, STARVED_MS))
    cut = plan.last
    plan.wait_fired(0)
    plan.receive(consumer, 30, STARVED_MS)
    plan.wait_ops()
    return plan.case(
        "flow/reconnect-with-a-full-queue",
        "The connection is lost after an application has received three messages with a queue of ten",
        ("flow.permits-reset-on-reconnect", "flow.permits-within-queue"),
        consumer={**EARLIEST, "receiver_queue_size": 10},
        faults=(Fault(trigger=AfterStep(cut), action=Cut()),),
    )


def full_queue_fails_sends() -> Case:
    plan, producer = Schedule.with_producer()
    with plan.held():
        plan.send(producer, 8)
        plan.wait_sends(5)
        plan.wait_ms(100)
    plan.wait_ops()
    with plan.held():
        plan.send(producer, 6)
        plan.wait_sends(10)
    plan.wait_ops()
    return plan.case(
        "flow/full-queue-fails-sends",
        "Eight sends, and later six, go to a pending queue of five while no receipts come",
        ("flow.max-pending-messages", "flow.full-queue-blocks-or-fails"),
        producer={"max_pending_messages": 5, "block_if_queue_full": False},
    )


def full_queue_blocks_sends() -> Case:
    plan, producer = Schedule.with_producer()
    with plan.held():
        plan.send(producer, 8)
        plan.wait_sends(5)
        plan.wait_ms(100)
    plan.wait_ops()
    return plan.case(
        "flow/full-queue-blocks-sends",
        "Eight sends go to a blocking pending queue of five",
        ("flow.max-pending-messages",),
        producer={"max_pending_messages": 5, "block_if_queue_full": True},
    )


def room_after_failures() -> Case:
    """Send messages that are too large, and that take no queue space once they are refused."""
    plan, producer = Schedule.with_producer()
    plan.wait_ops(plan.send(producer, 3, size=LIMIT_BYTES + 1))
    plan.wait_ms(150)
    with plan.held():
        plan.send(producer, 4)
        plan.wait_sends(3, deadline_ms=STARVED_MS)
        plan.wait_ms(REFUSED_MS)
    plan.wait_ops()
    return plan.case(
        "flow/room-after-failures",
        "Three sends are too large; afterwards a pending queue of three takes three others, but not a fourth",
        ("flow.full-queue-blocks-or-fails", "flow.max-pending-messages"),
        topology=Topology(max_message_bytes=LIMIT_BYTES),
        isolation=Isolation.OWN_PROCESS,
        producer={"max_pending_messages": 3, "block_if_queue_full": False},
    )


ROOM_FOR_THREE: Config = {
    "max_pending_messages": 3,
    "block_if_queue_full": False,
    "batching": True,
    "batching_max_publish_delay_ms": 10,
}


def after_three_too_large(plan: Schedule) -> int:
    """Return a producer whose three batches, of one message each, were larger than the broker accepts."""
    producer = plan.producer(plan.client())
    for _ in range(3):
        plan.wait_ops(plan.send(producer, 1, size=LIMIT_BYTES + 1))
    plan.wait_ms(150)
    return producer


def room_after_failed_batches() -> Case:
    """Let batches of one message fail; each must free the queue space of its message."""
    plan = Schedule()
    producer = after_three_too_large(plan)
    plan.broker("hold_store", topic="t")
    plan.send(producer, 4)
    plan.wait_sends(1, deadline_ms=STARVED_MS)
    plan.broker("release", topic="t")
    plan.wait_ops()
    return plan.case(
        "flow/room-after-failed-batches",
        "Three batches are too large; afterwards a pending queue of three takes three messages, but not a fourth",
        ("flow.full-queue-blocks-or-fails",),
        capabilities=("batching",),
        topology=Topology(max_message_bytes=LIMIT_BYTES),
        isolation=Isolation.OWN_PROCESS,
        producer=ROOM_FOR_THREE,
    )


def _three_time_out(sends: int) -> Schedule:
    """Let three messages time out, and send four more; in all so many SENDs leave."""
    plan, producer = Schedule.with_producer()
    with plan.held():
        plan.wait_ops(plan.send(producer, 3))
        plan.wait_ms(150)
        plan.send(producer, 4)
        plan.wait_sends(sends, deadline_ms=STARVED_MS)
        plan.wait_ms(REFUSED_MS)
    plan.wait_ops()
    return plan


def room_after_time_outs() -> Case:
    plan = _three_time_out(6)
    return plan.case(
        "flow/room-after-time-outs",
        "Three sends time out; afterwards a pending queue of three takes three others, but not a fourth",
        ("flow.full-queue-blocks-or-fails", "flow.max-pending-messages"),
        capabilities=("send_timeout",),
        producer={"max_pending_messages": 3, "block_if_queue_full": False, "send_timeout_ms": 500},
    )


def room_after_timed_out_batch() -> Case:
    """Let a batch of three time out: each of its messages leaves its place."""
    plan = _three_time_out(2)
    return plan.case(
        "flow/room-after-timed-out-batch",
        "A batch of three times out; there is room for three messages, and not for a fourth",
        ("flow.full-queue-blocks-or-fails",),
        capabilities=("send_timeout", "batching"),
        producer={**ROOM_FOR_THREE, "batching_max_messages": 3, "send_timeout_ms": 500},
    )


def memory_of_two_producers() -> Case:
    plan, client = Schedule.with_client()
    one, other = plan.producer(client), plan.producer(client)
    with plan.held():
        plan.send(one, 12, size=100)
        plan.send(other, 12, size=100)
        plan.wait_sends(20)
        plan.wait_ms(100)
    plan.wait_ops()
    return plan.case(
        "flow/memory-of-two-producers",
        "Two producers of a client with a memory limit of 2,000 bytes send 2,400 bytes, and get no receipts",
        ("flow.memory-limit", "flow.full-queue-blocks-or-fails"),
        capabilities=("memory_limit",),
        client={"memory_limit_bytes": 2_000},
        producer={"block_if_queue_full": False},
    )


def max_unacked_per_consumer() -> Case:
    """Receive with a queue as large as the limit.

    The permits that it grants while the broker may not send it anything are all that it has afterwards.
    """
    plan, consumer = Schedule.with_consumer(stored=plains(range(10)))
    plan.receive(consumer, 10, timeout_ms=3_000)
    plan.wait_received(consumer, 4)
    plan.ack(consumer, numbers=[0])
    plan.wait_ms(250)
    plan.ack(consumer, numbers=[1])
    plan.wait_received(consumer, 6, deadline_ms=STARVED_MS)
    plan.ack(consumer, numbers=[2, 3, 4, 5])
    plan.wait_received(consumer, 10, deadline_ms=STARVED_MS)
    return plan.case(
        "flow/max-unacked-per-consumer",
        "Ten messages are sent to a shared consumer that may have four unacknowledged",
        ("flow.max-unacked-messages",),
        capabilities=("consumer",),
        consumer={"subscription_type": "shared", "receiver_queue_size": 4},
        topology=Topology(topics=(Topic(name="t", max_unacked_per_consumer=4),)),
    )


def max_unacked_per_subscription() -> Case:
    plan, consumer = Schedule.with_consumer(stored=plains(range(240)))
    plan.receive(consumer, 240, timeout_ms=1_500)
    plan.wait_received(consumer, 100, deadline_ms=STARVED_MS)
    plan.wait_ms(200)
    plan.ack(consumer)
    plan.wait_received(consumer, 200, deadline_ms=STARVED_MS)
    return plan.case(
        "flow/max-unacked-per-subscription",
        "240 messages are sent to a shared subscription that may have ten unacknowledged",
        ("flow.max-unacked-messages",),
        capabilities=("consumer",),
        consumer={"subscription_type": "shared"},
        topology=Topology(topics=(Topic(name="t", max_unacked_per_subscription=10),)),
    )
