"""producer.close-ends-pending-sends"""

from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.checks.base import CAME, LEFT, Check, ms, on
from assay_conformance.checks.leaving import ends_reading
from assay_conformance.checks.lines import Unit
from assay_conformance.checks.resend import done_before
from assay_conformance.checks.tolerance import MS, TOLERANCES, Timing
from assay_conformance.checks.tracker import Operation, ProducerSession
from assay_conformance.model.event import ClosedBy, Completion, ErrorClass, Fired, Frame, Invoke, Outcome
from assay_conformance.model.fault import Direction
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.timeline.producers import FINAL_ERRORS


def left_pending(check: Check, who: str, send: Operation, closed: Completion) -> Timing:
    """Whether a send that never ended was left behind by the close of its producer; a breach where it was."""
    end_ns = check.tracker.end_ns
    timing = check.tracker.load.timing(closed.t_ns, closed.t_ns, end_ns, TOLERANCES["answer"])
    if timing is Timing.UNDECIDED:
        check.undecided("the machine was too busy to say whether a pending send only ended late")
    elif timing is Timing.LATE:
        check.breach(
            "left-pending",
            f"{who} was closed at {ms(closed.t_ns)}; message {send.invoke.number}, asked for before, had not ended "
            f"when the Case did at {ms(end_ns)}",
            send.invoke,
            closed,
        )
    return timing


