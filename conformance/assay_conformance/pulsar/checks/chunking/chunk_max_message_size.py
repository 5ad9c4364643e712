"""chunking.chunk-max-message-size"""

from __future__ import annotations

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.consumption import from_client
from assay_conformance.checks.occasions import Setting
from assay_conformance.model.event import Frame
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.chunking._sent_chunks import chunk_of


class ChunkMaxMessageSize(Check):
    """A message is split into chunks of at most the configured size. A message that is sent whole is measured where it
    is not compressed."""

    requirement = RequirementId("chunking.chunk-max-message-size")
    needs = (Setting("producer", "chunk_max_message_bytes"),)

    @on(Frame, "SEND")
    def send(self, event: Frame) -> None:
        meta, unit = event.meta, self.tracker.lines.unit
        if meta is None or unit is None or unit.line.handle is None or not from_client(event):
            return
        handle = unit.line.handle
        most = int(self.view.producer_setting(handle, "chunk_max_message_bytes") or 0)
        batching, chunking = (self.view.producer_setting(handle, key) is True for key in ("batching", "chunking"))
        if not most or not chunking or batching:
            return  # With batching as well: judged by chunking.excludes-batching.
        chunks, total = meta.chunks, meta.chunk_total_bytes
        if meta.chunk_id is None:
            chunks, total = 1, sum(member.size for member in event.members)
            if total <= most or meta.compression != "NONE" or meta.batch is not None:
                return
        if not chunks or total is None:
            return  # chunking.chunks-carry-their-fields
        if chunks * most >= total:
            self.exercise(event)
            return
        self.breach(
            "larger",
            f"{chunk_of(event)} at {ms(event.t_ns)}: chunks may have {most} bytes; expected {-(-total // most)} or "
            f"more for {total} bytes; there are {chunks}",
            self.tracker.lines.openings.get(handle, event),
            event,
        )
