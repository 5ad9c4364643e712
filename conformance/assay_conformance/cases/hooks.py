"""Code of the application inside the client: routers and interceptors."""

from __future__ import annotations

from assay_conformance.cases.build import Schedule
from assay_conformance.cases.partitions import THREE
from assay_conformance.cases.resend import QUICK
from assay_conformance.cases.routing import FIVE
from assay_conformance.model.case import Case, Config


def _routed(words: str, title: str, requirements: tuple[str, ...], producer: Config) -> Case:
    plan = Schedule()
    handle = plan.producer(plan.client())
    plan.send(handle, 12)
    plan.send(handle, 3, key="k")
    plan.wait_ops()
    return plan.case(words, title, requirements, topology=FIVE, producer=producer)


def around_a_full_partition() -> Case:
    """Each wave has its receipts, but for what goes to partition 1."""
    plan = Schedule()
    producer = plan.producer(plan.client())
    plan.broker("hold_store", topic="t-partition-1")
    for wave in (1, 2, 3):
        plan.send(producer, 3)
        plan.wait_receipts(2 * wave, deadline_ms=500)
    plan.broker("release", topic="t-partition-1")
    plan.wait_ops()
    return plan.case(
        "routing/around-a-full-partition",
        "Three times three messages by turns to three partitions, one of which stores nothing and has room for two",
        ("routing.steers-around-full",),
        topology=THREE,
        producer={"routing": "round_robin", "max_pending_messages": 2, "block_if_queue_full": False},
        limits=QUICK,
    )


CASES = (
    _routed(
        "routing/router-of-the-application",
        "Fifteen messages to five partitions, by a router that goes by their numbers",
        ("routing.asks-the-router-once",),
        {"router": "by_number"},
    ),
    _routed(
        "routing/router-that-errs",
        "Fifteen messages to five partitions, by a router that names a sixth one for every third message",
        ("routing.bad-answer-fails-one", "routing.asks-the-router-once"),
        {"router": "out_of_range"},
    ),
    around_a_full_partition(),
    _routed(
        "producer/intercepted",
        "Fifteen messages to five partitions, by a router, with an interceptor before it",
        ("producer.intercepts-first",),
        {"router": "by_number", "interceptor": "notes"},
    ),
)
