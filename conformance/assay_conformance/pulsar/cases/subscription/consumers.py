"""Subscriptions: two consumers of each type, and one that reconnects."""

from __future__ import annotations

from assay_conformance.cases.build import EARLIEST, Schedule, down
from assay_conformance.cases.stored import batch, plain, plains
from assay_conformance.model.case import Case, Limits, Tier, Topic, Topology
from assay_conformance.model.fault import AfterStep, Cut, Direction, Fault, Hold, Refuse, Until
from assay_conformance.model.policy import BrokerSettings, Retention

SWITCH_MS = 100
QUICK_FAILOVER = Topology(topics=(Topic(name="t"),), settings=BrokerSettings(failover_delay_ms=SWITCH_MS))
CLOSES_NOTICED_MS = 700
RETURN_NOTICED_MS = 6_000  # some clients try again every five seconds
"""Long enough to show that no CLOSE_CONSUMER is sent, and that the consumer does not subscribe again after its
backoff."""

RETURNED_MS = 1_500
"""The time in which consumers of an unloaded topic have subscribed again, and one of them is active."""

KEYS = ("a", "b", "c", "d", "e", "f")


def second_exclusive_consumer() -> Case:
    plan, client = Schedule.with_client()
    first = plan.consumer(client)
    plan.wait_ops(plan.consumer(client, wait=False))
    plan.broker("store_entries", topic="t", entries=plains(range(2)))
    plan.receive(first, 2, wait=True)
    return plan.case(
        "subscription/second-exclusive-consumer",
        "A second consumer subscribes to an exclusive subscription that has a consumer",
        ("subscription.exclusive-one-consumer",),
        capabilities=("consumer",),
    )


def closed_while_subscribing(words: str, title: str, *, cut: bool) -> Case:
    """Admit the consumer after its application has closed it."""
    plan, consumer = Schedule.with_consumer(stored=plains(range(2)))
    plan.wait_ops(plan.receive(consumer, 1))
    opened = plan.last
    if not cut:
        plan.broker("unload", topic="t")
    plan.wait_fired(0)
    plan.close(consumer)
    plan.wait_ms(100)  # for the client to have begun
    asked = plan.last
    plan.wait_ops()
    plan.wait_ms(CLOSES_NOTICED_MS)
    held = Fault(trigger=down("SUCCESS", k=2), action=Hold(overtake=True), until=Until(step=asked))
    return plan.case(
        f"subscription/{words}",
        title,
        ("subscription.closed-stays-closed",),
        consumer=EARLIEST,
        faults=(held, Fault(trigger=AfterStep(opened), action=Cut())) if cut else (held,),
    )


def closed_while_disconnected() -> Case:
    plan, consumer = Schedule.with_consumer()
    opened = plan.last
    plan.wait_fired(0)
    plan.wait_ops(plan.close(consumer))
    plan.heal(0)
    plan.wait_ms(RETURN_NOTICED_MS)
    return plan.case(
        "subscription/closed-while-disconnected",
        "A consumer is closed while no connection can be made, and does not subscribe again when one can",
        ("subscription.closed-stays-closed",),
        faults=(
            Fault(trigger=AfterStep(opened), action=Refuse()),
            Fault(trigger=AfterStep(opened), action=Cut()),
        ),
    )


def failover_active_consumer_leaves() -> Case:
    plan, client = Schedule.with_client()
    plan.broker("store_entries", topic="t", entries=plains(range(6)))
    active = plan.consumer(client, consumer_name="a")
    plan.receive(active, 6, wait=True)
    standby = plan.consumer(client, consumer_name="b")
    plan.wait_ops(plan.ack(active, numbers=[0, 1]))
    plan.wait_ops(plan.close(active))
    plan.broker("store_entries", topic="t", entries=plains(range(6, 8)))
    plan.receive(standby, 6, wait=True)
    return plan.case(
        "subscription/failover-active-consumer-leaves",
        "The active consumer of a failover subscription leaves with four of six messages unacknowledged",
        ("subscription.failover-redelivers-unacked",),
        consumer={"subscription_type": "failover"},
        capabilities=("consumer",),
        topology=QUICK_FAILOVER,
    )


def state_listeners() -> Case:
    """Unload the topic, and close one of two consumers: the other one becomes active on that one's partition."""
    plan = Schedule()
    first_client, second_client = plan.client(), plan.client()
    first = plan.consumer(first_client, state_listener=True)
    plan.wait_ms(2 * SWITCH_MS)
    second = plan.consumer(second_client, state_listener=True)
    plan.wait_ms(2 * SWITCH_MS)
    plan.broker("unload", topic="t")
    plan.wait_ms(RETURNED_MS)
    plan.wait_ops(plan.close(first))
    plan.wait_ms(CLOSES_NOTICED_MS)
    plan.wait_ops(plan.close(second))
    return plan.case(
        "subscription/state-listeners",
        "Two failover consumers of two partitions learn when they are active: as they subscribe, when they reconnect, "
        "and when one leaves",
        ("subscription.state-listener-follows-broker",),
        capabilities=("consumer", "state_listener", "partitioned_topics"),
        consumer={**EARLIEST, "subscription_type": "failover"},
        topology=Topology(topics=(Topic(name="t", partitions=2),), settings=QUICK_FAILOVER.settings),
    )


