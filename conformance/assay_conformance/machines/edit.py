"""What is removed from a Case, by its place there: what can be removed alone may be removed together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from assay_conformance.model.case import Case, ClientConfig, Step, Topic, Topology
from assay_conformance.model.fault import AfterStep, AtTime, Fault, OnFrame

Key = tuple[str, str]
"""(part, key) of a configuration."""

_PLAIN = Topology()


@dataclass(frozen=True, slots=True)
class Edit:
    """`steps`, `faults` and `keys` go; of the `topic` these fields, and the whole `topology`, get their default values.
    Faults become `plainer`; numbers of steps (by step and argument), of faults and of the configuration (`values`) are
    lowered. With a fault go the steps that name it."""

    steps: frozenset[int] = frozenset()
    faults: frozenset[int] = frozenset()
    keys: frozenset[Key] = frozenset()
    topic: frozenset[str] = frozenset()
    topology: bool = False
    plainer: Mapping[int, Fault] = field(default_factory=dict)
    arguments: Mapping[tuple[int, str], int] = field(default_factory=dict)
    ks: Mapping[int, int] = field(default_factory=dict)
    after_ms: Mapping[int, int] = field(default_factory=dict)
    values: Mapping[Key, int] = field(default_factory=dict)

    def __or__(self, other: Edit) -> Edit:
        """Return both edits; where they differ about one place, this one counts."""
        return Edit(
            self.steps | other.steps,
            self.faults | other.faults,
            self.keys | other.keys,
            self.topic | other.topic,
            self.topology or other.topology,
            {**other.plainer, **self.plainer},
            {**other.arguments, **self.arguments},
            {**other.ks, **self.ks},
            {**other.after_ms, **self.after_ms},
            {**other.values, **self.values},
        )

    def of(self, case: Case) -> Case:
        """Return what the edit leaves of a Case."""
        steps = [i for i, step in enumerate(case.steps) if i not in self.steps and _named(step) not in self.faults]
        faults = [i for i in range(len(case.faults)) if i not in self.faults]
        return msgspec.structs.replace(
            case,
            steps=tuple(_naming(self._step(i, case.steps[i]), faults) for i in steps),
            faults=tuple(_behind(self._fault(i, case.faults[i]), steps) for i in faults),
            topology=_PLAIN if self.topology else self._topology(case.topology),
            config=self._config(case.config) if self.keys or self.values else case.config,
        )

    def _step(self, index: int, step: Step) -> Step:
        lowered = {name: value for (at, name), value in self.arguments.items() if at == index}
        return msgspec.structs.replace(step, args={**step.args, **lowered}) if lowered else step

    def _fault(self, index: int, fault: Fault) -> Fault:
        fault = self.plainer.get(index, fault)
        if index in self.ks and isinstance(fault.trigger, OnFrame):
            fault = msgspec.structs.replace(fault, trigger=msgspec.structs.replace(fault.trigger, k=self.ks[index]))
        if index in self.after_ms:
            until = msgspec.structs.replace(fault.until, after_ms=self.after_ms[index])
            fault = msgspec.structs.replace(fault, until=until)
        return fault

    def _topology(self, topology: Topology) -> Topology:
        if not self.topic:
            return topology
        (topic,) = topology.topics
        plain = Topic(name=topic.name)
        said = msgspec.structs.replace(topic, **{name: getattr(plain, name) for name in self.topic})
        return msgspec.structs.replace(topology, topics=(said,))

    def _config(self, config: ClientConfig) -> ClientConfig:
        less = {
            part: {
                key: self.values.get((part, key), value)
                for key, value in getattr(config, part).items()
                if (part, key) not in self.keys
            }
            for part, _ in (*self.keys, *self.values)
        }
        return msgspec.structs.replace(config, **less)


def _named(step: Step) -> int | None:
    """Return the fault that is waited for, or healed."""
    return step.args.get("fault")


def _naming(step: Step, faults: Sequence[int]) -> Step:
    """Return the step with its fault's number among those that are left; a fault that never existed stays one."""
    named = _named(step)
    if named not in faults:
        return step
    return msgspec.structs.replace(step, args={**step.args, "fault": faults.index(named)})


def _behind(fault: Fault, steps: Sequence[int]) -> Fault:
    """Return a fault that happens, or ends, after the last step that is left up to its own, or at once."""
    if isinstance(fault.trigger, AfterStep):
        before = sum(1 for i in steps if i <= fault.trigger.step)
        trigger = AfterStep(before - 1) if before else AtTime(0)
        fault = msgspec.structs.replace(fault, trigger=trigger)
    if fault.until.step is not None:
        before = sum(1 for i in steps if i <= fault.until.step)
        fault = msgspec.structs.replace(fault, until=msgspec.structs.replace(fault.until, step=max(0, before - 1)))
    return fault
