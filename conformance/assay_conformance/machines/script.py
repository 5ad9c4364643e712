"""The steps of a mixed life as it is written: handles are numbered as they are opened, and waiting is a step."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from assay_conformance.machines.environment import TOPIC, Environment
from assay_conformance.machines.operations import ADMITTED_MS
from assay_conformance.machines.parameters import Parameters
from assay_conformance.model.case import Step, Who
from assay_conformance.model.fault import AfterStep, Fault
from assay_conformance.model.outside import Kill, Role, Target

T = TypeVar("T")

_CLIENT = Target(role=Role.CLIENT)

MAX_HANDLES = 3
"""Producers, and consumers, that are open at once."""


@dataclass(slots=True)
class Script:
    """What all in a life have in common: its terms, its clients, and the store."""

    terms: Parameters
    able: Collection[str] | None = None
    """Capabilities of the client; None: every one."""
    steps: list[Step] = field(default_factory=list)
    clients: list[int] = field(default_factory=list)
    belongs: dict[int, int] = field(default_factory=dict)
    """Producers and consumers -> the place of their client among `clients`."""
    number: int = 1
    found: int = 0
    """Things that the broker stored by itself."""
    timed: bool = False
    """A later step seeks by the publish times of what is there: they have to be readable."""
    deadly: bool = False
    held: bool = False
    """Nothing is stored for now."""
    deaths: list[Fault] = field(default_factory=list)
    """The first of the faults: steps name them by their numbers."""

    @property
    def around(self) -> Environment:
        return self.terms.around.of

    def can(self, capability: str) -> bool:
        return not capability or self.able is None or capability in self.able

    def partition(self, which: int) -> str:
        return f"{TOPIC}-partition-{which % self.terms.partitions}" if self.terms.partitions else TOPIC

    def release(self) -> None:
        """Release the store, for which a close waits: a broker answers when what it was sent before is written."""
        if self.held:
            self.held = False
            self.step(Who.BROKER, "release", topic=TOPIC)

    def open(self, verb: str, client: int, args: dict[str, Any], *, wait: bool = True) -> int:
        place = int(verb == "open_consumer") if self.terms.apart else client % len(self.clients)
        handle = (self.awaited if wait else self.begun)(verb, {"client": self.clients[place], **args})
        self.belongs[handle] = place
        return handle

    def awaited(self, verb: str, args: dict[str, Any]) -> int:
        """Add a step that the next one waits for; return its number."""
        number = self.begun(verb, args)
        self.wait(ops=[number])
        return number

    def wait(self, **ops: Any) -> None:
        """Wait until operations have ended. A producer that lost its topic to an exclusive one may wait for ever."""
        self.step(Who.WAIT, "ops", **ops, **({"deadline_ms": ADMITTED_MS} if self.terms.claims else {}))

    def begun(self, verb: str, args: dict[str, Any]) -> int:
        number, self.number = self.number, self.number + 1
        self.steps.append(Step(Who.AGENT, verb, args, saves=number))
        return number

    def kill(self) -> None:
        """Kill the process of all clients, with whatever is under way; a fresh one takes its place."""
        fault = len(self.deaths)
        self.deaths.append(Fault(trigger=AfterStep(len(self.steps) - 1), action=Kill(target=_CLIENT)))
        self.step(Who.WAIT, "fired", fault=fault)
        self.step(Who.BENCH, "heal", fault=fault)
        self.step(Who.WAIT, "healed", fault=fault)

    def step(self, who: Who, verb: str, **args: Any) -> None:
        self.steps.append(Step(who, verb, args))


def pick(among: Sequence[T], number: int) -> T:
    """Pick by number, going round."""
    return among[number % len(among)]
