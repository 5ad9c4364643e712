"""Cases for topics that get more partitions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from assay_conformance.cases.build import EARLIEST, STARVED_MS, Schedule, down, up
from assay_conformance.model.case import Case, Config, Limits, Tier, Topic, Topology
from assay_conformance.model.fault import AnswerError, Drop, Fault, Scope
from assay_conformance.pulsar.cases.routing.modes import MANY_KEYS, send_keys

_QUICKLY = {"partitions_update_ms": 300}
_FOUND_MS = 1_500
"""The time in which added partitions are found, registered with and used, with an update every 300 ms."""
_TURNS: Config = {"routing": "round_robin", "batching": False}
_CAN_GROW = ("producer", "partitioned_topics")


def _grows(words: str, title: str, wait_ms: int, **fields: Any) -> Case:
    """Grow the topic; messages sent after it take turns, so that some go to the added partitions."""
    plan, client = Schedule.with_client()
    consumer, producer = plan.consumer(client), plan.producer(client)
    plan.wait_ops(plan.send(producer, 4))
    plan.broker("grow", topic="t", partitions=5)
    plan.wait_ms(wait_ms)
    plan.wait_ops(plan.send(producer, 5))
    plan.wait_ops(plan.receive(consumer, 9, STARVED_MS))
    return plan.case(
        f"topics/{words}",
        title,
        ("topics.finds-added-partitions",),
        topology=Topology(topics=(Topic(name="t", partitions=2),)),
        **fields,
    )


def partitions_added_short_interval() -> Case:
    return _grows(
        "partitions-added-short-interval",
        "Three partitions are added to a topic of two, whose clients update them every 300 ms",
        1_000,
        capabilities=("producer", "consumer", "partitioned_topics", "short_partitions_update"),
        producer={"partitions_update_ms": 300},
        consumer={**EARLIEST, "partitions_update_ms": 300},
    )


def partitions_added() -> Case:
    return _grows(
        "partitions-added",
        "Three partitions are added to a topic of two, whose clients update them once a minute",
        62_000,
        capabilities=("producer", "consumer", "partitioned_topics"),
        producer={"partitions_update_ms": 60_000},
        consumer={**EARLIEST, "partitions_update_ms": 60_000},
        tier=Tier.FULL,
        limits=Limits(case_ms=100_000, least_wall_ms=62_000),
    )


def _grows_under(words: str, title: str, wait_ms: int, *sends: Callable[[Schedule, int], Any], **fields: Any) -> Case:
    """Grow the topic, and send nothing before the new partitions have been found."""
    plan, producer = Schedule.with_producer()
    plan.wait_ops(plan.send(producer, 2))
    plan.broker("grow", topic="t", partitions=5)
    plan.wait_ms(wait_ms)
    for send in sends:
        send(plan, producer)
    plan.wait_ops()
    return plan.case(
        f"topics/{words}",
        title,
        ("topics.uses-added-partitions",),
        topology=Topology(topics=(Topic(name="t", partitions=2),)),
        **fields,
    )


def _by_keys(plan: Schedule, producer: int) -> None:
    send_keys(plan, producer, MANY_KEYS)


def _by_turns(plan: Schedule, producer: int) -> None:
    """Send in turn; one message has a key, and does not take part in the round robin."""
    send_keys(plan, producer, MANY_KEYS[:1])
    plan.send(producer, 10)


def grows_under_load() -> tuple[Case, ...]:
    """Send once the new partitions were found: with keys, in turn, and by a custom router, with both update
    intervals."""
    quick = (*_CAN_GROW, "short_partitions_update")
    return (
        _grows_under(
            "partitions-added-keys",
            "Three partitions are added to a topic of two, and then messages with 24 keys are sent",
            _FOUND_MS,
            _by_keys,
            capabilities=quick,
            producer={**_QUICKLY},
        ),
        _grows_under(
            "partitions-added-round-robin",
            "Three partitions are added to a topic of two, and then ten messages without a key are sent in turn",
            _FOUND_MS,
            _by_turns,
            capabilities=quick,
            producer={**_TURNS, **_QUICKLY},
        ),
        _grows_under(
            "partitions-added-custom-router",
            "Three partitions are added to a topic of two, and then eleven messages go through a custom router",
            _FOUND_MS,
            _by_turns,
            capabilities=(*quick, "custom_router"),
            producer={"router": "by_number", **_QUICKLY},
        ),
        _grows_under(
            "partitions-added-keys-and-round-robin",
            "Three partitions are added to a topic of two, updated once a minute; then 24 keys and ten messages in "
            "turn are sent",
            62_000,
            _by_keys,
            _by_turns,
            capabilities=_CAN_GROW,
            producer={**_TURNS, "partitions_update_ms": 60_000},
            tier=Tier.FULL,
            limits=Limits(case_ms=100_000, least_wall_ms=62_000),
        ),
    )


def grows_behind_an_update(words: str, update_ms: int, *capabilities: str, **fields: Any) -> Case:
    """Grow the topic after an update found nothing new.

    The second topic has a producer that starts lazily, and a handler.
    """
    plan, client = Schedule.with_client()
    consumer, producer = plan.consumer(client), plan.producer(client)
    listens = plan.consumer(client, "u", listener=True)
    lazy = plan.producer(client, "u", lazy_start_partitioned_producers=True)
    plan.wait_ops(plan.send(producer, 2), plan.send(lazy, 2))
    plan.wait_ms(update_ms + _UPDATED_MS)
    for topic in ("t", "u"):
        plan.broker("grow", topic=topic, partitions=5)
    plan.wait_ms(update_ms + _UPDATED_MS)
    plan.wait_ops(plan.send(producer, 5), plan.send(lazy, 5))
    plan.wait_ops(plan.receive(consumer, 7, STARVED_MS), plan.receive(listens, 7, STARVED_MS))
    return plan.case(
        f"topics/{words}",
        f"Three partitions are added to two topics of two, whose clients update them every {update_ms} ms, after an "
        "update; on one of them the producer starts lazily and the consumer has a handler",
        ("topics.finds-added-partitions", "topics.uses-added-partitions", "delivery.reaches-waiting-receive"),
        topology=Topology(topics=tuple(Topic(name=topic, partitions=2) for topic in ("t", "u"))),
        capabilities=(*_CAN_GROW, "consumer", "message_listener", "lazy_start", *capabilities),
        producer={**_TURNS, "partitions_update_ms": update_ms},
        consumer={**EARLIEST, "partitions_update_ms": update_ms},
        **fields,
    )


_UPDATED_MS = 1_000
"""The time in which an update that was due has ended."""


_UNANSWERED_MS = 1_000
"""How long clients wait for the answer to an update."""


def grows_behind_a_failed_update(words: str, title: str, fault: Fault, update_ms: int, **fields: Any) -> Case:
    """Let each update fail once, and add partitions when the next ones are over."""
    plan, client = Schedule.with_client()
    consumer, producer = plan.consumer(client), plan.producer(client)
    plan.wait_ops(plan.send(producer, 2))
    plan.wait_fired(0, deadline_ms=3 * update_ms + _UPDATED_MS)
    plan.wait_ms(_UNANSWERED_MS + 2 * update_ms + _UPDATED_MS)
    plan.broker("grow", topic="t", partitions=5)
    plan.wait_ms(update_ms + _UPDATED_MS)
    plan.wait_ops(plan.send(producer, 5))
    plan.wait_ops(plan.receive(consumer, 7, STARVED_MS))
    return plan.case(
        f"topics/{words}",
        title,
        ("topics.finds-added-partitions",),
        topology=Topology(topics=(Topic(name="t", partitions=2),)),
        producer={**_TURNS, "partitions_update_ms": update_ms},
        consumer={**EARLIEST, "partitions_update_ms": update_ms},
        client={"operation_timeout_ms": _UNANSWERED_MS},
        faults=(fault,),
        **fields,
    )


def added_partition_refused(words: str, update_ms: int, *capabilities: str, **fields: Any) -> Case:
    """Refuse every PRODUCER of the added partition. A message for that partition times out."""
    plan, producer = Schedule.with_producer()
    plan.wait_ops(plan.send(producer, 2))
    plan.broker("grow", topic="t", partitions=3)
    plan.wait_ms(update_ms + _UPDATED_MS)
    plan.wait_ops(plan.send(producer, 6))
    return plan.case(
        f"topics/{words}",
        "A partition is added to a topic of two, and its producer is refused; then six messages are sent in turn",
        ("topics.refused-partition-leaves-others",),
        topology=Topology(topics=(Topic(name="t", partitions=2),)),
        capabilities=(*_CAN_GROW, *capabilities),
        producer={**_TURNS, "partitions_update_ms": update_ms, "send_timeout_ms": 2_000},
        faults=(
            Fault(
                trigger=up("PRODUCER", times=0),
                scope=Scope(topic="t-partition-2"),
                action=AnswerError("AuthorizationError"),
            ),
        ),
        **fields,
    )


CASES = (
    grows_behind_an_update("partitions-added-behind-an-update", 300, "short_partitions_update"),
    grows_behind_an_update(
        "partitions-added-behind-an-update-60-s",
        60_000,
        tier=Tier.FULL,
        limits=Limits(case_ms=180_000, least_wall_ms=122_000),
    ),
    *(
        grows_behind_a_failed_update(
            f"partitions-added-behind-{words}",
            f"An update of the partitions of a producer and of a consumer {ends}, and then three are added",
            fault,
            300,
            capabilities=(*_CAN_GROW, "consumer", "short_partitions_update"),
        )
        for words, ends, fault in (
            (
                "refused-updates",
                "is refused",
                Fault(trigger=up("PARTITIONED_METADATA", k=3, times=2), action=AnswerError("AuthorizationError")),
            ),
            (
                "unanswered-updates",
                "gets no answer",
                Fault(trigger=down("PARTITIONED_METADATA_RESPONSE", k=3, times=2), action=Drop()),
            ),
        )
    ),
    added_partition_refused("added-partition-refused", 300, "short_partitions_update"),
    added_partition_refused(
        "added-partition-refused-60-s",
        60_000,
        tier=Tier.FULL,
        limits=Limits(case_ms=120_000, least_wall_ms=61_000),
    ),
    partitions_added_short_interval(),
    partitions_added(),
    *grows_under_load(),
)
