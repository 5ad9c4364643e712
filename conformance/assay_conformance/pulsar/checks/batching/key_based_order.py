"""batching.key-based-order"""

from __future__ import annotations

from assay_conformance.checks.base import ms
from assay_conformance.checks.lines import Line, Unit
from assay_conformance.model.event import Frame, Meta
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.batching._keyed import KeyedCheck, highest_id, quoted


class KeyBasedOrder(KeyedCheck):
    """Each entry goes by an id above all that was told before, and the messages of a key leave as they were sent.

    Ids are judged where the client numbers. The precondition is that ranges interleave: an entry begins with a message
    that was sent before another which has left.
    """

    requirement = RequirementId("batching.key-based-order")

    def start(self) -> None:
        self._told: dict[int, Frame] = {}
        """Line -> the SEND that told the highest id so far."""
        self._last: dict[tuple[int, bytes], tuple[int, Frame]] = {}
        """Line and key -> the last message of it that left."""
        self._furthest: dict[int, int] = {}

    def left(self, unit: Unit, event: Frame, meta: Meta) -> None:
        del meta
        line = id(unit.line)
        if min(unit.numbers) < self._furthest.get(line, -1):
            self.exercise(event)
        self._furthest[line] = max(self._furthest.get(line, -1), *unit.numbers)
        self._ids(unit.line, event)
        for number, key in zip(unit.numbers, self.keys(unit), strict=False):
            self._order(unit.line, key, number, event)

    def _ids(self, line: Line, event: Frame) -> None:
        if line.handle in self.tracker.foresight.explicit:
            return
        before = self._told.get(id(line))
        if before is None or highest_id(event) > highest_id(before):
            self._told[id(line)] = event
        if before is not None and (event.sequence_id or 0) <= highest_id(before):
            self.breach(
                "id-told-before",
                f"{line}: the entry at {ms(event.t_ns)} goes by sequence id {event.sequence_id}, and "
                f"{highest_id(before)} was told at {ms(before.t_ns)}; a broker that deduplicates drops it",
                before,
                event,
            )

    def _order(self, line: Line, key: bytes, number: int, event: Frame) -> None:
        before = self._last.get((id(line), key))
        self._last[id(line), key] = (number, event)
        if before is not None and number < before[0]:
            self.breach(
                "key-out-of-order",
                f"{line}: message {number} with {quoted(key)} left at {ms(event.t_ns)}, behind message {before[0]} of "
                f"that key, which left at {ms(before[1].t_ns)} and had been sent later",
                before[1],
                event,
            )
