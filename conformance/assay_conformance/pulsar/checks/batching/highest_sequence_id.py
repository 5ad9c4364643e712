"""batching.highest-sequence-id"""

from __future__ import annotations

from assay_conformance.checks.base import ms
from assay_conformance.checks.lines import Unit
from assay_conformance.model.event import Frame, Meta
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.batching._entry_ids import Ids


class HighestSequenceId(Ids):
    """It tells its highest sequence id, and each message has its own."""

    requirement = RequirementId("batching.highest-sequence-id")

    def _judge(self, unit: Unit, event: Frame, meta: Meta, ids: list[int]) -> None:
        self.exercise(event)
        if len(ids) < len(event.members):
            self.breach(
                "no-single-ids",
                f"{unit.line}: of {len(event.members)} messages in the batch at {ms(event.t_ns)} {len(ids)} carry a "
                "sequence id of their own, expected all",
                event,
            )
            return
        told = {"SEND": event.highest_sequence_id or 0, "its metadata": meta.highest_sequence_id}
        for where, highest in told.items() if ids == sorted(ids) else ():
            if highest == ids[-1]:
                continue
            self.breach(
                "wrong-highest-id" if highest else "no-highest-id",
                f"{unit.line}: the batch at {ms(event.t_ns)} holds sequence ids {ids[0]} to {ids[-1]}; {where} says "
                f"that the highest is {highest or 'nothing'}",
                event,
            )
            return
