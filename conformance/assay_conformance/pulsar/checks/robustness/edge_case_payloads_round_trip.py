"""robustness.edge-case-payloads-round-trip"""

from __future__ import annotations

from assay_conformance.checks.base import CAME, on
from assay_conformance.checks.consumption import entry_on
from assay_conformance.checks.handover import HandoverCheck, Offer
from assay_conformance.checks.tracker import Entry
from assay_conformance.model.direction import Direction
from assay_conformance.model.event import Fate, Frame, Received
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.robustness._round_trip import as_events, describe_change, is_altered, stored_member

_PASSED, _TO_CLIENT = Fate.PASSED, Direction.TO_CLIENT


class EdgeCasePayloadsRoundTrip(HandoverCheck):
    """Empty and one-byte payloads, and null values.

    Content is compared with what is stored. Chunked messages are judged by the chunking checks.
    """

    requirement = RequirementId("robustness.edge-case-payloads-round-trip")
    skips_plain = True

    def start(self) -> None:
        super().start()
        self._altered: set[Entry] = set()

    @on(Frame, "MESSAGE", seen=CAME)
    def message(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is None or session.consumer is None or event.dir is not _TO_CLIENT:
            return
        if is_altered(event):
            self._altered.add(entry_on(session, event.ids[0]))
            return
        for member in event.members:
            if member.size <= 1:
                self.handover.offer(session, event)
                return

    @on(Received)
    def received(self, event: Received) -> None:
        entry = self.tracker.entries.get(event.seq)
        if entry is None or event.handle not in self.tracker.opened_consumers or entry in self._altered:
            return
        stored = self.tracker.stored_at.get(entry)
        member = stored_member(stored, event)
        if member is None:
            return
        if event.digest != member.digest or event.size != member.size:
            came = f"{event.size} bytes of digest {event.digest:08x}"
            self.breach(
                "changed", describe_change(event, entry, came, f"{member.size} bytes"), *as_events(stored), event
            )
        elif member.size <= 1:
            self.exercise(event)

    def what(self, offer: Offer) -> str:
        del offer
        return "an empty message or one of a single byte"
