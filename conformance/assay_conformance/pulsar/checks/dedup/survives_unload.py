"""What a broker knows of producer names when it loads a topic that another broker served before."""

from __future__ import annotations

from assay_conformance.checks.base import ms
from assay_conformance.model.event import Frame
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.dedup._copies import Copied, CopiesCheck
from assay_conformance.pulsar.checks.dedup._registrations import LastIdCheck


class DedupSurvivesUnload(CopiesCheck, LastIdCheck):
    """Judged by duplicates of what was stored before the load, and by the last id that a producer of that name gets."""

    requirement = RequirementId("dedup.survives-unload")
    kinds = frozenset({Copied.LOADED})

    def last_id_reported(self, topic: str, name: str, last_id: int, event: Frame) -> None:
        record = self.records.get((topic, name))
        if record is None or record.loads == self.loads.of(topic) or self.may_be_forgotten((topic, name), event):
            return
        if last_id >= record.highest:
            self.exercise(event)
            return
        self.breach(
            "forgotten",
            f"sequence id {record.highest} of producer {name} was stored on topic {topic} by {ms(record.event.t_ns)}; "
            f"after the topic was loaded again, PRODUCER_SUCCESS at {ms(event.t_ns)} carries {last_id} as the last "
            f"sequence id; expected at least {record.highest}",
            record.event,
            event,
        )
