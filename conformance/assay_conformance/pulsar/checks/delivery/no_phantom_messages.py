"""delivery.no-phantom-messages"""

from __future__ import annotations

from assay_conformance.checks.base import on
from assay_conformance.ledger import clauses
from assay_conformance.model.event import Began, Frame, Invoke, ReadBack, Received, Stored
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.topic_names import base_topic, named_topics
from assay_conformance.pulsar.checks.delivery._rows import RowsCheck
from assay_conformance.pulsar.checks.delivery._witnessed import ANY_TOPIC, Witnessed


class NoPhantomMessages(RowsCheck):
    """Judges the rows, and every delivery by all that the witnesses know, of which rows leave out much."""

    requirement = RequirementId(clauses.INVENTED)

    def start(self) -> None:
        self._known = Witnessed({topic.name for topic in self.view.case.topology.topics})

    @on(Began)
    def began(self, event: Began) -> None:
        self._known.topics.update(event.topics)

    @on(Invoke, "send")
    def send_called(self, event: Invoke) -> None:
        opening = None if event.handle is None else self.tracker.lines.openings.get(event.handle)
        if opening is None or event.size is None or event.digest is None:
            return
        for topic in self._named(opening):
            self._known.send_called(topic, (event.size, event.digest))

    @on(Invoke, "open_producer", "open_consumer")
    def opened(self, event: Invoke) -> None:
        self._known.topics.update(self._named(event))

    @on(Frame, "PRODUCER", "SUBSCRIBE", "LOOKUP")
    def named(self, event: Frame) -> None:
        self._known.subscribed = self._known.subscribed or event.command == "SUBSCRIBE"
        self._known.topics.add(self._local(str(event.fields.get("topic", ""))))

    @on(Frame, "SEND")
    def sent(self, event: Frame) -> None:
        session = self.tracker.producer_of(event)
        self._known.sent(ANY_TOPIC if session is None else base_topic(session.topic), event)

    @on(Frame, "MESSAGE")
    def dispatched(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        self._known.dispatched(ANY_TOPIC if session is None else base_topic(session.topic), event)

    @on(Stored)
    def stored(self, event: Stored) -> None:
        self._known.topics.add(base_topic(event.topic))
        self._known.stored(event)

    @on(ReadBack)
    def read_back(self, event: ReadBack) -> None:
        self._known.read_back(base_topic(event.topic))

    @on(Received)
    def delivered(self, event: Received) -> None:
        self._known.delivered(event, self._topic_of(event))

    def finish(self) -> None:
        super().finish()
        reported = {seq for finding in self.findings for seq in finding.events}
        for event, code, sentence in self._known.unknown_deliveries():
            if event.seq not in reported:
                self.breach(code, sentence, event)

    def _topic_of(self, event: Received) -> str | None:
        if event.topic is not None:
            return self._local(event.topic)
        consumer = self.tracker.opened_consumers.get(event.handle)
        return base_topic(consumer.topics[0]) if consumer is not None and len(consumer.topics) == 1 else None

    def _named(self, opening: Invoke) -> list[str]:
        first = self.view.case.topology.topics[0].name
        return [self._local(str(name)) for name in named_topics(opening.args, first)]

    def _local(self, full: str) -> str:
        return base_topic(self.tracker.local_topic(full))
