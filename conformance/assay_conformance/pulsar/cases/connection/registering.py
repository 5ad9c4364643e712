"""Producers and consumers that are configured in each way that only their broker uses, and lose their connection."""

from __future__ import annotations

from typing import Any

from assay_conformance.cases.build import EARLIEST, STARVED_MS, Schedule
from assay_conformance.cases.stored import plain, plains
from assay_conformance.model.case import Case, Config, ConfigValue
from assay_conformance.model.fault import AfterStep, Cut, Direction, Fault

_REQUIREMENT = "connection.registers-as-configured"
_PROPERTIES = "team=orders,stage=test"


def _producer(words: str, what: str, **config: str) -> Case:
    """Open a producer that loses its connection, and sends again."""
    plan = Schedule()
    producer = plan.producer(plan.client())
    plan.wait_ops(plan.send(producer))
    sent = plan.last
    plan.wait_fired(0)
    plan.wait_ops(plan.send(producer))
    return plan.case(
        f"connection/registers-{words}",
        f"A producer with {what} loses its connection, and sends again",
        (_REQUIREMENT,),
        capabilities=("producer",),
        producer=config,
        faults=(Fault(trigger=AfterStep(sent), action=Cut()),),
    )


def _consumer(words: str, what: str, **config: ConfigValue) -> Case:
    """Open a consumer that loses its connection, and then receives."""
    return _receiving(words, f"A consumer with {what}", "consumer", {}, config)


def _receiving(words: str, what: str, capability: str, opened_with: dict[str, Any], config: Config) -> Case:
    plan = Schedule()
    consumer = plan.consumer(plan.client(), **opened_with)
    opened = plan.last
    plan.wait_fired(0)
    plan.wait_frame("FLOW", Direction.TO_BROKER, 2)
    plan.broker("store_entries", topic="t", entries=plains(range(3)))
    plan.wait_ops(plan.receive(consumer, 3, STARVED_MS))
    return plan.case(
        f"connection/registers-{words}",
        f"{what} loses its connection, and receives again",
        (_REQUIREMENT,),
        capabilities=(capability,),
        consumer={**EARLIEST, **config},
        faults=(Fault(trigger=AfterStep(opened), action=Cut()),),
    )


def two_ranges() -> Case:
    """Open two consumers that share the hashes of keys; one of them loses its connection, and both go on."""
    plan = Schedule()
    first = plan.consumer(plan.client(), key_shared_ranges="0-32767")
    second = plan.consumer(plan.client(), key_shared_ranges="32768-65535")
    opened = plan.last
    plan.wait_frame("FLOW", Direction.TO_BROKER, 2)
    plan.wait_fired(0)
    plan.wait_frame("FLOW", Direction.TO_BROKER, 3)
    plan.broker("store_entries", topic="t", entries=[plain(number) | {"key": f"k{number}"} for number in range(12)])
    plan.receive(first, 12, STARVED_MS)
    plan.receive(second, 12, STARVED_MS)
    plan.wait_ops()
    return plan.case(
        "connection/registers-key-ranges",
        "Two Key_Shared consumers have a half of the keys each; one of them loses its connection, and both receive",
        (_REQUIREMENT, "subscription.key-shared-same-consumer"),
        capabilities=("consumer",),
        consumer={**EARLIEST, "subscription_type": "key_shared"},
        faults=(Fault(trigger=AfterStep(opened), action=Cut()),),
    )


CASES = (
    _producer("access-mode", "exclusive access", access_mode="exclusive"),
    _producer("producer-properties", "two properties", properties=_PROPERTIES),
    _consumer("subscription-type", "a Failover subscription", subscription_type="failover"),
    _consumer("consumer-name", "a name that its application chose", consumer_name="orders"),
    _consumer("consumer-properties", "two properties", properties=_PROPERTIES),
    _consumer("compaction", "a compacted topic", read_compacted=True),
    _receiving(
        "reader-compaction", "A reader of a compacted topic", "reader", {"durable": False}, {"read_compacted": True}
    ),
    _consumer(
        "out-of-order",
        "a Key_Shared subscription in any order",
        subscription_type="key_shared",
        key_shared_out_of_order=True,
    ),
)
