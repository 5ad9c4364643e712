"""dedup.duplicate-receipt-completes"""

from __future__ import annotations

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.lines import Unit, is_duplicate
from assay_conformance.checks.occasions import Trait
from assay_conformance.checks.resend import IN_FLIGHT_NS
from assay_conformance.checks.tolerance import TOLERANCES
from assay_conformance.model.event import Completion, ErrorClass, Frame, Outcome
from assay_conformance.model.requirement import RequirementId


def _had_timed_out(end: Completion, receipt: Frame) -> bool:
    """Whether its send time-out had passed before the client can have read the receipt."""
    return end.error is ErrorClass.TIMEOUT and (end.done_ns or end.t_ns) < receipt.t_ns + IN_FLIGHT_NS


class DuplicateReceiptCompletes(Check):
    """A receipt without an id completes its send as any other receipt does.

    After a SEND_ERROR on its connection it is not judged: the client may have left the connection because of that.
    """

    requirement = RequirementId("dedup.duplicate-receipt-completes")
    needs = (Trait.DUPLICATE,)

    def start(self) -> None:
        self._receipts: dict[int, tuple[Frame, Unit]] = {}
        self._send_errors: set[int] = set()
        """Connections with a SEND_ERROR."""

    @on(Frame, "SEND_ERROR")
    def refused(self, event: Frame) -> None:
        self._send_errors.add(event.conn)

    @on(Frame, "SEND_RECEIPT")
    def receipt(self, event: Frame) -> None:
        unit = self.tracker.lines.unit
        # A receipt that does not answer the oldest pending unit is judged by another requirement.
        fits = unit is not None and unit is self.tracker.lines.head and event.conn not in self._send_errors
        if event.to_receiver and unit is not None and fits and is_duplicate(event) and not unit.session.sent_away:
            self._receipts[id(unit)] = (event, unit)

    def finish(self) -> None:
        for receipt, unit in self._receipts.values():
            if unit.receipts[-1] is receipt and not unit.errors:
                self._judge(receipt, unit)

    def _judge(self, receipt: Frame, unit: Unit) -> None:
        for number in unit.numbers:
            send = self.tracker.send_of(unit.line.handle or 0, number)
            if send is None:
                continue
            end = send.completion
            if end is not None and end.outcome is Outcome.OK:
                if end.seq > receipt.seq:
                    self.exercise(receipt)
                continue
            ended_ns = None if end is None else end.done_ns or end.t_ns
            if end is not None and (end.seq < receipt.seq or _had_timed_out(end, receipt)):
                continue
            if not self._was_delivered(receipt, unit, ended_ns):
                continue
            # A client that got no CPU time may time the send out before it reads the receipt.
            until_ns = self.tracker.end_ns if ended_ns is None else ended_ns
            if not self.tracker.load.fair(receipt.t_ns, until_ns, TOLERANCES["answer"]):
                self.undecided("the machine was too busy to say whether a receipt was read in time")
            else:
                came = "it never completed" if end is None else f"it ended as {end.error} at {ms(end.t_ns)}"
                self.breach(
                    "not-completed",
                    f"{unit.line}: message {number} got the receipt of a duplicate at {ms(receipt.t_ns)}, so it is "
                    f"stored; expected its send to succeed; {came}",
                    receipt,
                    end or send.invoke,
                )

    def _was_delivered(self, receipt: Frame, unit: Unit, ended_ns: int | None) -> bool:
        """Whether connection and producer lasted long enough for the receipt to arrive."""
        settled_ns = receipt.t_ns + TOLERANCES["answer"].slack_ns
        closed, closing = self.tracker.closed.get(receipt.conn), unit.line.closing
        ends = [self.tracker.end_ns, *([closed.t_ns] if closed else []), *([closing.t_ns] if closing else [])]
        # A send that failed at once failed because of this receipt; one that stays pending needs time to show that it
        # does.
        return min(ends) > settled_ns if ended_ns is None else min(ends) > min(ended_ns, settled_ns)
