"""Mixed lives: several producers and consumers of one topic, what they do to each other, and what goes wrong meanwhile.

Drawn (`areas`, or by a machine's rules) as plain lists of opcodes, interpreted by a small model that skips what does
not apply. An opcode picks a handle by number, counted round among those that are open, so that every list is
a life and a shorter one stays so. They look for what checks should not say as much as for what a client should not do:
payloads too small for an identity, producers reopened under their name, two consumers of one subscription, and streams
that no network would tear are all in them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import islice

from assay_conformance.machines.consumers import Consumers
from assay_conformance.machines.drawn_faults import MAX_FAULTS, DrawnFault, changes_process, faults_of
from assay_conformance.machines.environment import Way
from assay_conformance.machines.operations import (
    CONSUMER,
    EVERY_LIFE,
    HAVE_CONSUMERS,
    LETTERS_MS,
    NEEDS,
    ODD,
    OF_CONSUMERS,
    OF_PRODUCERS,
    Act,
    Operation,
)
from assay_conformance.machines.parameters import SIZES, Parameters, config_of, topology_of
from assay_conformance.machines.producers import Producers, Written
from assay_conformance.machines.script import Script, pick
from assay_conformance.machines.world import HAPPENS, World
from assay_conformance.model.case import Case, Isolation, Limits, Who


class _Mixed:
    """The model: the world, and who lives in it."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.world = World(script)
        self.producers = Producers(script)
        self.consumers = Consumers(script)
        self._doings: Mapping[Operation, Callable[[Act], None]] = {
            Operation.OPEN_PRODUCER: self.producers.open_next,
            Operation.SEND_BY_ALL: self.producers.send_by_all,
            **dict.fromkeys(OF_PRODUCERS, self.producers.act),
            Operation.OPEN_CONSUMER: self.consumers.open_next,
            Operation.OPEN_BESIDE: self.consumers.open_beside,
            **dict.fromkeys(OF_CONSUMERS, self.consumers.act),
            Operation.OPEN_ODD: self._open_odd,
            Operation.SETTLE: self._settle,
            Operation.RESTART_CLIENT: self._restart_client,
            Operation.KILL_CLIENT: self._kill_client,
        }

    def begin(self) -> None:
        self.world.begin()
        for _ in range(self.script.terms.clients):
            self.script.clients.append(self.script.begun("open_client", {}))

    def end(self) -> None:
        """Release what is held back, and what waits for something that will not come. The last wait keeps the faults in
        force until the life is over: the epilogue begins by healing them."""
        self._settle()
        self.consumers.resume_all()
        if self.script.terms.listens_out:
            self.consumers.listen_out()
            self.script.wait()
        if self.script.terms.claims:
            # Who lost the topic meanwhile gets it when those have left who have it.
            for producer in self.producers.open:
                self.script.step(Who.AGENT, "close", handle=producer)
            self.script.wait()

    def live(self, act: Act) -> None:
        needs = {NEEDS.get(act.do, ""), CONSUMER if act.do in HAVE_CONSUMERS else ""}
        if not all(map(self.script.can, needs)):
            return
        if act.do in HAPPENS:
            HAPPENS[act.do](self.world, act)
        else:
            self._doings[act.do](act)

    def _settle(self, _: Act | None = None) -> None:
        self.script.release()
        self.producers.make_way()
        self.script.wait()

    def _open_odd(self, act: Act) -> None:
        verb, args, needs = pick(ODD, act.number)
        if self.script.can(needs) and (verb != "open_consumer" or self.script.can(CONSUMER)):
            handle = self.script.open(verb, act.who, args)
            if verb == "open_producer":
                self.script.step(Who.AGENT, "send", producer=handle, count=1, size=max(SIZES))

    def _restart_client(self, act: Act) -> None:
        """Close a client as it is, with whatever is under way; another one goes on with the same names."""
        script, place = self.script, act.who % len(self.script.clients)
        self.producers.make_way()
        script.release()
        gone = self._leave(place)
        script.awaited("close", {"handle": script.clients[place]})
        self._come_back(place, *gone)

    def _kill_client(self, _: Act) -> None:
        """Kill the process of all clients; what was on its way is stored or not.

        Once in a life: another one takes as long to start as several lives last.
        """
        script = self.script
        if script.deaths:
            return
        self.producers.make_way()
        gone = [self._leave(place) for place in range(len(script.clients))]
        script.kill()
        script.release()
        for place, who in enumerate(gone):
            self._come_back(place, *who)

    def _leave(self, place: int) -> tuple[list[Written], list[Way]]:
        """Remove and return the producers and consumers that are open at a client."""
        gone = [handle for handle, client in self.script.belongs.items() if client == place]
        producers = [self.producers.open.pop(handle) for handle in gone if handle in self.producers.open]
        return producers, [self.consumers.open.pop(handle) for handle in gone if handle in self.consumers.open]

    def _come_back(self, place: int, producers: Iterable[Written], ways: Iterable[Way]) -> None:
        """Open a client in place of the one that was killed, and its producers and consumers again."""
        self.script.clients[place] = self.script.begun("open_client", {})
        for written in producers:
            self.producers.begin(written, place)
        for way in ways:
            self.consumers.subscribe(way, place)


def case_of(
    acts: Iterable[Act], harms: Iterable[DrawnFault], terms: Parameters, name: str, able: Collection[str] | None = None
) -> Case:
    """Return the Case of these acts and faults, of what the client is `able` to do.

    One producer and, where it can be one, one consumer are there from the start.
    """
    terms = terms.for_client(able)
    script = Script(terms, able, found=len(terms.around.stock))
    life = _Mixed(script)
    life.begin()
    for act in (Act(Operation.OPEN_PRODUCER, number=0), Act(Operation.OPEN_CONSUMER, number=0), *acts):
        life.live(act)
    life.end()
    faults = (*script.deaths, *(fault for harm in islice(harms, MAX_FAULTS) for fault in faults_of(harm)))
    patience_ms = max(10 * terms.patience_ms, LETTERS_MS if script.around.sends_round else 0)
    # Code of the application that raises inside a client may end the process.
    alone = script.deadly or script.deaths or changes_process(faults) or "raise" in terms.supplies
    case = Case(
        id=f"generated/{name}",
        title="a generated life of producers and consumers",
        requirements=(),
        steps=tuple(script.steps),
        faults=faults,
        topology=topology_of(terms),
        config=config_of(terms),
        capabilities=(*EVERY_LIFE, CONSUMER) if script.can(CONSUMER) else EVERY_LIFE,
        isolation=Isolation.OWN_PROCESS if alone else Isolation.SHARED_PROCESS,
        limits=Limits(operation_ms=patience_ms, case_ms=4 * patience_ms),
        generated=True,
    )
    return terms.around.laid_over(case)
