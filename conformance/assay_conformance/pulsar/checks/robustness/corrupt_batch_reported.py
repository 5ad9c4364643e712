"""robustness.corrupt-batch-reported"""

from __future__ import annotations

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import entry_on
from assay_conformance.checks.occasions import Trait
from assay_conformance.checks.tracker import Entry
from assay_conformance.model.event import Frame, Received
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.robustness._unreadable import Discarded

BAD_BATCH = "BatchDeSerializeError"


class CorruptBatchReported(Discarded):
    """A batch that cannot be decoded is reported; messages decoded before its damaged part are received once at
    most."""

    requirement = RequirementId("robustness.corrupt-batch-reported")
    needs = (Trait.UNREADABLE,)
    what = "a batch that cannot be decoded"
    expected = f"an ACK with {BAD_BATCH}"

    def start(self) -> None:
        super().start()
        self._came: dict[tuple[int, Entry], int] = {}
        self._received: dict[tuple[int, Entry, int], int] = {}

    def is_bad(self, frame: Frame) -> bool:
        meta = frame.meta
        plain = meta is not None and meta.compression == "NONE" and meta.chunk_id is None
        bad = plain and meta is not None and bool(meta.batch) and not frame.members and frame.intact is True
        session = self.tracker.consumer_of(frame)
        if bad and session is not None and session.consumer is not None:
            key = (session.consumer.handle, entry_on(session, frame.ids[0]))
            self._came[key] = self._came.get(key, 0) + 1
        return bad

    def answers(self, ack: Frame) -> bool:
        return ack.fields.get("validation_error") == BAD_BATCH

    @on(Received)
    def received(self, event: Received) -> None:
        entry = self.tracker.entries.get(event.seq)
        if entry is None or (event.handle, entry) not in self._came:
            return
        key = (event.handle, entry, event.message_id.batch_index)
        count = self._received[key] = self._received.get(key, 0) + 1
        if count > self._came[event.handle, entry]:
            frame = next(bad.frame for bad in self._bad if bad.entry == entry)
            self.breach(
                "delivered-twice",
                f"the batch {entry}, which cannot be decoded, came {self._came[event.handle, entry]} times to consumer "
                f"{event.handle}; expected its index {key[2]} no more often; it was received {count} times, last at "
                f"{ms(event.t_ns)}",
                frame,
                event,
            )
