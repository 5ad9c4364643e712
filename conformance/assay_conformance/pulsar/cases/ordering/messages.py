"""Ordering: several pending sends while the store is slow or the connection is lost."""

from __future__ import annotations

from assay_conformance.cases.build import Schedule, down, up
from assay_conformance.cases.stored import batch, plain, plains
from assay_conformance.model.case import Case, Limits, Topology
from assay_conformance.model.fault import AfterStep, Cut, Direction, Drop, Fault, Hold, Until
from assay_conformance.model.policy import BrokerSettings
from assay_conformance.pulsar.cases.nack.requests import DELAY_MS, EXCLUSIVE, PASSED_MS, REDELIVER, REQUESTED_MS
from assay_conformance.pulsar.cases.subscription.consumers import KEYS


def nacked_while_others_in_flight() -> Case:
    """Send three more messages after a nack; they are held until redelivery of everything was requested."""
    plan, consumer = Schedule.with_consumer_of(plains(range(3)), receives=3)
    plan.wait_ops(plan.nack(consumer, numbers=[0]))
    plan.broker("store_entries", topic="t", entries=plains(range(3, 6)))
    plan.wait_frame(REDELIVER, Direction.TO_BROKER, deadline_ms=REQUESTED_MS)
    plan.wait_ms(PASSED_MS)
    asked = plan.last
    plan.receive(consumer, 6, timeout_ms=2_000)
    plan.wait_ops()
    return plan.case(
        "nack/nacked-while-others-in-flight",
        "The first of three messages is nacked on an exclusive subscription while three more are in flight",
        ("ordering.old-consumer-epoch-dropped",),
        capabilities=("consumer_epoch",),
        consumer=EXCLUSIVE,
        faults=(Fault(trigger=down("MESSAGE", k=4), action=Hold(), until=Until(step=asked)),),
        limits=Limits(least_wall_ms=DELAY_MS),
    )


LEDGER_ENTRIES, FULL_LEDGERS = 10, 6


def order_across_a_cut() -> Case:
    """Lose two of three sends with the connection; three more follow before the producer has reconnected."""
    plan, client = Schedule.with_client()
    producer = plan.producer(client)
    plan.send(producer, 3)
    plan.wait_frame("PRODUCER", Direction.TO_BROKER, 2)
    plan.send(producer, 3)
    plan.wait_ops(plan.agent("stats", {"handle": producer}))  # the sends before it have been handed to the client
    back = plan.last
    plan.wait_ops()
    consumer = plan.consumer(client)
    plan.receive(consumer, 6, wait=True)
    return plan.case(
        "ordering/order-across-a-cut",
        "Sends go on while the producer reconnects, and are stored and dispatched in order",
        ("ordering.keeps-send-order",),
        capabilities=("consumer",),
        faults=(
            Fault(trigger=up("SEND", k=2), action=Drop()),
            Fault(trigger=up("SEND", k=3), action=Cut(before=True)),
            # A broker with a high latency has not answered by then, and need not be held.
            Fault(trigger=down("PRODUCER_SUCCESS", k=2), action=Hold(), until=Until(step=back), optional=True),
        ),
    )


def pipelined_sends() -> Case:
    """Send many at once, without any fault: a broker must store all, and acknowledge what it stores."""
    plan, client = Schedule.with_client()
    producer = plan.producer(client)
    plan.send(producer, 30)
    plan.wait_ops()
    consumer = plan.consumer(client)
    plan.receive(consumer, 30, wait=True)
    return plan.case(
        "ordering/pipelined-sends",
        "Thirty sends at once are all stored, in order",
        ("ordering.keeps-send-order",),
        capabilities=("consumer",),
    )


def receipts_after_slow_write() -> Case:
    plan, producer = Schedule.with_producer()
    with plan.held():
        plan.send(producer, 4)
        plan.wait_sends(4)
    plan.wait_ops()
    return plan.case(
        "ordering/receipts-after-slow-write",
        "Four sends become durable at the same moment, and get their receipts in order",
        ("ordering.receipts-in-send-order",),
    )


