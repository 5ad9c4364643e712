"""What the entry of a batch says: its ids, its body, and which messages may be in it."""

from __future__ import annotations

from assay_conformance.checks.base import Check, on
from assay_conformance.checks.lines import Unit
from assay_conformance.checks.occasions import Trait
from assay_conformance.model.event import Frame, Meta


class Ids(Check):
    """What a batch of several messages says of the sequence ids inside.

    Of a key-based batch this is not said: the ids of several such batches interleave. Nor of one whose ids begin anew
    in its middle: that they do is a matter of `ordering.sequence-ids-increase-by-one`.
    """

    needs = (Trait.BATCH,)

    @on(Frame, "SEND")
    def send(self, event: Frame) -> None:
        unit, meta = self.tracker.lines.first(event), event.meta
        if unit is None or meta is None or len(event.members) < 2:
            return
        if self.view.producer_setting(unit.line.handle or 0, "batching_type") != "key_based":
            ids = [member.sequence_id for member in event.members if member.sequence_id is not None]
            self._judge(unit, event, meta, ids)

    def _judge(self, unit: Unit, event: Frame, meta: Meta, ids: list[int]) -> None:
        raise NotImplementedError
