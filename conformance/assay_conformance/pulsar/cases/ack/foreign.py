"""Cases for acknowledging a message of a topic that is not the consumer's: applications keep ids, and mix them up."""

from __future__ import annotations

from assay_conformance.cases.build import Schedule
from assay_conformance.cases.stored import plains
from assay_conformance.model.case import Case, Limits, Topic, Topology
from assay_conformance.pulsar.cases.ack.grouping import FLUSHED_MS, GROUPED

THREE = Topology(topics=(Topic(name="a"), Topic(name="b"), Topic(name="c")))

SOON = Limits(operation_ms=6_000)
"""No request is needed to know whether a topic is the consumer's own."""


def _foreign(words: str, title: str, *capabilities: str, cumulative: bool = False) -> Case:
    """Acknowledge a message of a topic that the consumer does not have; it goes on with its own two."""
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
    _foreign(
        "message-of-another-topic", "The application acknowledges a message of a third topic on a consumer of two"
    ),
    _foreign(
        "cumulative-to-another-topic",
        "The application acknowledges everything up to a message of a third topic on a consumer of two",
        "cumulative_ack",
        cumulative=True,
    ),
)
