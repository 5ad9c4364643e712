"""Cases for acknowledging a message of a topic that the consumer does not have: applications store ids, and mix them
up."""

from __future__ import annotations

from assay_conformance.cases.build import Schedule
from assay_conformance.cases.stored import plains
from assay_conformance.model.case import Case, Limits, Topic, Topology
from assay_conformance.pulsar.cases.ack.grouping import FLUSHED_MS, GROUPED

THREE = Topology(topics=(Topic(name="a"), Topic(name="b"), Topic(name="c")))

SOON = Limits(operation_ms=6_000)
"""No request is needed to find out whether the consumer has a topic."""


def _foreign(words: str, title: str, *capabilities: str, cumulative: bool = False) -> Case:
    """Acknowledge a message of a topic that the consumer does not have; the consumer then uses its own two."""
    plan = Schedule()
    plan.broker("store_entries", topic="a", entries=plains(range(1)))
    plan.broker("store_entries", topic="c", entries=plains(range(1, 4)))
    client = plan.client()
    of_two, of_another = plan.consumer(client, ("a", "b")), plan.consumer(client, "c")
    plan.receive(of_another, 3)
    plan.receive(of_two, 1)
    plan.wait_ops()
    plan.ack(of_two, messages=[3], cumulative=cumulative, of=of_another)
    plan.wait_ops()
    plan.ack(of_two)
    plan.wait_ms(FLUSHED_MS)
    return plan.case(
        f"ack/{words}",
        title,
        ("ack.other-topic-rejected", "robustness.calls-do-not-hang"),
        capabilities=("consumer", *capabilities),
        topology=THREE,
        consumer=GROUPED,
        limits=SOON,
    )


CASES = (
    _foreign("message-of-another-topic", "A consumer of two topics is asked to acknowledge a message of a third topic"),
    _foreign(
        "cumulative-to-another-topic",
        "A consumer of two topics is asked to acknowledge cumulatively up to a message of a third topic",
        "cumulative_ack",
        cumulative=True,
    ),
)
