"""Cases for acknowledgment: grouping, cumulative order, close, outages, and redeliveries meanwhile.

The group interval is 100 ms where it can be set; some clients have a fixed one.
"""

from __future__ import annotations

from assay_conformance.cases.build import STARVED_MS, Schedule, down, up
from assay_conformance.cases.stored import batch, plain, plains
from assay_conformance.model.case import Case, Config, Isolation
from assay_conformance.model.fault import AfterStep, Cut, Direction, Fault, Hold, Refuse, Until

GROUPED: Config = {"initial_position": "earliest", "ack_group_ms": 100, "ack_group_max": 1_000}
HOLDING: Config = {**GROUPED, "ack_group_ms": 2_000, "subscription_type": "shared", "nack_delay_ms": 100}

FLUSHED_MS = 300
"""A group interval, its tolerance and a margin: an ACK that has not been sent by then will not be sent."""

MOMENT_MS = 12
"""The pause between two acks that belong to one group, and that a client without grouping sends separately."""

MORE_THAN_A_GROUP = 2_200

NOTICED_MS = 150
"""A client has noticed by then that its connection is closed."""

AWAY_MS = 600
"""Several group intervals: time to reconnect for a client that completes no acknowledgment while it is disconnected."""
STEADY_MS = 60
"""Less than a group interval: a timer that each ack restarts would never fire."""


def within_one_group_time() -> Case:
    plan, consumer = Schedule.with_consumer_of(plains(range(10)), receives=10)
    plan.ack(consumer, numbers=range(5))
    plan.wait_ms(FLUSHED_MS)
    for number in range(5, 10):
        plan.ack(consumer, numbers=[number])
        plan.wait_ms(MOMENT_MS)
    plan.wait_ms(FLUSHED_MS)
    return plan.case(
        "ack/within-one-group-time",
        "Five acks at once, then five within one group interval",
        ("ack.flushed-in-time", "ack.flush-sends-one-command"),
        consumer=GROUPED,
    )


def cumulative_and_individual_in_one_group() -> Case:
    plan, consumer = Schedule.with_consumer_of(plains(range(6)), receives=6)
    plan.ack(consumer, numbers=[1], cumulative=True)
    plan.ack(consumer, numbers=[3, 5])
    plan.wait_ms(FLUSHED_MS)
    return plan.case(
        "ack/cumulative-and-individual-in-one-group",
        "A cumulative acknowledgment and two individual ones wait in the same group",
        ("ack.cumulative-has-one-message-id", "ack.flushed-in-time"),
        capabilities=("cumulative_ack",),
        consumer=GROUPED,
    )


def continuous_acks() -> Case:
    """Acknowledge more than once in every interval, which must not postpone earlier acks."""
    plan, consumer = Schedule.with_consumer_of(plains(range(8)), receives=8)
    for number in range(8):
        plan.ack(consumer, numbers=[number])
        plan.wait_ms(STEADY_MS)
    plan.wait_ms(FLUSHED_MS)
    return plan.case(
        "ack/continuous-acks",
        "Eight acks, 60 ms apart, with a group interval of 100 ms",
        ("ack.flushed-in-time",),
        consumer=GROUPED,
    )


def cumulative_out_of_order() -> Case:
    plan, consumer = Schedule.with_consumer_of(plains(range(10)), receives=10)
    plan.ack(consumer, numbers=[4, 8, 6], cumulative=True)
    plan.wait_ms(FLUSHED_MS)
    return plan.case(
        "ack/cumulative-out-of-order",
        "Cumulative acks of messages 4, 8 and 6 within one group interval",
        ("ack.cumulative-keeps-greatest",),
        consumer=GROUPED,
    )