def sequence_ids_across_reconnect() -> Case:
    plan, producer = Schedule.with_producer()
    plan.send(producer, 2)
    plan.wait_ops()
    plan.wait_frame("PRODUCER_SUCCESS", Direction.TO_CLIENT, 2)
    plan.wait_ops(plan.send(producer))  # once this one has ended, the client has certainly seen PRODUCER_SUCCESS
    plan.wait_ops(plan.send(producer))
    return plan.case(
        "ordering/sequence-ids-across-reconnect",
        "Sequence ids continue after a reconnect",
        ("ordering.sequence-ids-increase-by-one",),
        faults=(Fault(trigger=down("SEND_RECEIPT", k=2), action=Cut()),),
    )


def sequence_ids_across_early_reconnect() -> Case:
    """Reconnect while the broker has no last sequence id: that must not reset the producer's ids."""
    plan, producer = Schedule.with_producer()
    plan.wait_ops(plan.send(producer, 3))
    plan.wait_ops(plan.send(producer, 2))
    return plan.case(
        "ordering/sequence-ids-across-early-reconnect",
        "The connection is lost at the very first SEND, and sequence ids continue after those already assigned",
        ("ordering.sequence-ids-increase-by-one",),
        faults=(Fault(trigger=up("SEND"), action=Cut(before=True)),),
    )


def sequence_ids_of_batches() -> Case:
    plan, producer = Schedule.with_producer()
    for _ in range(2):
        plan.send(producer, 3)
        plan.wait_ops(plan.flush(producer))
    plan.wait_ops()
    return plan.case(
        "ordering/sequence-ids-of-batches",
        "A batch takes one sequence id for each of its messages",
        ("ordering.sequence-ids-increase-by-one",),
        capabilities=("batching",),
        producer={"batching": True, "batching_max_publish_delay_ms": 500},
    )


def callbacks_of_late_receipts() -> Case:
    plan, producer = Schedule.with_producer()
    plan.send(producer, 6)
    plan.wait_receipts(6)
    crossed = plan.last
    plan.wait_ops()
    return plan.case(
        "ordering/callbacks-of-late-receipts",
        "Six receipts arrive together, and six callbacks run in order",
        ("ordering.callbacks-in-send-order",),
        faults=(Fault(trigger=down("SEND_RECEIPT"), action=Hold(), until=Until(step=crossed)),),
    )


def delivery_across_a_cut() -> Case:
    """Cut the connection when half of a batch was received: nothing was acknowledged, so everything is redelivered."""
    plan, consumer = Schedule.with_consumer(stored=[*plains(range(3)), batch(range(3, 7)), *plains(range(7, 9))])
    plan.wait_ops(plan.receive(consumer, 5))
    cut = plan.last
    plan.wait_frame("SUBSCRIBE", Direction.TO_BROKER, 2)
    plan.wait_ops(plan.receive(consumer, 9, 1_500))
    return plan.case(
        "ordering/delivery-across-a-cut",
        "Single messages and a batch are received in order, before and after a reconnect",
        ("ordering.delivers-in-message-id-order",),
        faults=(Fault(trigger=AfterStep(cut), action=Cut()),),
    )


def keys_across_a_cut() -> Case:
    """Send two keys in turn, with a batch of each; nothing is acknowledged before the cut, so everything is
    redelivered."""
    plan = Schedule()
    singles = [plain(number) | {"key": "ab"[number % 2]} for number in range(6)]
    batches = [batch(range(6, 9)) | {"key": "a"}, batch(range(9, 12)) | {"key": "b"}]
    plan.broker("store_entries", topic="t", entries=[*singles[:4], *batches, *singles[4:]])
    consumer = plan.consumer(plan.client())
    plan.wait_ops(plan.receive(consumer, 7))
    cut = plan.last
    plan.wait_frame("SUBSCRIBE", Direction.TO_BROKER, 2)
    plan.wait_ops(plan.receive(consumer, 12, 1_500))
    return plan.case(
        "ordering/keys-across-a-cut",
        "Messages of two keys, unbatched and in batches, are received in order, before and after a reconnect",
        ("ordering.key-delivered-in-order",),
        consumer={"subscription_type": "key_shared"},
        faults=(Fault(trigger=AfterStep(cut), action=Cut()),),
    )


