"""Subscriptions: two consumers of each type, and one that comes back."""

from __future__ import annotations

from assay_conformance.cases.build import Schedule
from assay_conformance.cases.stored import plain, plains
from assay_conformance.model.case import Case, Topic, Topology
from assay_conformance.model.fault import Direction
from assay_conformance.model.policy import BrokerSettings

SWITCH_MS = 100
QUICK_FAILOVER = Topology(topics=(Topic(name="t"),), settings=BrokerSettings(failover_delay_ms=SWITCH_MS))
KEYS = ("a", "b", "c", "d", "e", "f")


def second_exclusive() -> Case:
    plan = Schedule()
    client = plan.client()
    first = plan.consumer(client)
    plan.wait_ops(plan.consumer(client, wait=False))
    plan.broker("store_entries", topic="t", entries=plains(range(2)))
    plan.receive(first, 2)
    plan.wait_received(first, 2)
    return plan.case(
        "subscription/second-exclusive",
        "A second consumer asks for an exclusive subscription that has one",
        ("subscription.exclusive-has-one",),
        capabilities=("consumer",),
    )


def active_consumer_goes() -> Case:
    plan = Schedule()
    client = plan.client()
    plan.broker("store_entries", topic="t", entries=plains(range(6)))
    active = plan.consumer(client, consumer_name="a")
    plan.receive(active, 6)
    plan.wait_received(active, 6)
    standby = plan.consumer(client, consumer_name="b")
    plan.wait_ops(plan.ack(active, numbers=[0, 1]))
    plan.wait_ops(plan.close(active))
    plan.broker("store_entries", topic="t", entries=plains(range(6, 8)))
    plan.receive(standby, 6)
    plan.wait_received(standby, 6)
    return plan.case(
        "subscription/active-consumer-goes",
        "The active consumer of a failover subscription goes with four of six messages unacknowledged",
        ("subscription.failover-hands-over",),
        consumer={"subscription_type": "failover"},
        capabilities=("consumer",),
        topology=QUICK_FAILOVER,
    )


def shared_consumer_goes() -> Case:
    plan = Schedule()
    client = plan.client()
    plan.broker("store_entries", topic="t", entries=plains(range(6)))
    leaver = plan.consumer(client)
    plan.receive(leaver, 6)
    plan.wait_received(leaver, 6)
    heir = plan.consumer(client)
    plan.wait_ops(plan.close(leaver))
    plan.receive(heir, 6, timeout_ms=2_000)
    plan.wait_received(heir, 6, deadline_ms=2_000)
    return plan.case(
        "subscription/shared-consumer-goes",
        "A shared consumer goes with six messages unacknowledged",
        ("subscription.shared-gives-to-one",),
        consumer={"subscription_type": "shared"},
        capabilities=("consumer",),
    )


def keys_of_two_consumers() -> Case:
    plan = Schedule()
    client = plan.client()
    for name in ("a", "b"):
        plan.receive(plan.consumer(client, consumer_name=name), 24, timeout_ms=1_000)
    entries = [plain(number) | {"key": KEYS[number % len(KEYS)]} for number in range(24)]
    plan.broker("store_entries", topic="t", entries=entries)
    plan.wait_frame("MESSAGE", Direction.TO_CLIENT, 24)
    return plan.case(
        "subscription/keys-of-two-consumers",
        "Two Key_Shared consumers, and six keys four times each",
        ("subscription.key-shared-keeps-keys",),
        consumer={"subscription_type": "key_shared"},
        capabilities=("consumer",),
    )


def comes_back_asking_for_the_latest() -> Case:
    plan = Schedule()
    client = plan.client()
    plan.broker("store_entries", topic="t", entries=plains(range(6)))
    first = plan.consumer(client)
    plan.receive(first, 6)
    plan.wait_received(first, 6)
    plan.wait_ops(plan.ack(first, numbers=[0, 1, 2]))
    plan.wait_ops(plan.close(first))
    again = plan.consumer(client, initial_position="latest")
    plan.broker("store_entries", topic="t", entries=[plain(6)])
    plan.receive(again, 4, timeout_ms=2_000)
    plan.wait_received(again, 4, deadline_ms=2_000)
    return plan.case(
        "subscription/comes-back-asking-for-the-latest",
        "Three of six messages are acknowledged; the next consumer asks for the latest ones",
        ("subscription.resumes-after-acked",),
        capabilities=("consumer",),
    )


CASES = (
    second_exclusive(),
    active_consumer_goes(),
    shared_consumer_goes(),
    keys_of_two_consumers(),
    comes_back_asking_for_the_latest(),
)