def close_with_pending_acks() -> Case:
    """Close a consumer with pending acks three times, since one close may coincide with a flush."""
    plan, client = Schedule.with_client(stored=plains(range(3)))
    for subscription in ("first", "second", "third"):
        consumer = plan.consumer(client, subscription=subscription)
        plan.receive(consumer, 3)
        plan.wait_ops()
        plan.ack(consumer)
        plan.close(consumer)
        plan.wait_ops()
    return plan.case(
        "ack/close-with-pending-acks",
        "Three consumers acknowledge messages and are closed right after that",
        ("ack.flushed-on-close",),
        consumer=GROUPED,
    )


def full_group() -> Case:
    """Acknowledge more than two groups at once: even if the timer flushes some of them, a whole group is left."""
    plan, consumer = Schedule.with_consumer_of([{**plain(0), "copies": MORE_THAN_A_GROUP}], receives=MORE_THAN_A_GROUP)
    plan.ack(consumer)
    plan.wait_ops()
    plan.wait_ms(FLUSHED_MS)
    return plan.case(
        "ack/full-group",
        "2,200 messages are acknowledged at once; a group holds at most 1,000",
        ("ack.full-group-flushed-at-once",),
        consumer={**GROUPED, "ack_group_ms": 1_000},
        # So many messages at once would delay the timers of other Cases.
        isolation=Isolation.EXCLUSIVE,
    )


def full_group_of_parts() -> Case:
    """Fill a group with entries and with parts of batches, neither of which would fill it alone."""
    plan, consumer = Schedule.with_consumer_of([*plains(range(2)), batch([2, 3]), batch([4, 5])], receives=6)
    plan.wait_ops(plan.ack(consumer, numbers=[0, 1, 2, 4]))
    plan.wait_ms(FLUSHED_MS)
    return plan.case(
        "ack/full-group-of-parts",
        "Two messages and parts of two batches are acknowledged at once, a group takes four entries",
        ("ack.full-group-flushed-at-once",),
        capabilities=("batch_index_ack",),
        consumer={**GROUPED, "ack_group_ms": 1_000, "ack_group_max": 4, "batch_index_ack": True},
    )


def zero_group_time() -> Case:
    plan, consumer = Schedule.with_consumer_of(plains(range(8)), receives=8)
    plan.ack(consumer, numbers=[0])
    plan.wait_ms(MOMENT_MS)
    plan.ack(consumer, numbers=[1, 2])
    plan.wait_ms(MOMENT_MS)
    plan.ack(consumer, numbers=[5], cumulative=True)
    plan.wait_ms(FLUSHED_MS)
    # No later cumulative ack covers these.
    plan.ack(consumer, numbers=[6, 7])
    plan.wait_ms(FLUSHED_MS)
    return plan.case(
        "ack/zero-group-time",
        "With a group interval of 0: an ack of one message, of two, a cumulative one, and an ack of two",
        ("ack.zero-group-time-is-immediate",),
        consumer={**GROUPED, "ack_group_ms": 0},
    )


def while_disconnected() -> Case:
    """Refuse connections for so long that a flush is due during the outage."""
    plan, consumer = Schedule.with_consumer_of(plains(range(4)), receives=4)
    plan.ack(consumer, numbers=[0])
    plan.wait_frame("ACK", Direction.TO_BROKER)
    lost = plan.last
    plan.wait_fired(1)
    plan.wait_ms(NOTICED_MS)
    plan.wait_ops(plan.ack(consumer, numbers=[1]), plan.ack(consumer, numbers=[2, 3]), deadline_ms=AWAY_MS)
    plan.wait_ms(FLUSHED_MS)
    away = plan.last
    plan.wait_frame("FLOW", Direction.TO_BROKER, count=2)
    plan.wait_ms(FLUSHED_MS)
    return plan.case(
        "ack/while-disconnected",
        "Three messages are acknowledged while the connection is gone",
        ("ack.kept-while-disconnected",),
        consumer={**GROUPED, "subscription_type": "shared"},
        faults=(
            Fault(trigger=AfterStep(step=lost), action=Refuse(), until=Until(step=away)),
            Fault(trigger=AfterStep(step=lost), action=Cut()),
        ),
    )


