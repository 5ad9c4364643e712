"""batching.fills-while-previous-pending"""

from __future__ import annotations

from itertools import takewhile

from assay_conformance.checks.base import Check, ms
from assay_conformance.checks.lines import Line, Unit
from assay_conformance.checks.tolerance import TOLERANCES, Timing
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.batching._closing import called_ns
from assay_conformance.pulsar.checks.batching._limits import Limits, admitted_by, limits_of


class FillsWhilePreviousPending(Check):
    """With batches of half a queue, one is built and leaves while the one before it waits for its receipt.

    Judged of batches that are full by count, and had room in the queue when their last message was asked for, where
    brokers read what is written as it comes.
    """

    requirement = RequirementId("batching.fills-while-previous-pending")
    skips_plain = True

    def finish(self) -> None:
        for handle in self.tracker.lines.openings:
            limits, queue = limits_of(self.view, handle), self.view.producer_setting(handle, "max_pending_messages")
            if limits is not None and queue and 0 < 2 * limits.messages <= int(queue):
                for line in self.tracker.lines.of_handle(handle):
                    if self.view.is_read_at_once(line.topic):
                        self._line(line, limits, int(queue))

    def _line(self, line: Line, limits: Limits, queue: int) -> None:
        for unit, before in zip(line.units[1:], line.units, strict=False):
            full_ns = called_ns(self.tracker.send_of(line.handle or 0, unit.numbers[-1])) if unit.numbers else None
            if len(unit.numbers) != limits.messages or full_ns is None or not admitted_by(unit, full_ns):
                continue
            waiting = _waiting(line.units[: unit.index], full_ns)
            if _unanswered(before, full_ns) and waiting + len(unit.numbers) <= queue:
                self._judge(unit, before, full_ns)

    def _judge(self, unit: Unit, before: Unit, full_ns: int) -> None:
        timing = self.tracker.load.timing(full_ns, full_ns, unit.first.t_ns, TOLERANCES["batch-delay"])
        if timing is Timing.UNDECIDED:
            self.undecided("the machine was too busy to say whether a batch waited for a receipt")
        elif timing is Timing.IN_TIME:
            self.exercise(unit.first)
        elif before.receipts and before.receipts[0].seq < unit.first.seq:
            self.breach(
                "waited-for-receipt",
                f"{unit.line}: the batch of messages {unit.numbers[0]} to {unit.numbers[-1]} was full at {ms(full_ns)} "
                f"and left at {ms(unit.first.t_ns)}, behind the receipt for {before} of "
                f"{ms(before.receipts[0].t_ns)}; there was room in the queue",
                before.receipts[0],
                unit.first,
            )


def _waiting(units: list[Unit], by_ns: int) -> int:
    """Messages of the last of these units that nobody had answered. Receipts come in order, and errors ahead of
    them."""
    since_receipt = takewhile(lambda one: all(receipt.t_ns > by_ns for receipt in one.receipts), reversed(units))
    return sum(len(one.numbers) for one in since_receipt if _unanswered(one, by_ns))


def _unanswered(unit: Unit, by_ns: int) -> bool:
    """Whether it had left by then is not asked: its frame may be on its way while the application calls on."""
    return all(answer.t_ns > by_ns for answer in (*unit.receipts, *unit.errors))
