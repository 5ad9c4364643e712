"""Consumers of a pattern: which topics they subscribe to, and how soon.

A Case says which of its topics match; the consumer is judged by its SUBSCRIBEs. One that lost its connection has other
things to do, and one whose questions or their answers a fault had waits for them: neither is asked for what it had to
find meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import TimedCheck, from_client, is_torn, late, number_in_force, to_client
from assay_conformance.checks.negotiated import COMMANDS_SINCE
from assay_conformance.checks.occasions import Trait
from assay_conformance.checks.tolerance import MS
from assay_conformance.checks.tracker import OpenedConsumer
from assay_conformance.model.event import AgentEnded, Closed, Completion, Ended, Event, Frame, Invoke, Outcome, Stored
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.topic_names import base_topic

ASKED_FIRST = (
    *("GET_TOPICS_OF_NAMESPACE", "GET_TOPICS_OF_NAMESPACE_RESPONSE"),
    *("PARTITIONED_METADATA", "PARTITIONED_METADATA_RESPONSE"),
    *("LOOKUP", "LOOKUP_RESPONSE"),
)
"""What a client asks, and is told, before it subscribes to a topic."""


@dataclass(frozen=True, slots=True)
class _Due:
    """A topic came to be, or was told of, by `event`."""

    consumer: OpenedConsumer
    event: Event
    due_ns: int


class _PatternCheck(TimedCheck):
    """Topics that a consumer of a pattern is to subscribe to by some time."""

    tolerance: ClassVar[str] = "answer"

    def start(self) -> None:
        self.open: dict[int, OpenedConsumer] = {}
        self._due: dict[tuple[int, str], _Due] = {}

    def expect(self, consumer: OpenedConsumer, topic: str, event: Event, within_ms: int) -> None:
        """If its pattern matches, and it is not there yet."""
        if topic in consumer.topics and not is_there(consumer, topic):
            self._due.setdefault((consumer.handle, topic), _Due(consumer, event, event.t_ns + within_ms * MS))

    def opens(self, consumer: OpenedConsumer, event: Completion) -> None:
        """It opened well."""

    @on(Completion, "open_consumer")
    def opened(self, event: Completion) -> None:
        consumer = self.tracker.opened_consumers.get(event.handle or 0)
        if consumer is not None and event.outcome is Outcome.OK and consumer.invoke.args.get("pattern"):
            self.open[consumer.handle] = consumer
            self.opens(consumer, event)

    @on(Frame, "SUBSCRIBE")
    def subscribed(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is None or session.consumer is None or not from_client(event):
            return
        due = self._due.pop((session.consumer.handle, base_topic(session.topic)), None)
        if due is None:
            return
        if late(self.tolerance, due.due_ns, event.t_ns):
            self._late(due, session.topic, event, f"subscribed to it only at {ms(event.t_ns)}")
        else:
            self.exercise(event)

    @on(Invoke, "close")
    def closes(self, event: Invoke) -> None:
        for handle, consumer in list(self.open.items()):
            if event.handle in (handle, consumer.invoke.args.get("client")):
                del self.open[handle]
                self._ends(event, handle)

    @on(AgentEnded)
    def died(self, event: AgentEnded) -> None:
        del event
        self.open.clear()
        self._due.clear()

    @on(Closed)
    def connection_lost(self, event: Closed) -> None:
        del event
        self._due.clear()

    @on(Frame, *ASKED_FIRST)
    def asks_first(self, event: Frame) -> None:
        if is_torn(event):
            self._due.clear()

    @on(Ended)
    def over(self, event: Ended) -> None:
        for handle in list(self.open):
            self._ends(event, handle)

    def _ends(self, event: Event, handle: int) -> None:
        for key in [key for key in self._due if key[0] == handle]:
            due = self._due.pop(key)
            if late(self.tolerance, due.due_ns, event.t_ns):
                self._late(due, key[1], event, f"had not subscribed to it by {ms(event.t_ns)}")

    def _late(self, due: _Due, topic: str, event: Event, came: str) -> None:
        if may_be_anothers(due.consumer, base_topic(topic)):
            return
        self.overdue(
            self.tolerance,
            due.due_ns,
            event.t_ns,
            "not-followed",
            f"topic {topic} matches {due.consumer.invoke.args['pattern']!r}, the pattern of consumer "
            f"{due.consumer.handle}, and was there at {ms(due.event.t_ns)}; the consumer was to find it by "
            f"{ms(due.due_ns)}, and {came}",
            due.event,
            event,
        )


class FollowsPattern(_PatternCheck):
    """Topics are there once something is stored in them. What came to be is found within two intervals of looking:
    one may have begun just before, and the next begins when that is done."""

    requirement = RequirementId("subscription.pattern-finds-new-topics")
    needs = (Trait.PATTERN,)

    def start(self) -> None:
        super().start()
        self._there: dict[str, Stored] = {}

    @on(Stored)
    def stored(self, event: Stored) -> None:
        topic = base_topic(event.topic)
        if event.late or topic in self._there:
            return
        self._there[topic] = event
        for consumer in self.open.values():
            interval_ms = number_in_force(self.view, consumer, "pattern_update_ms") or 60_000
            self.expect(consumer, topic, event, 2 * interval_ms)

    def opens(self, consumer: OpenedConsumer, event: Completion) -> None:
        for topic, stored in self._there.items():
            if topic not in consumer.topics or stored.seq > consumer.invoke.seq:
                continue
            if is_there(consumer, topic):
                self.exercise(event)
            elif not may_be_anothers(consumer, topic):
                self.breach(
                    "left-out",
                    f"topic {topic} matches {consumer.invoke.args['pattern']!r} and was there at {ms(stored.t_ns)}; "
                    f"consumer {consumer.handle} of that pattern was open at {ms(event.t_ns)}, without it",
                    stored,
                    event,
                )

    @on(Frame, "SUBSCRIBE")
    def elsewhere(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is None or session.consumer is not None or not from_client(event):
            return
        of_it = [c for c in self.tracker.opened_consumers.values() if c.subscription == session.subscription]
        known = {topic.name for topic in self.view.case.topology.topics}
        topic = base_topic(session.topic)
        if topic in known and of_it and all(c.invoke.args.get("pattern") and topic not in c.topics for c in of_it):
            self.breach(
                "matches-not",
                f"consumer {of_it[0].handle} is one of {of_it[0].invoke.args['pattern']!r}, and subscribed at "
                f"{ms(event.t_ns)} to topic {topic}, which does not match",
                of_it[0].invoke,
                event,
            )


class HearsOfTopics(_PatternCheck):
    """What a WATCH_TOPIC_UPDATE names is subscribed to at once; where brokers offer to keep watch and nobody asked
    them to, what was stored."""

    requirement = RequirementId("subscription.topic-list-watcher")
    needs = (Trait.PATTERN,)

    def start(self) -> None:
        super().start()
        self._offered = False
        self._watched = False

    @on(Frame, "CONNECTED")
    def connected(self, event: Frame) -> None:
        flags = event.fields.get("feature_flags") or {}
        offers = (
            flags.get("supports_topic_watchers")
            and event.fields.get("protocol_version", 0) >= COMMANDS_SINCE["WATCH_TOPIC_LIST"]
        )
        self._offered = self._offered or bool(offers)

    @on(Frame, "WATCH_TOPIC_LIST")
    def watches(self, event: Frame) -> None:
        self._watched = self._watched or from_client(event)

    @on(Stored)
    def stored(self, event: Stored) -> None:
        if self._offered and not self._watched and not event.late:
            self._expect_at_once(event.topic, event)

    @on(Frame, "WATCH_TOPIC_UPDATE")
    def told(self, event: Frame) -> None:
        for full in event.fields.get("new_topics", ()) if to_client(event) else ():
            self._expect_at_once(self.tracker.local_topic(str(full)), event)

    def _expect_at_once(self, topic: str, event: Event) -> None:
        for consumer in self.open.values():
            self.expect(consumer, base_topic(topic), event, 0)


def is_there(consumer: OpenedConsumer, topic: str) -> bool:
    return any(base_topic(session.topic) == topic for session in consumer.sessions)


def may_be_anothers(consumer: OpenedConsumer, topic: str) -> bool:
    """Somebody subscribed to it, and which of several consumers that was nobody knows."""
    return any(base_topic(unsure) == topic for unsure in consumer.unsure)
