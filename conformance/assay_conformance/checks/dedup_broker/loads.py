"""What a broker knows of producer names when it loads a topic that others served before."""

from __future__ import annotations

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.dedup import NO_SEQUENCE_ID
from assay_conformance.checks.dedup_broker.copies import Copied, CopiesCheck
from assay_conformance.checks.dedup_broker.registrations import Registrations
from assay_conformance.model.event import Fate, Frame
from assay_conformance.model.requirement import RequirementId


class SurvivesLoad(CopiesCheck):
    """Judged on duplicates of what was stored before the load, and on what a producer of that name is told."""

    requirement = RequirementId("dedup.survives-load")
    kinds = frozenset({Copied.LOADED})

    def start(self) -> None:
        super().start()
        self._registrations = Registrations()

    @on(Frame, "PRODUCER")
    def asked(self, event: Frame) -> None:
        self._registrations.ask(event)

    @on(Frame, "CLOSE_PRODUCER")
    def close_producer(self, event: Frame) -> None:
        self._registrations.close(event)

    @on(Frame, "ERROR")
    def refused(self, event: Frame) -> None:
        self._registrations.refuse(event)

    @on(Frame, "PRODUCER_SUCCESS")
    def admitted(self, event: Frame) -> None:
        if not event.from_sender or event.fate is Fate.INJECTED or event.fields.get("producer_ready") is False:
            return
        request = self._registrations.answered(event)
        topic = "" if request is None else self.tracker.local_topic(str(request.fields.get("topic")))
        name = str(event.fields.get("producer_name"))
        record = self.records.get((topic, name))
        if record is None or record.loads == self.loads.of(topic) or self.may_be_forgotten((topic, name), event):
            return
        told = int(event.fields.get("last_sequence_id", NO_SEQUENCE_ID))
        if told >= record.highest:
            self.exercise(event)
            return
        self.breach(
            "forgotten",
            f"sequence id {record.highest} of producer {name} was stored on topic {topic} by {ms(record.event.t_ns)}; "
            f"after the topic was loaded anew PRODUCER_SUCCESS at {ms(event.t_ns)} says that {told} was its last",
            record.event,
            event,
        )
