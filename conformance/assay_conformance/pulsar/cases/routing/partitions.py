"""Independence of partitions: one of them is slow or unavailable, and batches fill in turn."""

from __future__ import annotations

from assay_conformance.cases.build import STARVED_MS, Schedule, down
from assay_conformance.model.case import Case, Topic, Topology
from assay_conformance.model.fault import Delay, Fault, Hold, Scope, Until
from assay_conformance.pulsar.cases.resend.connections import QUICK
from assay_conformance.pulsar.cases.routing.modes import FIVE

THREE = Topology(topics=(Topic(name="t", partitions=3),))
STILL_MS = 700
"""How long a partition gets no receipts: longer than anything that is done at once takes."""

PACE_MS = 20


def one_slow_partition() -> Case:
    plan, producer = Schedule.with_producer()
    plan.wait_ops(plan.send(producer, 3), deadline_ms=100)
    plan.send(producer, 6)
    plan.wait_ms(STILL_MS)
    until = plan.last
    plan.wait_ops()
    return plan.case(
        "routing/one-slow-partition",
        "Nine messages go to three partitions in turn, one of which sends no receipts for a while",
        ("routing.partitions-are-independent",),
        topology=THREE,
        producer={"routing": "round_robin"},
        faults=(no_receipts("t-partition-1", until),),
        limits=QUICK,
    )


def no_receipts(partition: str, until: int) -> Fault:
    """Return a fault that holds the receipts of one partition until a step has ended; other frames pass."""
    scope = Scope(topic=partition)
    return Fault(
        trigger=down("SEND_RECEIPT", times=0), scope=scope, action=Hold(overtake=True), until=Until(step=until)
    )


def one_partition_disconnected() -> Case:
    plan, producer = Schedule.with_producer()
    plan.broker("unload", topic="t-partition-1")
    plan.wait_fired(0)
    plan.send(producer, 6)
    plan.wait_ms(STILL_MS)
    until = plan.last
    plan.wait_ops()
    return plan.case(
        "routing/one-partition-disconnected",
        "Six messages go to three partitions in turn, one of which refuses its producer's reconnect for a while",
        ("routing.partitions-are-independent",),
        capabilities=("resend_pending",),
        topology=THREE,
        producer={"routing": "round_robin"},
        faults=(Fault(trigger=down("PRODUCER_SUCCESS", k=4), action=Hold(overtake=True), until=Until(step=until)),),
        limits=QUICK,
    )


def windows(
    words: str, title: str, *, delay_ms: int, delays: int, lasts_ms: int, capabilities: tuple[str, ...] = ()
) -> Case:
    """Send a message every PACE_MS for a time; a partition's window is so many publish delays."""
    plan, producer = Schedule.with_producer()
    for _ in range(lasts_ms // PACE_MS):
        plan.send(producer)
        plan.wait_ms(PACE_MS)
    plan.wait_ops(deadline_ms=STARVED_MS)
    return plan.case(
        f"routing/{words}",
        title,
        ("routing.round-robin-batching-window",),
        capabilities=("batching", *capabilities),
        topology=FIVE,
        producer={
            "routing": "round_robin",
            "batching": True,
            "batching_max_publish_delay_ms": delay_ms,
            "batching_partition_switch_frequency": delays,
        },
        limits=QUICK,
    )


def partition_switch_frequency_zero() -> Case:
    plan = Schedule()
    plan.producer(plan.client())
    return plan.case(
        "routing/partition-switch-frequency-zero",
        "A producer is configured to change partitions every 0 publish delays",
        ("routing.partition-switch-frequency-minimum",),
        topology=FIVE,
        producer={"routing": "round_robin", "batching": True, "batching_partition_switch_frequency": 0},
    )


def short_and_long_batching_windows() -> Case:
    """Send more messages in the longer window than a queue holds, with receipts that take longer than the window."""
    plan, client = Schedule.with_client()
    producers = [plan.producer(client, batching_partition_switch_frequency=delays) for delays in (1, 10)]
    for _ in range(40):
        for producer in producers:
            plan.send(producer, 3)
        plan.wait_ms(10)
    plan.wait_ops(deadline_ms=STARVED_MS)
    return plan.case(
        "routing/short-and-long-batching-windows",
        "Two producers with windows of 20 ms and 200 ms send three messages every 10 ms; pending queues hold fifteen",
        ("routing.short-batching-window-stalls-less",),
        topology=FIVE,
        producer={
            "routing": "round_robin",
            "batching": True,
            "batching_max_publish_delay_ms": 20,
            "max_pending_messages": 15,
            "block_if_queue_full": True,
        },
        faults=(Fault(trigger=down("SEND_RECEIPT", times=0), action=Delay(delay_ms=RECEIPTS_TAKE_MS)),),
        limits=QUICK,
    )


RECEIPTS_TAKE_MS = 250
"""The broker's latency: longer than a window. It is the same for both producers, which are compared with each other."""


CASES = (
    one_slow_partition(),
    one_partition_disconnected(),
    windows(
        "batching-window",
        "A message every 20 ms goes to five partitions, in batches with a delay of 150 ms",
        delay_ms=150,
        delays=2,
        lasts_ms=1_500,
    ),
    windows(
        "batching-window-of-ten-delays",
        "A message every 20 ms goes to five partitions, which change every ten publish delays of 100 ms",
        delay_ms=100,
        delays=10,
        lasts_ms=2_400,
        capabilities=("partition_switch_frequency",),
    ),
    short_and_long_batching_windows(),
    partition_switch_frequency_zero(),
)
