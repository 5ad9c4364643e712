"""Mixed lives: several producers and consumers of one topic, what they do to each other, and what goes wrong meanwhile.

Drawn (`areas`) like the lives of one producer (`life`): plain lists of opcodes, interpreted by a small model that skips
what does not apply. An opcode picks a handle by number, counted round among those that are open, so that every list is
a life and a shorter one stays so. They look for what checks should not say as much as for what a client should not do:
payloads too small for an identity, producers reopened under their name, two consumers of one subscription, and streams
that no network would tear are all in them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from assay_conformance.machines.terms import SEND_TIMEOUT_MS, TOPIC, Terms, config_of, topology_of
from assay_conformance.model.case import Case, Limits, Step, Who
from assay_conformance.model.fault import Action, Direction, Fault, OnFrame, Until

T = TypeVar("T")

CLIENT, FIRST_NUMBER = 1, 2
SUBSCRIPTION = "s"
MAX_SENDS = 40
MAX_FAULTS = 4
MAX_HANDLES = 3
"""Producers, and consumers, that are open at once."""

SIZES = (2, 10, 16, 300, 1_500, 2_500)
"""Without an identity, with nothing else, of one chunk, and of several."""

KEYS = (None, None, "a", "my-key", "é")
"""Most messages have none; the others' partitions tell one hash from another."""

DELAYS_MS = (0, 0, 0, 0, 300)
"""Until a message may be delivered."""

PAUSES_MS = (5, 50, 150, 400)
RECEIVE_TIMEOUT_MS = 300
MOST_ADDED = 2
"""Partitions that a topic gets while it is used."""


class Do(StrEnum):
    """What can happen."""

    SEND = "send"
    FLUSH = "flush"
    OPEN_PRODUCER = "open-producer"
    REOPEN_PRODUCER = "reopen-producer"
    CLOSE_PRODUCER = "close-producer"
    OPEN_CONSUMER = "open-consumer"
    CLOSE_CONSUMER = "close-consumer"
    RECEIVE = "receive"
    ACK = "ack"
    ACK_ONE = "ack-one"
    ACK_UP_TO = "ack-up-to"
    NACK = "nack"
    SEEK = "seek"
    PAUSE = "pause"
    SETTLE = "settle"
    UNLOAD = "unload"
    RESTART = "restart"
    GROW = "grow"
    MOVE = "move"
    HOLD_STORE = "hold-store"
    RELEASE_STORE = "release-store"
    RESTART_CLIENT = "restart-client"


NEEDS: Mapping[Do, str] = {Do.SEEK: "seek", Do.NACK: "nack_delay", Do.ACK_UP_TO: "cumulative_ack"}
"""What a client has to be able to do for it; everybody can do the others."""


EVERY_LIFE = ("producer", "consumer")
"""Without one of these there is no life to draw."""


class Act(NamedTuple):
    """`who` picks among the open handles, round and round; `number` counts messages, names one, or picks a pause;
    `size` picks one of SIZES; `key` and `delay` pick one of KEYS and DELAYS_MS for a send."""

    do: Do
    who: int = 0
    number: int = 1
    size: int = 3
    key: int = 0
    delay: int = 0
    sync: bool = False


class Harm(NamedTuple):
    """Something that goes wrong: `action`, at the k-th `command` in its direction."""

    command: str
    action: Action
    k: int = 1
    after_ms: int = 100


DIRECTIONS: dict[str, Direction] = {
    **dict.fromkeys(("SEND", "PRODUCER", "SUBSCRIBE", "LOOKUP", "ACK", "FLOW"), Direction.TO_BROKER),
    **dict.fromkeys(
        ("SEND_RECEIPT", "PRODUCER_SUCCESS", "MESSAGE", "CONNECTED", "SUCCESS", "LOOKUP_RESPONSE"), Direction.TO_CLIENT
    ),
}
"""The frames that faults aim at."""


