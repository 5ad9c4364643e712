"""Cases for permits of what no application sees, and for consumers without a queue.

Of a queue of ten more than half is dropped: a client that does not return those permits has less than half of them
left, and nothing makes it grant more.
"""

from __future__ import annotations

from assay_conformance.cases.build import EARLIEST, STARVED_MS, Schedule
from assay_conformance.cases.stored import batch, chunks, plains
from assay_conformance.model.case import Case, Config
from assay_conformance.model.fault import AfterStep, Cut, Direction, Fault

QUEUE: Config = {**EARLIEST, "receiver_queue_size": 10}

EMPTY_MS = 1_000
"""How long a receive waits that shows the queue to be empty: longer than permits take."""

PAUSE_MS = 200


def _starved(plan: Schedule, consumer: int, count: int) -> None:
    plan.wait_ops(plan.receive(consumer, count, STARVED_MS))
    plan.receive(consumer, 1, EMPTY_MS)
    plan.wait_ops()


def a_message_in_chunks() -> Case:
    plan = Schedule()
    plan.broker("store_entries", topic="t", entries=chunks(0, 8))
    _starved(plan, plan.consumer(plan.client()), 1)
    return plan.case(
        "flow/message-in-chunks",
        "A message in eight chunks for a consumer with a queue of ten",
        ("flow.dropped-return-permits",),
        capabilities=("chunking_consumer",),
        consumer=QUEUE,
    )


def a_compacted_batch() -> Case:
    """With a chunk, which every client drops: not all of them look at what was compacted away."""
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
        "A batch of eight, seven of them compacted away, and a message in two chunks, with a queue of ten",
        ("flow.dropped-return-permits",),
        capabilities=("chunking_consumer",),
        consumer=QUEUE,
    )


def one_at_a_time() -> Case:
    """The pause is longer than any answer takes: whoever asks ahead shows itself."""
    plan = Schedule()
    plan.broker("store_entries", topic="t", entries=plains(range(5)))
    consumer = plan.consumer(plan.client())
    plan.wait_ops(plan.receive(consumer, 2, STARVED_MS))
    plan.wait_ms(PAUSE_MS)
    plan.wait_ops(plan.receive(consumer, 3, STARVED_MS))
    plan.wait_ms(PAUSE_MS)
    return plan.case(
        "flow/one-at-a-time",
        "A consumer without a queue takes two of five messages, waits, and takes the rest",
        ("flow.permit-for-receive",),
        capabilities=("zero_queue",),
        consumer={**EARLIEST, "receiver_queue_size": 0},
    )


def waiting_over_a_reconnect() -> Case:
    plan = Schedule()
    consumer = plan.consumer(plan.client())
    receive = plan.receive(consumer, 1, 2 * STARVED_MS)
    plan.wait_frame("FLOW", Direction.TO_BROKER)
    cut = plan.last
    plan.wait_frame("SUBSCRIBE", Direction.TO_BROKER, 2)
    plan.wait_frame("FLOW", Direction.TO_BROKER, 2, deadline_ms=STARVED_MS)
    plan.broker("store_entries", topic="t", entries=plains(range(1)))
    plan.wait_ops(receive)
    return plan.case(
        "flow/waiting-over-a-reconnect",
        "A consumer without a queue loses its connection while its application waits for a message",
        ("flow.waiting-receive-asks-again", "flow.permit-for-receive"),
        capabilities=("zero_queue",),
        consumer={**EARLIEST, "receiver_queue_size": 0},
        faults=(Fault(trigger=AfterStep(cut), action=Cut()),),
    )


CASES = (
    a_message_in_chunks(),
    a_compacted_batch(),
    one_at_a_time(),
    waiting_over_a_reconnect(),
)