def redelivered_while_ack_grouped() -> Case:
    """Nack, then acknowledge at once: the redelivery comes long before the group interval ends. It is held until the
    client has taken the ack, however short its redelivery delay is.
    """
    plan, consumer = Schedule.with_consumer_of(plains(range(2)), receives=2)
    plan.nack(consumer, numbers=[0])
    plan.wait_ops(plan.ack(consumer, numbers=[0, 1]))
    taken = plan.last
    plan.wait_frame("MESSAGE", Direction.TO_CLIENT, count=3, deadline_ms=1_500)
    plan.receive(consumer, 1, timeout_ms=100)
    plan.wait_ops()
    return plan.case(
        "ack/redelivered-while-ack-grouped",
        "A nacked message is acknowledged, and is redelivered before its ACK is sent",
        ("ack.grouped-ack-filters-redelivery",),
        consumer=HOLDING,
        faults=(Fault(trigger=down("MESSAGE", k=3), action=Hold(), until=Until(step=taken), optional=True),),
        # This capability says that the interval can be set.
        capabilities=("immediate_ack",),
    )


def redelivered_after_lost_ack() -> Case:
    """Cut the connection at the ACK: the broker never gets it, and redelivers what the application acknowledged."""
    plan, consumer = Schedule.with_consumer_of(plains(range(4)), receives=3)
    plan.ack(consumer, numbers=[1], cumulative=True)
    plan.wait_fired(0)
    plan.receive(consumer, 2)
    plan.wait_ops()
    plan.wait_ms(FLUSHED_MS)
    return plan.case(
        "ack/redelivered-after-lost-ack",
        "The connection is lost when a cumulative ACK is sent, before the broker gets it",
        ("ack.grouped-ack-filters-redelivery",),
        consumer=GROUPED,
        faults=(Fault(trigger=up("ACK"), action=Cut(before=True)),),
    )


def dropped_redelivery_returns_permit() -> Case:
    """Drop redelivered messages with a queue of one: if a permit is not returned, none is left.

    A client that fetches one message beyond its queue has already received it before the cut; it gets time to reconnect
    all the same.
    """
    plan, consumer = Schedule.with_consumer_of(plains(range(4)), receives=2)
    plan.ack(consumer, numbers=[1], cumulative=True)
    plan.wait_fired(0)
    plan.receive(consumer, 2, timeout_ms=STARVED_MS)
    plan.wait_ops()
    plan.wait_frame("SUBSCRIBE", Direction.TO_BROKER, 2)
    plan.wait_ms(FLUSHED_MS)
    return plan.case(
        "ack/dropped-redelivery-returns-permit",
        "The connection is lost when a cumulative ACK is sent, with a receiver queue of one message",
        ("ack.grouped-ack-filters-redelivery",),
        consumer={**GROUPED, "receiver_queue_size": 1},
        faults=(Fault(trigger=up("ACK"), action=Cut(before=True)),),
    )


def cumulative_on_shared() -> Case:
    plan, consumer = Schedule.with_consumer_of(plains(range(2)), receives=2)
    plan.ack(consumer, numbers=[1], cumulative=True)
    plan.wait_ops()
    plan.wait_ms(FLUSHED_MS)
    return plan.case(
        "ack/cumulative-on-shared",
        "A cumulative acknowledgment on a shared subscription",
        ("ack.no-cumulative-on-shared",),
        consumer={**GROUPED, "subscription_type": "shared"},
    )


CASES = (
    cumulative_and_individual_in_one_group(),
    within_one_group_time(),
    continuous_acks(),
    full_group(),
    full_group_of_parts(),
    zero_group_time(),
    cumulative_out_of_order(),
    close_with_pending_acks(),
    while_disconnected(),
    redelivered_while_ack_grouped(),
    redelivered_after_lost_ack(),
    dropped_redelivery_returns_permit(),
    cumulative_on_shared(),
)