@dataclass(slots=True)
class _Mixed:
    """The model: who is open, and under which name."""

    terms: Terms
    able: Collection[str] | None = None
    """Capabilities of the client; None: every one."""
    steps: list[Step] = field(default_factory=list)
    producers: dict[int, str] = field(default_factory=dict)
    """Open producers -> name; empty where the broker gives one."""
    consumers: list[int] = field(default_factory=list)
    client: int = CLIENT
    number: int = FIRST_NUMBER
    names: int = 0
    sent: int = 0
    added: int = 0
    """Partitions the topic got."""
    owner: int = 0
    """The broker it is with."""
    held: bool = False
    """Nothing is stored for now."""

    def live(self, act: Act) -> None:
        if not self._can(NEEDS.get(act.do, "")):
            return
        match act.do:
            case Do.OPEN_PRODUCER if len(self.producers) < MAX_HANDLES:
                self.names += 1
                self._open_producer(f"p{self.names}" if self.terms.named else "")
            case Do.OPEN_CONSUMER if len(self.consumers) < self._most_consumers():
                self.consumers.append(self._open("open_consumer", topics=[TOPIC], subscription=SUBSCRIPTION))
            case Do.PAUSE:
                self._step(Who.WAIT, "ms", ms=_pick(PAUSES_MS, act.number))
            case Do.SETTLE:
                self._release()
                self._step(Who.WAIT, "ops")
            case Do.UNLOAD:
                self._step(Who.BROKER, "unload", topic=TOPIC)
            case Do.RESTART:
                self._step(Who.BROKER, "restart")
            case Do.GROW if self.terms.partitions and self.added < MOST_ADDED:
                self.added += 1
                self._step(Who.BROKER, "grow", topic=TOPIC, partitions=self.terms.partitions + self.added)
            case Do.MOVE if self.terms.brokers > 1:
                self.owner = (self.owner + 1) % self.terms.brokers
                self._step(Who.BROKER, "move", topic=TOPIC, broker=self.owner)
            case Do.HOLD_STORE if not self.held:
                self.held = True
                self._step(Who.BROKER, "hold_store", topic=TOPIC)
            case Do.RELEASE_STORE:
                self._release()
            case Do.RESTART_CLIENT:
                self._restart_client()
            case _ if act.do in _OF_PRODUCERS and self.producers:
                self._produce(act, _pick(tuple(self.producers), act.who))
            case _ if act.do in _OF_CONSUMERS and self.consumers:
                self._consume(act, _pick(self.consumers, act.who))

    def _release(self) -> None:
        """Whoever waits for a close waits for the store: a broker answers when what it was sent before is written."""
        if self.held:
            self.held = False
            self._step(Who.BROKER, "release", topic=TOPIC)

    def _restart_client(self) -> None:
        """It is closed as it is, with whatever is under way, and another one goes on with the same names."""
        names, consumers = tuple(self.producers.values()), len(self.consumers)
        self._release()
        self._awaited("close", {"handle": self.client})
        self.client = self._awaited("open_client", {})
        self.producers.clear()
        self.consumers.clear()
        for name in names:
            self._open_producer(name)
        for _ in range(consumers):
            self.live(Act(Do.OPEN_CONSUMER))

    def _produce(self, act: Act, producer: int) -> None:
        if act.do is Do.SEND:
            count = min(act.number, MAX_SENDS - self.sent)
            self.sent += count
            if count > 0:
                self._step(Who.AGENT, "send", producer=producer, count=count, **self._message(act))
        elif act.do is Do.FLUSH:
            self._step(Who.AGENT, "flush", producer=producer)
        else:
            name = self.producers.pop(producer)
            if act.do is Do.REOPEN_PRODUCER:
                # Its name is free when what it sent is stored, and the next one waits for that.
                self._release()
            self._step(Who.AGENT, "close", handle=producer)
            if act.do is Do.REOPEN_PRODUCER:
                self._open_producer(name)

    def _consume(self, act: Act, consumer: int) -> None:
        named: dict[Do, tuple[str, dict[str, Any]]] = {
            Do.ACK: ("ack", {"all": True}),
            Do.ACK_ONE: ("ack", {"messages": [act.number]}),
            Do.ACK_UP_TO: ("ack", {"messages": [act.number], "cumulative": True}),
            Do.NACK: ("nack", {"messages": [act.number]}),
        }
        if act.do is Do.CLOSE_CONSUMER:
            self.consumers.remove(consumer)
            self._step(Who.AGENT, "close", handle=consumer)
        elif act.do is Do.SEEK:
            self._awaited("seek", {"consumer": consumer, "delivery": act.number})
        elif act.do is Do.RECEIVE:
            # Acks name what was delivered, so what they name has to be there.
            args = {"consumer": consumer, "count": act.number, "timeout_ms": RECEIVE_TIMEOUT_MS}
            self._awaited("receive", args)
        else:
            verb, args = named[act.do]
            self._step(Who.AGENT, verb, consumer=consumer, **args)

    def _message(self, act: Act) -> dict[str, Any]:
        """What the messages of a send have in common."""
        key, delay_ms = _pick(KEYS, act.key), _pick(DELAYS_MS, act.delay)
        return {
            "size": _pick(SIZES, act.size),
            **({} if key is None else {"key": key}),
            **({"deliver_after_ms": delay_ms} if delay_ms and self._can("delayed_delivery") else {}),
            **({"mode": "sync"} if act.sync and self._can("sync_send") else {}),
        }

    def _can(self, capability: str) -> bool:
        return not capability or self.able is None or capability in self.able

    def _most_consumers(self) -> int:
        return 1 if self.terms.subscription_type == "exclusive" else MAX_HANDLES

    def _open_producer(self, name: str) -> None:
        config = {"config": {"producer_name": name}} if name else {}
        self.producers[self._open("open_producer", topic=TOPIC, **config)] = name

    def _open(self, verb: str, **args: Any) -> int:
        return self._awaited(verb, {"client": self.client, **args})

    def _awaited(self, verb: str, args: dict[str, Any]) -> int:
        """A step that the next one waits for, and its number."""
        number, self.number = self.number, self.number + 1
        self.steps.append(Step(Who.AGENT, verb, args, saves=number))
        self._step(Who.WAIT, "ops", ops=[number])
        return number

    def _step(self, who: Who, verb: str, **args: Any) -> None:
        self.steps.append(Step(who, verb, args))


