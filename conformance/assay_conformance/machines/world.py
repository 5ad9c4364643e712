"""What happens to all in a mixed life: time goes by, and brokers act on their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from assay_conformance.cases.stored import plain
from assay_conformance.machines.environment import TOPIC
from assay_conformance.machines.foreign_entries import APART, FINDS
from assay_conformance.machines.initial_backlog import BACKLOG_NUMBERS, BACKLOGS, entries_of
from assay_conformance.machines.operations import LINGER_MS, MOST_ADDED, PAUSES_MS, Act, Operation
from assay_conformance.machines.script import Script, pick
from assay_conformance.model.case import Who


@dataclass(slots=True)
class World:
    """The model of the brokers of one life."""

    script: Script
    added: int = 0
    """Partitions the topic got."""
    owner: int = 0
    """The broker it is with."""
    migrated: bool = False
    lingered: bool = False

    def begin(self) -> None:
        """Prepare the world before a client connects; topics of a Case exist, and are empty."""
        terms, script = self.script.terms, self.script
        for topic in script.around.absent:
            script.step(Who.BROKER, "delete", topic=topic)
        if terms.spread and terms.brokers > 1:
            self._spread()
        if terms.around.stock:
            script.step(Who.BROKER, "store_entries", topic=TOPIC, entries=entries_of(terms.around.stock))
        for topic in terms.logs if terms.backlog else ():
            script.step(Who.BROKER, "store_entries", topic=topic, entries=BACKLOGS[terms.backlog])

    def _spread(self) -> None:
        """Move some of the topic to the second broker, before it is used."""
        terms = self.script.terms
        self.owner = 0 if terms.partitions else 1
        for partition in range(1, terms.partitions, 2) if terms.partitions else (0,):
            self.script.step(Who.BROKER, "unload", topic=self.script.partition(partition), broker=1)

    def pause(self, act: Act) -> None:
        self.script.step(Who.WAIT, "ms", ms=pick(PAUSES_MS, act.number))

    def linger(self, _: Act) -> None:
        if self.script.terms.rates.lasts and not self.lingered:
            self.lingered = True
            self.script.step(Who.WAIT, "ms", ms=LINGER_MS)

    def unload(self, _: Act) -> None:
        self.script.step(Who.BROKER, "unload", topic=TOPIC)

    def unload_one(self, act: Act) -> None:
        self.script.step(Who.BROKER, "unload", topic=self.script.partition(act.who))

    def restart(self, act: Act) -> None:
        """Restart the broker: it dies, or stops in good order."""
        graceful = {"graceful": True} if act.number % 2 else {}
        self.script.step(Who.BROKER, "restart", **graceful)

    def grow(self, _: Act) -> None:
        partitions = self.script.terms.partitions
        if partitions and self.added < MOST_ADDED:
            self.added += 1
            self.script.step(Who.BROKER, "grow", topic=TOPIC, partitions=partitions + self.added)

    def move(self, _: Act) -> None:
        """Move the topic to another broker. Behind a proxy a client cannot connect to the broker that it is
        assigned."""
        terms = self.script.terms
        if terms.brokers > 1 and not terms.proxied and not self.migrated:
            self.owner = (self.owner + 1) % terms.brokers
            self.script.step(Who.BROKER, "move", topic=TOPIC, broker=self.owner)

    def migrate(self, _: Act) -> None:
        """Migrate the topic to another cluster, and not back: its clients get TOPIC_MIGRATED once."""
        terms = self.script.terms
        if terms.brokers > 1 and not terms.proxied and not terms.partitions and not self.migrated:
            self.script.release()
            self.migrated = True
            self.owner = 1 - self.owner
            self.script.step(Who.BROKER, "migrate", topic=TOPIC, broker=self.owner)

    def hold_store(self, _: Act) -> None:
        if self.script.terms.persistent and not self.script.held:
            self.script.held = True
            self.script.step(Who.BROKER, "hold_store", topic=TOPIC)

    def release_store(self, _: Act) -> None:
        self.script.release()

    def fail_store(self, _: Act) -> None:
        if self.script.held:
            self.script.held = False
            self.script.step(Who.BROKER, "fail_store", topic=TOPIC)

    def challenge(self, _: Act) -> None:
        if self.script.terms.tokens:
            self.script.step(Who.BROKER, "challenge")

    def find(self, act: Act) -> None:
        """Store something that cannot be read, and after it something that can."""
        script = self.script
        find, number = pick(FINDS, act.number), BACKLOG_NUMBERS + script.found * APART
        if script.terms.persistent and not script.timed and script.can(find.needs):
            script.found += 1
            script.deadly |= find.deadly
            entries = [*find.make(number), plain(number + APART - 1)]
            script.step(Who.BROKER, "store_entries", topic=script.partition(act.who), entries=entries)


HAPPENS: Mapping[Operation, Callable[[World, Act], None]] = {
    Operation.PAUSE: World.pause,
    Operation.LINGER: World.linger,
    Operation.UNLOAD: World.unload,
    Operation.UNLOAD_ONE: World.unload_one,
    Operation.RESTART: World.restart,
    Operation.GROW: World.grow,
    Operation.MOVE: World.move,
    Operation.MIGRATE: World.migrate,
    Operation.HOLD_STORE: World.hold_store,
    Operation.RELEASE_STORE: World.release_store,
    Operation.FAIL_STORE: World.fail_store,
    Operation.CHALLENGE: World.challenge,
    Operation.FIND: World.find,
}
