"""Our own reducer over Case data: steps and faults shrink together, to a Case from which nothing more can be taken.

Pure: it proposes candidates, the bench runs them (side by side, each confirmed) and says which still fails. Every
proposal is a valid Case, since steps that lost their handle are no-ops; what the Case needs before it can begin (its
openers) is proposed for removal like anything else.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from assay_conformance.model.case import Case, ClientConfig, Step, Topic, Topology
from assay_conformance.model.fault import Cut, Fault, OnFrame
from assay_conformance.model.needs import changed

T = TypeVar("T")
Key = tuple[str, str]
"""(part, key) of a configuration."""

SOME = 4
"""Steps dropped at once after something else than steps was."""

_PLAIN = Topology()
_KEPT = frozenset({"send_timeout_ms", "producer_name", "initial_position"})
"""Without these a Case takes its client's patience, or another position, and a bug of a name cannot show."""

COUNTS = ("count", "number", "size")
"""Arguments of a step that are lowered: messages and bytes."""


@dataclass
class Reducer:
    """Ask `proposals`, run them, tell `accept` the first that still fails; finished when none of them does."""

    case: Case
    widest: int = 0
    """Steps dropped at once, at most: what was refused of a larger Case is hardly worth another try; 0: no limit."""

    def proposals(self) -> list[Case]:
        """Candidates smaller than the Case, the boldest first; empty when there is nothing left to try."""
        seen = {_text(self.case)}
        found = []
        for candidate in self._candidates():
            text = _text(candidate)
            if text not in seen:
                seen.add(text)
                found.append(candidate)
        return found

    def accept(self, case: Case) -> None:
        """Go on from this proposal."""
        self.widest = max(SOME, len(self.case.steps) - len(case.steps))
        self.case = case

    def _candidates(self) -> Iterator[Case]:
        yield from self._without_steps()
        yield from self._without_faults()
        yield from self._plainer_world()
        yield from self._plainer_faults()
        yield from self._lower_steps()
        yield from self._lower_faults()

    def _without_steps(self) -> Iterator[Case]:
        steps = self.case.steps
        width = min(len(steps) // 2, self.widest or len(steps)) or len(steps)
        while width:
            for start in range(0, len(steps), width):
                yield self._with_steps(steps[:start] + steps[start + width :])
            width //= 2

    def _without_faults(self) -> Iterator[Case]:
        faults = self.case.faults
        if len(faults) > 1:
            yield self._with_faults(())
        for index in range(len(faults)):
            yield self._with_faults(faults[:index] + faults[index + 1 :])

    def _plainer_faults(self) -> Iterator[Case]:
        """A cut at the same frame says more to a reader than a lost or late one, when it shows the same."""
        for index, fault in enumerate(self.case.faults):
            if isinstance(fault.trigger, OnFrame) and not isinstance(fault.action, Cut):
                for before in (False, True):
                    plain = Fault(trigger=fault.trigger, action=Cut(before=before), scope=fault.scope)
                    yield self._with_faults(_put(self.case.faults, index, plain))

    def _plainer_world(self) -> Iterator[Case]:
        """Topology and configuration, all of it and then one thing at a time, as they are where nobody says a word."""
        topology, config = self.case.topology, self.case.config
        yield self._in_world(_PLAIN, _without(config, *_keys(config)))
        yield self._in_world(_PLAIN, config)
        for topic in _plainer(topology.topics[0]) if len(topology.topics) == 1 else ():
            yield self._in_world(msgspec.structs.replace(topology, topics=(topic,)), config)
        for part, key in _keys(config):
            yield self._in_world(topology, _without(config, (part, key)))

    def _lower_steps(self) -> Iterator[Case]:
        for index, step in enumerate(self.case.steps):
            for name in COUNTS:
                value = step.args.get(name)
                for lower in _lower(value) if isinstance(value, int) else ():
                    lowered = msgspec.structs.replace(step, args={**step.args, name: lower})
                    yield self._with_steps(_put(self.case.steps, index, lowered))

    def _lower_faults(self) -> Iterator[Case]:
        for index, fault in enumerate(self.case.faults):
            for lowered in _lower_fault(fault):
                yield self._with_faults(_put(self.case.faults, index, lowered))

    def _with_steps(self, steps: tuple[Step, ...]) -> Case:
        return msgspec.structs.replace(self.case, steps=steps)

    def _in_world(self, topology: Topology, config: ClientConfig) -> Case:
        return msgspec.structs.replace(self.case, topology=topology, config=config)

    def _with_faults(self, faults: tuple[Fault, ...]) -> Case:
        return msgspec.structs.replace(self.case, faults=faults)


def without_unfired(case: Case, fired: Collection[int]) -> Case:
    """The Case as it really happened: an optional fault that did not act leaves the record."""
    kept = tuple(fault for index, fault in enumerate(case.faults) if index in fired or not fault.optional)
    return msgspec.structs.replace(case, faults=kept)


def _keys(config: ClientConfig) -> list[Key]:
    parts = ("client", "producer", "consumer")
    return [(part, key) for part in parts for key in getattr(config, part) if key not in _KEPT]


def _without(config: ClientConfig, *keys: Key) -> ClientConfig:
    less = {
        part: {key: value for key, value in getattr(config, part).items() if (part, key) not in keys}
        for part, _ in keys
    }
    return msgspec.structs.replace(config, **less)


def _plainer(topic: Topic) -> Iterator[Topic]:
    """The topic with one thing less that is said of it."""
    plain = Topic(name=topic.name)
    for name in changed(topic, plain):
        yield msgspec.structs.replace(topic, **{name: getattr(plain, name)})


def _lower(value: int) -> Iterator[int]:
    """1, the half, and one less: each smaller than `value` and at least 1."""
    return (lower for lower in dict.fromkeys((1, value // 2, value - 1)) if 1 <= lower < value)


def _lower_fault(fault: Fault) -> Iterator[Fault]:
    trigger = fault.trigger
    if isinstance(trigger, OnFrame):
        for k in _lower(trigger.k):
            yield msgspec.structs.replace(fault, trigger=msgspec.structs.replace(trigger, k=k))
    if fault.until.after_ms is not None:
        for after_ms in _lower(fault.until.after_ms):
            yield msgspec.structs.replace(fault, until=msgspec.structs.replace(fault.until, after_ms=after_ms))


def _put(values: tuple[T, ...], index: int, value: T) -> tuple[T, ...]:
    return (*values[:index], value, *values[index + 1 :])


def _text(case: Case) -> bytes:
    return msgspec.json.encode(case)