def message_ids_across_new_ledgers() -> Case:
    """Load a topic several times: every load begins a new ledger."""
    plan, client = Schedule.with_client()
    producer = plan.producer(client)
    for _ in range(2):
        plan.wait_ops(plan.send(producer, 4))
        plan.broker("unload", topic="t")
    plan.wait_ops(plan.send(producer, 4))
    consumer = plan.consumer(client)
    plan.receive(consumer, 12, wait=True)
    return plan.case(
        "ordering/message-ids-across-new-ledgers",
        "Twelve messages are stored in three ledgers, since their topic is unloaded twice",
        ("ordering.message-ids-increase",),
        capabilities=("consumer", "resend_pending"),
    )


def message_ids_across_full_ledgers() -> Case:
    """Fill ledgers without closing a connection or producer: pending sends are stored in the next ledger."""
    plan, client = Schedule.with_client()
    consumer, producer = plan.consumer(client), plan.producer(client)
    plan.send(producer, FULL_LEDGERS * LEDGER_ENTRIES)
    plan.receive(consumer, FULL_LEDGERS * LEDGER_ENTRIES)
    plan.wait_received(consumer, FULL_LEDGERS * LEDGER_ENTRIES)
    return plan.case(
        "ordering/message-ids-across-full-ledgers",
        "Messages are sent without a pause, and every ten of them fill a ledger",
        ("ordering.message-ids-increase", "ordering.keeps-send-order"),
        capabilities=("consumer",),
        topology=Topology(settings=BrokerSettings(ledger_entries=LEDGER_ENTRIES)),
    )


NOTHING_MS = 200
"""How long a consumer must not get keys with unacknowledged entries elsewhere: longer than acknowledgments take to be
sent."""


def key_shared_consumers_join_and_leave() -> Case:
    """Join a second consumer, which takes over keys with entries that are unacknowledged at the first.

    The first one then acknowledges half of them and leaves with the rest.
    """
    plan, client = Schedule.with_client()
    keyed = [plain(number) | {"key": KEYS[number % len(KEYS)]} for number in range(24)]
    plan.broker("store_entries", topic="t", entries=keyed[:12])
    first = plan.consumer(client, consumer_name="a")
    plan.wait_ops(plan.receive(first, 12))
    second = plan.consumer(client, consumer_name="b")
    plan.broker("store_entries", topic="t", entries=keyed[12:])
    plan.wait_ms(NOTHING_MS)
    plan.wait_ops(plan.ack(first, numbers=range(6)))
    plan.wait_ms(NOTHING_MS)
    plan.wait_ops(plan.close(first))
    plan.receive(second, 18, timeout_ms=2_000)
    plan.wait_received(second, 18, deadline_ms=2_000)
    return plan.case(
        "subscription/key-shared-consumers-join-and-leave",
        "A Key_Shared consumer joins while keys have unacknowledged entries, and another leaves with unacknowledged "
        "entries",
        ("ordering.key-shared-keeps-order",),
        consumer={"subscription_type": "key_shared"},
        capabilities=("consumer",),
    )


CASES = (
    nacked_while_others_in_flight(),
    message_ids_across_new_ledgers(),
    message_ids_across_full_ledgers(),
    order_across_a_cut(),
    pipelined_sends(),
    receipts_after_slow_write(),
    sequence_ids_across_reconnect(),
    sequence_ids_across_early_reconnect(),
    sequence_ids_of_batches(),
    callbacks_of_late_receipts(),
    delivery_across_a_cut(),
    keys_across_a_cut(),
    key_shared_consumers_join_and_leave(),
)
