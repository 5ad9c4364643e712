"""Cases for table views: their content when they open, and updates while they are open."""

from __future__ import annotations

from typing import Any

from assay_conformance.cases.build import Schedule, down
from assay_conformance.cases.stored import batch, plain
from assay_conformance.model.case import Case, Limits, Tier, Topic, Topology
from assay_conformance.model.fault import Cut, Fault

VIEWS = ("table_view",)
KEYS = tuple("abcdefgh")
UPDATED_MS = 62_000
"""The time in which a client that updates its partitions once a minute has done that."""
FOLLOWED_MS = 1_200
"""The time in which stored messages reach every open table view."""

REQUIREMENTS = (
    *("table-view.holds-what-was-stored", "table-view.follows-its-topic", "table-view.reports-each-value"),
    "table-view.one-reader-each",
)


def _keyed(key: str, number: int, size: int = 64) -> dict[str, Any]:
    return {**plain(number, size), "metadata": {"partition_key": key}}


def follows_partitions() -> Case:
    """Set keys, set them again and remove them; one message has no key. Each partition has its own reader."""
    plan, client = Schedule.with_client()
    producer = plan.producer(client)
    for key in ("a", "b", "c", "a", "b", "d"):
        plan.send(producer, 1, key=key)
    plan.send(producer, 1, size=0, key="d")
    plan.send(producer, 1)
    plan.wait_ops()
    view = plan.table_view(plan.client(), listener=True)
    plan.wait_ops(plan.read_table_view(view))
    for key in ("a", "c", "e", "a"):
        plan.send(producer, 1, key=key)
    plan.send(producer, 1, size=0, key="b")
    plan.wait_ops()
    plan.wait_ms(FOLLOWED_MS)
    plan.wait_ops(plan.read_table_view(view))
    plan.wait_ops(plan.close(view))
    return plan.case(
        "table-view/follows-partitions",
        "A table view of three partitions opens after keys were set, set again and removed, and follows further "
        "changes",
        (*REQUIREMENTS, "robustness.calls-do-not-hang"),
        capabilities=("producer", *VIEWS, "partitioned_topics"),
        topology=Topology(topics=(Topic(name="t", partitions=3),)),
    )


def follows_added_partitions() -> Case:
    """Add a partition behind an update that found none; the interval of updates is what clients have without being
    asked."""
    plan, client = Schedule.with_client()
    producer = plan.producer(client)
    view = plan.table_view(plan.client())
    for key in KEYS:
        plan.send(producer, 1, key=key)
    plan.wait_ms(UPDATED_MS)
    plan.broker("grow", topic="t", partitions=3)
    plan.wait_ms(UPDATED_MS)
    late = plan.producer(client)
    for key in KEYS:
        plan.send(late, 1, key=key)
    plan.wait_ops()
    plan.wait_ms(FOLLOWED_MS)
    plan.wait_ops(plan.read_table_view(view))
    return plan.case(
        "table-view/follows-added-partitions",
        "A partition is added to the topic of a table view, which updates its partitions once a minute, and keys are "
        "set there",
        ("table-view.follows-its-topic", "table-view.one-reader-each"),
        capabilities=("producer", *VIEWS, "partitioned_topics"),
        topology=Topology(topics=(Topic(name="t", partitions=2),)),
        tier=Tier.FULL,
        limits=Limits(case_ms=180_000, least_wall_ms=2 * UPDATED_MS),
    )


def returns() -> Case:
    """Unload the topic of a table view, which must continue from its position."""
    plan, client = Schedule.with_client()
    producer = plan.producer(client)
    for key in ("a", "b", "c"):
        plan.send(producer, 1, key=key)
    plan.wait_ops()
    view = plan.table_view(plan.client(), listener=True)
    plan.wait_ops(plan.read_table_view(view))
    plan.broker("unload", topic="t")
    plan.wait_ms(2 * FOLLOWED_MS)
    for key in ("b", "d"):
        plan.send(producer, 1, key=key)
    plan.send(producer, 1, size=0, key="c")
    plan.wait_ops()
    plan.wait_ms(FOLLOWED_MS)
    plan.wait_ops(plan.read_table_view(view))
    plan.wait_ops(plan.close(view))
    return plan.case(
        "table-view/returns",
        "The topic of a table view is unloaded, and after the reconnect a key is set, set again and removed",
        (*REQUIREMENTS, "robustness.calls-do-not-hang"),
        capabilities=("producer", *VIEWS),
    )


def opens_over_a_loss() -> Case:
    """Lose the connection while a table view opens, after it has read some messages."""
    plan = Schedule()
    entries = [_keyed(key, number) for number, key in enumerate(("a", "b", "a", "c", "b"))]
    plan.broker("store_entries", topic="t", entries=[*entries, batch(range(5, 8)), _keyed("d", 8), _keyed("c", 9, 0)])
    view = plan.table_view(plan.client())
    plan.wait_ops(plan.read_table_view(view))
    plan.wait_ops(plan.close(view))
    return plan.case(
        "table-view/opens-over-a-loss",
        "The connection of a table view is lost while it reads the topic's existing messages",
        ("table-view.holds-what-was-stored", "robustness.calls-do-not-hang"),
        capabilities=VIEWS,
        faults=(Fault(trigger=down("MESSAGE", k=3), action=Cut()),),
    )


def empty_topic() -> Case:
    plan = Schedule()
    view = plan.table_view(plan.client(), listener=True)
    plan.wait_ops(plan.read_table_view(view))
    plan.broker("store_entries", topic="t", entries=[_keyed("a", 0), _keyed("a", 1, 0), _keyed("b", 2)])
    plan.wait_ms(FOLLOWED_MS)
    plan.wait_ops(plan.read_table_view(view))
    plan.wait_ops(plan.close(view))
    return plan.case(
        "table-view/empty-topic",
        "A table view opens on a topic without messages, and then gets the first one",
        ("table-view.follows-its-topic", "table-view.reports-each-value", "robustness.calls-do-not-hang"),
        capabilities=VIEWS,
    )
