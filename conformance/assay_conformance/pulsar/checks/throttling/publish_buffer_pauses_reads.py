"""throttling.publish-buffer-pauses-reads"""

from __future__ import annotations

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.model.case import Who
from assay_conformance.model.event import Closed, Frame, Opened, Sides
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.throttling._read_ahead import SEEN_AHEAD_BYTES


class PublishBufferPausesReads(Check):
    """Where a step keeps the store waiting: SENDs without an answer have no more bytes, on all connections of a broker
    together, than its limit, and what it may have read ahead on each.

    Judged where one broker has all topics. Who connects when it is full is left out: there is nothing yet to stop.
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
        self._odd: set[int] = set()
        """Connections on which a fault lets SENDs go, or that came when the buffer was, or may have been, full."""
        self._told = False

    def concerned(self) -> bool:
        return self._judged

    @on(Opened)
    def opened(self, event: Opened) -> None:
        if self._odd or self._bytes > self._most_bytes:
            self._odd.add(event.conn)

    @on(Closed)
    def closed(self, event: Closed) -> None:
        """What it left unwritten may count or not."""
        self._bytes -= sum(frame.size for frame in self._unanswered.pop(event.conn, ()))

    @on(Frame, "SEND")
    def sent(self, event: Frame) -> None:
        if not self._judged or not event.at_broker:
            return
        if event.sides is Sides.RECEIVER:
            self._odd.add(event.conn)
        if event.conn in self._odd:
            return
        self._unanswered.setdefault(event.conn, []).append(event)
        self._bytes += event.size
        if self._bytes <= self._most_bytes:
            return
        self.exercise(event)
        largest = max(frame.size for waiting in self._unanswered.values() for frame in waiting)
        if self._bytes > self._most_bytes + len(self._unanswered) * (SEEN_AHEAD_BYTES + largest) and not self._told:
            self._told = True
            self.breach(
                "reads-on",
                f"the broker read SEND {event.sequence_id} from connection {event.conn} at {ms(event.t_ns)}, which "
                f"made {self._bytes} bytes on {len(self._unanswered)} connections that it had not answered; at "
                f"{self._most_bytes} it should have stopped reading all of them",
                next(waiting[0] for waiting in self._unanswered.values() if waiting),
                event,
            )

    @on(Frame, "SEND_RECEIPT", "SEND_ERROR")
    def answered(self, event: Frame) -> None:
        waiting = self._unanswered.get(event.conn)
        if waiting and event.from_sender:
            self._bytes -= waiting.pop(0).size