def shared_consumer_leaves() -> Case:
    plan, client = Schedule.with_client()
    plan.broker("store_entries", topic="t", entries=plains(range(6)))
    leaver = plan.consumer(client)
    plan.receive(leaver, 6, wait=True)
    heir = plan.consumer(client)
    plan.wait_ops(plan.close(leaver))
    plan.receive(heir, 6, timeout_ms=2_000)
    plan.wait_received(heir, 6, deadline_ms=2_000)
    return plan.case(
        "subscription/shared-consumer-leaves",
        "A shared consumer leaves with six messages unacknowledged",
        ("subscription.shared-entry-at-one-consumer",),
        consumer={"subscription_type": "shared"},
        capabilities=("consumer",),
    )


def key_shared_two_consumers() -> Case:
    plan, client = Schedule.with_client()
    for name in ("a", "b"):
        plan.receive(plan.consumer(client, consumer_name=name), 24, timeout_ms=1_000)
    entries = [plain(number) | {"key": KEYS[number % len(KEYS)]} for number in range(24)]
    plan.broker("store_entries", topic="t", entries=entries)
    plan.wait_frame("MESSAGE", Direction.TO_CLIENT, 24)
    return plan.case(
        "subscription/key-shared-two-consumers",
        "Two Key_Shared consumers receive six keys with four messages each",
        ("subscription.key-shared-same-consumer",),
        consumer={"subscription_type": "key_shared"},
        capabilities=("consumer",),
    )


def resubscribes_with_latest_position() -> Case:
    plan, client = Schedule.with_client()
    plan.broker("store_entries", topic="t", entries=plains(range(6)))
    first = plan.consumer(client)
    plan.receive(first, 6, wait=True)
    plan.wait_ops(plan.ack(first, numbers=[0, 1, 2]))
    plan.wait_ops(plan.close(first))
    again = plan.consumer(client, initial_position="latest")
    plan.broker("store_entries", topic="t", entries=[plain(6)])
    plan.receive(again, 4, timeout_ms=2_000)
    plan.wait_received(again, 4, deadline_ms=2_000)
    return plan.case(
        "subscription/resubscribes-with-latest-position",
        "Three of six messages are acknowledged; the next consumer subscribes with the initial position latest",
        ("subscription.resumes-at-first-unacked", "subscription.unsubscribes-on-request"),
        capabilities=("consumer",),
    )


NOTHING_RETAINED = Topology(topics=(Topic(name="t", retention=Retention()),))

SETTLED_MS = 500
"""Time from the acknowledgments to an unload: an ACK that arrives during the unload is lost."""

UNLOADED_MS = 1_400
"""Time from an unload to the next consumer: a broker loads the topic, and deletes ledgers in the background."""


def _acknowledges(plan: Schedule, consumer: int, count: int) -> None:
    """Receive and acknowledge this many messages."""
    plan.receive(consumer, count, wait=True)
    plan.wait_ops(plan.ack(consumer))
    plan.wait_frame("ACK", Direction.TO_BROKER)


def _comes_late(plan: Schedule, client: int, expected: int) -> None:
    """Unload the topic and store another message; then start a new subscription at the earliest message."""
    plan.wait_ms(SETTLED_MS)
    plan.broker("unload", topic="t")
    plan.wait_ms(UNLOADED_MS)
    plan.broker("store_entries", topic="t", entries=[plain(90)])
    late = plan.consumer(client, subscription="late")
    plan.receive(late, expected, timeout_ms=2_000)
    plan.wait_received(late, expected, deadline_ms=2_000)


def acked_by_one_of_two_subscriptions() -> Case:
    plan, client = Schedule.with_client()
    quick, slow = (plan.consumer(client, subscription=name) for name in ("quick", "slow"))
    plan.broker("store_entries", topic="t", entries=[*plains(range(4)), batch(range(4, 7))])
    _acknowledges(plan, quick, 7)
    _acknowledges(plan, slow, 2)
    _comes_late(plan, client, 6)
    return plan.case(
        "subscription/acked-by-one-of-two-subscriptions",
        "One of two subscriptions has acknowledged everything when its topic is unloaded, and a third one is added",
        ("subscription.retains-until-acked",),
        capabilities=("consumer",),
        topology=NOTHING_RETAINED,
        limits=Limits(least_wall_ms=1_700),
    )


def acked_by_all_subscriptions() -> Case:
    plan, client = Schedule.with_client()
    consumer = plan.consumer(client)
    plan.broker("store_entries", topic="t", entries=plains(range(4)))
    _acknowledges(plan, consumer, 4)
    _comes_late(plan, client, 1)
    return plan.case(
        "subscription/acked-by-all-subscriptions",
        "Everything is acknowledged and nothing is retained when a topic is unloaded, and another subscription is "
        "added",
        ("subscription.retains-until-acked",),
        capabilities=("consumer",),
        topology=NOTHING_RETAINED,
        limits=Limits(least_wall_ms=1_700),
    )


