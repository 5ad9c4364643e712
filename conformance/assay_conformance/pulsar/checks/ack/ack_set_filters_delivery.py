"""ack.ack-set-filters-delivery"""

from __future__ import annotations

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import ConsumerCheck, entry_on, is_open, to_client
from assay_conformance.checks.occasions import Trait
from assay_conformance.checks.tracker import Entry
from assay_conformance.model.event import Frame, Received
from assay_conformance.model.requirement import RequirementId


class AckSetFiltersDelivery(ConsumerCheck):
    """A message of a batch reaches the application no more often than it came with its bit set."""

    requirement = RequirementId("ack.ack-set-filters-delivery")
    needs = (Trait.BATCH,)

    def start(self) -> None:
        self._open: dict[tuple[int, Entry, int], int] = {}
        self._filtered: dict[tuple[int, Entry], Frame] = {}

    @on(Frame, "MESSAGE")
    def message(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is None or session.consumer is None or not to_client(event) or event.intact is False:
            return
        size = (event.meta.batch if event.meta is not None else None) or 0
        entry = entry_on(session, event.ids[0])
        handle = session.consumer.handle
        for index in range(size):
            if is_open(event, index):
                key = (handle, entry, index)
                self._open[key] = self._open.get(key, 0) + 1
        if any(not is_open(event, index) for index in range(size)):
            self._filtered[handle, entry] = event

    @on(Received)
    def received(self, event: Received) -> None:
        entry = self.tracker.entries.get(event.seq)
        index = event.message_id.batch_index
        if entry is None or index < 0:
            return
        key = (event.handle, entry, index)
        left = self._open[key] = self._open.get(key, 0) - 1
        filtered = self._filtered.get((event.handle, entry))
        if filtered is None:
            return
        if left < 0 and not is_open(filtered, index):
            self.breach(
                "filtered-delivered",
                f"consumer {event.handle} handed over message {index} of batch {entry} at {ms(event.t_ns)}; the entry "
                f"had come at {ms(filtered.t_ns)} with an ack_set that leaves it out",
                filtered,
                event,
            )
        elif is_open(filtered, index):
            self.exercise(event)
