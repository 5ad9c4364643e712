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

from assay_conformance.cases.stored import plain
from assay_conformance.cases.tuning import PROPERTIES
from assay_conformance.machines.finds import APART, FINDS
from assay_conformance.machines.harm import MAX_FAULTS, Harm, fault_of
from assay_conformance.machines.terms import TOPIC, Terms, config_of, topology_of
from assay_conformance.model.case import Case, Config, Isolation, Limits, Step, Who

T = TypeVar("T")

CLIENT, FIRST_NUMBER = 1, 2
SUBSCRIPTION = "s"
MAX_SENDS = 40
MAX_HANDLES = 3
"""Producers, and consumers, that are open at once."""

SIZES = (2, 10, 16, 300, 1_500, 2_500, 0)
"""Without an identity, with nothing else, of one chunk, and of several; and nothing at all."""

KEYS = (None, None, "a", "my-key", "é")
"""Most messages have none; the others' partitions tell one hash from another."""

DELAYS_MS = (0, 0, 0, 0, 300)
"""Until a message may be delivered."""

BESIDES: tuple[dict[str, Any], ...] = ({}, {}, {}, {"properties": PROPERTIES}, {"event_time_ms": 1}, {})
"""What a send may say besides."""

VARIANTS: tuple[Config, ...] = (
    {"batching_partition_switch_frequency": 0},
    {"batching_max_messages": 10},
    {"batching_partition_switch_frequency": 1},
    {},
)
"""How a producer may differ from the others of its life."""

MANY = 12
"""Messages of a producer that is compared with another one."""

PAUSES_MS = (5, 50, 150, 400, 50, 1_200)
"""The longest is for what is due in its time: most lives are over by then."""

RECEIVE_TIMEOUT_MS = 200
MOST_ADDED = 2
"""Partitions that a topic gets while it is used."""


class Do(StrEnum):
    """What can happen."""

    SEND = "send"
    SEND_BY_ALL = "send-by-all"
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
    UNLOAD_ONE = "unload-one"
    RESTART = "restart"
    GROW = "grow"
    MOVE = "move"
    HOLD_STORE = "hold-store"
    RELEASE_STORE = "release-store"
    FIND = "find"
    CHALLENGE = "challenge"
    RESTART_CLIENT = "restart-client"


NEEDS: Mapping[Do, str] = {Do.SEEK: "seek", Do.NACK: "nack_delay", Do.ACK_UP_TO: "cumulative_ack"}
"""What a client has to be able to do for it; everybody can do the others."""


EVERY_LIFE = ("producer", "consumer")
"""Without one of these there is no life to draw."""


class Act(NamedTuple):
    """`who` picks among the open handles, round and round; `number` counts messages, names one, or picks a pause or a
    find; `size` picks one of SIZES, of an opening one of VARIANTS; `key`, `delay` and `besides` pick one of KEYS,
    DELAYS_MS and BESIDES for a send."""

    do: Do
    who: int = 0
    number: int = 1
    size: int = 3
    key: int = 0
    delay: int = 0
    sync: bool = False
    besides: int = 0


