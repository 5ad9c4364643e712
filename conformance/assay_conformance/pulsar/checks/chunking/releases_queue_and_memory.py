"""chunking.releases-queue-and-memory"""

from __future__ import annotations

from collections.abc import Sequence

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.occasions import Setting
from assay_conformance.checks.tracker import Operation
from assay_conformance.model.event import Completion, ErrorClass, Frame, Invoke, Outcome
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.chunking._pending_chunks import ChunkingProducers, is_chunk
from assay_conformance.pulsar.checks.flow._full_queue import may_hold, memory_surely_fits


class ReleasesQueueAndMemory(ChunkingProducers):
    """A send that failed because a queue is full, against what may have taken places and memory at the time.

    A chunked message takes as many places as it has chunks. One of which nothing was sent may have taken any number,
    and so may a large message that is itself refused.
    """

    requirement = RequirementId("chunking.releases-queue-and-memory")
    needs = (Setting("producer", "chunking"),)

    def start(self) -> None:
        self._chunked: dict[int, Frame] = {}
        """Producer handle -> the first chunk that it sent."""
        self._refusals: list[tuple[int, Invoke, Completion, Frame, list[Operation]]] = []
        """With the sends that may have taken places at the time."""

    @on(Frame, "SEND")
    def sent(self, event: Frame) -> None:
        unit = self.tracker.lines.first(event)
        if unit is not None and is_chunk(unit) and unit.line.handle is not None:
            self._chunked.setdefault(unit.line.handle, event)

    @on(Completion, "send")
    def ended(self, event: Completion) -> None:
        handle, chunk = event.handle or 0, self._chunked.get(event.handle or 0)
        operation = self.tracker.operations.get(event.op)
        if operation is None or chunk is None or not self.judges(handle):
            return
        if event.error is ErrorClass.QUEUE_FULL:
            self._refused(handle, operation.invoke, event, chunk)
        elif event.outcome is Outcome.OK:
            self.exercise(event)

    def _refused(self, handle: int, invoke: Invoke, event: Completion, chunk: Frame) -> None:
        if (invoke.size or 0) <= chunk.size and memory_surely_fits(self.view, handle, invoke, event):
            held = [send for send in self.tracker.sends.get(handle, ()) if may_hold(send, invoke)]
            self._refusals.append((handle, invoke, event, chunk, held))

    def finish(self) -> None:
        """Judge last: the result of a send may be recorded before the frames that its client wrote."""
        for handle, invoke, event, chunk, held in self._refusals:
            self._judge(handle, invoke, event, chunk, [self._places(handle, send) for send in held])

    def _judge(
        self, handle: int, invoke: Invoke, event: Completion, chunk: Frame, places: Sequence[int | None]
    ) -> None:
        limit, known = self.limit(handle), [count for count in places if count is not None]
        if len(known) == len(places) and (limit == 0 or sum(known) < limit):
            self.breach(
                "refused-with-room",
                f"producer {handle}: message {invoke.number} failed at {ms(event.t_ns)} because a queue is full, with "
                f"{sum(known)} messages and chunks pending; expected room for it, since max_pending_messages is "
                f"{limit or 'off'}; chunks were sent from {ms(chunk.t_ns)} on",
                chunk,
                invoke,
                event,
            )

    def _places(self, handle: int, send: Operation) -> int | None:
        unit = self.tracker.lines.by_message.get((handle, send.invoke.number or 0))
        if unit is None or unit.first.meta is None:
            return None
        return unit.first.meta.chunks or 1
