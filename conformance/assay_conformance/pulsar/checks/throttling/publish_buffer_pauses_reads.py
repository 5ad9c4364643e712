"""throttling.publish-buffer-pauses-reads"""

from __future__ import annotations

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.model.case import Who
from assay_conformance.model.event import Closed, Frame, Opened, Sides
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.throttling._read_ahead import SEEN_AHEAD_BYTES


class PublishBufferPausesReads(Check):
    """Where a step holds the store, the unanswered SENDs on all connections of a broker together have no more bytes
    than its limit, plus what may have been read ahead on each.

    Judged where one broker owns all topics. Connections that open while the buffer is full are left out.
    """

    requirement = RequirementId("throttling.publish-buffer-pauses-reads")

    def start(self) -> None:
        topology = self.view.case.topology
        self._most_bytes = topology.settings.max_pending_mb << 20
        steps = self.view.case.steps
        held = any(step.who is Who.BROKER and step.verb == "hold_store" for step in steps)
        self._judged = held and topology.brokers == 1 and self._most_bytes > 0
        self._unanswered: dict[int, list[Frame]] = {}
        self._bytes = 0
        self._not_judged: set[int] = set()
        """Connections on which a fault delays SENDs, or that opened while the buffer was, or may have been, full."""
        self._reported = False

    def concerned(self) -> bool:
        return self._judged

    @on(Opened)
    def opened(self, event: Opened) -> None:
        if self._not_judged or self._bytes > self._most_bytes:
            self._not_judged.add(event.conn)

    @on(Closed)
    def closed(self, event: Closed) -> None:
        """What it left unwritten may count or not."""
        self._bytes -= sum(frame.size for frame in self._unanswered.pop(event.conn, ()))

    @on(Frame, "SEND")
    def sent(self, event: Frame) -> None:
        if not self._judged or not event.at_broker:
            return
        if event.sides is Sides.RECEIVER:
            self._not_judged.add(event.conn)
        if event.conn in self._not_judged:
            return
        self._unanswered.setdefault(event.conn, []).append(event)
        self._bytes += event.size
        if self._bytes <= self._most_bytes:
            return
        self.exercise(event)
        largest = max(frame.size for waiting in self._unanswered.values() for frame in waiting)
        if self._bytes > self._most_bytes + len(self._unanswered) * (SEEN_AHEAD_BYTES + largest) and not self._reported:
            self._reported = True
            self.breach(
                "reads-on",
                f"the broker read SEND {event.sequence_id} from connection {event.conn} at {ms(event.t_ns)}, which "
                f"made {self._bytes} unanswered bytes on {len(self._unanswered)} connections; expected it to stop "
                f"reading all of them at {self._most_bytes}",
                next(waiting[0] for waiting in self._unanswered.values() if waiting),
                event,
            )

    @on(Frame, "SEND_RECEIPT", "SEND_ERROR")
    def answered(self, event: Frame) -> None:
        waiting = self._unanswered.get(event.conn)
        if waiting and event.from_sender:
            self._bytes -= waiting.pop(0).size
