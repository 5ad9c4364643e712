"""Dispatch rates of a few messages a second, since a rate period is at least one second."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay_conformance.cases.build import Schedule
from assay_conformance.cases.stored import batch, plain, plains
from assay_conformance.model.case import Case, Limits, Rate, Tier, Topic, Topology
from assay_conformance.model.fault import Direction
from assay_conformance.model.policy import BrokerSettings, Policies
from assay_conformance.model.topic_names import partition_name

DISPATCH = Topology(topics=(Topic(name="t", dispatch_rate=Rate(messages=10)),))
TEN = Rate(messages=10)


def _asking(
    plan: Schedule, entries: Sequence[Mapping[str, Any]], count: int, timeout_ms: int = 10_000, **config: Any
) -> int:
    """Return a consumer of topic `t`, which holds these entries, with a receive of this many messages pending."""
    plan.broker("store_entries", topic="t", entries=entries)
    consumer = plan.consumer(plan.client(), **config)
    plan.receive(consumer, count, timeout_ms)
    return consumer


def dispatch_rate() -> Case:
    plan, client = Schedule.with_client()
    plan.wait_ops(plan.send(plan.producer(client), 60))
    consumer = plan.consumer(client)
    plan.receive(consumer, 30, wait=True)
    return plan.case(
        "throttling/dispatch-rate",
        "Ten messages a second are dispatched from a backlog of sixty",
        ("throttling.dispatch-rate-holds", "throttling.reads-within-quota"),
        capabilities=("producer",),
        topology=DISPATCH,
        limits=Limits(least_wall_ms=2_000),
    )


def overshoot_is_repaid() -> Case:
    """Use up the tokens of four periods by ten entries of four messages; the next entry has to wait for new tokens.
    Entries are stored before the consumer subscribes, since a read that waits for messages gets the tokens added
    meanwhile.
    """
    plan = Schedule()
    batches = [batch(range(number * 4, number * 4 + 4)) for number in range(10)]
    consumer = _asking(plan, [*batches, plain(40)], 41)
    plan.wait_received(consumer, 41)
    return plan.case(
        "throttling/overshoot-is-repaid",
        "Forty messages are dispatched at once at a rate of ten, and none in the next three periods",
        ("throttling.repays-overshoot",),
        capabilities=("consumer",),
        topology=DISPATCH,
        limits=Limits(least_wall_ms=4_000),
    )


def dispatch_byte_rate() -> Case:
    plan = Schedule()
    consumer = _asking(plan, [plain(number, 1_000) for number in range(60)], 30)
    plan.wait_received(consumer, 30)
    return plan.case(
        "throttling/dispatch-byte-rate",
        "Ten thousand bytes a second are dispatched from a backlog of sixty messages of a thousand bytes",
        ("throttling.dispatch-byte-rate-holds",),
        capabilities=("consumer",),
        topology=Topology(topics=(Topic(name="t", dispatch_rate=Rate(bytes=10_000)),)),
        limits=Limits(least_wall_ms=2_000),
    )


def tighter_of_two_rates() -> Case:
    plan = Schedule()
    consumer = _asking(plan, plains(range(60)), 25)
    plan.wait_received(consumer, 25)
    return plan.case(
        "throttling/tighter-of-two-rates",
        "With rates of ten messages and a million bytes a second, the number of messages is the tighter limit",
        ("throttling.messages-and-bytes-together",),
        capabilities=("consumer",),
        topology=Topology(topics=(Topic(name="t", dispatch_rate=Rate(messages=10, bytes=1_000_000)),)),
        limits=Limits(least_wall_ms=2_000),
    )


def redelivered_repeatedly() -> Case:
    """Request redelivery five times in a second, when the rate is enough for two."""
    plan, consumer = Schedule.with_consumer_of(plains(range(10)), receives=10)
    for _ in range(5):
        plan.nack(consumer, numbers=list(range(10)))
        plan.receive(consumer, 10, timeout_ms=200)
        plan.wait_ms(180)
    plan.wait_frame("MESSAGE", Direction.TO_CLIENT, 20, deadline_ms=3_000)
    return plan.case(
        "throttling/redelivered-repeatedly",
        "Ten messages, the rate of one second, are nacked again and again",
        ("throttling.redelivery-is-charged",),
        capabilities=("consumer", "nack_delay"),
        topology=DISPATCH,
        consumer={"subscription_type": "shared", "nack_delay_ms": 100},
        limits=Limits(least_wall_ms=1_500),
    )


def topic_and_subscription_rates() -> Case:
    """Receive on two subscriptions with thirty a second each, of a topic with a rate of ten."""
    plan, client = Schedule.with_client(stored=plains(range(60)))
    consumers = [plan.consumer(client, subscription=name) for name in ("a", "b")]
    for consumer in consumers:
        plan.receive(consumer, 40, timeout_ms=2_100)
    plan.wait_frame("MESSAGE", Direction.TO_CLIENT, 30)
    return plan.case(
        "throttling/topic-and-subscription-rates",
        "Two subscriptions with a rate of thirty messages a second each, and a topic with ten",
        ("throttling.all-levels-hold",),
        capabilities=("consumer",),
        topology=Topology(topics=(Topic(name="t", dispatch_rate=TEN, subscription_rate=Rate(messages=30)),)),
        limits=Limits(least_wall_ms=2_000),
    )


def broker_and_topic_rates() -> Case:
    plan, client = Schedule.with_client()
    for name in ("t", "u"):
        plan.broker("store_entries", topic=name, entries=plains(range(60)))
    for name in ("t", "u"):
        plan.receive(plan.consumer(client, name), 40, timeout_ms=2_100)
    plan.wait_frame("MESSAGE", Direction.TO_CLIENT, 30)
    topics = tuple(Topic(name=name, dispatch_rate=Rate(messages=30)) for name in ("t", "u"))
    return plan.case(
        "throttling/broker-and-topic-rates",
        "Two topics with a rate of thirty messages a second each, and a broker with ten",
        ("throttling.all-levels-hold",),
        capabilities=("consumer",),
        topology=Topology(topics=topics, settings=BrokerSettings(dispatch_rate=TEN)),
        limits=Limits(least_wall_ms=2_000),
    )


def rate_of_three_partitions() -> Case:
    plan = Schedule()
    for number in range(3):
        plan.broker("store_entries", topic=partition_name("t", number), entries=plains(range(60)))
    consumer = plan.consumer(plan.client())
    plan.receive(consumer, 180, timeout_ms=4_100)
    plan.wait_ms(4_200)
    return plan.case(
        "throttling/rate-of-three-partitions",
        "Three partitions with a backlog each, of a topic with a rate of nine messages a second",
        ("throttling.rate-per-partition",),
        capabilities=("consumer", "partitioned_topics"),
        topology=Topology(topics=(Topic(name="t", partitions=3, dispatch_rate=Rate(messages=9)),)),
        limits=Limits(least_wall_ms=4_200),
    )


def topic_policy_overrules_namespace() -> Case:
    plan, client = Schedule.with_client()
    for name in ("tight", "wide", "none"):
        plan.broker("store_entries", topic=name, entries=plains(range(120)))
    for name in ("tight", "wide", "none"):
        plan.receive(plan.consumer(client, name), 120, timeout_ms=3_100)
    plan.wait_ms(3_200)
    topics = (
        Topic(name="tight", dispatch_rate=Rate(messages=4)),
        Topic(name="wide", dispatch_rate=Rate(messages=25)),
        Topic(name="none"),
    )
    return plan.case(
        "throttling/topic-policy-overrules-namespace",
        "A namespace has a rate of ten messages a second; one of its topics has four, one twenty-five, and one no rate",
        ("throttling.nearest-policy-wins",),
        capabilities=("consumer",),
        topology=Topology(topics=topics, namespace=Policies(dispatch_rate=TEN)),
        limits=Limits(least_wall_ms=3_200),
    )


def period_of_three_seconds() -> Case:
    plan = Schedule()
    consumer = _asking(plan, plains(range(100)), 100, timeout_ms=4_000)
    plan.wait_ms(3_200)
    plan.wait_received(consumer, 20, deadline_ms=3_000)
    return plan.case(
        "throttling/period-of-three-seconds",
        "Ten messages every three seconds are dispatched from a backlog of a hundred",
        ("throttling.rate-period-respected",),
        capabilities=("consumer",),
        topology=Topology(topics=(Topic(name="t", dispatch_rate=Rate(messages=10, period_s=3)),)),
        limits=Limits(least_wall_ms=4_000),
    )


def precise_dispatcher_flow_control() -> Case:
    plan = Schedule()
    consumer = _asking(plan, [batch(range(n * 6, n * 6 + 6)) for n in range(40)], 120, receiver_queue_size=12)
    plan.wait_received(consumer, 120)
    return plan.case(
        "throttling/precise-dispatcher-flow-control",
        "Batches of six messages are dispatched to a receiver queue of twelve",
        ("throttling.precise-dispatcher-flow-control",),
        capabilities=("consumer",),
        topology=Topology(settings=BrokerSettings(precise_flow_control=True)),
    )


def batch_counts_once() -> Case:
    plan = Schedule()
    _asking(plan, [batch(range(n * 4, n * 4 + 4)) for n in range(60)], 240, timeout_ms=3_100)
    plan.wait_ms(3_200)
    return plan.case(
        "throttling/batch-counts-once",
        "Batches of four messages are dispatched at ten entries a second",
        ("throttling.batch-counts-once",),
        capabilities=("consumer",),
        topology=Topology(topics=DISPATCH.topics, settings=BrokerSettings(rate_counts_entries=True)),
        limits=Limits(least_wall_ms=3_200),
    )


def short_backlog_not_throttled() -> Case:
    plan = Schedule()
    consumer = _asking(plan, plains(range(60)), 60)
    plan.wait_received(consumer, 60)
    return plan.case(
        "throttling/short-backlog-not-throttled",
        "Sixty messages are sent with a dispatch rate of ten, on a broker that throttles only subscriptions with a "
        "backlog",
        ("throttling.no-backlog-not-throttled",),
        capabilities=("consumer",),
        topology=Topology(topics=DISPATCH.topics, settings=BrokerSettings(throttles_caught_up=False)),
    )


def long_backlog_is_throttled() -> Case:
    plan, client = Schedule.with_client()
    plan.wait_ops(plan.send(plan.producer(client), 1_200, size=20))
    consumer = plan.consumer(client)
    plan.receive(consumer, 60, wait=True)
    return plan.case(
        "throttling/long-backlog-is-throttled",
        "1,200 messages are sent with a dispatch rate of twenty, on a broker that throttles only subscriptions with a "
        "backlog",
        ("throttling.no-backlog-not-throttled",),
        capabilities=("producer", "consumer"),
        producer={"max_pending_messages": 2_000},
        topology=Topology(
            topics=(Topic(name="t", dispatch_rate=Rate(messages=20)),),
            settings=BrokerSettings(throttles_caught_up=False),
        ),
        limits=Limits(least_wall_ms=2_000),
        tier=Tier.FULL,
    )


def redelivery_and_backlog() -> Case:
    """Request eight redeliveries in every round: they must not give the consumer a larger share of the rate."""
    plan, consumer = Schedule.with_consumer_of(plains(range(80)), receives=10)
    for _ in range(10):
        plan.nack(consumer, numbers=list(range(8)))
        plan.receive(consumer, 20, timeout_ms=400)
        plan.wait_ms(450)
    return plan.case(
        "throttling/redelivery-and-backlog",
        "Eight messages are nacked again and again, and seventy wait for their first delivery",
        ("throttling.replay-overshoots-once",),
        capabilities=("consumer", "nack_delay"),
        topology=DISPATCH,
        consumer={"subscription_type": "shared", "nack_delay_ms": 100},
        limits=Limits(least_wall_ms=4_500),
    )


def non_persistent_beyond_dispatch_rate() -> Case:
    """Send each message as an entry of its own; the consumer has permits for all of them."""
    plan, client = Schedule.with_client()
    consumer, producer = plan.consumer(client), plan.producer(client)
    for _ in range(9):
        plan.wait_ops(plan.send(producer))
    plan.wait_ops(plan.receive(consumer, 9, timeout_ms=2_500))
    return plan.case(
        "throttling/non-persistent-beyond-dispatch-rate",
        "Nine messages are sent at once to a non-persistent topic with a dispatch rate of three a second",
        ("throttling.non-persistent-drops-excess",),
        capabilities=("consumer",),
        topology=Topology(topics=(Topic(name="t", persistent=False, dispatch_rate=Rate(messages=3)),)),
        limits=Limits(least_wall_ms=2_500),
    )


def dispatch_rate_for_ten_periods() -> Case:
    plan = Schedule()
    _asking(plan, plains(range(300)), 300, timeout_ms=10_400)
    plan.wait_ms(10_500)
    return plan.case(
        "throttling/dispatch-rate-for-ten-periods",
        "Ten messages a second are dispatched for ten seconds, no more and not much less",
        ("throttling.dispatch-rate-holds",),
        capabilities=("consumer",),
        topology=DISPATCH,
        limits=Limits(least_wall_ms=10_500),
        tier=Tier.FULL,
    )


def dispatch_byte_rate_for_ten_periods() -> Case:
    plan = Schedule()
    _asking(plan, [plain(number, 1_000) for number in range(150)], 150, timeout_ms=10_400)
    plan.wait_ms(10_500)
    return plan.case(
        "throttling/dispatch-byte-rate-for-ten-periods",
        "Ten thousand bytes a second are dispatched for ten seconds, no more and not much less",
        ("throttling.dispatch-byte-rate-holds",),
        capabilities=("consumer",),
        topology=Topology(topics=(Topic(name="t", dispatch_rate=Rate(bytes=10_000)),)),
        limits=Limits(least_wall_ms=10_500),
        tier=Tier.FULL,
    )


CASES = (
    dispatch_rate(),
    dispatch_byte_rate(),
    tighter_of_two_rates(),
    redelivered_repeatedly(),
    overshoot_is_repaid(),
    topic_and_subscription_rates(),
    broker_and_topic_rates(),
    rate_of_three_partitions(),
    topic_policy_overrules_namespace(),
    period_of_three_seconds(),
    precise_dispatcher_flow_control(),
    batch_counts_once(),
    short_backlog_not_throttled(),
    long_backlog_is_throttled(),
    redelivery_and_backlog(),
    non_persistent_beyond_dispatch_rate(),
    dispatch_rate_for_ten_periods(),
    dispatch_byte_rate_for_ten_periods(),
)
