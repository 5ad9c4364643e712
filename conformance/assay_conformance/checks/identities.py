"""What tells things apart: numbers that a client chooses for its requests, names that a broker gives to producers."""

from __future__ import annotations

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.consumption import from_client
from assay_conformance.checks.migrating import migrated_to
from assay_conformance.model.event import Frame
from assay_conformance.model.requirement import RequirementId

_LOOKUPS = frozenset({"LOOKUP", "PARTITIONED_METADATA", "GET_TOPICS_OF_NAMESPACE", "GET_SCHEMA"})


class RequestIdsDiffer(Check):
    """No two requests of a connection have one id: an answer that comes late is the answer to another one else.

    Lookups have answers of their own, and failures inside these: the C++ client counts them apart, and may. At a
    cluster that a topic went to, brokers are looked up (and nothing else) with a count of its own, side by side with
    the first one where that cluster is known already.
    """

    requirement = RequirementId("connection.request-ids-unique")
    skips_plain = True

    def start(self) -> None:
        self._asked: dict[tuple[int, bool, int], list[Frame]] = {}
        self._several: set[int] = set()
        self._clusters: set[str] = set()
        """The addresses of those that topics went to."""

    @on(Frame, "TOPIC_MIGRATED")
    def migrated(self, event: Frame) -> None:
        self._clusters.update(migrated_to(event))

    @on(Frame)
    def frame(self, event: Frame) -> None:
        if event.request_id is None or not from_client(event):
            return
        asked = self._asked.setdefault((event.conn, event.command in _LOOKUPS, event.request_id), [])
        if asked and not self._counted_apart(asked, event):
            before = asked[-1]
            self.breach(
                "used-twice",
                f"connection {event.conn}: {event.command} at {ms(event.t_ns)} has request id {event.request_id}, "
                f"which {before.command} had at {ms(before.t_ns)}",
                before,
                event,
            )
            return
        asked.append(event)
        if event.conn in self._several:
            self.exercise(event)
        self._several.add(event.conn)

    def _counted_apart(self, asked: list[Frame], event: Frame) -> bool:
        opened = self.tracker.opened.get(event.conn)
        if opened is None or opened.url not in self._clusters or len(asked) > 1:
            return False
        return "LOOKUP" in (asked[0].command, event.command)


class AssignedNamesDiffer(Check):
    """Producers that come to a topic without a name are each given one of their own, whether they meet or not."""

    requirement = RequirementId("producer.assigned-names-unique")
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
