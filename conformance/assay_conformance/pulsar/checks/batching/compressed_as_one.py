"""batching.compressed-as-one"""

from __future__ import annotations

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.lines import Unit
from assay_conformance.checks.occasions import Trait
from assay_conformance.model.event import Frame
from assay_conformance.model.requirement import RequirementId


class CompressedAsOne(Check):
    """The body of a compressed batch is its messages with their headers, compressed once; its uncompressed size is
    that of this body. Whether the codec is what it says is a clause of its own.
    """

    requirement = RequirementId("batching.compressed-as-one")
    needs = (Trait.BATCH, Trait.COMPRESSED)

    @on(Frame, "SEND")
    def send(self, event: Frame) -> None:
        unit, meta = self.tracker.lines.first(event), event.meta
        if unit is None or meta is None or meta.batch is None or meta.compression == "NONE":
            return
        if meta.unpacked_bytes is not None:
            if meta.unpacked_bytes >= 0:
                self.breach(
                    "wrong-size",
                    f"{unit.line}: the {meta.compression} batch at {ms(event.t_ns)} says that it is "
                    f"{meta.uncompressed_size} bytes uncompressed, and unpacks to {meta.unpacked_bytes}",
                    event,
                )
            return
        if not event.members:
            self.breach(
                "unreadable",
                f"{unit.line}: the {meta.compression} batch at {ms(event.t_ns)} unpacks to {meta.uncompressed_size} "
                f"bytes as announced, which are no {meta.batch} messages with their headers",
                event,
            )
            return
        if len(event.members) > 1:
            self.exercise(event)
        self._members(unit, event)

    def _members(self, unit: Unit, event: Frame) -> None:
        handle = unit.line.handle or 0
        if handle in self.tracker.lines.burst:
            return
        asked = {send.invoke.payload for send in self.tracker.sends.get(handle, ())}
        for index, member in enumerate(event.members):
            if member.payload not in asked:
                self.breach(
                    "member-changed",
                    f"{unit.line}: message {index} in the batch at {ms(event.t_ns)} is {member.size} bytes of digest "
                    f"{member.digest:08x}, which is no message it was asked to send",
                    event,
                )
                return
