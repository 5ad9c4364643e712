"""ledger.json and the small tables of a made-up ledger: what was promised, who was there, and what was done to them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from assay_conformance.ledger import rows
from assay_conformance.ledger.info import Acking, Acks, LedgerInfo, Origin, Part, versions
from assay_conformance.ledger.tables import NONE
from assay_conformance.model.run import BrokerInfo
from assay_conformance.model.schema import CURRENT, FileKind
from assay_reports.ledgers.synth.changes import DURABLE_US, GRACE_US, MAX_REDELIV
from assay_reports.ledgers.synth.flows import FLOWS, STALL_US
from assay_reports.ledgers.synth.plan import Plan
from assay_reports.ledgers.synth.world import (
    DEDUP_TOPICS,
    DURATION_US,
    EPOCHS_US,
    FAILOVER,
    FIRST,
    KEY_SHARED,
    KEYS,
    LATER,
    NACK_US,
    SECOND,
    TOPICS,
    World,
)

CAME_US = -DURATION_US
"""Consumers were there long before the first message."""
STARTED_UNIX_MS = 1_750_000_000_000
NACK_DELAY_US = NACK_US - 100_000


def info(plan: Plan, suite: str) -> LedgerInfo:
    return LedgerInfo(
        schema=str(CURRENT[FileKind.LEDGER]),
        file=FileKind.LEDGER,
        run=f"synth-{'mix' if plan.mix else 'plain'}-{plan.messages}-{plan.seed}",
        suite=suite,
        origin=Origin.SYNTH,
        client="synth",
        client_version=suite,
        broker=BrokerInfo(kind="none", name="none", version="none"),
        seed=plan.seed,
        started_unix_ms=STARTED_UNIX_MS,
        ended_unix_ms=STARTED_UNIX_MS + DURATION_US // 1000 + 60_000,
        acking=Acking(Acks.BOTH if plan.mix else Acks.NONE),
        grace_us=GRACE_US,
        settle_us=GRACE_US,
        stall_us=STALL_US,
        durable_us=DURABLE_US,
        versions=versions({Part.NUMPY: np.__version__, Part.ARROW: pa.__version__}),
    )


def small_tables(plan: Plan) -> dict[str, list[tuple[Any, ...]]]:
    worlds = [plan.world(number) for number in range(plan.worlds)]
    topics = TOPICS + plan.mix
    return {
        "stream": [
            *(
                rows.Stream(world.stream(s), f"producer-{world.number}-{s}", int(world.topic(s)), world.number)
                for world in worlds
                for s in range(world.streams)
            ),
            *(rows.Stream(one.stream, f"producer-{one.name}", one.topic, plan.worlds) for one in plan.flows),
        ],
        "topic": [
            *(
                rows.Topic(
                    world.number * topics + topic,
                    f"persistent://public/default/made-{world.number}-{topic}",
                    dedup=int(plan.mix and topic in DEDUP_TOPICS),
                    read_back=int(plan.mix),
                )
                for world in worlds
                for topic in range(topics)
            ),
            *(rows.Topic(one.topic, one.name, read_back=1)._replace(**FLOWS[one.kind].topic) for one in plan.flows),
        ],
        "key": [rows.Key(key, f"key-{key}") for key in range(KEYS)],
        "subscription": _subscriptions(plan),
        "consumer": [
            *(row for world in worlds for row in _consumers(world)),
            *(rows.Consumer(one.consumer, one.sub, f"consumer-{one.name}", plan.worlds, CAME_US) for one in plan.flows),
        ],
        "writer": [rows.Writer(number, f"world-{number}") for number in range(plan.parts)],
        "epoch": _epochs() if plan.mix else [],
    }


def _subscriptions(plan: Plan) -> list[tuple[Any, ...]]:
    if not plan.mix:
        return [rows.Subscription(FAILOVER, "all", type="Exclusive")]
    # Flows have subscriptions of their own; without any, these are of all topics.
    topics = " ".join(map(str, range(plan.worlds * (TOPICS + 1)))) if plan.flows else ""
    both = [
        rows.Subscription(FAILOVER, "failover", "Failover", topics, max_redeliv=MAX_REDELIV),
        rows.Subscription(
            KEY_SHARED, "key-shared", "Key_Shared", topics, nack_delay=NACK_DELAY_US, max_redeliv=MAX_REDELIV
        ),
    ]
    of_flows = (
        rows.Subscription(one.sub, one.name, topics=str(one.topic))._replace(**FLOWS[one.kind].subscription)
        for one in plan.flows
    )
    return [*both, *of_flows]


def _consumers(world: World) -> Iterator[rows.Consumer]:
    for one in range(world.consumers):
        sub = KEY_SHARED if world.mix and one not in (FIRST, SECOND, LATER) else FAILOVER
        left = world.taken_over_at if world.takes_over and one == FIRST else None
        if one == SECOND and not world.takes_over:
            continue
        yield rows.Consumer(
            int(world.consumer(one)), sub, f"consumer-{world.number}-{one}", world.number, CAME_US, left
        )


def _epochs() -> list[tuple[Any, ...]]:
    slow, killed = EPOCHS_US
    return [
        rows.Epoch(0, "latency", "broker 0", *slow, sub=NONE),
        rows.Epoch(1, "kill", "broker 0", *killed, restart=1, sub=NONE),
    ]