class CloseEndsPendingSends(Check):
    """After CLOSE_PRODUCER nothing is sent, and every pending send ends once: well if its receipt came in time.

    In time is a receipt that was written to the client before the answer to its CLOSE_PRODUCER was. Judged are closes
    of a producer that is connected (one that is away: `resend.closed-stays-closed`).
    """

    requirement = RequirementId("producer.close-ends-pending-sends")
    skips_plain = True

    def start(self) -> None:
        self._closings: dict[int, Frame] = {}
        """Session -> its CLOSE_PRODUCER."""
        self._asked: dict[tuple[int, int], ProducerSession] = {}
        self._answers: dict[int, Frame] = {}
        """Session -> what the broker answered to that."""
        self._closed: dict[int, Completion] = {}
        self._closes: dict[int | None, Invoke] = {}
        self._left: dict[int, Frame] = {}
        """Connection -> the first answer over which a client may leave it, and read no further: a SEND_ERROR, or a
        receipt ahead of a producer's head."""
        self._ended: dict[tuple[int, int], Frame] = {}
        """Connection and producer -> the SEND_ERROR that ends the producer, and everything pending with it."""
        self._unreadable: set[int] = set()
        """Connections over which bytes came that are no frame."""

    @on(Fired)
    def harmed(self, event: Fired) -> None:
        if event.conn is not None and ends_reading(self.view, event):
            self._unreadable.add(event.conn)

    @on(Frame, "CLOSE_PRODUCER")
    def close_producer(self, event: Frame) -> None:
        session = self.tracker.producer_of(event)
        if event.dir is Direction.TO_BROKER and event.from_sender and session is not None:
            self._closings.setdefault(session.request.seq, event)
            self._asked[event.conn, event.request_id or 0] = session

    @on(Frame, "SUCCESS")
    def answered(self, event: Frame) -> None:
        session = self._asked.get((event.conn, event.request_id or 0))
        if session is not None and event.to_receiver:
            self._answers.setdefault(session.request.seq, event)

    @on(Frame, "SEND_ERROR")
    def refused(self, event: Frame) -> None:
        if not event.to_receiver:
            return
        self._left.setdefault(event.conn, event)
        if event.fields.get("error") in FINAL_ERRORS:
            self._ended.setdefault((event.conn, event.producer_id or 0), event)

    @on(Frame, "SEND_RECEIPT", seen=CAME)
    def receipted(self, event: Frame) -> None:
        unit, head = self.tracker.lines.unit, self.tracker.lines.head
        if unit is not None and head is not None and unit.index > head.index:
            self._left.setdefault(event.conn, event)

    @on(Invoke, "close")
    def closes(self, event: Invoke) -> None:
        self._closes.setdefault(event.handle, event)

    @on(Completion, "close")
    def closed(self, event: Completion) -> None:
        if event.outcome is Outcome.OK and event.handle is not None:
            self._closed.setdefault(event.handle, event)

    @on(Frame, "SEND", seen=LEFT)
    def send(self, event: Frame) -> None:
        session = self.tracker.producer_of(event) if self._closings else None
        closing = None if session is None else self._closings.get(session.request.seq)
        if closing is not None:
            self.breach(
                "sent-after-close",
                f"a SEND of sequence id {event.sequence_id} left on connection {event.conn} at {ms(event.t_ns)}, "
                f"behind the CLOSE_PRODUCER of its producer at {ms(closing.t_ns)}",
                closing,
                event,
            )

    def finish(self) -> None:
        for handle, close in self.tracker.lines.closings.items():
            if isinstance(close, Invoke) and close.handle == handle and handle not in self.tracker.foresight.unsure:
                for send in self.tracker.sends.get(handle, ()):
                    self._judge(handle, close, send)

    def _judge(self, handle: int, close: Invoke, send: Operation) -> None:
        end, closed = send.completion, self._closed.get(handle)
        if send.invoke.seq > close.seq:
            if closed and closed.seq < send.invoke.seq and end and end.outcome is Outcome.OK:
                sentence = f"producer {handle} was closed at {ms(closed.t_ns)}, and a later send succeeded"
                self.breach("sent-when-closed", f"{sentence} at {ms(end.t_ns)}", closed, end)
            return
        if end is not None and end.seq < close.seq:
            return
        unit = self.tracker.lines.by_message.get((handle, send.invoke.number or 0))
        if unit is None or unit.session.request.seq not in self._closings:
            return
        if end is None:
            if closed is not None:
                left_pending(self, f"producer {handle}", send, closed)
        elif end.outcome is not Outcome.OK and end.error is not ErrorClass.TIMEOUT and not unit.errors:
            self._failed(handle, send, unit, end)
        else:
            self.exercise(end)

    def _failed(self, handle: int, send: Operation, unit: Unit, end: Completion) -> None:
        answer = self._answers.get(unit.session.request.seq)
        lines = self.tracker.lines
        receipt = next(self._in_time(unit, answer), None) if answer is not None else None
        # What was written towards a client around the end of its connection may never have been read.
        cut = None if answer is None else self.tracker.closed.get(answer.conn)
        unread = cut is not None and cut.seq < end.seq and cut.by is not ClosedBy.CLIENT
        unread = unread or (answer is not None and answer.conn in self._unreadable)
        # A client that is closed behind its producer waits for nothing more.
        whole = self._closes.get(lines.openings[handle].args.get("client"))
        unread = unread or (whole is not None and whole.seq < end.seq)
        # Nor does one wait longer for the answer than its operations may take.
        closing, timeout = lines.closings[handle], self.view.setting("client", "operation_timeout_ms")
        least_ns = int(timeout or 0) * MS - TOLERANCES["time-out-early"].slack_ns
        unread = unread or bool(timeout and end.t_ns - closing.t_ns >= least_ns)
        if receipt is None or answer is None or unread or lines.forged_receipts or handle in lines.torn_sends:
            self.exercise(end)
            return
        self.breach(
            "failed-though-stored",
            f"producer {handle} was closed while message {send.invoke.number} was pending; its receipt came at "
            f"{ms(receipt.t_ns)}, before the answer to CLOSE_PRODUCER at {ms(answer.t_ns)}, and yet it was reported as "
            f"failed at {ms(end.t_ns)} ({end.error}): a success was expected",
            receipt,
            answer,
            end,
        )

    def _in_time(self, unit: Unit, answer: Frame) -> Iterator[Frame]:
        """Its receipts on the connection of that answer and before it, none of them ahead of an older send's, behind
        one over which the client left, or behind the broker's own CLOSE_PRODUCER."""
        sent_away = unit.session.sent_away
        older = [before for before in unit.line.units[: unit.index] if before.session is unit.session]
        ended = self._ended.get((answer.conn, unit.session.producer_id))
        ends = [end.seq for end in (answer, sent_away, self._left_over(answer.conn), ended) if end is not None]
        for receipt in unit.receipts:
            ahead = any(not _settled(self, before, receipt.seq) for before in older)
            if receipt.conn == answer.conn and receipt.seq < min(ends) and not ahead:
                yield receipt

    def _left_over(self, conn: int) -> Frame | None:
        """The answer over which the client did leave: soon after it the connection ended, by the client."""
        left, closed = self._left.get(conn), self.tracker.closed.get(conn)
        if left is None or closed is None or closed.by is not ClosedBy.CLIENT or closed.seq < left.seq:
            return None
        return left if closed.t_ns - left.t_ns <= TOLERANCES["answer"].slack_ns else None


def _settled(check: Check, unit: Unit, seq: int) -> bool:
    """Receipted by event `seq`, or given up before its producer was closed."""
    closing = unit.line.closing
    given_up = closing is not None and done_before(check, unit, closing.seq)
    return given_up or any(receipt.seq < seq for receipt in unit.receipts)
