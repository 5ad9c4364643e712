"""What tells things apart: numbers that a client chooses for its requests, names that a broker gives to producers."""

from __future__ import annotations

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.consumption import from_client
from assay_conformance.model.event import Frame
from assay_conformance.model.requirement import RequirementId

_LOOKUPS = frozenset({"LOOKUP", "PARTITIONED_METADATA", "GET_TOPICS_OF_NAMESPACE", "GET_SCHEMA"})


class RequestIdsDiffer(Check):
    """No two requests of a connection have one id: an answer that comes late is the answer to another one else.

    Lookups have answers of their own, and failures inside these: the C++ client counts them apart, and may. Of a
    cluster that a topic went to they are counted anew, and here that may be a broker which is known already.
    """

    requirement = RequirementId("connection.request-ids-differ")
    skips_plain = True

    def start(self) -> None:
        self._asked: dict[tuple[int, bool, int], Frame] = {}
        self._several: set[int] = set()

    @on(Frame, "TOPIC_MIGRATED")
    def migrated(self, event: Frame) -> None:
        url = event.fields.get("brokerServiceUrl")
        there = {opened.conn for opened in self.tracker.opened.values() if opened.url == url}
        self._asked = {key: asked for key, asked in self._asked.items() if not (key[0] in there and key[1])}

    @on(Frame)
    def frame(self, event: Frame) -> None:
        if event.request_id is None or not from_client(event):
            return
        before = self._asked.setdefault((event.conn, event.command in _LOOKUPS, event.request_id), event)
        if before is not event:
            self.breach(
                "used-twice",
                f"connection {event.conn}: {event.command} at {ms(event.t_ns)} has request id {event.request_id}, "
                f"which {before.command} had at {ms(before.t_ns)}",
                before,
                event,
            )
        elif event.conn in self._several:
            self.exercise(event)
        self._several.add(event.conn)


class AssignedNamesDiffer(Check):
    """Producers that come to a topic without a name are each given one of their own, whether they meet or not."""

    requirement = RequirementId("producer.assigned-names-differ")
    skips_plain = True

    def start(self) -> None:
        self._nameless: dict[tuple[int, int], Frame] = {}
        self._named: dict[tuple[str, str], Frame] = {}

    @on(Frame, "PRODUCER")
    def asks(self, event: Frame) -> None:
        if event.to_receiver and event.request_id is not None and not event.fields.get("producer_name"):
            self._nameless[event.conn, event.request_id] = event

    @on(Frame, "PRODUCER_SUCCESS")
    def told(self, event: Frame) -> None:
        """One that waits for its topic is told its name twice."""
        asked = self._nameless.get((event.conn, event.request_id or 0))
        if asked is None or not event.from_sender:
            return
        topic, name = str(asked.fields.get("topic", "")), str(event.fields.get("producer_name", ""))
        if any(others != name and named_on == topic for named_on, others in self._named):
            self.exercise(event)
        before = self._named.setdefault((topic, name), asked)
        if before is not asked:
            self.breach(
                "given-twice",
                f"the producer that came to {topic} without a name at {ms(asked.t_ns)} was called {name}, as another "
                f"one that had come at {ms(before.t_ns)}",
                before,
                event,
            )
