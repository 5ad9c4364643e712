"""producer.flush-waits"""

from __future__ import annotations

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.tracker import Operation
from assay_conformance.model.event import Completion, Invoke, Outcome
from assay_conformance.model.payload import is_identified
from assay_conformance.model.requirement import RequirementId


class FlushWaits(Check):
    """A flush that is reported as done, while a send asked for before has neither ended nor got an answer, lied."""

    requirement = RequirementId("producer.flush-waits")
    needs = ((Invoke, "flush"),)

    def start(self) -> None:
        self._flushes: dict[int, tuple[list[Operation], bool]] = {}
        """Operation -> the sends before it, and whether one of them was under way."""

    @on(Invoke, "flush")
    def flush(self, event: Invoke) -> None:
        sends = list(self.tracker.sends.get(event.handle or 0, ()))
        self._flushes[event.op] = (sends, any(send.completion is None for send in sends))

    @on(Completion, "flush")
    def flushed(self, event: Completion) -> None:
        sends, waited = self._flushes.get(event.op, ([], False))
        if event.outcome is not Outcome.OK or not waited or event.handle in self.tracker.foresight.unsure:
            return
        for send in sends:
            unit = self.tracker.lines.by_message.get((event.handle or 0, send.invoke.number or 0))
            if send.completion is None and unit is None and not is_identified(send.invoke.size):
                # It may have left among others that do not say their number.
                return
            if send.completion is None and (unit is None or not unit.answered):
                left = "had not left yet" if unit is None else f"left at {ms(unit.first.t_ns)} and had no answer"
                self.breach(
                    "flushed-early",
                    f"producer {event.handle}: flush was reported as done at {ms(event.t_ns)}; message "
                    f"{send.invoke.number}, asked for before it at {ms(send.invoke.t_ns)}, {left}",
                    *([unit.first] if unit else [send.invoke]),
                    event,
                )
                return
        self.exercise(event)
