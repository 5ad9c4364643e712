"""Cases for permits of messages that never reach the application, and for consumers with a queue of zero. More than
half of a queue of ten is dropped: if the client does not return those permits, it has less than half of them left and
never grants more.
"""

from __future__ import annotations

from assay_conformance.cases.build import EARLIEST, STARVED_MS, Schedule, down
from assay_conformance.cases.stored import batch, chunks, plains
from assay_conformance.model.agent import HandlerAct
from assay_conformance.model.case import Case, Config, Limits
from assay_conformance.model.fault import AfterStep, Cut, Direction, Fault, Hold, Until
from assay_conformance.pulsar.cases.dead_letter import BURIES, DEAD, REDELIVERED_MS, TOPICS
from assay_conformance.pulsar.cases.nack.requests import DELAY_MS, EXCLUSIVE, PASSED_MS, REDELIVER, REQUESTED_MS

QUEUE: Config = {**EARLIEST, "receiver_queue_size": 10}

EMPTY_MS = 2_000
"""How long a receive waits to show that no message is left: longer than permits take, also with a client that polls
once a second."""

PAUSE_MS = 200


def _starved(plan: Schedule, consumer: int, count: int) -> None:
    plan.wait_ops(plan.receive(consumer, count, STARVED_MS))
    plan.receive(consumer, 1, EMPTY_MS)
    plan.wait_ops()


def a_message_in_chunks() -> Case:
    plan = Schedule(stored=chunks(0, 8))
    _starved(plan, plan.consumer(plan.client()), 1)
    return plan.case(
        "flow/chunked-message",
        "A message in eight chunks is sent to a consumer with a queue of ten",
        ("flow.dropped-message-returns-permit",),
        capabilities=("chunking_consumer",),
        consumer=QUEUE,
    )


def a_compacted_batch() -> Case:
    """Store a compacted batch, and a chunk, which every client drops; not all clients check for compacted messages."""
    plan = Schedule()
    entry = batch(range(8))
    for member in entry["members"][1:]:
        member["metadata"] = {"compacted_out": True}
    plan.broker("store_entries", topic="t", entries=[entry, *chunks(8, 2)])
    consumer = plan.consumer(plan.client())
    plan.receive(consumer, 20, EMPTY_MS)
    plan.wait_ops()
    return plan.case(
        "flow/compacted-batch",
        "A batch of eight messages, seven of them compacted away, and a message in two chunks, with a queue of ten",
        ("flow.dropped-message-returns-permit",),
        capabilities=("chunking_consumer",),
        consumer=QUEUE,
    )


def last_chunks_without_first() -> Case:
    """Store last chunks, as a consumer gets them that attaches after another one got the first chunks."""
    plan, consumer = Schedule.with_consumer(stored=[chunks(number, 2)[1] for number in range(8)])
    plan.receive(consumer, 1, EMPTY_MS)
    plan.wait_ops()
    return plan.case(
        "flow/last-chunks-without-first",
        "The last chunks of eight messages without their first ones, for a consumer with a queue of ten",
        ("flow.dropped-message-returns-permit",),
        capabilities=("chunking_consumer",),
        consumer=QUEUE,
    )


def reader_reconnects_inside_batch() -> Case:
    """Reconnect a reader inside a batch: the broker sends the whole batch once more."""
    plan, reader = Schedule.with_consumer(durable=False, stored=[batch(range(8))])
    plan.wait_ops(plan.receive(reader, 7, STARVED_MS))
    # A reader has to remember what was certainly received before its connection ended.
    plan.wait_ms(100)
    cut = plan.last
    plan.wait_frame("SUBSCRIBE", Direction.TO_BROKER, 2)
    _starved(plan, reader, 1)
    return plan.case(
        "flow/reader-reconnects-inside-batch",
        "A reader with a queue of ten loses its connection after it has read seven messages of a batch of eight",
        ("flow.dropped-message-returns-permit",),
        capabilities=("reader",),
        consumer=QUEUE,
        faults=(Fault(trigger=AfterStep(cut), action=Cut()),),
    )


def seek_with_queue_of_one() -> Case:
    """Seek with a queue of one: the broker starts with the message of the seek, which the application already has."""
    plan, consumer = Schedule.with_consumer(stored=plains(range(4)))
    plan.wait_ops(plan.receive(consumer, 3, STARVED_MS))
    plan.wait_ops(plan.seek(consumer, delivery=2))
    _starved(plan, consumer, 2)
    return plan.case(
        "flow/seek-with-queue-of-one",
        "A consumer with a queue of one seeks back to after the second of four messages",
        ("flow.dropped-message-returns-permit",),
        capabilities=("seek",),
        consumer={**EARLIEST, "receiver_queue_size": 1},
    )


def beyond_max_redeliver_count() -> Case:
    """Nack messages more often than the next consumer allows, on a consumer without a dead letter policy, so that they
    are redelivered to that one."""
    plan, client = Schedule.with_client(stored=plains(range(8)))
    before = plan.consumer(client, max_redeliver_count=0)
    for first in (1, 9):
        plan.wait_ops(plan.receive(before, 8, REDELIVERED_MS))
        plan.wait_ops(plan.nack(before, messages=range(first, first + 8)))
    plan.wait_ops(plan.receive(before, 8, REDELIVERED_MS))
    consumer = plan.consumer(client)
    plan.wait_ops(plan.close(before))
    plan.wait_ops(plan.receive(consumer, 1, EMPTY_MS))
    return plan.case(
        "flow/beyond-max-redeliver-count",
        "Eight messages that were nacked twice are redelivered to a consumer that moves messages to a dead letter "
        "topic after one nack",
        ("flow.dropped-message-returns-permit",),
        capabilities=BURIES,
        consumer={**DEAD, "receiver_queue_size": 10},
        topology=TOPICS,
    )


