"""A batch with old and new sequence ids: the broker stores or drops it as a whole, by its lowest id."""

from __future__ import annotations

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.lines import Line, Unit
from assay_conformance.checks.occasions import Setting
from assay_conformance.model.event import Frame
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.dedup._deduplication import NO_SEQUENCE_ID, initial_id


class OldAndNewIdsInSeparateBatches(Check):
    """No batch holds both an id up to the last one known to the client and one above that.

    Known to a client are the ids it has sent, and where it began: its initial id, or else the last id that the broker
    named first. Judged are producers that batch and whose application chooses ids; not with key-based batching, where
    one batch may be older than what left before it.
    """

    requirement = RequirementId("dedup.old-and-new-ids-in-separate-batches")
    needs = (Setting("producer", "batching"),)

    def start(self) -> None:
        self._last: dict[tuple[int, str], int] = {}

    @on(Frame, "SEND")
    def send(self, event: Frame) -> None:
        unit = self.tracker.lines.first(event)
        if unit is None or not self._judges(unit.line.handle or 0):
            return
        ids = self._ids(unit, event)
        if not ids:
            return
        place = (unit.line.handle or 0, unit.line.topic)
        last = self._last[place] if place in self._last else self._initial_last_id(unit.line)
        self._last[place] = max(last, *ids)
        old = [id for id in ids if id <= last]
        if not old:
            return
        self.exercise(event)
        if len(old) < len(ids):
            new = [id for id in ids if id > last]
            self.breach(
                "mixed",
                f"{unit.line}: the batch at {ms(event.t_ns)} holds sequence id {old[0]}, not above its last one before "
                f"({last}), together with {new[0]}; expected separate batches, since a broker that deduplicates drops "
                "this one as a whole",
                event,
            )

    def _judges(self, handle: int) -> bool:
        setting = self.view.producer_setting
        one_batch = setting(handle, "batching") is True and setting(handle, "batching_type") != "key_based"
        return one_batch and handle in self.tracker.foresight.explicit

    def _initial_last_id(self, line: Line) -> int:
        initial = initial_id(self.view, line.handle or 0)
        ready = line.sessions[0].ready
        if initial is not None:
            return initial
        return NO_SEQUENCE_ID if ready is None else int(ready.fields.get("last_sequence_id", NO_SEQUENCE_ID))

    def _ids(self, unit: Unit, event: Frame) -> list[int]:
        """Return the ids of its messages in order; empty where one of them is unknown."""
        ids = [member.sequence_id for member in event.members]
        if len(ids) == 1:
            return [unit.sequence_id]
        known = [id for id in ids if id is not None]
        return known if len(known) == len(ids) else []
