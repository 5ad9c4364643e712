"""throttling.pending-publishes-pause-reads"""

from __future__ import annotations

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.model.case import Who
from assay_conformance.model.event import Frame, Sides
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.throttling._read_ahead import SEEN_AHEAD_BYTES


class PendingPublishesPauseReads(Check):
    """Where a step holds the store, a connection has no more unanswered SENDs than the broker's limit, plus what may
    have been read ahead."""

    requirement = RequirementId("throttling.pending-publishes-pause-reads")

    def start(self) -> None:
        self._most = self.view.case.topology.settings.max_pending_sends
        steps = self.view.case.steps
        self._holds = any(step.who is Who.BROKER and step.verb == "hold_store" for step in steps)
        self._unanswered: dict[int, list[Frame]] = {}
        self._not_judged: set[int] = set()
        """Connections on which a fault held back or injected SENDs, which then arrive whether the broker reads or
        not."""

    def concerned(self) -> bool:
        return self._holds

    @on(Frame, "SEND")
    def sent(self, event: Frame) -> None:
        if not self._holds or not event.at_broker:
            return
        if event.sides is Sides.RECEIVER:
            self._not_judged.add(event.conn)
        if event.conn in self._not_judged:
            return
        waiting = self._unanswered.setdefault(event.conn, [])
        waiting.append(event)
        if len(waiting) == self._most:
            self.exercise(event)
        ahead = SEEN_AHEAD_BYTES // max(1, min(frame.size for frame in waiting)) + 1
        if len(waiting) == self._most + ahead + 1:
            self.breach(
                "reads-on",
                f"the broker read SEND {event.sequence_id} from connection {event.conn} at {ms(event.t_ns)}, when "
                f"{len(waiting) - 1} others were unanswered; expected it to stop reading at {self._most}",
                waiting[0],
                event,
            )

    @on(Frame, "SEND_RECEIPT", "SEND_ERROR")
    def answered(self, event: Frame) -> None:
        waiting = self._unanswered.get(event.conn)
        if waiting and event.from_sender:
            waiting.pop(0)