def _too_old(id: str, title: str, check_ms: int, tier: Tier) -> Case:
    """Let messages with a time to live of a second expire on a subscription without a consumer.

    The broker checks at intervals.
    """
    plan, client = Schedule.with_client()
    plan.wait_ops(plan.close(plan.consumer(client)))
    plan.broker("store_entries", topic="t", entries=plains(range(3)))
    away_ms = 1_000 + 2 * check_ms + 700
    plan.wait_ms(away_ms)
    plan.broker("store_entries", topic="t", entries=[plain(3)])
    consumer = plan.consumer(client)
    plan.receive(consumer, 1, timeout_ms=2_000)
    plan.wait_received(consumer, 1, deadline_ms=2_000)
    return plan.case(
        id,
        title,
        ("subscription.retains-until-acked",),
        capabilities=("consumer",),
        topology=Topology(
            topics=(Topic(name="t", message_ttl_s=1),), settings=BrokerSettings(expiry_check_ms=check_ms)
        ),
        limits=Limits(least_wall_ms=away_ms, case_ms=away_ms + 20_000),
        tier=tier,
    )


def ttl_expired_when_requested() -> Case:
    title = "Messages with a time to live of 1 s wait for two, for a broker that checks twice a second"
    return _too_old("subscription/ttl-expired-when-requested", title, 500, Tier.FAST)


def ttl_checked_each_minute() -> Case:
    title = "Messages with a time to live of 1 s wait for two minutes, for a broker that checks once a minute"
    return _too_old("subscription/ttl-checked-each-minute", title, 60_000, Tier.FULL)


def readers_and_durable_subscription() -> Case:
    """Start each reader at the beginning, although one of the same name has read and acknowledged everything."""
    plan, client = Schedule.with_client()
    plan.broker("store_entries", topic="t", entries=plains(range(4)))
    durable = plan.consumer(client)
    plan.receive(durable, 4, wait=True)
    plan.wait_ops(plan.ack(durable))
    for _ in range(2):
        reader = plan.consumer(client, subscription="reader", durable=False)
        plan.receive(reader, 4, timeout_ms=2_000)
        plan.wait_received(reader, 4, deadline_ms=2_000)
        plan.wait_ops(plan.close(reader))
    return plan.case(
        "subscription/readers-and-durable-subscription",
        "Two readers, one after the other, on a topic whose only subscription has acknowledged everything",
        ("subscription.non-durable-reader",),
        capabilities=("consumer", "reader"),
    )


def reader_reconnects() -> Case:
    plan, client = Schedule.with_client()
    plan.broker("store_entries", topic="t", entries=[plain(0), batch(range(1, 5)), plain(5)])
    reader = plan.consumer(client, subscription="reader", durable=False)
    plan.receive(reader, 3, wait=True)
    # A message received just before a connection ends may be recorded after its end.
    plan.wait_ms(50)
    cut = plan.last
    plan.wait_frame("SUBSCRIBE", Direction.TO_BROKER, 2)
    plan.broker("store_entries", topic="t", entries=[plain(6)])
    plan.receive(reader, 4, timeout_ms=3_000)
    plan.wait_received(reader, 7)
    return plan.case(
        "subscription/reader-reconnects",
        "The connection of a reader ends after it received two of the four messages of a batch",
        (
            "subscription.reader-resumes-after-last-read",
            "subscription.non-durable-reader",
            "subscription.reader-is-not-durable",
        ),
        capabilities=("reader",),
        faults=(Fault(trigger=AfterStep(cut), action=Cut()),),
    )


def two_positions() -> Case:
    plan, client = Schedule.with_client(stored=plains(range(2)))
    first = plan.consumer(client, subscription="first", initial_position="earliest")
    last = plan.consumer(client, subscription="last", initial_position="latest")
    plan.broker("store_entries", topic="t", entries=[plain(2)])
    plan.receive(first, 3, wait=True)
    plan.receive(last, 1, wait=True)
    return plan.case(
        "subscription/two-positions",
        "Two new subscriptions of a topic with messages start at its beginning and at its end",
        ("subscription.asks-for-its-position",),
        capabilities=("consumer",),
    )


CASES = (
    two_positions(),
    closed_while_subscribing(
        "closed-while-subscribing",
        "A consumer that the broker closed is closed by its application while its new SUBSCRIBE is pending, and then "
        "admitted",
        cut=False,
    ),
    closed_while_subscribing(
        "closed-while-subscribing-after-a-loss",
        "A consumer that lost its connection is closed while its SUBSCRIBE is pending, and then admitted",
        cut=True,
    ),
    closed_while_disconnected(),
    second_exclusive_consumer(),
    failover_active_consumer_leaves(),
    state_listeners(),
    shared_consumer_leaves(),
    key_shared_two_consumers(),
    resubscribes_with_latest_position(),
    acked_by_one_of_two_subscriptions(),
    acked_by_all_subscriptions(),
    ttl_expired_when_requested(),
    ttl_checked_each_minute(),
    readers_and_durable_subscription(),
    reader_reconnects(),
)
