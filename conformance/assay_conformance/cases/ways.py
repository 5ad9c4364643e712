"""Cases whose traffic goes over a way that is bad from the beginning to the end, but carries everything."""

from __future__ import annotations

from assay_conformance.cases.build import EARLIEST, Schedule
from assay_conformance.model.case import Case, Config, Limits
from assay_conformance.model.fault import Action, AtTime, Fault

FROM_THE_START = AtTime(0)


def always(*actions: Action) -> tuple[Fault, ...]:
    """Return faults with these actions, from before the client connects to the end."""
    return tuple(Fault(trigger=FROM_THE_START, action=action) for action in actions)


def there_and_back(
    words: str,
    title: str,
    requirements: tuple[str, ...],
    *actions: Action,
    sends: int,
    size: int,
    limits: Limits,
    config: Config = EARLIEST,
) -> Case:
    """Return a Case in which so many messages of that size are sent and received; `config` is the consumer's."""
    plan = Schedule()
    client = plan.client()
    consumer = plan.consumer(client)
    producer = plan.producer(client)
    plan.send(producer, sends, size=size)
    plan.receive(consumer, sends)
    plan.wait_ops()
    return plan.case(
        words,
        title,
        requirements,
        capabilities=("producer", "consumer"),
        consumer=config,
        faults=always(*actions),
        limits=limits,
    )
