"""Consumers of a pattern: which topics they subscribe to, and how soon.

A Case says which of its topics match; the consumer is judged by its SUBSCRIBEs. A topic is not expected of a consumer
that has since lost its connection, nor after a fault on its look-ups or their answers, for which it waits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import TimedCheck, from_client, is_torn, late
from assay_conformance.checks.tolerance import MS
from assay_conformance.checks.tracker import OpenedConsumer
from assay_conformance.model.event import AgentEnded, Closed, Completion, Ended, Event, Frame, Invoke, Outcome
from assay_conformance.model.topic_names import base_topic

LOOKUPS = (
    *("GET_TOPICS_OF_NAMESPACE", "GET_TOPICS_OF_NAMESPACE_RESPONSE"),
    *("PARTITIONED_METADATA", "PARTITIONED_METADATA_RESPONSE"),
    *("LOOKUP", "LOOKUP_RESPONSE"),
)
"""The look-ups and answers that precede the SUBSCRIBE to a topic."""


@dataclass(frozen=True, slots=True)
class _Due:
    """A topic was created, or was named to the client, by `event`."""

    consumer: OpenedConsumer
    event: Event
    due_ns: int


class PatternCheck(TimedCheck):
    """Topics that a consumer of a pattern has to subscribe to by some time."""

    tolerance: ClassVar[str] = "answer"

    def start(self) -> None:
        self.open: dict[int, OpenedConsumer] = {}
        self._due: dict[tuple[int, str], _Due] = {}

    def expect(self, consumer: OpenedConsumer, topic: str, event: Event, within_ms: int) -> None:
        """Expect it to subscribe, if the topic matches its pattern and it has not subscribed yet."""
        if topic in consumer.topics and not is_there(consumer, topic):
            self._due.setdefault((consumer.handle, topic), _Due(consumer, event, event.t_ns + within_ms * MS))

    def opens(self, consumer: OpenedConsumer, event: Completion) -> None:
        """Called when it was opened."""

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
            self._late(due, session.topic, event, f"it subscribed only at {ms(event.t_ns)}")
        else:
            self.exercise(event)

    @on(Invoke, "close")
    def closes(self, event: Invoke) -> None:
        for handle, consumer in list(self.open.items()):
            if event.handle in (handle, consumer.invoke.args.get("client")):
                del self.open[handle]
                self._ends(event, handle)

    @on(AgentEnded)
    def agent_ended(self, event: AgentEnded) -> None:
        del event
        self.open.clear()
        self._due.clear()

    @on(Closed)
    def connection_lost(self, event: Closed) -> None:
        del event
        self._due.clear()

    @on(Frame, *LOOKUPS)
    def lookup_lost(self, event: Frame) -> None:
        if is_torn(event):
            self._due.clear()

    @on(Ended)
    def case_ended(self, event: Ended) -> None:
        for handle in list(self.open):
            self._ends(event, handle)

    def _ends(self, event: Event, handle: int) -> None:
        for key in [key for key in self._due if key[0] == handle]:
            due = self._due.pop(key)
            if late(self.tolerance, due.due_ns, event.t_ns):
                self._late(due, key[1], event, f"it had not by {ms(event.t_ns)}")

    def _late(self, due: _Due, topic: str, event: Event, came: str) -> None:
        if subscriber_is_ambiguous(due.consumer, base_topic(topic)):
            return
        self.overdue(
            self.tolerance,
            due.due_ns,
            event.t_ns,
            "not-followed",
            f"topic {topic} matches {due.consumer.invoke.args['pattern']!r}, the pattern of consumer "
            f"{due.consumer.handle}, and existed at {ms(due.event.t_ns)}; expected the consumer to subscribe to it by "
            f"{ms(due.due_ns)}; {came}",
            due.event,
            event,
        )


def is_there(consumer: OpenedConsumer, topic: str) -> bool:
    return any(base_topic(session.topic) == topic for session in consumer.sessions)


def subscriber_is_ambiguous(consumer: OpenedConsumer, topic: str) -> bool:
    """Whether a SUBSCRIBE to it came from one of several consumers, and it is unknown from which."""
    return any(base_topic(unsure) == topic for unsure in consumer.unsure)