def redelivery_while_others_in_flight() -> Case:
    """Request redelivery of everything while eight messages are in flight, which are then delivered twice."""
    plan, consumer = Schedule.with_consumer_of(plains(range(9)), receives=1)
    plan.wait_ops(plan.nack(consumer, messages=[1]))
    plan.wait_frame(REDELIVER, Direction.TO_BROKER, deadline_ms=REQUESTED_MS)
    plan.wait_ms(PASSED_MS)
    asked = plan.last
    _starved(plan, consumer, 9)
    return plan.case(
        "flow/redelivery-while-others-in-flight",
        "The first of nine messages is nacked on an exclusive subscription, while the others are still in flight",
        ("flow.dropped-message-returns-permit",),
        capabilities=("consumer_epoch", "nack_delay"),
        consumer={**EXCLUSIVE, **QUEUE},
        faults=(Fault(trigger=down("MESSAGE", k=2), action=Hold(), until=Until(step=asked)),),
        limits=Limits(least_wall_ms=DELAY_MS),
    )


def redelivery_of_prefetched() -> Case:
    """On an exclusive subscription all comes again. What lies in the queue may be delivered once more, or is dropped,
    and its permits are due then, as those of a chunk are with every client. The second receive asks for more than can
    come: a client may have fetched all eleven by the nack, whatever its queue, and delivers each of them twice."""
    plan, consumer = Schedule.with_consumer(stored=[*plains(range(10)), *chunks(10, 2)])
    plan.wait_ops(plan.receive(consumer, 1, STARVED_MS))
    plan.wait_ms(PAUSE_MS)
    plan.wait_ops(plan.nack(consumer, messages=[1]))
    plan.wait_frame("REDELIVER_UNACKNOWLEDGED_MESSAGES", Direction.TO_BROKER, deadline_ms=STARVED_MS)
    plan.wait_ms(PAUSE_MS)
    plan.wait_ops(plan.receive(consumer, 2 * 11, STARVED_MS + EMPTY_MS))
    return plan.case(
        "flow/redelivery-of-prefetched",
        "A consumer with a queue of four receives one of eleven messages and nacks it; then it receives all, the last "
        "in two chunks, and waits",
        ("flow.dropped-message-returns-permit", "flow.waiting-receive-has-permits"),
        consumer={**EARLIEST, "receiver_queue_size": 4, "nack_delay_ms": 100},
        capabilities=("chunking_consumer",),
    )


def zero_queue() -> Case:
    """Pause for longer than any answer takes, so that a consumer shows itself that grants permits ahead of a
    receive."""
    plan, consumer = Schedule.with_consumer(stored=plains(range(5)))
    plan.wait_ops(plan.receive(consumer, 2, STARVED_MS))
    plan.wait_ms(PAUSE_MS)
    plan.wait_ops(plan.receive(consumer, 3, STARVED_MS))
    plan.wait_ms(PAUSE_MS)
    return plan.case(
        "flow/zero-queue",
        "A consumer with a queue of zero receives two of five messages, pauses, and receives the rest",
        ("flow.zero-queue-permit-per-receive",),
        capabilities=("zero_queue",),
        consumer={**EARLIEST, "receiver_queue_size": 0},
    )


def zero_queue_handler_across_reconnect() -> Case:
    """Let the handler return after the reconnect: a client that granted a permit before then must not grant another."""
    plan, consumer = Schedule.with_consumer(listener=True, stored=plains(range(1)))
    plan.receive(consumer, 1, STARVED_MS, does=HandlerAct.WAIT, wait=True)
    plan.wait_ops(plan.ack(consumer, messages=[1], inside=1))
    plan.wait_ms(PAUSE_MS)
    cut = plan.last
    plan.wait_frame("SUBSCRIBE", Direction.TO_BROKER, 2)
    plan.wait_ms(PAUSE_MS)
    plan.wait_ops(plan.let_return(consumer, 1))
    plan.wait_ms(PAUSE_MS)
    plan.broker("store_entries", topic="t", entries=plains(range(1, 3)))
    plan.wait_ops(plan.receive(consumer, 2, 2 * STARVED_MS))
    return plan.case(
        "flow/zero-queue-handler-across-reconnect",
        "A consumer with a queue of zero loses its connection while its handler runs, which returns after the "
        "reconnect",
        ("flow.zero-queue-permit-per-receive",),
        capabilities=("zero_queue", "message_listener"),
        consumer={**EARLIEST, "receiver_queue_size": 0, "ack_group_ms": 0},
        faults=(Fault(trigger=AfterStep(cut), action=Cut()),),
    )


def zero_queue_receive_across_reconnect() -> Case:
    plan, consumer = Schedule.with_consumer()
    receive = plan.receive(consumer, 1, 2 * STARVED_MS)
    plan.wait_frame("FLOW", Direction.TO_BROKER)
    cut = plan.last
    plan.wait_frame("SUBSCRIBE", Direction.TO_BROKER, 2)
    plan.wait_frame("FLOW", Direction.TO_BROKER, 2, deadline_ms=STARVED_MS)
    plan.broker("store_entries", topic="t", entries=plains(range(1)))
    plan.wait_ops(receive)
    return plan.case(
        "flow/zero-queue-receive-across-reconnect",
        "A consumer with a queue of zero loses its connection while a receive waits",
        ("flow.zero-queue-renews-after-reconnect", "flow.zero-queue-permit-per-receive"),
        capabilities=("zero_queue",),
        consumer={**EARLIEST, "receiver_queue_size": 0},
        faults=(Fault(trigger=AfterStep(cut), action=Cut()),),
    )
