"""subscription.pattern-finds-new-topics"""

from __future__ import annotations

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import from_client, number_in_force
from assay_conformance.checks.occasions import Trait
from assay_conformance.checks.tracker import OpenedConsumer
from assay_conformance.model.event import Completion, Frame, Stored
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.checks.subscription._patterns import PatternCheck, is_there, subscriber_is_ambiguous


class PatternFindsNewTopics(PatternCheck):
    """A topic exists once something is stored in it. A new one is found within two update intervals: an update may have
    begun just before, and the next begins only when it is done."""

    requirement = RequirementId("subscription.pattern-finds-new-topics")
    needs = (Trait.PATTERN,)

    def start(self) -> None:
        super().start()
        self._existing: dict[str, Stored] = {}

    @on(Stored)
    def stored(self, event: Stored) -> None:
        topic = base_topic(event.topic)
        if event.late or topic in self._existing:
            return
        self._existing[topic] = event
        for consumer in self.open.values():
            interval_ms = number_in_force(self.view, consumer, "pattern_update_ms") or 60_000
            self.expect(consumer, topic, event, 2 * interval_ms)

    def opens(self, consumer: OpenedConsumer, event: Completion) -> None:
        for topic, stored in self._existing.items():
            if topic not in consumer.topics or stored.seq > consumer.invoke.seq:
                continue
            if is_there(consumer, topic):
                self.exercise(event)
            elif not subscriber_is_ambiguous(consumer, topic):
                self.breach(
                    "left-out",
                    f"topic {topic} matches {consumer.invoke.args['pattern']!r} and existed at {ms(stored.t_ns)}; "
                    f"expected consumer {consumer.handle} of that pattern to subscribe to it before it is open; it was "
                    f"open at {ms(event.t_ns)} without it",
                    stored,
                    event,
                )

    @on(Frame, "SUBSCRIBE")
    def subscribed_elsewhere(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is None or session.consumer is not None or not from_client(event):
            return
        of_it = [c for c in self.tracker.opened_consumers.values() if c.subscription == session.subscription]
        known = {topic.name for topic in self.view.case.topology.topics}
        topic = base_topic(session.topic)
        if topic in known and of_it and all(c.invoke.args.get("pattern") and topic not in c.topics for c in of_it):
            self.breach(
                "matches-not",
                f"consumer {of_it[0].handle} has the pattern {of_it[0].invoke.args['pattern']!r}; expected no "
                f"SUBSCRIBE to topic {topic}, which does not match; one left at {ms(event.t_ns)}",
                of_it[0].invoke,
                event,
            )
