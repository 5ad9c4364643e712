"""Mixed lives: several producers and consumers of one topic, what they do to each other, and what goes wrong meanwhile.

Drawn (`areas`) like the lives of one producer (`life`): plain lists of opcodes, interpreted by a small model that skips
what does not apply. An opcode picks a handle by number, counted round among those that are open, so that every list is
a life and a shorter one stays so. They look for what checks should not say as much as for what a client should not do:
payloads too small for an identity, producers reopened under their name, two consumers of one subscription, and streams
that no network would tear are all in them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from assay_conformance.cases.stored import plain
from assay_conformance.machines.acts import (
    ADMITTED_MS,
    BESIDES,
    DELAYS_MS,
    EVERY_LIFE,
    KEYS,
    LATER_MS,
    LINGER_MS,
    LISTEN_MS,
    MANY,
    MODES,
    MOST_ADDED,
    MOST_NAMED,
    NEEDS,
    ODD,
    OF_CONSUMERS,
    OF_LOGS,
    OF_PRODUCERS,
    OF_SEEKERS,
    PAUSES_MS,
    PLACES_IN_TIME_MS,
    RECEIVE_TIMEOUT_MS,
    VARIANTS,
    WAITS,
    Act,
    Do,
)
from assay_conformance.machines.finds import APART, FINDS
from assay_conformance.machines.harm import MAX_FAULTS, Harm, faults_of, is_lasting
from assay_conformance.machines.policies import BACKLOG_NUMBERS, BACKLOGS
from assay_conformance.machines.stock import entries_of
from assay_conformance.machines.surroundings import TOPIC, Surroundings, Way
from assay_conformance.machines.terms import Terms, config_of, topology_of
from assay_conformance.model.case import Case, Config, Isolation, Limits, Step, Who

T = TypeVar("T")

MAX_SENDS = 40
MAX_HANDLES = 3
"""Producers, and consumers, that are open at once."""


class Written(NamedTuple):
    """How a producer writes, and where; its name is empty where the broker gives one."""

    topic: str
    name: str
    variant: Config


@dataclass(slots=True)
class _Mixed:
    """The model: who is open, and under which name."""

    terms: Terms
    able: Collection[str] | None = None
    """Capabilities of the client; None: every one."""
    steps: list[Step] = field(default_factory=list)
    producers: dict[int, Written] = field(default_factory=dict)
    consumers: dict[int, Way] = field(default_factory=dict)
    clients: list[int] = field(default_factory=list)
    belongs: dict[int, int] = field(default_factory=dict)
    """Producers and consumers -> the place of their client among `clients`."""
    waiting: dict[int, Written] = field(default_factory=dict)
    """The producer that waits for its topic."""
    next_ids: dict[int, int] = field(default_factory=dict)
    """Producers -> the sequence id of what they send next."""
    number: int = 1
    names: int = 0
    sent: int = 0
    added: int = 0
    """Partitions the topic got."""
    owner: int = 0
    """The broker it is with."""
    found: int = 0
    """Things that the broker stored by itself."""
    timed: bool = False
    """Somebody goes by the time of what is there: it has to be readable."""
    deadly: bool = False
    lingered: bool = False
    held: bool = False
    """Nothing is stored for now."""

    def begin(self) -> None:
        """What is there before anybody comes (topics of a Case are there, and empty), and the clients."""
        for topic in self._around.absent:
            self._step(Who.BROKER, "delete", topic=topic)
        if self.terms.spread and self.terms.brokers > 1:
            self._spread()
        if self.terms.around.stock:
            self._step(Who.BROKER, "store_entries", topic=TOPIC, entries=entries_of(self.terms.around.stock))
        for topic in self.terms.logs if self.terms.backlog else ():
            self._step(Who.BROKER, "store_entries", topic=topic, entries=BACKLOGS[self.terms.backlog])
        for _ in range(self.terms.clients):
            self.clients.append(self._begun("open_client", {}))

    def end(self) -> None:
        """Nothing is held back any more, and nobody waits for what will not come. The last wait keeps the faults in
        force until the life is over: the epilogue begins by healing them."""
        self._release()
        self._make_way()
        self._wait()
        if self.terms.claims:
            # Who lost the topic meanwhile gets it when those have left who have it.
            for producer in self.producers:
                self._step(Who.AGENT, "close", handle=producer)
            self._wait()

    def live(self, act: Act) -> None:
        if not self._can(NEEDS.get(act.do, "")):
            return
        match act.do:
            case Do.OPEN_PRODUCER if len(self.producers) < MAX_HANDLES:
                self.names += 1
                name = f"p{self.names}" if self.terms.named else ""
                written = Written(_pick(self._around.written, act.number), name, self._variant(act))
                self._open_producer(written, act.who, self._mode(act))
            case Do.OPEN_CONSUMER:
                self._subscribe(_pick(self.terms.around.ways(self.able), act.number), act.who)
            case Do.OPEN_BESIDE if self.consumers and self.terms.subscription_type == "exclusive":
                self._join(next(iter(self.consumers.values())), act.who)
            case Do.OPEN_ODD:
                verb, args, needs = _pick(ODD, act.number)
                if self._can(needs):
                    self._open(verb, act.who, args)
            case Do.PAUSE:
                self._step(Who.WAIT, "ms", ms=_pick(PAUSES_MS, act.number))
            case Do.LINGER if self.terms.rates.lasts and not self.lingered:
                self.lingered = True
                self._step(Who.WAIT, "ms", ms=LINGER_MS)
            case Do.SETTLE:
                self._release()
                self._make_way()
                self._wait()
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
            case Do.HOLD_STORE if self.terms.persistent and not self.held:
                self.held = True
                self._step(Who.BROKER, "hold_store", topic=TOPIC)
            case Do.RELEASE_STORE:
                self._release()
            case Do.FAIL_STORE if self.held:
                self.held = False
                self._step(Who.BROKER, "fail_store", topic=TOPIC)
            case Do.UNLOAD_ONE:
                self._step(Who.BROKER, "unload", topic=self._partition(act.who))
            case Do.CHALLENGE if self.terms.tokens:
                self._step(Who.BROKER, "challenge")
            case Do.FIND if self.terms.persistent and not self.timed:
                self._find(act)
            case Do.SEND_BY_ALL:
                for producer in self.producers:
                    self._send(producer, act._replace(number=MANY, sync=False))
            case Do.RESTART_CLIENT:
                self._restart_client(act.who % len(self.clients))
            case _ if act.do in OF_PRODUCERS and self.producers:
                self._produce(act, _pick(tuple(self.producers), act.who))
            case _ if act.do in OF_LOGS and not self.terms.persistent:
                pass
            case _ if act.do in OF_CONSUMERS and self.consumers:
                self._consume(act, _pick(tuple(self.consumers), act.who))

    def _release(self) -> None:
        """Whoever waits for a close waits for the store: a broker answers when what it was sent before is written."""
        if self.held:
            self.held = False
            self._step(Who.BROKER, "release", topic=TOPIC)

    def _find(self, act: Act) -> None:
        """Something that can be read stands behind what cannot."""
        find, number = _pick(FINDS, act.number), BACKLOG_NUMBERS + self.found * APART
        if self._can(find.needs):
            self.found += 1
            self.deadly |= find.deadly
            entries = [*find.make(number), plain(number + APART - 1)]
            self._step(Who.BROKER, "store_entries", topic=self._partition(act.who), entries=entries)

    def _partition(self, which: int) -> str:
        return f"{TOPIC}-partition-{which % self.terms.partitions}" if self.terms.partitions else TOPIC

    def _variant(self, act: Act) -> Config:
        return _pick(VARIANTS, act.size) if self.terms.varied else {}

    def _make_way(self) -> None:
        """Whoever waits for the topic gets it, so that nobody waits for ever."""
        if not self.waiting:
            return
        self._release()
        for producer in self.producers:
            self._awaited("close", {"handle": producer})
        self.producers.clear()
        self._admit()

    def _admit(self) -> None:
        (producer,) = self.waiting
        self._step(Who.WAIT, "ops", ops=[producer], deadline_ms=ADMITTED_MS)
        self.producers |= self.waiting
        self.waiting.clear()

    def _restart_client(self, place: int) -> None:
        """It is closed as it is, with whatever is under way, and another one goes on with the same names."""
        self._make_way()
        self._release()
        gone = [handle for handle, client in self.belongs.items() if client == place]
        producers = [self.producers.pop(handle) for handle in gone if handle in self.producers]
        ways = [self.consumers.pop(handle) for handle in gone if handle in self.consumers]
        self._awaited("close", {"handle": self.clients[place]})
        self.clients[place] = self._begun("open_client", {})
        for written in producers:
            self._open_producer(written, place)
        for way in ways:
            self._subscribe(way, place)

    def _produce(self, act: Act, producer: int) -> None:
        if act.do is Do.SEND:
            self._send(producer, act)
        elif act.do is Do.SEND_AGAIN:
            self._send_again(producer, act)
        elif act.do is Do.FLUSH:
            self._step(Who.AGENT, "flush", producer=producer)
        elif act.do is Do.OPEN_NAMESAKE:
            self._open_namesake(producer)
        else:
            self._close_producer(producer, again=act.do is Do.REOPEN_PRODUCER)

    def _send(self, producer: int, act: Act) -> None:
        count = 0 if self._around.quiet else min(act.number, MAX_SENDS - self.sent)
        self.sent += count
        if count > 0:
            self._step(Who.AGENT, "send", producer=producer, count=count, **self._message(act))
            self.next_ids[producer] += count

    def _send_again(self, producer: int, act: Act) -> None:
        """The last ids once more, and two new ones behind them. Receipts for chunks of one id twice tell nobody which
        of both they are for."""
        if not self.terms.deduplication or self.terms.partitions or self.terms.chunking:
            return
        first = max(0, self.next_ids[producer] - act.number)
        ids = range(first, min(self.next_ids[producer] + 2, first + MAX_SENDS - self.sent))
        if ids:
            self.sent += len(ids)
            self.next_ids[producer] = ids.stop
            size = _pick(self.terms.sizes, act.size)
            self._step(Who.AGENT, "send", producer=producer, messages=[{"sequence_id": id, "size": size} for id in ids])

    def _close_producer(self, producer: int, *, again: bool) -> None:
        written = self.producers.pop(producer)
        if again or self.waiting:
            # Its name, or its topic, is free when what it sent is stored, and the next one waits for that.
            self._release()
        self._step(Who.AGENT, "close", handle=producer)
        if self.waiting and not self.producers:
            self._admit()
        if again:
            self._open_producer(written, self.belongs[producer])
            self.next_ids[max(self.next_ids)] = self.next_ids[producer]

    def _open_namesake(self, producer: int) -> None:
        """Somebody else wants its name, too. Who has lost it and has a small queue waits for one message after the
        other."""
        written, room = self.producers[producer], len(self.producers) < MAX_HANDLES
        if written.name and len(self.clients) > 1 and room and not self.terms.small_queue:
            self._open_producer(written, self.belongs[producer] + 1)

    def _consume(self, act: Act, consumer: int) -> None:
        way = self.consumers[consumer]
        if act.do is Do.CLOSE_CONSUMER:
            del self.consumers[consumer]
            self._step(Who.AGENT, "close", handle=consumer)
        elif act.do is Do.RECEIVE:
            # Acks name what was delivered, so what they name has to be there.
            args = {"consumer": consumer, "count": act.number, "timeout_ms": RECEIVE_TIMEOUT_MS}
            self._awaited("receive", args)
        elif act.do is Do.LISTEN:
            self._step(Who.AGENT, "receive", consumer=consumer, count=act.number, timeout_ms=LISTEN_MS)
        elif act.do in OF_SEEKERS:
            if way.is_of_one_topic:
                self._seek(act, consumer)
        elif act.do is Do.ASK_FOR_MORE:
            if way.is_reader:
                self._awaited("has_message_available", {"consumer": consumer})
        elif not way.is_reader:
            self._settle(act, consumer, way)

    def _seek(self, act: Act, consumer: int) -> None:
        place = {"delivery": act.number}
        if act.do is Do.SEEK_TIME:
            if self.found > len(self.terms.around.stock):
                return
            self.timed = True
            place = {"publish_time_ms": _pick(PLACES_IN_TIME_MS, act.number)}
        self._awaited("seek", {"consumer": consumer, **place})

    def _settle(self, act: Act, consumer: int, way: Way) -> None:
        one = {"messages": [act.number]}
        others = {other: its for other, its in self.consumers.items() if not set(its.topics) & set(way.topics)}
        named: dict[Do, tuple[str, dict[str, Any]]] = {
            Do.ACK: ("ack", {"all": True}),
            Do.ACK_ONE: ("ack", one),
            Do.ACK_UP_TO: ("ack", {**one, "cumulative": True}),
            Do.NACK: ("nack", one),
            Do.NACK_FIRST: ("nack", {"numbers": [act.number - 1]}),
            Do.NACK_ALL: ("nack", {"numbers": list(range(MOST_NAMED))}),
            **({Do.LATER: ("reconsume_later", self._later(act))} if self._around.sends_round else {}),
        }
        for other in list(others)[:1]:
            named[Do.ACK_OF_ANOTHER] = ("ack", {**one, "of": other})
            named[Do.ACK_UP_TO_ANOTHER] = ("ack", {**one, "of": other, "cumulative": True})
        if act.do in named:
            verb, args = named[act.do]
            self._step(Who.AGENT, verb, consumer=consumer, **args)

    def _later(self, act: Act) -> dict[str, Any]:
        return {"numbers": list(range(MOST_NAMED)), "delay_ms": _pick(LATER_MS, act.number)}

    def _message(self, act: Act) -> dict[str, Any]:
        """What the messages of a send have in common."""
        key, delay_ms = _pick(KEYS, act.key), _pick(DELAYS_MS, act.delay)
        return {
            "size": _pick(self.terms.sizes, act.size),
            **({} if key is None else {"key": key}),
            **_pick(BESIDES, act.besides),
            **({"deliver_after_ms": delay_ms} if delay_ms and self._can("delayed_delivery") else {}),
            **({"mode": "sync"} if act.sync and self._can("sync_send") else {}),
        }

    def _can(self, capability: str) -> bool:
        return not capability or self.able is None or capability in self.able

    @property
    def _around(self) -> Surroundings:
        return self.terms.around.of

    def _subscribe(self, way: Way, client: int) -> None:
        """As far as the subscription takes one more."""
        alike = [one for one in self.consumers.values() if one.subscription == way.subscription]
        kind = way.config.get("subscription_type", self.terms.subscription_type)
        if len(self.consumers) < MAX_HANDLES and not (alike and kind == "exclusive"):
            self.consumers[self._join(way, client)] = way

    def _join(self, way: Way, client: int) -> int:
        more = {"pattern": way.pattern} if way.pattern else {}
        config = {"config": dict(way.config)} if way.config else {}
        args = {"topics": list(way.topics), "subscription": way.subscription, **more, **config}
        return self._open("open_consumer", client, args)

    def _mode(self, act: Act) -> str:
        return _pick(MODES, act.size) if self.terms.claims else ""

    def _open_producer(self, written: Written, client: int, mode: str = "") -> None:
        name = {"producer_name": written.name} if written.name else {}
        config = {**name, **written.variant, **({"access_mode": mode} if mode else {})}
        args = {"topic": written.topic, **({"config": config} if config else {})}
        if mode:
            # Whoever is still closing has the topic until what it sent is stored.
            self._release()
        if mode != WAITS or not self.producers:
            self.producers[self._open("open_producer", client, args)] = written
        elif not self.waiting:
            self.waiting[self._open("open_producer", client, args, wait=False)] = written

    def _spread(self) -> None:
        """Some of the topic goes to the second broker, before anybody uses it."""
        for partition in range(1, self.terms.partitions, 2) if self.terms.partitions else (0,):
            self._step(Who.BROKER, "unload", topic=self._partition(partition), broker=1)

    def _open(self, verb: str, client: int, args: dict[str, Any], *, wait: bool = True) -> int:
        place = int(verb == "open_consumer") if self.terms.apart else client % len(self.clients)
        handle = (self._awaited if wait else self._begun)(verb, {"client": self.clients[place], **args})
        self.belongs[handle] = place
        self.next_ids[handle] = 0
        return handle

    def _awaited(self, verb: str, args: dict[str, Any]) -> int:
        """A step that the next one waits for, and its number."""
        number = self._begun(verb, args)
        self._wait(ops=[number])
        return number

    def _wait(self, **ops: Any) -> None:
        """Until operations have ended. Whoever lost a topic that somebody else has for itself now may wait for ever."""
        self._step(Who.WAIT, "ops", **ops, **({"deadline_ms": ADMITTED_MS} if self.terms.claims else {}))

    def _begun(self, verb: str, args: dict[str, Any]) -> int:
        number, self.number = self.number, self.number + 1
        self.steps.append(Step(Who.AGENT, verb, args, saves=number))
        return number

    def _step(self, who: Who, verb: str, **args: Any) -> None:
        self.steps.append(Step(who, verb, args))


def case_of(
    acts: Iterable[Act], harms: Iterable[Harm], terms: Terms, name: str, able: Collection[str] | None = None
) -> Case:
    """The Case these are, of what the client is `able` to do. One producer and one consumer are there from the
    start."""
    terms = terms.for_client(able)
    life = _Mixed(terms, able, found=len(terms.around.stock))
    life.begin()
    for act in (Act(Do.OPEN_PRODUCER, number=0), Act(Do.OPEN_CONSUMER, number=0), *acts):
        life.live(act)
    life.end()
    faults = tuple(fault for harm in islice(harms, MAX_FAULTS) for fault in faults_of(harm))
    case = Case(
        id=f"generated/{name}",
        title="a generated life of producers and consumers",
        requirements=(),
        steps=tuple(life.steps),
        faults=faults,
        topology=topology_of(terms),
        config=config_of(terms),
        capabilities=EVERY_LIFE,
        isolation=Isolation.OWN_PROCESS if life.deadly or is_lasting(faults) else Isolation.SHARED_PROCESS,
        limits=Limits(operation_ms=10 * terms.patience_ms, case_ms=40 * terms.patience_ms),
        generated=True,
    )
    return terms.around.laid_over(case)


def _pick(among: Sequence[T], number: int) -> T:
    return among[number % len(among)]
