"""compression.uncompressed-size-exact"""

from __future__ import annotations

from assay_conformance.checks.base import LEFT, Check, ms, on
from assay_conformance.checks.lines import Unit
from assay_conformance.model.event import Frame
from assay_conformance.model.requirement import RequirementId


class UncompressedSizeExact(Check):
    """Unbatched messages: without compression the payload is on the wire as it is; with it, the body decompresses to
    the payload, and to the size in the metadata. A client may leave a payload uncompressed, if the metadata say so.
    """

    requirement = RequirementId("compression.uncompressed-size-exact")
    skips_plain = True

    @on(Frame, "SEND", seen=LEFT)
    def send(self, event: Frame) -> None:
        unit, meta = self.tracker.lines.first(event), event.meta
        if unit is None or meta is None or event.intact is False or meta.batch is not None or meta.chunk_id is not None:
            return
        if meta.unpacked_bytes == -1:
            return
        if meta.unpacked_bytes is not None:
            self.breach(
                "wrong-size",
                f"{unit.line}: the {meta.compression} message at {ms(event.t_ns)} has an uncompressed size of "
                f"{meta.uncompressed_size} bytes in its metadata; expected {meta.unpacked_bytes}, to which it "
                "decompresses",
                event,
            )
            return
        handle = unit.line.handle or 0
        if meta.compression != "NONE" and self.view.producer_setting(handle, "compression") == "NONE":
            self.breach(
                "compressed-unasked",
                f"{unit.line}: the message at {ms(event.t_ns)} is compressed with {meta.compression}; expected none, "
                "as the producer is configured",
                event,
            )
        self._content(handle, unit, event)

    def _content(self, handle: int, unit: Unit, event: Frame) -> None:
        if handle in self.tracker.lines.burst or not event.members:
            return
        self.exercise(event)
        member = event.members[0]
        own = self.tracker.send_of(handle, unit.numbers[0]) if unit.numbers else None
        if own is not None and own.invoke.digest == member.digest and own.invoke.size == member.size:
            return
        if not any(send.invoke.payload == member.payload for send in reversed(self.tracker.sends.get(handle, ()))):
            self.breach(
                "payload-changed",
                f"{unit.line}: the message at {ms(event.t_ns)} carries {member.size} bytes of digest "
                f"{member.digest:08x}; expected the payload of one of its send calls; it is that of none",
                event,
            )
