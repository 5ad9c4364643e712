"""routing.partitions-are-independent"""

from __future__ import annotations

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import TimedCheck, late
from assay_conformance.checks.lines import Line
from assay_conformance.checks.occasions import Trait
from assay_conformance.model.event import Completion, Event, Frame, Invoke
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.topic_names import is_partition


class PartitionsAreIndependent(TimedCheck):
    """While one partition is away or gives no receipts, a message to another leaves at once.

    Judged are producers that neither batch nor block when their queue is full: that would stop their caller. So does a
    synchronous send, and what is asked for meanwhile comes to the client behind it.
    """

    requirement = RequirementId("routing.partitions-are-independent")
    needs = (Trait.PARTITION,)

    def start(self) -> None:
        self._still: dict[int, list[tuple[Line, Event]]] = {}
        """Send -> partitions that stood still when it was asked for, and since when."""
        self._waited_for: dict[int, set[int]] = {}
        """Producer handle -> its synchronous sends that have not ended."""

    @on(Completion, "send")
    def ended(self, event: Completion) -> None:
        self._waited_for.get(event.handle or 0, set()).discard(event.op)

    @on(Invoke, "send")
    def asked(self, event: Invoke) -> None:
        waited_for = self._waited_for.setdefault(event.handle or 0, set())
        behind = bool(waited_for)
        if event.args.get("mode") == "sync":
            waited_for.add(event.op)
        if behind:
            return
        lines = self.tracker.lines.of_handle(event.handle or 0)
        self._still[event.op] = [(line, since) for line in lines if (since := _still_since(line)) is not None]

    @on(Frame, "SEND")
    def send(self, event: Frame) -> None:
        unit, setting = self.tracker.lines.first(event), self.view.producer_setting
        handle = 0 if unit is None else unit.line.handle or 0
        if unit is None or not is_partition(unit.line.topic) or not unit.numbers:
            return
        if setting(handle, "batching") or setting(handle, "block_if_queue_full") or unit.session.ready is None:
            return
        send = self.tracker.send_of(handle, unit.numbers[0])
        # A broker that stops reading stops for all partitions that share a connection.
        still = [] if send is None or not self.view.is_read_at_once() else self._still.get(send.invoke.op, [])
        sick = next((since for line, since in still if line is not unit.line), None)
        own = any(line is unit.line for line, _ in still)
        if send is None or sick is None or own or unit.session.ready.seq > send.invoke.seq:
            return
        self.exercise(event)
        if late("answer", send.invoke.t_ns, event.t_ns):
            self.overdue(
                "answer",
                send.invoke.t_ns,
                event.t_ns,
                "held-up",
                f"{unit.line}: message {unit.numbers[0]} was asked for at {ms(send.invoke.t_ns)}, and left for "
                f"{unit.line.topic} at {ms(event.t_ns)}; that was ready all the time, and another partition had stood "
                f"still since {ms(sick.t_ns)}",
                sick,
                send.invoke,
                event,
            )


def _still_since(line: Line) -> Event | None:
    """Since when a partition stands still: its producer was sent away, or has a SEND without an answer."""
    last = line.sessions[-1] if line.sessions else None
    if last is None:
        return None
    away = next((session.sent_away for session in reversed(line.sessions) if session.sent_away), None)
    if away is not None and (last.ready is None or last.sent_away is not None):
        return away
    head = last.queue.head
    return None if head is None else head.first