_OF_PRODUCERS = frozenset({Do.SEND, Do.FLUSH, Do.CLOSE_PRODUCER, Do.REOPEN_PRODUCER})
_OF_CONSUMERS = frozenset({Do.RECEIVE, Do.ACK, Do.ACK_ONE, Do.ACK_UP_TO, Do.NACK, Do.SEEK, Do.CLOSE_CONSUMER})


def case_of(
    acts: Iterable[Act], harms: Iterable[Harm], terms: Terms, name: str, able: Collection[str] | None = None
) -> Case:
    """The Case these are, of what the client is `able` to do. One producer and one consumer are there from the
    start."""
    terms = terms.for_client(able)
    life = _Mixed(terms, able)
    for act in (Act(Do.OPEN_PRODUCER), Act(Do.OPEN_CONSUMER), *acts):
        life.live(act)
    life.live(Act(Do.RELEASE_STORE))
    return Case(
        id=f"generated/{name}",
        title="a generated life of producers and consumers",
        requirements=(),
        # The last wait keeps the faults in force until the life is over: the epilogue begins by healing them.
        steps=(Step(Who.AGENT, "open_client", {}, saves=CLIENT), *life.steps, Step(Who.WAIT, "ops")),
        faults=tuple(fault_of(harm) for harm in islice(harms, MAX_FAULTS)),
        topology=topology_of(terms),
        config=config_of(terms),
        capabilities=EVERY_LIFE,
        limits=Limits(operation_ms=10 * SEND_TIMEOUT_MS, case_ms=40 * SEND_TIMEOUT_MS),
        generated=True,
    )


def fault_of(harm: Harm) -> Fault:
    """An optional one: it may be healed before it is reached."""
    trigger = OnFrame(command=harm.command, direction=DIRECTIONS[harm.command], k=harm.k)
    return Fault(trigger=trigger, action=harm.action, until=Until(after_ms=harm.after_ms), optional=True)


def _pick(among: Sequence[T], number: int) -> T:
    return among[number % len(among)]
