"""Cases for the acknowledgment time-out, each with a short one and with the shortest that every client accepts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from assay_conformance.cases.build import STARVED_MS, Schedule
from assay_conformance.cases.stored import batch, chunks, plains
from assay_conformance.model.case import Case, Config, Limits, Tier, Topic, Topology
from assay_conformance.model.fault import AfterStep, Cut, Direction, Fault
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.cases.nack.requests import REDELIVER


@dataclass(frozen=True, slots=True)
class Pace:
    """The time-out and its tick; `over_ms`: the time after which no request for redelivery is still to come."""

    suffix: str
    timeout_ms: int
    tick_ms: int
    fields: dict[str, Any]

    @property
    def over_ms(self) -> int:
        return self.timeout_ms + 2 * self.tick_ms + 200

    @property
    def consumer(self) -> Config:
        return {
            "initial_position": "earliest",
            "subscription_type": "shared",
            "ack_timeout_ms": self.timeout_ms,
            "ack_timeout_tick_ms": self.tick_ms,
        }

    def case(self, plan: Schedule, words: str, title: str, requirement: str, **config: Any) -> Case:
        return plan.case(
            f"ack-timeout/{words}{self.suffix}",
            title,
            (requirement,),
            consumer={**self.consumer, **config},
            **self.fields,
        )


SHORT = Pace("", 400, 50, {"capabilities": ("short_ack_timeout",), "limits": Limits(least_wall_ms=400)})
LEAST = Pace(
    "-10-s",
    10_000,
    1_000,
    {"tier": Tier.FULL, "limits": Limits(operation_ms=40_000, case_ms=60_000, least_wall_ms=10_000)},
)
"""The C++ client, and clients built on it, accept no shorter one."""


def comes_again(plan: Schedule, consumer: int, count: int, deadline_ms: int) -> None:
    """Wait until redelivery of so many messages is requested, receive them, and acknowledge them."""
    plan.wait_frame(REDELIVER, Direction.TO_BROKER, deadline_ms=deadline_ms)
    plan.receive(consumer, count, timeout_ms=2_000)
    plan.wait_ops()
    plan.ack(consumer)
    plan.wait_ms(200)


def unacked_beyond_timeout(pace: Pace) -> Case:
    plan, consumer = Schedule.with_consumer_of(plains(range(3)), receives=3)
    plan.ack(consumer, numbers=[1])
    comes_again(plan, consumer, 2, deadline_ms=2 * pace.over_ms)
    return pace.case(
        plan,
        "unacked-beyond-timeout",
        "Two of three messages are not acknowledged within the acknowledgment time-out",
        "ack-timeout.redelivery-requested-in-time",
    )


def acked_on_non_persistent_topic(pace: Pace) -> Case:
    """Let the time-out pass for messages that cannot be redelivered: a non-persistent topic does not store them."""
    plan, client = Schedule.with_client()
    consumer, producer = plan.consumer(client), plan.producer(client)
    for _ in range(2):
        plan.wait_ops(plan.send(producer, 3))
        plan.wait_ops(plan.receive(consumer, 3, timeout_ms=2_000))
        plan.wait_ops(plan.ack(consumer))
        plan.wait_ms(pace.over_ms)
    case = pace.case(
        plan,
        "acked-on-non-persistent-topic",
        "Six messages of a non-persistent topic are acknowledged, and then the acknowledgment time-out passes",
        "ack-timeout.ended-by-ack",
    )
    return replace(case, topology=Topology(topics=(Topic(name="t", persistent=False),)))


def held_by_type(pace: Pace, type: str) -> Case:
    """Deliver the second message when half of the first one's time-out has passed."""
    plan, consumer = Schedule.with_consumer_of(plains(range(2)), receives=1)
    plan.wait_ms(pace.timeout_ms // 2)
    plan.wait_ops(plan.receive(consumer, 1, timeout_ms=2_000))
    comes_again(plan, consumer, 2, deadline_ms=2 * pace.over_ms)
    return pace.case(
        plan,
        f"unacked-on-{type.replace('_', '-')}",
        f"One of two messages on a subscription of type {type} is not acknowledged within the acknowledgment time-out",
        "ack-timeout.request-fits-subscription-type",
        subscription_type=type,
    )


def slow_application(pace: Pace) -> Case:
    """Receive and acknowledge the first message, and receive the others after the time-out."""
    plan, consumer = Schedule.with_consumer_of(plains(range(3)), receives=1)
    plan.ack(consumer)
    plan.wait_ms(pace.over_ms)
    plan.receive(consumer, 2)
    plan.wait_ops()
    plan.ack(consumer)
    plan.wait_ms(200)
    return pace.case(
        plan,
        "slow-application",
        "Two messages wait in the receiver queue for longer than the acknowledgment time-out",
        "ack-timeout.not-for-prefetched",
    )


def acked_in_time(pace: Pace) -> Case:
    plan, consumer = Schedule.with_consumer_of([*plains(range(2)), batch(range(2, 4))], receives=4)
    plan.ack(consumer, numbers=[0, 1])
    plan.ack(consumer, numbers=[2])
    plan.ack(consumer, numbers=[3])
    plan.wait_ms(pace.over_ms)
    return pace.case(
        plan,
        "acked-in-time",
        "Two messages and a batch are acknowledged within the acknowledgment time-out",
        "ack-timeout.ended-by-ack",
        batch_index_ack=False,
    )


def acked_cumulatively(pace: Pace) -> Case:
    plan, consumer = Schedule.with_consumer_of(plains(range(3)), receives=3)
    plan.ack(consumer, numbers=[2], cumulative=True)
    plan.wait_ms(pace.over_ms)
    return pace.case(
        plan,
        "acked-cumulatively",
        "Three messages are acknowledged by one cumulative acknowledgment",
        "ack-timeout.ended-by-ack",
        subscription_type="exclusive",
    )


def _acked_cumulatively_on(pace: Pace, words: str, title: str, requirement: str, topics: str, *acked: int) -> Case:
    """Receive three messages of each topic, acknowledge cumulatively up to these deliveries, and let the time-out
    pass."""
    plan, client = Schedule.with_client()
    for topic in topics:
        plan.broker("store_entries", topic=topic, entries=plains(range(3)))
    consumers = plan.consumer(client, [*topics])
    plan.wait_ops(plan.receive(consumers, 3 * len(topics), STARVED_MS))
    for delivery in acked:
        plan.wait_ops(plan.ack(consumers, messages=[delivery], cumulative=True))
    plan.wait_ms(pace.over_ms)
    case = pace.case(plan, words, title, requirement, subscription_type="exclusive")
    return replace(
        case,
        topology=Topology(topics=tuple(Topic(name=topic) for topic in topics)),
        capabilities=(*case.capabilities, "cumulative_ack"),
    )


def acked_cumulatively_on_two_topics(pace: Pace) -> Case:
    """Acknowledge each delivery: those of one topic may come before or between those of the other."""
    return _acked_cumulatively_on(
        pace,
        "acked-cumulatively-on-two-topics",
        "Six messages of two topics are acknowledged cumulatively within the acknowledgment time-out",
        "ack-timeout.ended-by-ack",
        "tu",
        *range(1, 7),
    )


def acked_cumulatively_on_one_of_two_topics(pace: Pace) -> Case:
    return _acked_cumulatively_on(
        pace,
        "acked-cumulatively-on-one-of-two-topics",
        "Six messages of two topics are received, and only the last one is acknowledged, cumulatively",
        "ack-timeout.redelivery-requested-in-time",
        "tu",
        6,
    )


def unacked_on_two_topics(pace: Pace) -> Case:
    """Hold a message of each topic; they are asked for, and received again."""
    plan, client = Schedule.with_client()
    for topic in "tu":
        plan.broker("store_entries", topic=topic, entries=plains(range(1)))
    consumer = plan.consumer(client, ["t", "u"])
    plan.wait_ops(plan.receive(consumer, 2, STARVED_MS))
    plan.wait_ms(pace.over_ms)
    plan.wait_ops(plan.receive(consumer, 2, STARVED_MS))
    plan.wait_ops(plan.ack(consumer))
    case = pace.case(
        plan,
        "unacked-on-two-topics",
        "A message of each of two topics is held beyond the acknowledgment time-out, and received again",
        "ack-timeout.redelivery-requested-in-time",
    )
    return replace(
        case,
        topology=Topology(topics=(Topic(name="t"), Topic(name="u"))),
        requirements=(*case.requirements, RequirementId("nack.requested-once")),
    )


def held_again_after_a_loss(pace: Pace) -> Case:
    """Lose the connection while the application holds two messages; they come again, and are held beyond the time-out.

    Then acknowledge them, or wait for another redelivery.
    """
    plan, consumer = Schedule.with_consumer_of(plains(range(2)), receives=2)
    held = plan.last
    plan.wait_ops(plan.receive(consumer, 2, STARVED_MS))
    plan.wait_ms(pace.over_ms)
    plan.wait_ops(plan.receive(consumer, 2, STARVED_MS))
    plan.wait_ops(plan.ack(consumer))
    case = pace.case(
        plan,
        "held-again-after-a-loss",
        "The connection is lost while two messages are held; they are delivered again, and held beyond the "
        "acknowledgment time-out",
        "ack-timeout.redelivery-requested-in-time",
    )
    return replace(case, faults=(Fault(trigger=AfterStep(held), action=Cut()),))


def unacked_chunked_message(pace: Pace) -> Case:
    plan, consumer = Schedule.with_consumer_of(chunks(0, 3), receives=1)
    comes_again(plan, consumer, 1, deadline_ms=2 * pace.over_ms)
    return pace.case(
        plan,
        "unacked-chunked-message",
        "A message in three chunks is not acknowledged within the acknowledgment time-out",
        "ack-timeout.ended-by-ack",
    )


def timeout_not_multiple_of_tick(pace: Pace) -> Case:
    """Receive the second message shortly before a tick, which may be the first one of its time-out."""
    plan, consumer = Schedule.with_consumer_of(plains(range(2)), receives=1)
    plan.wait_ms(min(pace.tick_ms, pace.timeout_ms) * 5 // 6)
    plan.wait_ops(plan.receive(consumer, 1, timeout_ms=2_000))
    comes_again(plan, consumer, 2, deadline_ms=2 * pace.over_ms)
    ticks = f"{pace.timeout_ms} ms in ticks of {pace.tick_ms}"
    return pace.case(
        plan,
        "timeout",
        f"Two messages are not acknowledged, with an acknowledgment time-out of {ticks}",
        "ack-timeout.tick-within-timeout",
    )


def timeout_below_minimum() -> Case:
    plan = Schedule()
    plan.consumer(plan.client())
    return plan.case(
        "ack-timeout/timeout-below-minimum",
        "A consumer is opened with an acknowledgment time-out of 50 ms",
        ("ack-timeout.minimum-enforced",),
        consumer={"ack_timeout_ms": TOO_SHORT_MS},
    )


TOO_SHORT_MS = 50
"""Less than any client accepts."""

UNEVEN = (
    Pace("-not-multiple-of-tick", 500, 300, SHORT.fields),
    Pace("-below-one-tick", 400, 3_000, SHORT.fields),
    Pace("-not-multiple-of-tick-10-s", 10_500, 1_000, LEAST.fields),
)


CASES = (
    *(
        make(pace)
        for pace in (SHORT, LEAST)
        for make in (
            unacked_beyond_timeout,
            slow_application,
            acked_in_time,
            acked_cumulatively,
            acked_cumulatively_on_two_topics,
            acked_cumulatively_on_one_of_two_topics,
            held_again_after_a_loss,
            unacked_on_two_topics,
            unacked_chunked_message,
            acked_on_non_persistent_topic,
        )
    ),
    *(timeout_not_multiple_of_tick(pace) for pace in UNEVEN),
    timeout_below_minimum(),
    *(held_by_type(SHORT, type) for type in ("exclusive", "failover", "shared", "key_shared")),
    *(held_by_type(LEAST, type) for type in ("exclusive", "shared")),
)