@dataclass(slots=True)
class _Mixed:
    """The model: who is open, and under which name."""

    terms: Terms
    able: Collection[str] | None = None
    """Capabilities of the client; None: every one."""
    steps: list[Step] = field(default_factory=list)
    producers: dict[int, tuple[str, Config]] = field(default_factory=dict)
    """Open producers -> name, empty where the broker gives one, and what is its own."""
    consumers: list[int] = field(default_factory=list)
    client: int = CLIENT
    number: int = FIRST_NUMBER
    names: int = 0
    sent: int = 0
    added: int = 0
    """Partitions the topic got."""
    owner: int = 0
    """The broker it is with."""
    found: int = 0
    """Things that the broker stored by itself."""
    deadly: bool = False
    held: bool = False
    """Nothing is stored for now."""

    def live(self, act: Act) -> None:
        if not self._can(NEEDS.get(act.do, "")):
            return
        match act.do:
            case Do.OPEN_PRODUCER if len(self.producers) < MAX_HANDLES:
                self.names += 1
                self._open_producer(f"p{self.names}" if self.terms.named else "", self._variant(act))
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
            # Behind a proxy nobody can go straight to a broker that is named to it.
            case Do.MOVE if self.terms.brokers > 1 and not self.terms.proxied:
                self.owner = (self.owner + 1) % self.terms.brokers
                self._step(Who.BROKER, "move", topic=TOPIC, broker=self.owner)
            case Do.HOLD_STORE if not self.held:
                self.held = True
                self._step(Who.BROKER, "hold_store", topic=TOPIC)
            case Do.RELEASE_STORE:
                self._release()
            case Do.UNLOAD_ONE:
                self._step(Who.BROKER, "unload", topic=self._partition(act.who))
            case Do.CHALLENGE if self.terms.tokens:
                self._step(Who.BROKER, "challenge")
            case Do.FIND:
                self._find(act)
            case Do.SEND_BY_ALL:
                for producer in self.producers:
                    self._send(producer, act._replace(number=MANY, sync=False))
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

    def _find(self, act: Act) -> None:
        """Something that can be read stands behind what cannot."""
        find, number = _pick(FINDS, act.number), self.found * APART
        if self._can(find.needs):
            self.found += 1
            self.deadly |= find.deadly
            entries = [*find.make(number), plain(number + APART - 1)]
            self._step(Who.BROKER, "store_entries", topic=self._partition(act.who), entries=entries)

    def _partition(self, which: int) -> str:
        return f"{TOPIC}-partition-{which % self.terms.partitions}" if self.terms.partitions else TOPIC

    def _variant(self, act: Act) -> Config:
        return _pick(VARIANTS, act.size) if self.terms.varied else {}

    def _restart_client(self) -> None:
        """It is closed as it is, with whatever is under way, and another one goes on with the same names."""
        openings, consumers = tuple(self.producers.values()), len(self.consumers)
        self._release()
        self._awaited("close", {"handle": self.client})
        self.client = self._awaited("open_client", {})
        self.producers.clear()
        self.consumers.clear()
        for name, variant in openings:
            self._open_producer(name, variant)
        for _ in range(consumers):
            self.live(Act(Do.OPEN_CONSUMER))

    def _produce(self, act: Act, producer: int) -> None:
        if act.do is Do.SEND:
            self._send(producer, act)
        elif act.do is Do.FLUSH:
            self._step(Who.AGENT, "flush", producer=producer)
        else:
            name, variant = self.producers.pop(producer)
            if act.do is Do.REOPEN_PRODUCER:
                # Its name is free when what it sent is stored, and the next one waits for that.
                self._release()
            self._step(Who.AGENT, "close", handle=producer)
            if act.do is Do.REOPEN_PRODUCER:
                self._open_producer(name, variant)

    def _send(self, producer: int, act: Act) -> None:
        count = min(act.number, MAX_SENDS - self.sent)
        self.sent += count
        if count > 0:
            self._step(Who.AGENT, "send", producer=producer, count=count, **self._message(act))

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
            **_pick(BESIDES, act.besides),
            **({"deliver_after_ms": delay_ms} if delay_ms and self._can("delayed_delivery") else {}),
            **({"mode": "sync"} if act.sync and self._can("sync_send") else {}),
        }

    def _can(self, capability: str) -> bool:
        return not capability or self.able is None or capability in self.able

    def _most_consumers(self) -> int:
        return 1 if self.terms.subscription_type == "exclusive" else MAX_HANDLES

    def _open_producer(self, name: str, variant: Config) -> None:
        config = {**({"producer_name": name} if name else {}), **variant}
        more = {"config": config} if config else {}
        self.producers[self._open("open_producer", topic=TOPIC, **more)] = (name, variant)

    def spread(self) -> None:
        """Some of the topic goes to the second broker, before anybody uses it."""
        for partition in range(1, self.terms.partitions, 2) if self.terms.partitions else (0,):
            self._step(Who.BROKER, "unload", topic=self._partition(partition), broker=1)

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
    if terms.spread and terms.brokers > 1:
        life.spread()
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
        isolation=Isolation.OWN_PROCESS if life.deadly else Isolation.SHARED_PROCESS,
        limits=Limits(operation_ms=10 * terms.patience_ms, case_ms=40 * terms.patience_ms),
        generated=True,
    )


def _pick(among: Sequence[T], number: int) -> T:
    return among[number % len(among)]
