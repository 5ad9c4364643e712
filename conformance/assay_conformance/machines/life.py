"""A producer's life as opcodes, and the small model that turns any list of them into a Case.

Generation draws plain lists of opcodes, never a length first and nothing filtered: those shapes reduce to the minimum.
An opcode that does not apply at its place (a send on a closed producer) is skipped, so every list is a valid life.
Faults are opcodes too: they aim at a frame by command and count, and are optional, since a shorter life may not reach
the frame.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from assay_conformance.model.case import Case, ClientConfig, ConfigValue, Limits, Step, Topic, Topology, Who
from assay_conformance.model.fault import Action, Cut, CutHow, Direction, Drop, Fault, Hold, OnFrame, Until
from assay_conformance.model.requirement import RequirementId

CLIENT, FIRST_PRODUCER = 1, 2
MAX_SENDS = 12
"""Enough for any window a client keeps between frames, few enough that a Case stays quick."""

GENERATED_SEND_TIMEOUT_MS = 2_000
NAME = "p"


class Verb(StrEnum):
    """What can happen in a producer's life."""

    SEND = "send"
    FLUSH = "flush"
    SETTLE = "settle"
    CLOSE = "close"
    REOPEN = "reopen"
    UNLOAD = "unload"
    CUT = "cut"
    HOLD = "hold"
    DROP = "drop"


class Aim(StrEnum):
    """The frame a fault waits for."""

    SEND = "SEND"
    SEND_RECEIPT = "SEND_RECEIPT"
    PRODUCER = "PRODUCER"
    PRODUCER_SUCCESS = "PRODUCER_SUCCESS"


DIRECTIONS: dict[Aim, Direction] = {
    Aim.SEND: Direction.TO_BROKER,
    Aim.SEND_RECEIPT: Direction.TO_CLIENT,
    Aim.PRODUCER: Direction.TO_BROKER,
    Aim.PRODUCER_SUCCESS: Direction.TO_CLIENT,
}


class Opcode(NamedTuple):
    """`number` is how many messages a send has, how long a hold lasts in ms, or nothing; `aim`, `k` are a fault's."""

    verb: Verb
    number: int = 1
    aim: Aim = Aim.SEND
    k: int = 1
    before: bool = False


@dataclass(frozen=True, slots=True)
class Contract:
    """What the client was promised and told: deduplication, batching."""

    deduplication: bool = False
    batching: bool = False


@dataclass(slots=True)
class _Life:
    """The model: what is open, how much was sent."""

    steps: list[Step] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    open: bool = True
    sent: int = 0
    producer: int = FIRST_PRODUCER
    """The handle of the producer; each opening is one of its own."""

    def live(self, code: Opcode) -> None:
        match code.verb:
            case Verb.SEND if self.open and self.sent < MAX_SENDS:
                count = min(code.number, MAX_SENDS - self.sent)
                self.sent += count
                self._step(Who.AGENT, "send", producer=self.producer, count=count)
            case Verb.FLUSH if self.open:
                self._step(Who.AGENT, "flush", producer=self.producer)
            case Verb.SETTLE:
                self._step(Who.WAIT, "ops")
            case Verb.CLOSE if self.open:
                self.open = False
                self._step(Who.AGENT, "close", handle=self.producer)
                self._step(Who.WAIT, "ops", handle=self.producer)
            case Verb.REOPEN if not self.open:
                self.open = True
                self.producer += 1
                self.steps.append(opening(self.producer))
            case Verb.UNLOAD:
                self._step(Who.BROKER, "unload", topic=TOPIC)
            case Verb.CUT | Verb.HOLD | Verb.DROP:
                self.faults.append(_fault(code))

    def _step(self, who: Who, verb: str, **args: ConfigValue) -> None:
        self.steps.append(Step(who, verb, args))


TOPIC = "t"


def opening(producer: int) -> Step:
    return Step(Who.AGENT, "open_producer", {"client": CLIENT, "topic": TOPIC}, saves=producer)


def _fault(code: Opcode) -> Fault:
    actions: dict[Verb, Action] = {
        Verb.CUT: Cut(how=CutHow.RST, before=code.before),
        Verb.HOLD: Hold(),
        Verb.DROP: Drop(),
    }
    until = Until(after_ms=code.number * HOLD_STEP_MS) if code.verb is Verb.HOLD else Until()
    trigger = OnFrame(command=code.aim.value, direction=DIRECTIONS[code.aim], k=code.k)
    return Fault(trigger=trigger, action=actions[code.verb], until=until, optional=True)


HOLD_STEP_MS = 25


def case_of(codes: Iterable[Opcode], contract: Contract, requirements: tuple[RequirementId, ...], name: str) -> Case:
    """The Case these opcodes are. The producer has a fixed name, so that it can come back and go on."""
    life = _Life()
    for code in codes:
        life.live(code)
    producer: dict[str, ConfigValue] = {
        "producer_name": NAME,
        "send_timeout_ms": GENERATED_SEND_TIMEOUT_MS,
        "batching": contract.batching,
        "batching_max_publish_delay_ms": 5,
    }
    prologue = (
        Step(Who.AGENT, "open_client", {}, saves=CLIENT),
        opening(FIRST_PRODUCER),
        Step(Who.WAIT, "ops"),
    )
    return Case(
        id=f"generated/{name}",
        title="a generated life of a producer",
        requirements=requirements,
        # The last wait keeps the faults in force until the life is over: the epilogue begins by healing them.
        steps=(*prologue, *life.steps, Step(Who.WAIT, "ops")),
        faults=tuple(life.faults),
        topology=Topology(topics=(Topic(name=TOPIC, deduplication=contract.deduplication),)),
        config=ClientConfig(producer=producer),
        capabilities=("producer",),
        limits=Limits(operation_ms=3 * GENERATED_SEND_TIMEOUT_MS, case_ms=6 * GENERATED_SEND_TIMEOUT_MS),
        generated=True,
    )
