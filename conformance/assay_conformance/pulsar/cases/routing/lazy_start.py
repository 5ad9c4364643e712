"""Producers that open a partition when the first message goes there."""

from __future__ import annotations

from typing import Any, Final

from assay_conformance.cases.build import Schedule, up
from assay_conformance.model.case import Case, Limits, Topic, Topology
from assay_conformance.model.fault import AnswerError, Cut, Fault

_THREE: Final = Topology(topics=(Topic(name="t", partitions=3),))
_OPENS: Final = ("routing.lazy-start-opens-on-use",)


def _case(plan: Schedule, words: str, title: str, requirements: tuple[str, ...], **fields: Any) -> Case:
    return plan.case(
        f"routing/lazy-start{words}",
        title,
        requirements,
        capabilities=("producer", "partitioned_topics", "lazy_start"),
        producer={"lazy_start_partitioned_producers": True, "routing": "round_robin"},
        topology=_THREE,
        **fields,
    )


def one_by_one() -> Case:
    plan, producer = Schedule.with_producer()
    for _ in range(4):
        plan.wait_ops(plan.send(producer))
    plan.wait_ops(plan.flush(producer))
    plan.wait_ops(plan.close(producer))
    return _case(plan, "", "Four messages are sent one after the other to three partitions", _OPENS)


def at_once() -> Case:
    plan, producer = Schedule.with_producer()
    plan.send(producer, 6)
    plan.wait_ops()
    requirements = (*_OPENS, "ordering.keeps-send-order")
    return _case(plan, "-at-once", "Six messages are sent at once to three partitions", requirements)


def refused() -> Case:
    """Refuse a partition's producer at its first use, and admit it at the next one."""
    plan, producer = Schedule.with_producer()
    for _ in range(6):
        plan.wait_ops(plan.send(producer))
    return _case(
        plan,
        "-refused",
        "The second partition refuses its producer once, at the first message for it",
        ("routing.lazy-start-failure-ends-send", "robustness.calls-do-not-hang"),
        faults=(Fault(trigger=up("PRODUCER", k=2), action=AnswerError("AuthorizationError")),),
    )


def cut_at_first_use() -> Case:
    plan, producer = Schedule.with_producer()
    for _ in range(4):
        plan.wait_ops(plan.send(producer))
    return _case(
        plan,
        "-cut",
        "The connection is lost when the second partition is used for the first time",
        (*_OPENS, "robustness.calls-do-not-hang", "delivery.successful-send-is-stored"),
        faults=(Fault(trigger=up("PRODUCER", k=2), action=Cut()),),
        limits=Limits(operation_ms=12_000),
    )
