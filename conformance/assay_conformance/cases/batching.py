"""Batching: each Case lets one of the three limits be the first, and keeps the others far away."""

from __future__ import annotations

from assay_conformance.cases.build import Schedule
from assay_conformance.model.case import Case, Config

FAR: Config = {
    "batching": True,
    "batching_max_messages": 1_000,
    "batching_max_bytes": 100_000,
    "batching_max_publish_delay_ms": 1_000,
}
REQUIREMENT = ("batching.closes-at-first-limit",)


def closes_by_count() -> Case:
    plan = Schedule()
    producer = plan.producer(plan.client())
    plan.wait_ops(plan.send(producer, 6))
    return plan.case(
        "batching/closes-by-count",
        "Six messages leave in batches of three",
        REQUIREMENT,
        producer={**FAR, "batching_max_messages": 3},
    )


def closes_by_bytes() -> Case:
    plan = Schedule()
    producer = plan.producer(plan.client())
    plan.send(producer, 8, size=400)
    plan.flush(producer)
    plan.wait_ops()
    return plan.case(
        "batching/closes-by-bytes",
        "Messages of 400 bytes leave as soon as 1,000 bytes are together",
        REQUIREMENT,
        producer={**FAR, "batching_max_bytes": 1_000},
    )


def closes_by_delay() -> Case:
    plan = Schedule()
    producer = plan.producer(plan.client())
    plan.wait_ops(plan.send(producer, 2))
    return plan.case(
        "batching/closes-by-delay",
        "Two messages that fill no batch leave 100 ms after the first",
        REQUIREMENT,
        producer={**FAR, "batching_max_publish_delay_ms": 100},
    )


CASES = (closes_by_count(), closes_by_bytes(), closes_by_delay())
