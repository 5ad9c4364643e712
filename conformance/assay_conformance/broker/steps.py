"""Broker steps of a Case: what the bench can make a broker do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import msgspec

from assay_conformance.broker.handshake import challenge
from assay_conformance.broker.host import Host
from assay_conformance.broker.raw import StoredEntry
from assay_conformance.broker.session import Session
from assay_conformance.broker.store import Hold
from assay_conformance.broker.topics import Topics
from assay_conformance.model.doors import MalformedError, convert
from assay_conformance.model.errors import UsageError
from assay_conformance.model.policy import Policies, Rate


class _Step(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class _OnTopic(_Step, frozen=True, kw_only=True, forbid_unknown_fields=True):
    topic: str


class Unload(_OnTopic, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Close all producers and consumers of a topic; it stays with its broker, or moves to `broker` unannounced."""

    broker: int | None = None

    def carry_out(self, topics: Topics, _sessions: Iterable[Session], _host: Host) -> None:
        for topic in topics.of_local(self.topic):
            if self.broker is not None:
                topics.move(topic, self.broker)
            topic.unload(None)


class Move(_OnTopic, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Give a topic to another broker; CLOSE_PRODUCER and CLOSE_CONSUMER name it to the clients."""

    broker: int

    def carry_out(self, topics: Topics, _sessions: Iterable[Session], _host: Host) -> None:
        for topic in topics.of_local(self.topic):
            topic.unload(topics.move(topic, self.broker))


class Terminate(_OnTopic, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Nothing more may be published."""

    def carry_out(self, topics: Topics, _sessions: Iterable[Session], _host: Host) -> None:
        for topic in topics.of_local(self.topic):
            topic.terminate()


class RateChange(Rate, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A rate as a step gives it: a misspelt key must not pass for no limit."""


class SetPolicy(Policies, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Change what is given of a topic's own policies, or of the namespace's where no topic is named; rates that change
    start over."""

    topic: str | None = None
    publish_rate: RateChange | None = None
    dispatch_rate: RateChange | None = None
    subscription_rate: RateChange | None = None

    def carry_out(self, topics: Topics, _sessions: Iterable[Session], _host: Host) -> None:
        if self.topic is None:
            topics.change_namespaces(self)
        else:
            topics.change_policies(topics.of_local(self.topic), self)


class Grow(_OnTopic, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Give a partitioned topic more partitions."""

    partitions: int

    def carry_out(self, topics: Topics, _sessions: Iterable[Session], _host: Host) -> None:
        topics.grow(topics.names.full_of(self.topic), self.partitions)


class Delete(_OnTopic, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Delete a topic with everything in it, even if it is in use."""

    def carry_out(self, topics: Topics, _sessions: Iterable[Session], _host: Host) -> None:
        topics.delete(topics.names.full_of(self.topic))


class Announce(_Step, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Change what brokers announce to clients that connect from now on."""

    protocol_version: int | None = None
    max_message_bytes: int | None = None

    def carry_out(self, _topics: Topics, _sessions: Iterable[Session], host: Host) -> None:
        said = {name: value for name, value in msgspec.structs.asdict(self).items() if value is not None}
        host.announced = host.announced._replace(**said)


class Challenge(_Step, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Ask every client for fresh credentials; with `tokens`, these are valid from now on and no others."""

    tokens: tuple[str, ...] | None = None

    def carry_out(self, _topics: Topics, sessions: Iterable[Session], host: Host) -> None:
        if self.tokens is not None:
            host.tokens = frozenset(token.encode() for token in self.tokens)
        for session in list(sessions):
            if session.connected:
                challenge(session)


class Migrate(_OnTopic, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Give a topic to a broker of another cluster: its clients get TOPIC_MIGRATED, and so do those that register here
    from now on.

    Both clusters see the same entries and cursors, as if all of them had been copied before.
    """

    broker: int

    def carry_out(self, topics: Topics, _sessions: Iterable[Session], _host: Host) -> None:
        for topic in topics.of_local(self.topic):
            topic.migrate(topics.migrate(topic, self.broker))


class HoldStore(_OnTopic, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Appends that match wait for `release`, and so does every one after them. `count`: only so many match."""

    producer_name: str | None = None
    sequence_id: int | None = None
    count: int | None = None

    def carry_out(self, topics: Topics, _sessions: Iterable[Session], _host: Host) -> None:
        for topic in topics.of_local(self.topic):
            topic.store.hold(Hold(self.producer_name, self.sequence_id, self.count))


class Release(_OnTopic, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Write what `hold_store` kept waiting, in order."""

    def carry_out(self, topics: Topics, _sessions: Iterable[Session], _host: Host) -> None:
        for topic in topics.of_local(self.topic):
            topic.publishing.release()


class FailStore(_OnTopic, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Fail to write what `hold_store` kept waiting: its producers get SEND_ERROR, and are closed."""

    def carry_out(self, topics: Topics, _sessions: Iterable[Session], _host: Host) -> None:
        for topic in topics.of_local(self.topic):
            topic.fail_writes()


class Restart(_Step, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A broker (all where none is given) dies and comes up again with what was written: every connection of it is
    closed; appends that waited are lost, and so are acknowledgements. A `graceful` one closes its topics first, as an
    unload does."""

    broker: int | None = None
    graceful: bool = False

    def carry_out(self, topics: Topics, sessions: Iterable[Session], _host: Host) -> None:
        if self.broker is not None:
            topics.placement.check(self.broker)
        served = list(topics) if self.broker is None else topics.owned_by(self.broker)
        for topic in served if self.graceful else ():
            topic.unload(None)
        for session in list(sessions):
            if self.broker in (None, session.broker):
                session.end()
        for topic in () if self.graceful else served:
            topic.reload(crashed=True)


class StoreEntries(_OnTopic, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Append these entries as they are, as if they had been published."""

    entries: tuple[StoredEntry, ...]

    def carry_out(self, topics: Topics, _sessions: Iterable[Session], host: Host) -> None:
        targets = topics.of_local(self.topic)
        if len(targets) != 1:
            raise UsageError(f"store_entries: topic {self.topic!r} is partitioned; name one of its partitions")
        for number, entry in enumerate(self.entries):
            payload = entry.payload_frame(number, host.unix_ms)
            for _ in range(entry.copies):
                targets[0].store_raw(payload)


class Step(Protocol):
    """One command, its arguments checked."""

    def carry_out(self, topics: Topics, sessions: Iterable[Session], host: Host) -> None: ...


STEPS: dict[str, type[Step]] = {
    "unload": Unload,
    "move": Move,
    "terminate": Terminate,
    "set_policy": SetPolicy,
    "migrate": Migrate,
    "announce": Announce,
    "challenge": Challenge,
    "grow": Grow,
    "delete": Delete,
    "hold_store": HoldStore,
    "release": Release,
    "fail_store": FailStore,
    "restart": Restart,
    "store_entries": StoreEntries,
}


def read_step(verb: str, args: Mapping[str, Any]) -> Step:
    """Return the step of a Case with its arguments checked.

    Raises UsageError for an unknown verb or wrong arguments.
    """
    kind = STEPS.get(verb)
    if kind is None:
        raise UsageError(f"broker step {verb!r}: expected one of {', '.join(sorted(STEPS))}")
    try:
        return convert(args, kind)
    except MalformedError as error:
        raise UsageError(f"broker step {verb!r}: {error}") from error
