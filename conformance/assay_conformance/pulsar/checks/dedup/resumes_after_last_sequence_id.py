"""dedup.resumes-after-last-sequence-id"""

from __future__ import annotations

from assay_conformance.checks.base import LEFT, Check, ms, on
from assay_conformance.checks.lines import Line, Unit
from assay_conformance.model.event import Frame
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.dedup._deduplication import NO_SEQUENCE_ID, initial_id


class ResumesAfterLastSequenceId(Check):
    """The first SEND of a new producer has the configured initial id plus one, or else the broker's last id plus one.

    Judged on the first session of a producer handle, where its first message leaves; a handle that reconnected before
    it sent anything may use either answer.
    """

    requirement = RequirementId("dedup.resumes-after-last-sequence-id")
    skips_plain = True

    def start(self) -> None:
        self._seen: set[int] = set()

    @on(Frame, "SEND", seen=LEFT)
    def send(self, event: Frame) -> None:
        unit = self.tracker.lines.unit
        if unit is None or unit.index or self.tracker.lines.again or not unit.numbers:
            return
        line = unit.line
        if line.handle is None or line.handle in self._seen:
            return
        self._seen.add(line.handle)
        if unit.numbers[0] == 0 and not self._explicit(line) and not self._reconnected(line, unit):
            self._judge(line, unit, event)

    def _judge(self, line: Line, unit: Unit, event: Frame) -> None:
        ready = unit.session.ready
        if ready is None:
            return
        initial = initial_id(self.view, line.handle or 0)
        last = int(ready.fields.get("last_sequence_id", NO_SEQUENCE_ID))
        expected = (last if initial is None else initial) + 1
        source = f"the broker's last id is {last}" if initial is None else f"the configured initial id is {initial}"
        self.exercise(event)
        if unit.sequence_id != expected:
            self.breach(
                "starts-elsewhere",
                f"{line}: its first SEND left at {ms(event.t_ns)} with sequence id {unit.sequence_id}; expected "
                f"{expected}, since {source} (PRODUCER_SUCCESS at {ms(ready.t_ns)})",
                ready,
                event,
            )

    def _explicit(self, line: Line) -> bool:
        return line.handle in self.tracker.foresight.explicit or self._sorts_by_key(line)

    def _sorts_by_key(self, line: Line) -> bool:
        return self.view.producer_setting(line.handle or 0, "batching_type") == "key_based"

    def _reconnected(self, line: Line, unit: Unit) -> bool:
        """Whether another session of that name came between opening the handle and this SEND."""
        opening = self.tracker.lines.openings[line.handle or 0]
        return any(
            session is not unit.session and session.request.seq > opening.seq
            for session in self.tracker.producers.values()
            if session.topic == line.topic and session.name == line.name
        )
