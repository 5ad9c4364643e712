"""Send time-out: what stays without a receipt fails, once and in time."""

from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.checks.base import CAME, Check, ms, on
from assay_conformance.checks.leaving import ends_reading
from assay_conformance.checks.lines import Parting, Unit, is_duplicate
from assay_conformance.checks.resend import IN_FLIGHT_NS, ended_ns
from assay_conformance.checks.tolerance import MS, TOLERANCES, Timing
from assay_conformance.checks.tracker import Operation
from assay_conformance.model.event import (
    Completion,
    ErrorClass,
    Event,
    Fate,
    Fired,
    Frame,
    Outcome,
)
from assay_conformance.model.requirement import RequirementId

_PASSED = Fate.PASSED
_TIMEOUT = ErrorClass.TIMEOUT
DEFAULT_SEND_TIMEOUT_MS = 30_000


class SendTimeout(Check):
    """A send without a receipt fails with a time-out, at its send time-out and not before; one with a receipt does not.

    Judged are sends made when the producer had been opened: a client may take sends before, and keep them until it is.

    One timer may take the whole queue with it when the head expires (Java and C++ do): the young ones die early, but
    never before the oldest is due. A batch's clock starts with its first message (Java) or when it closes (C++, Go),
    which the batching delay bounds. A blocking send starts its clock when the queue lets it in, which nobody sees.
    """

    requirement = RequirementId("resend.send-timeout")
    skips_plain = True

    def start(self) -> None:
        self._opened: dict[int, Completion] = {}
        self._receipts: dict[Unit, Frame] = {}
        """Receipts that fitted the head of their producer's queue, on connections nothing else was wrong with."""
        self._spoiled: set[int] = set()

    @on(Fired)
    def harmed(self, event: Fired) -> None:
        if event.conn is not None and ends_reading(self.view, event):
            self._spoiled.add(event.conn)

    @on(Frame, "SEND_ERROR")
    def refused(self, event: Frame) -> None:
        self._spoiled.add(event.conn)

    @on(Frame, "SEND_RECEIPT", seen=CAME)
    def receipted(self, event: Frame) -> None:
        lines = self.tracker.lines
        unit = lines.unit
        if unit is None or unit is not lines.head or event.fate is not _PASSED:
            self._spoiled.add(event.conn)
        elif event.conn not in self._spoiled and unit.session.sent_away is None and not is_duplicate(event):
            self._receipts.setdefault(unit, event)

    @on(Completion, "open_producer")
    def opened(self, event: Completion) -> None:
        if event.outcome is Outcome.OK and event.handle is not None:
            self._opened.setdefault(event.handle, event)

    def finish(self) -> None:
        for handle, sends in self.tracker.sends.items():
            if handle not in self._opened:
                continue
            timeout_ms = self.view.producer_setting(handle, "send_timeout_ms")
            blocking = self.view.producer_setting(handle, "block_if_queue_full")
            if timeout_ms != 0 and not blocking:
                self._judge(handle, sends, int(timeout_ms or DEFAULT_SEND_TIMEOUT_MS) * MS)

    def _batching_ns(self, handle: int) -> int:
        """How long a message may have waited in an open batch."""
        if self.view.producer_setting(handle, "batching") is not True:
            return 0
        return int(self.view.producer_setting(handle, "batching_max_publish_delay_ms") or 0) * MS

    def _judge(self, handle: int, sends: list[Operation], timeout_ns: int) -> None:
        batching_ns = self._batching_ns(handle)
        expired_ns: int | None = None
        closing = self.tracker.lines.closings.get(handle)
        for send in sends:
            end = send.completion
            if end is not None and end.error is not _TIMEOUT and end.called_ns is not None:
                latest_ns = end.called_ns + timeout_ns + batching_ns
                if (end.done_ns or end.t_ns) <= latest_ns:
                    continue  # It ended for another reason, in time.
            soonest_ns = self._soonest_ns(send) + timeout_ns
            early = end is not None and _is_early(end, soonest_ns, timeout_ns)
            oldest_expired_ns = expired_ns
            if end is not None and end.error is ErrorClass.TIMEOUT and not early:
                expired_ns = ended_ns(end)
            called_ns = self._called_ns(handle, send)
            if called_ns is None or send.invoke.seq < self._opened[handle].seq:
                continue
            self._judge_receipt(handle, send)
            latest_ns = called_ns + timeout_ns + batching_ns
            if self._receipted_in_time(handle, send, latest_ns) or self._otherwise_ended(end, closing, latest_ns):
                continue
            if end is not None and early:
                self._early(handle, send, end, soonest_ns, oldest_expired_ns)
            else:
                self._late(handle, send, called_ns, latest_ns)

    def _judge_receipt(self, handle: int, send: Operation) -> None:
        """Its receipt had been there for long when it timed out."""
        lines, end = self.tracker.lines, send.completion
        unit = lines.by_message.get((handle, send.invoke.number or 0))
        receipt = None if unit is None else self._receipts.get(unit)
        if receipt is None or end is None or end.error is not ErrorClass.TIMEOUT:
            return
        if handle in lines.foresight.unsure | lines.torn_sends | lines.forged_sends:
            return
        closed = self.tracker.closed.get(receipt.conn)
        until_ns = ended_ns(end) if closed is None else min(closed.t_ns, ended_ns(end))
        timing = self.tracker.load.timing(receipt.t_ns, receipt.t_ns, until_ns, TOLERANCES["answer"])
        if timing is Timing.UNDECIDED:
            self.undecided("the machine was too busy to say whether a receipt was read before the time-out")
        elif timing is Timing.LATE:
            self.breach(
                "though-receipted",
                f"producer {handle}: message {send.invoke.number} timed out at {ms(ended_ns(end))}; its receipt had "
                f"come at {ms(receipt.t_ns)}, and a success was expected",
                receipt,
                end,
            )

    def _soonest_ns(self, send: Operation) -> int:
        """The earliest that the client can have been called."""
        called_ns = None if send.completion is None else send.completion.called_ns
        return send.invoke.t_ns if called_ns is None else called_ns

    def _called_ns(self, handle: int, send: Operation) -> int | None:
        """When the client was called, or the latest it can have been; None when it may not have been called at all.

        An agent that waits for something else of that producer keeps the send back, so the command proves nothing.
        """
        if send.completion is not None and send.completion.called_ns is not None:
            return send.completion.called_ns
        unit = self.tracker.lines.by_message.get((handle, send.invoke.number or 0))
        return None if unit is None else unit.first.t_ns

    def _late(self, handle: int, send: Operation, called_ns: int, due_ns: int) -> None:
        end = send.completion
        seen_ns = self.tracker.end_ns if end is None else (end.done_ns or end.t_ns)
        timing = self.tracker.load.timing(called_ns, due_ns, seen_ns, TOLERANCES["send-timeout"])
        if timing is Timing.UNDECIDED:
            self.undecided("the machine was too busy to judge a send time-out")
        elif timing is Timing.LATE:
            if end is None:
                code, came = "never", "it had not ended when the Case did"
            else:
                code, came = "late", f"it ended at {ms(seen_ns)} ({end.error or end.outcome})"
            self.breach(
                code,
                f"producer {handle}: message {send.invoke.number}, sent at {ms(called_ns)}, got no receipt; it "
                f"was due to time out at {ms(due_ns)}, and {came}",
                *self._evidence(handle, send, end),
            )
        elif end is not None and end.error is ErrorClass.TIMEOUT:
            self.exercise(end)

    def _early(self, handle: int, send: Operation, end: Completion, due_ns: int, expired_ns: int | None) -> None:
        """Before its time; `expired_ns` is when the last older one expired, which may have taken it along."""
        seen_ns = ended_ns(end)
        if expired_ns is not None:
            if seen_ns - expired_ns <= IN_FLIGHT_NS:
                return
            if not self.tracker.load.fair(expired_ns, seen_ns, TOLERANCES["answer"]):
                self.undecided("the machine was too busy to say which sends timed out together")
                return
        self.breach(
            "early",
            f"producer {handle}: message {send.invoke.number} timed out at {ms(seen_ns)}, but "
            f"was due at {ms(due_ns)}, and no older one had expired",
            *self._evidence(handle, send, end),
        )

    def _evidence(self, handle: int, send: Operation, end: Completion | None) -> Iterator[Event]:
        yield send.invoke
        unit = self.tracker.lines.by_message.get((handle, send.invoke.number or 0))
        if unit is not None:
            yield unit.first
        if end is not None:
            yield end

    def _receipted_in_time(self, handle: int, send: Operation, due_ns: int) -> bool:
        unit = self.tracker.lines.by_message.get((handle, send.invoke.number or 0))
        if unit is None:
            return False
        return any(
            answer.t_ns <= due_ns + TOLERANCES["send-timeout"].slack_ns for answer in (*unit.receipts, *unit.errors)
        )

    def _otherwise_ended(self, end: Completion | None, closing: Parting | None, due_ns: int) -> bool:
        """Ended for another reason, or its producer was closed before its time came."""
        in_time = closing is not None and closing.t_ns <= due_ns + TOLERANCES["send-timeout"].slack_ns
        if closing is not None and in_time and (end is None or end.seq > closing.seq):
            return True
        if end is None or end.error is ErrorClass.TIMEOUT:
            return False
        return (end.done_ns or end.t_ns) <= due_ns


def _is_early(end: Completion, due_ns: int, timeout_ns: int) -> bool:
    """Timed out before it was due.

    By the agent's own clock where it told call and end: on a busy machine that and the bench's are known to one
    another less well than what is tolerated.
    """
    if end.error is not ErrorClass.TIMEOUT:
        return False
    slack_ns = TOLERANCES["time-out-early"].slack_ns
    if end.called_ns is not None and end.done_ns is not None:
        return end.done_ns - end.called_ns < timeout_ns - slack_ns
    return ended_ns(end) < due_ns - slack_ns
