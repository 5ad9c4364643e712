"""batching.delayed-not-batched"""

from __future__ import annotations

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.lines import Unit
from assay_conformance.checks.occasions import Setting
from assay_conformance.checks.tracker import Operation
from assay_conformance.model.event import Frame
from assay_conformance.model.requirement import RequirementId


class DelayedNotBatched(Check):
    """A message with a delivery time leaves in an entry of its own that carries it, behind what was batched before.

    Order is judged on each topic or partition of a producer by the numbers of its messages.
    """

    requirement = RequirementId("batching.delayed-not-batched")
    needs = (Setting("producer", "batching"),)

    @on(Frame, "SEND")
    def send(self, event: Frame) -> None:
        unit, meta = self.tracker.lines.first(event), event.meta
        if unit is None or meta is None or not self._batches(unit.line.handle or 0):
            return
        delayed = next((send for send in self._sends(unit) if is_delayed(send)), None)
        if delayed is None:
            return
        number = delayed.invoke.number or 0
        if meta.deliver_at_ms is None:
            self.breach(
                "time-lost",
                f"{unit.line}: message {number} was asked for with a delivery time at {ms(delayed.invoke.t_ns)}; its "
                f"SEND at {ms(event.t_ns)} carries none",
                delayed.invoke,
                event,
            )
        elif len(unit.numbers) > 1:
            self.breach(
                "batched",
                f"{unit.line}: message {number} was asked for with a delivery time at {ms(delayed.invoke.t_ns)}; its "
                f"SEND at {ms(event.t_ns)} makes {len(unit.numbers) - 1} others wait for it",
                delayed.invoke,
                event,
            )

    def finish(self) -> None:
        for handle in self.tracker.lines.openings:
            if self._batches(handle):
                for line in self.tracker.lines.of_handle(handle):
                    self._order(line.units)

    def _order(self, units: list[Unit]) -> None:
        """`units` in the order they first left."""
        for unit in units:
            for delayed in (send for send in self._sends(unit) if is_delayed(send)):
                number = delayed.invoke.number or 0
                older = [other for other in units if other.numbers and other.numbers[0] < number]
                waiting = [other for other in older if other.first.t_ns >= delayed.invoke.t_ns]
                if waiting and unit.first.meta is not None and unit.first.meta.deliver_at_ms is not None:
                    self.exercise(unit.first)
                passed = next((other for other in older if other.index > unit.index), None)
                if passed is not None:
                    self.breach(
                        "overtakes-batch",
                        f"{unit.line}: message {number}, delayed, left at {ms(unit.first.t_ns)}, and the older "
                        f"{passed} at {ms(passed.first.t_ns)}",
                        delayed.invoke,
                        unit.first,
                        passed.first,
                    )

    def _sends(self, unit: Unit) -> list[Operation]:
        sends = (self.tracker.send_of(unit.line.handle or 0, number) for number in unit.numbers)
        return [send for send in sends if send is not None]

    def _batches(self, handle: int) -> bool:
        return self.view.producer_setting(handle, "batching") is True


def is_delayed(send: Operation) -> bool:
    return any(send.invoke.args.get(key) is not None for key in ("deliver_after_ms", "deliver_at_ms"))
