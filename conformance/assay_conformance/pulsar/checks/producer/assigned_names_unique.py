"""producer.assigned-names-unique"""

from __future__ import annotations

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.model.event import Frame
from assay_conformance.model.requirement import RequirementId


class AssignedNamesUnique(Check):
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
