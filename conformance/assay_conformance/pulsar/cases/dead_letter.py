"""Cases for dead letters and retry letters: messages nacked too often, and messages passed to reconsume_later.

The letter topics are topics of the Case, so that their contents are recorded under known names.
"""

from __future__ import annotations

from typing import Any

import msgspec

from assay_conformance.cases.build import Schedule, down, up
from assay_conformance.cases.stored import batch, chunks, plains
from assay_conformance.model.case import Case, Config, ConfigValue, Isolation, Topic, Topology
from assay_conformance.model.fault import AfterStep, AnswerError, Cut, Drop, Fault, Hold, Scope, Until
from assay_conformance.model.policy import BrokerSettings, DelayedDelivery

TICK = DelayedDelivery(tick_ms=100)
TOPICS = Topology(
    topics=(Topic(name="t"), Topic(name="t-s-DLQ"), Topic(name="t-s-RETRY", delayed_delivery=TICK)),
    settings=BrokerSettings(delayed_strict=True),
)
SHARED: Config = {"subscription_type": "shared", "initial_position": "earliest", "nack_delay_ms": 100}
DEAD: Config = {**SHARED, "max_redeliver_count": 1}
RETRY: Config = {**SHARED, "retry_letters": True}
TO_DLQ, TO_RETRY = Scope(topic="t-s-DLQ"), Scope(topic="t-s-RETRY")
WHOLE: dict[str, Any] = {"key": "k", "ordering_key": "o", "properties": {"sent": "with"}}
"""What a letter has to copy from its message."""

BURIES = ("consumer", "dead_letter")
RETRIES = ("producer", "consumer", "retry_letter")

LATE_MS = 400
"""Longer than the acknowledgment group interval."""

BETWEEN_MS = 40

SENT_AGAIN_MS = 1_500
"""How long reconnecting may take, with the sends that are repeated then."""

LETTER_BYTES = 300

ROUND_MS = 300
BATCHED = 3
KEYS = 8

SHARE_MS = 500
"""How long a consumer waits for its share of the messages: longer than a nack and a redelivery take."""

REDELIVERED_MS = 3_000
"""How long a redelivery may take: a delay, its ticks, and both ways."""

SETTLED_MS = 700
"""How long an acknowledgment may take: longer than any group of them is kept, and any answer takes."""


def _nack(plan: Schedule, consumer: int, times: int) -> None:
    """Receive a message and nack it, this many times."""
    for delivery in range(1, times + 1):
        plan.wait_ops(plan.receive(consumer, 1, REDELIVERED_MS))
        plan.wait_ops(plan.nack(consumer, messages=[delivery]))


def _read_dead_letter(plan: Schedule, client: int, consumer: int) -> None:
    """Receive the dead letter; its first consumer, which nacked the message, gets nothing more."""
    mourner = plan.consumer(client, "t-s-DLQ", max_redeliver_count=0)
    plan.wait_ops(plan.receive(mourner, 1, REDELIVERED_MS))
    plan.wait_ops(plan.receive(consumer, 1, SETTLED_MS))


def nacked_beyond_max_redeliver_count() -> Case:
    plan, client = Schedule.with_client()
    consumer, producer = plan.consumer(client), plan.producer(client)
    plan.wait_ops(plan.send(producer, **WHOLE))
    _nack(plan, consumer, 3)
    _read_dead_letter(plan, client, consumer)
    return plan.case(
        "dead-letter/nacked-beyond-max-redeliver-count",
        "A message with keys and properties may be redelivered twice, and is nacked three times",
        (
            "dead-letter.copy-is-complete",
            "dead-letter.max-redeliver-count",
            "dead-letter.not-batched",
            "nack.request-names-messages",
        ),
        capabilities=("producer", *BURIES),
        consumer={**DEAD, "max_redeliver_count": 2},
        topology=TOPICS,
    )


