"""batching.flush-closes-batch"""

from __future__ import annotations

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.lines import Unit
from assay_conformance.checks.occasions import Setting
from assay_conformance.checks.tolerance import MS, TOLERANCES, Timing
from assay_conformance.checks.tracker import Operation
from assay_conformance.model.event import Completion, Invoke, Outcome
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.batching._limits import (
    Limits,
    admitted_by,
    asked_ns,
    limits_of,
    units_read_at_once,
)


class FlushClosesBatch(Check):
    """What is in the open batch leaves when its producer is flushed, or a synchronous send joins it, and that send
    returns no earlier than its receipt comes. Batches of other partitions are none of a send's business.

    Judged where the batch would have stayed open for long: neither full, nor its delay nearly over.
    """

    requirement = RequirementId("batching.flush-closes-batch")
    needs = (Setting("producer", "batching"),)

    def start(self) -> None:
        self._flushes: list[Operation] = []
        self._returned: list[tuple[int, Invoke, Completion]] = []

    @on(Completion, "flush", "send")
    def ended(self, event: Completion) -> None:
        operation = self.tracker.operations.get(event.op)
        if operation is None or operation.completion is not event or event.handle is None:
            return
        synchronous = event.verb == "send" and operation.invoke.args.get("mode") == "sync"
        if synchronous and event.outcome is Outcome.OK:
            self._returned.append((event.handle, operation.invoke, event))
        if synchronous or event.verb == "flush":
            self._flushes.append(operation)

    def finish(self) -> None:
        for handle, invoke, event in self._returned:
            self._receipt(handle, invoke, event)
        for operation in self._flushes:
            handle = operation.invoke.handle or 0
            limits = limits_of(self.view, handle)
            if limits is not None and not self.view.producer_setting(handle, "block_if_queue_full"):
                for unit in units_read_at_once(self.view, handle):
                    self._judge(operation, limits, unit)

    def _receipt(self, handle: int, invoke: Invoke, event: Completion) -> None:
        lines = self.tracker.lines
        unit = lines.by_message.get((handle, invoke.number or 0))
        if unit is None or handle in lines.foresight.unsure | lines.unpaired or lines.forged_receipts:
            return
        if unit.receipts and unit.receipts[0].seq < event.seq:
            if self.view.producer_setting(handle, "batching") is True:
                self.exercise(event)
            return
        self.breach(
            "returned-early",
            f"producer {handle}: the synchronous send of message {invoke.number} succeeded at {ms(event.t_ns)}, and no "
            "receipt for it had been written to the client by then",
            invoke,
            event,
        )

    def _judge(self, operation: Operation, limits: Limits, unit: Unit) -> None:
        completion, since_ns = operation.completion, asked_ns(self.view, unit)
        called_ns = None if completion is None else completion.called_ns
        if called_ns is None or since_ns is None or not admitted_by(unit, called_ns):
            return
        if operation.invoke.verb == "send" and not self._joins(operation.invoke, unit):
            return
        first = self.tracker.send_of(unit.line.handle or 0, unit.numbers[0])
        was_open = first is not None and first.invoke.seq <= operation.invoke.seq and unit.first.t_ns >= called_ns
        tolerance = TOLERANCES["answer"]
        due_soon = since_ns + limits.delay_ms * MS <= called_ns + tolerance.slack_ns
        if not was_open or due_soon or limits.reached_by(unit):
            return
        self.exercise(unit.first)
        timing = self.tracker.load.timing(called_ns, called_ns, unit.first.t_ns, tolerance)
        if timing is Timing.UNDECIDED:
            self.undecided("the machine was too busy to say when a flushed batch left")
        elif timing is Timing.LATE:
            self.breach(
                "stayed-open",
                f"{unit.line}: {_called(operation.invoke)} at {ms(called_ns)} with message {unit.numbers[0]} in the "
                f"open batch, which left at {ms(unit.first.t_ns)}, expected at once",
                operation.invoke,
                unit.first,
            )

    def _joins(self, send: Invoke, unit: Unit) -> bool:
        """The message went where this unit did."""
        own = self.tracker.lines.by_message.get((unit.line.handle or 0, send.number or 0))
        return own is not None and own.line is unit.line


def _called(invoke: Invoke) -> str:
    return "flush" if invoke.verb == "flush" else f"a synchronous send of message {invoke.number}"
