"""Which axes a Case is indifferent to, and the Case with other values of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec

from assay_conformance.cases.build import DEFAULT_PAYLOAD_BYTES
from assay_conformance.cases.permutations.axes import AXES, Axis, Value
from assay_conformance.cases.permutations.concerned import CONCERNED
from assay_conformance.cases.permutations.covering import Row, covering
from assay_conformance.model.case import PERMUTED, Case, Step, Tier, Topic, Topology, Who
from assay_conformance.model.fault import OnFrame
from assay_conformance.model.needs import changed, means
from assay_conformance.model.outside import Means

Allows = Callable[[Case, Value], bool]
"""Whether a client, and the ground it is tried on, can be asked for a value in a Case."""

VALUES = {value.word: value for axis in AXES for value in axis.values}
_CHOICES = {
    "send": frozenset({"size", "key", "ordering_key", "properties", "sequence_id"}),
    "ack": frozenset({"cumulative"}),
}
"""Arguments of steps that are choices, too."""
_PLAIN_TOPIC = Topic(name="")


def everything(_case: Case, _value: Value) -> bool:
    return True


def open_to(case: Case) -> list[tuple[Axis, list[Value]]]:
    """Return the values that the Case leaves open, but its own.

    There are none where other things go wrong than frames: that takes long.
    """
    if means(case) - {Means.FRAMES}:
        return []
    verbs = [step.verb for step in case.steps if step.who is Who.AGENT]
    of_broker = {step.verb for step in case.steps if step.who is Who.BROKER}
    chosen, counted, about = frozenset(_chosen(case)), frozenset(_counted(case)), _about(case)
    return [
        (
            axis,
            [
                value
                for value in axis.values
                if value.verbs <= set(verbs)
                and not value.keys & chosen
                and counted.isdisjoint(value.counts)
                and not (value.once and verbs.count(value.once) > 1)
                and of_broker.isdisjoint(value.spoils)
                and about.isdisjoint((*CONCERNED.get(axis.name, ()), *CONCERNED.get(value.word, ())))
            ],
        )
        for axis in AXES
    ]


def _about(case: Case) -> frozenset[str]:
    """Return what `CONCERNED` may name of it: its id, its requirements, and their chapters."""
    chapters = (requirement.partition(".")[0] for requirement in case.requirements)
    return frozenset((case.id, *case.requirements, *chapters))


def rows(case: Case, allows: Allows = everything) -> tuple[Row, ...]:
    """Return the words of each permutation, one of each axis; the first row is the Case as it stands."""
    factors = [(axis.plain, *(value.word for value in values if allows(case, value))) for axis, values in open_to(case)]
    return covering(tuple(words for words in factors if len(words) > 1))


def available(case: Case) -> int:
    """Return how many permutations there are; none outside of the fast tier, where they are too slow to be of use."""
    return len(rows(case)) - 1 if case.tier is Tier.FAST else 0


def permutations(case: Case, allows: Allows = everything) -> Iterator[Case]:
    """Return the Case under all circumstances, but not as it stands."""
    return (permuted(case, row) for row in rows(case, allows)[1:])


def permuted(case: Case, words: Sequence[str]) -> Case:
    """Return the Case with these values of its axes; words of no value are what it is by itself."""
    values = [VALUES[word] for word in words if word in VALUES]
    names = [value.word for value in values]
    config, topology = case.config, case.topology
    for value in values:
        config = msgspec.structs.replace(
            config,
            client={**config.client, **value.client},
            producer={**config.producer, **value.producer},
            consumer={**config.consumer, **value.consumer},
        )
        topology = _topology(topology, value)
    return msgspec.structs.replace(
        case,
        id=f"{case.id}{PERMUTED}{'+'.join(names)}",
        title=f"{case.title} ({', '.join(names)})",
        steps=tuple(_step(step, values) for step in case.steps),
        config=config,
        topology=topology,
        capabilities=tuple(dict.fromkeys([*case.capabilities, *(c for value in values for c in value.capabilities)])),
    )


def _topology(topology: Topology, value: Value) -> Topology:
    topics = tuple(msgspec.structs.replace(topic, **value.topic) for topic in topology.topics)
    settings = msgspec.structs.replace(topology.settings, **value.settings)
    return msgspec.structs.replace(topology, topics=topics, settings=settings, **value.topology)


def _step(step: Step, values: Sequence[Value]) -> Step:
    if step.who is not Who.AGENT or step.verb != "send":
        return step
    more = {name: field for value in values for name, field in value.message.items()}
    return msgspec.structs.replace(step, args={**step.args, **more}) if more else step


def _chosen(case: Case) -> Iterator[str]:
    """Yield the keys that the Case sets itself."""
    config, topology = case.config, case.topology
    yield from (*config.client, *config.producer, *config.consumer)
    yield from (*changed(topology), *changed(topology.settings))
    for topic in topology.topics:
        yield from (name for name in Topic.__struct_fields__ if getattr(topic, name) != getattr(_PLAIN_TOPIC, name))
    for step in case.steps:
        if step.who is Who.AGENT:
            yield from step.args.get("config", ())
            yield from (
                name
                for name in _CHOICES.get(step.verb, ())
                if step.args.get(name, DEFAULT_PAYLOAD_BYTES) != DEFAULT_PAYLOAD_BYTES
            )
            if step.verb == "send":
                yield from (name for message in step.args.get("messages", ()) for name in message)


def _counted(case: Case) -> Iterator[str]:
    """Yield the commands that the Case counts."""
    yield from (fault.trigger.command for fault in case.faults if isinstance(fault.trigger, OnFrame))
    yield from (step.args["command"] for step in case.steps if step.who is Who.WAIT and step.verb == "frame")