def partly_acked_batch() -> Case:
    """Acknowledge one message of a batch at each of two redeliveries, and then nack the others.

    A client may move what is left at the second one without delivering it once more.
    """
    plan, client = Schedule.with_client(stored=[batch(range(3))])
    consumer = plan.consumer(client)
    plan.wait_ops(plan.receive(consumer, 3, REDELIVERED_MS))
    plan.wait_ops(plan.nack(consumer, messages=[1, 2, 3]))
    plan.wait_ops(plan.receive(consumer, 3, REDELIVERED_MS))
    plan.wait_ops(plan.ack(consumer, messages=[4]))
    plan.wait_ops(plan.nack(consumer, messages=[5, 6]))
    plan.wait_ops(plan.receive(consumer, 2, REDELIVERED_MS // 2))
    plan.wait_ops(plan.ack(consumer, messages=[7]))
    plan.wait_ops(plan.nack(consumer, messages=[8]))
    reader = plan.consumer(client, "t-s-DLQ", max_redeliver_count=0)
    plan.wait_ops(plan.receive(reader, 3, REDELIVERED_MS))
    return plan.case(
        "dead-letter/partly-acked-batch",
        "Three messages of a batch are nacked; at each of two redeliveries one is acknowledged and the rest is nacked",
        ("dead-letter.acked-stays-out",),
        capabilities=(*BURIES, "batch_index_ack"),
        assumes=("batch_index",),
        consumer={**DEAD, "max_redeliver_count": 2, "nack_delay_ms": 300, "batch_index_ack": True},
        topology=TOPICS,
    )


def batch_beyond_max_redeliver_count() -> Case:
    """Nack all messages of a batch, each time it is delivered, until each of them is a dead letter."""
    plan, client = Schedule.with_client(stored=[batch(range(BATCHED))])
    consumer = plan.consumer(client)
    for round in range(2):
        plan.wait_ops(plan.receive(consumer, BATCHED, REDELIVERED_MS))
        plan.wait_ops(plan.nack(consumer, messages=range(round * BATCHED + 1, (round + 1) * BATCHED + 1)))
    reader = plan.consumer(client, "t-s-DLQ", max_redeliver_count=0)
    plan.receive(reader, BATCHED, REDELIVERED_MS)
    plan.wait_ops(plan.receive(consumer, BATCHED, REDELIVERED_MS // 2))
    return plan.case(
        "dead-letter/batch-beyond-max-redeliver-count",
        "The messages of a batch may be redelivered once, and all of them are nacked twice",
        ("dead-letter.copy-is-complete", "dead-letter.max-redeliver-count", "nack.request-names-messages"),
        capabilities=BURIES,
        consumer={**DEAD, "batch_index_ack": False},
        topology=TOPICS,
    )


def _receipt_late(plan: Schedule, letters: Scope) -> Fault:
    """Hold the first receipt of a letter long enough to see an ACK that does not wait for it."""
    plan.wait_fired(0)
    plan.wait_ms(LATE_MS)
    return Fault(trigger=down("SEND_RECEIPT"), scope=letters, action=Hold(), until=Until(step=plan.last))


def _nacked_twice(
    words: str,
    title: str,
    *faults: Fault,
    about: str = "dead-letter.original-acked-after-receipt",
    late: bool = False,
    **config: ConfigValue,
) -> Case:
    """Nack a message twice.

    The last wait is for a letter that could not be sent at first: its message is redelivered, but not to the
    application. With `late`, the receipt of the letter is delayed.
    """
    plan, client = Schedule.with_client(stored=plains([0]))
    consumer = plan.consumer(client)
    _nack(plan, consumer, 2)
    if late:
        faults = (_receipt_late(plan, TO_DLQ),)
    _read_dead_letter(plan, client, consumer)
    return plan.case(
        f"dead-letter/{words}",
        title,
        (about,),
        capabilities=BURIES,
        consumer={**DEAD, **config},
        topology=TOPICS,
        faults=faults,
        isolation=Isolation.OWN_PROCESS if faults else Isolation.SHARED_PROCESS,
    )


def dead_letter_receipt_late() -> Case:
    return _nacked_twice(
        "receipt-late",
        "The receipt of a dead letter takes longer than the acknowledgment group interval",
        late=True,
    )


def dead_letter_send_error() -> Case:
    return _nacked_twice(
        "send-error",
        "The broker refuses the first send of a dead letter",
        Fault(trigger=up("SEND"), scope=TO_DLQ, action=AnswerError("NotAllowedError")),
    )


def dead_letter_producer_rejected_once() -> Case:
    return _nacked_twice(
        "producer-rejected-once",
        "The broker refuses the producer of dead letters the first time",
        Fault(trigger=up("PRODUCER"), scope=TO_DLQ, action=AnswerError("NotAllowedError")),
    )


def consumer_closed_before_receipt() -> Case:
    """Close a consumer whose letter has no receipt yet.

    The redelivered message is never taken by the application, so the letter may be the last that needs its bytes.
    """
    plan, client = Schedule.with_client()
    consumer, producer = plan.consumer(client), plan.producer(client)
    plan.wait_ops(plan.send(producer, size=LETTER_BYTES, **WHOLE))
    plan.wait_ops(plan.receive(consumer, 1))
    for _ in range(2):
        plan.wait_ops(plan.nack(consumer, messages=[1]))
        plan.wait_ms(ROUND_MS)
    plan.wait_ops(plan.close(consumer))
    plan.wait_ms(BETWEEN_MS)
    cut = plan.last
    plan.wait_ms(SENT_AGAIN_MS)
    return plan.case(
        "dead-letter/consumer-closed-before-receipt",
        "A consumer is closed before its dead letter has a receipt, and the dead letter is sent again",
        ("dead-letter.copy-is-complete",),
        capabilities=("producer", *BURIES),
        producer={"compression": "LZ4"},
        consumer=DEAD,
        topology=TOPICS,
        faults=(
            Fault(trigger=down("SEND_RECEIPT"), scope=TO_DLQ, action=Drop()),
            Fault(trigger=AfterStep(cut), action=Cut()),
        ),
        isolation=Isolation.OWN_PROCESS,
    )


def closed_behind_a_dead_letter() -> Case:
    """Close a consumer whose dead letter has its receipt."""
    plan, client = Schedule.with_client(stored=plains([0]))
    consumer = plan.consumer(client)
    _nack(plan, consumer, 2)
    plan.wait_ms(REDELIVERED_MS)
    plan.wait_ops(plan.close(consumer))
    plan.wait_ms(REDELIVERED_MS)
    return plan.case(
        "dead-letter/closed-behind-a-dead-letter",
        "A consumer is closed when its dead letter has a receipt",
        ("dead-letter.closes-with-consumer",),
        capabilities=BURIES,
        consumer=DEAD,
        topology=TOPICS,
    )


def closed_behind_a_retry_letter() -> Case:
    """Close a consumer whose retry letter has its receipt, and came round."""
    plan, client = Schedule.with_client()
    consumer, producer = plan.consumer(client), plan.producer(client)
    plan.wait_ops(plan.send(producer, **WHOLE))
    plan.wait_ops(plan.receive(consumer, 1, REDELIVERED_MS))
    plan.wait_ops(plan.reconsume_later(consumer, ROUND_MS, messages=[1]))
    plan.wait_ops(plan.receive(consumer, 1, REDELIVERED_MS))
    plan.wait_ops(plan.ack(consumer))
    plan.wait_ops(plan.close(consumer))
    plan.wait_ms(REDELIVERED_MS)
    return plan.case(
        "dead-letter/closed-behind-a-retry-letter",
        "A consumer is closed when its retry letter has a receipt and was received",
        ("dead-letter.closes-with-consumer",),
        capabilities=(*RETRIES, "dead_letter"),
        consumer=RETRY,
        topology=TOPICS,
    )


def initial_subscription() -> Case:
    return _nacked_twice(
        "initial-subscription",
        "The dead letter topic gets a subscription before the first dead letter",
        about="dead-letter.initial-subscription",
        dead_letter_subscription="keeper",
    )


def two_consumers() -> Case:
    """Nack messages on two consumers with different keys, so both send dead letters at the same time."""
    plan, producer = Schedule.with_producer()
    consumers = [plan.consumer(plan.client()) for _ in range(2)]
    for number in range(KEYS):
        plan.send(producer, key=f"k{number}")
    for _ in range(2):
        plan.wait_ops(*(plan.receive(consumer, KEYS, SHARE_MS) for consumer in consumers))
        plan.wait_ops(*(plan.nack(consumer, numbers=range(KEYS)) for consumer in consumers))
    plan.wait_ms(SETTLED_MS)
    return plan.case(
        "dead-letter/two-consumers",
        "Two consumers of one subscription send dead letters",
        ("dead-letter.original-acked-after-receipt",),
        capabilities=("producer", *BURIES),
        consumer={**DEAD, "subscription_type": "key_shared"},
        topology=TOPICS,
    )


def chunked_message() -> Case:
    plan, client = Schedule.with_client(stored=chunks(0, 3, size=5_000))
    consumer = plan.consumer(client)
    _nack(plan, consumer, 2)
    _read_dead_letter(plan, client, consumer)
    return plan.case(
        "dead-letter/chunked-message",
        "A message in three chunks is nacked twice, with frames of at most 2,000 bytes",
        ("dead-letter.large-message-chunked",),
        capabilities=(*BURIES, "chunking_consumer", "chunking_producer"),
        consumer=DEAD,
        topology=msgspec.structs.replace(TOPICS, max_message_bytes=2_000),
        isolation=Isolation.OWN_PROCESS,
    )


def sent_round(
    words: str, title: str, *faults: Fault, rounds: int = 1, late: bool = False, **config: ConfigValue
) -> Case:
    """Send a message to the retry letter topic. With `late`, the receipt of the first letter is delayed."""
    plan, client = Schedule.with_client()
    consumer, producer = plan.consumer(client), plan.producer(client)
    plan.wait_ops(plan.send(producer, **WHOLE))
    for delivery in range(1, rounds + 1):
        plan.wait_ops(plan.receive(consumer, 1, REDELIVERED_MS))
        plan.reconsume_later(consumer, ROUND_MS, messages=[delivery])
        if late and not faults:
            faults = (_receipt_late(plan, TO_RETRY),)
        plan.wait_ops()
    plan.wait_ops(plan.receive(consumer, 1, REDELIVERED_MS if not config else SETTLED_MS))
    plan.wait_ms(SETTLED_MS)
    about = ("retry-letter.original-acked-after-receipt",) if faults else ("retry-letter.copy-is-complete",)
    return plan.case(
        f"retry-letter/{words}",
        title,
        (*about, "dead-letter.copy-is-complete", "dead-letter.max-redeliver-count") if config else about,
        capabilities=(*RETRIES, "dead_letter") if config else RETRIES,
        consumer={**RETRY, **config},
        topology=TOPICS,
        faults=faults,
    )


def beyond_max_redeliver_count() -> Case:
    return sent_round(
        "beyond-max-redeliver-count",
        "A message with a limit of one redelivery is passed to reconsume_later twice",
        rounds=2,
        max_redeliver_count=1,
    )
