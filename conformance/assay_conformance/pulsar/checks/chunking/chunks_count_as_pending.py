"""chunking.chunks-count-as-pending"""

from __future__ import annotations

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.lines import Line, Unit
from assay_conformance.checks.occasions import Trait
from assay_conformance.model.event import ErrorClass, Frame, Outcome
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.chunking._pending_chunks import ChunkingProducers, is_chunk


class ChunksCountAsPending(ChunkingProducers):
    """Units without a receipt, where each chunk counts, against max_pending_messages.

    A send that fails may leave the queue at any time, so a producer with such a send is not judged, unless the send was
    refused before anything of it left.
    """

    requirement = RequirementId("chunking.chunks-count-as-pending")
    needs = (Trait.CHUNK,)

    def start(self) -> None:
        self._in_flight: dict[int, list[Unit]] = {}

    @on(Frame, "SEND")
    def sent(self, event: Frame) -> None:
        unit = self.tracker.lines.first(event)
        if unit is None or unit.answered or not self.judges(unit.line.handle or 0):
            return
        in_flight = self._in_flight.setdefault(id(unit.line), [])
        in_flight[:] = [*(other for other in in_flight if not other.answered), unit]
        places = sum(max(1, len(other.numbers)) for other in in_flight)
        if any(is_chunk(other) for other in in_flight):
            self._judge(unit.line, in_flight[0], places, event)

    def _judge(self, line: Line, oldest: Unit, places: int, event: Frame) -> None:
        limit = self.limit(line.handle or 0)
        if limit == 0 or self._has_failed_sends(line.handle or 0):
            return
        if places > limit:
            self.breach(
                "too-many-pending",
                f"{line}: {places} messages and chunks were without a receipt at {ms(event.t_ns)}; expected at most "
                f"{limit}, its max_pending_messages",
                oldest.first,
                event,
            )
        elif places == limit:
            self.exercise(event)

    def _has_failed_sends(self, handle: int) -> bool:
        ends = (send.completion for send in self.tracker.sends.get(handle, ()))
        outcomes = self.tracker.foresight.outcomes
        pending = [send.invoke.op for send in self.tracker.sends.get(handle, ()) if send.completion is None]
        gave_up = any(end.outcome is not Outcome.OK and end.error is not ErrorClass.QUEUE_FULL for end in ends if end)
        return gave_up or any(outcomes.get(op) is Outcome.UNKNOWN for op in pending)
