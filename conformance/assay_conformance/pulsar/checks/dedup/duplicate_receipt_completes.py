"""dedup.duplicate-receipt-completes"""

from __future__ import annotations

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.lines import Unit, is_duplicate
from assay_conformance.checks.occasions import Trait
from assay_conformance.checks.resend import IN_FLIGHT_NS
from assay_conformance.checks.tolerance import TOLERANCES
from assay_conformance.model.event import Completion, ErrorClass, Frame, Outcome
from assay_conformance.model.requirement import RequirementId


def _was_up(end: Completion, receipt: Frame) -> bool:
    """Its time was over before the client can have read the receipt, whenever the bench heard of that."""
    return end.error is ErrorClass.TIMEOUT and (end.done_ns or end.t_ns) < receipt.t_ns + IN_FLIGHT_NS


class DuplicateReceiptCompletes(Check):
    """A receipt without an id completes its send as any other receipt does.

    One behind a SEND_ERROR may find that its producer has left over that.
    """

    requirement = RequirementId("dedup.duplicate-receipt-completes")
    needs = (Trait.DUPLICATE,)

    def start(self) -> None:
        self._receipts: dict[int, tuple[Frame, Unit]] = {}
        self._refused: set[int] = set()
        """Connections with a SEND_ERROR."""

    @on(Frame, "SEND_ERROR")
    def refused(self, event: Frame) -> None:
        self._refused.add(event.conn)

    @on(Frame, "SEND_RECEIPT")
    def receipt(self, event: Frame) -> None:
        unit = self.tracker.lines.unit
        # One that does not fit the head of the queue is another requirement's matter.
        fits = unit is not None and unit is self.tracker.lines.head and event.conn not in self._refused
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
            if end is not None and (end.seq < receipt.seq or _was_up(end, receipt)):
                continue
            if not self._was_delivered(receipt, unit, ended_ns):
                continue
            # What a client starved of time has not read yet, it can time out meanwhile.
            until_ns = self.tracker.end_ns if ended_ns is None else ended_ns
            if not self.tracker.load.fair(receipt.t_ns, until_ns, TOLERANCES["answer"]):
                self.undecided("the machine was too busy to say whether a receipt was read in time")
            else:
                came = "it never completed" if end is None else f"it ended as {end.error} at {ms(end.t_ns)}"
                self.breach(
                    "not-completed",
                    f"{unit.line}: message {number} got the receipt of a duplicate at {ms(receipt.t_ns)}, "
                    f"which means that it is stored; {came}",
                    receipt,
                    end or send.invoke,
                )

    def _was_delivered(self, receipt: Frame, unit: Unit, ended_ns: int | None) -> bool:
        """Nothing ended the connection or the producer while the receipt may have been under way."""
        settled_ns = receipt.t_ns + TOLERANCES["answer"].slack_ns
        closed, closing = self.tracker.closed.get(receipt.conn), unit.line.closing
        ends = [self.tracker.end_ns, *([closed.t_ns] if closed else []), *([closing.t_ns] if closing else [])]
        # A send that failed at once was failed by this receipt; one that went on waiting needs time to prove it.
        return min(ends) > settled_ns if ended_ns is None else min(ends) > min(ended_ns, settled_ns)
