"""Room for chunked messages: each chunk is one of what may be without a receipt, and gives its place back once.

`flow.max-pending-messages` counts messages; here chunks count, one by one. Judged are producers that chunk.
"""

from __future__ import annotations

from collections.abc import Sequence

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.flow.limits import DEFAULT_MAX_PENDING, may_hold, memory_surely_fits
from assay_conformance.checks.lines import Line, Unit
from assay_conformance.checks.occasions import Setting, Trait
from assay_conformance.checks.tracker import Operation
from assay_conformance.model.event import Completion, ErrorClass, Frame, Invoke, Outcome
from assay_conformance.model.requirement import RequirementId


class _ChunkingProducers(Check):
    def limit(self, handle: int) -> int:
        """How many places its queue has; 0 = any number."""
        told = self.view.producer_setting(handle, "max_pending_messages")
        return DEFAULT_MAX_PENDING if told is None else int(told)

    def judges(self, handle: int) -> bool:
        lines, opening = self.tracker.lines, self.tracker.lines.openings.get(handle)
        whole = handle not in lines.torn_sends | lines.burst and not lines.forged_receipts
        topics = {topic.name for topic in self.view.case.topology.topics if topic.partitions}
        alone = opening is not None and opening.args.get("topic") not in topics
        return whole and alone and self.view.producer_setting(handle, "chunking") is True


class ChunksHoldPermits(_ChunkingProducers):
    """Units without a receipt, chunks one by one, against max_pending_messages.

    A send that does not succeed may leave the queue at any time: of a producer with such a one nothing is said, unless
    it was refused before anything of it left.
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
        if any(_chunk(other) for other in in_flight):
            self._judge(unit.line, in_flight[0], places, event)

    def _judge(self, line: Line, oldest: Unit, places: int, event: Frame) -> None:
        limit = self.limit(line.handle or 0)
        if limit == 0 or self._some_gave_up(line.handle or 0):
            return
        if places > limit:
            self.breach(
                "too-many-pending",
                f"{line}: {places} messages and chunks were without a receipt at {ms(event.t_ns)}, "
                f"max_pending_messages is {limit}",
                oldest.first,
                event,
            )
        elif places == limit:
            self.exercise(event)

    def _some_gave_up(self, handle: int) -> bool:
        ends = (send.completion for send in self.tracker.sends.get(handle, ()))
        outcomes = self.tracker.foresight.outcomes
        pending = [send.invoke.op for send in self.tracker.sends.get(handle, ()) if send.completion is None]
        gave_up = any(end.outcome is not Outcome.OK and end.error is not ErrorClass.QUEUE_FULL for end in ends if end)
        return gave_up or any(outcomes.get(op) is Outcome.UNKNOWN for op in pending)


class PermitsReturn(_ChunkingProducers):
    """A send that was refused because a queue is full, against what may have held its places and memory then.

    A chunked message held as many places as it has chunks; one of which nothing has left may have held any number, and
    so may one that is large itself and refused.
    """

    requirement = RequirementId("chunking.releases-queue-and-memory")
    needs = (Setting("producer", "chunking"),)

    def start(self) -> None:
        self._chunked: dict[int, Frame] = {}
        """Producer handle -> the first chunk that it sent."""
        self._refusals: list[tuple[int, Invoke, Completion, Frame, list[Operation]]] = []
        """With the sends that may have held places then."""

    @on(Frame, "SEND")
    def sent(self, event: Frame) -> None:
        unit = self.tracker.lines.first(event)
        if unit is not None and _chunk(unit) and unit.line.handle is not None:
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
        if (invoke.size or 0) <= chunk.size and memory_surely_fits(self, handle, invoke):
            held = [send for send in self.tracker.sends.get(handle, ()) if may_hold(send, invoke)]
            self._refusals.append((handle, invoke, event, chunk, held))

    def finish(self) -> None:
        """What an application is told may be seen before what its client writes."""
        for handle, invoke, event, chunk, held in self._refusals:
            self._judge(handle, invoke, event, chunk, [self._places(handle, send) for send in held])

    def _judge(
        self, handle: int, invoke: Invoke, event: Completion, chunk: Frame, places: Sequence[int | None]
    ) -> None:
        limit, known = self.limit(handle), [count for count in places if count is not None]
        if len(known) == len(places) and (limit == 0 or sum(known) < limit):
            self.breach(
                "refused-with-room",
                f"producer {handle}: message {invoke.number} was refused at {ms(event.t_ns)} because a queue is full, "
                f"with {sum(known)} messages and chunks under way; max_pending_messages is {limit or 'off'}, and "
                f"chunks had been sent from {ms(chunk.t_ns)} on",
                chunk,
                invoke,
                event,
            )

    def _places(self, handle: int, send: Operation) -> int | None:
        unit = self.tracker.lines.by_message.get((handle, send.invoke.number or 0))
        if unit is None or unit.first.meta is None:
            return None
        return unit.first.meta.chunks or 1


def _chunk(unit: Unit) -> bool:
    return unit.first.meta is not None and unit.first.meta.chunk_id is not None
