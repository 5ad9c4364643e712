"""chunking.excludes-batching"""

from __future__ import annotations

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.consumption import from_client
from assay_conformance.checks.occasions import Setting
from assay_conformance.model.event import Completion, ErrorClass, Frame, Invoke, Outcome
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.chunking._sent_chunks import chunk_of


class ExcludesBatching(Check):
    """A producer with batching and chunking is refused, or sends chunks all the same, and never splits a batch."""

    requirement = RequirementId("chunking.excludes-batching")
    needs = (Setting("producer", "chunking"),)

    def start(self) -> None:
        self._openings: dict[int, Invoke] = {}

    @on(Completion, "open_producer")
    def opened(self, event: Completion) -> None:
        handle = event.handle or 0
        both = [self.view.producer_setting(handle, key) is True for key in ("batching", "chunking")]
        if not all(both) or event.outcome is Outcome.UNSUPPORTED:
            return
        if event.outcome is Outcome.FAIL:
            self.exercise(event)
        elif event.outcome is Outcome.OK:
            self._openings[handle] = self.tracker.lines.openings[handle]

    @on(Frame, "SEND")
    def send(self, event: Frame) -> None:
        meta, unit = event.meta, self.tracker.lines.unit
        if meta is None or meta.chunk_id is None or unit is None or not from_client(event):
            return
        if meta.batch is not None:
            text = f"{chunk_of(event)} at {ms(event.t_ns)} is a chunk of a batch; expected batches not to be split"
            self.breach("batch-in-chunks", text, event)
        elif unit.line.handle in self._openings:
            self.exercise(event)

    @on(Completion, "send")
    def send_ended(self, event: Completion) -> None:
        opening = self._openings.get(event.handle or 0)
        if opening is None or event.error is not ErrorClass.TOO_LARGE:
            return
        self.breach(
            "chunking-dropped",
            f"producer {event.handle} was opened at {ms(opening.t_ns)} with batching and chunking enabled; expected an "
            f"error then, or chunks; a message failed as too large at {ms(event.t_ns)}",
            opening,
            event,
        )
