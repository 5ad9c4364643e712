"""batching.key-based-highest-sequence-id"""

from __future__ import annotations

from assay_conformance.checks.base import ms
from assay_conformance.checks.lines import Unit
from assay_conformance.model.event import Frame, Meta
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.batching._keyed import KeyedCheck, highest_id


class KeyBasedHighestSequenceId(KeyedCheck):
    """Of several messages with ids of their own, the highest is what the broker is told: that one it remembers."""

    requirement = RequirementId("batching.key-based-highest-sequence-id")

    def left(self, unit: Unit, event: Frame, meta: Meta) -> None:
        ids = [member.sequence_id for member in event.members if member.sequence_id is not None]
        if len(ids) < 2:
            return
        self.exercise(event)
        told = {"SEND": highest_id(event), "its metadata": max(meta.sequence_id, meta.highest_sequence_id)}
        where = next((where for where, id in told.items() if id != max(ids)), None)
        if where is not None:
            self.breach(
                "other-highest",
                f"{unit.line}: the entry at {ms(event.t_ns)} holds sequence ids {min(ids)} to {max(ids)}; the highest "
                f"that {where} tells is {told[where]}",
                event,
            )
