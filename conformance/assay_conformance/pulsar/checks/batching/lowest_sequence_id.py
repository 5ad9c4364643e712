"""batching.lowest-sequence-id"""

from __future__ import annotations

from assay_conformance.checks.base import ms
from assay_conformance.checks.lines import Unit
from assay_conformance.model.event import Frame, Meta
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.batching._entry_ids import Ids


class LowestSequenceId(Ids):
    """Where not every message has an id of its own, nobody knows the lowest."""

    requirement = RequirementId("batching.lowest-sequence-id")

    def _judge(self, unit: Unit, event: Frame, meta: Meta, ids: list[int]) -> None:
        if len(ids) < len(event.members) or ids != sorted(ids):
            return
        self.exercise(event)
        for where, lowest in {"SEND": event.sequence_id, "its metadata": meta.sequence_id}.items():
            if lowest != ids[0]:
                self.breach(
                    "other-id",
                    f"{unit.line}: the batch at {ms(event.t_ns)} holds sequence ids {ids[0]} to {ids[-1]}; {where} "
                    f"goes by {lowest}",
                    event,
                )
                return
