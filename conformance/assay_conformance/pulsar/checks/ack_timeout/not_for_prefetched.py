"""ack-timeout.not-for-prefetched"""

from __future__ import annotations

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import EntryKey, elapsed, entry_on, late
from assay_conformance.checks.tracker import Entry, OpenedConsumer
from assay_conformance.checks.written import Request, RequestCheck
from assay_conformance.model.event import Frame, Received
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.ack_timeout._timeouts import Span, TimeoutCheck, span_of


class NotForPrefetched(TimeoutCheck, RequestCheck):
    """A request that names an entry of which the application never got a message.

    The precondition: a message that waited in the queue for longer than the time-out, and was then handed over.
    """

    requirement = RequirementId("ack-timeout.not-for-prefetched")

    def start(self) -> None:
        super().start()
        self._handed: set[EntryKey] = set()

    def handed(self, consumer: OpenedConsumer, entry: Entry, event: Received, frame: Frame | None, span: Span) -> None:
        first = (consumer.handle, entry) not in self._handed
        if first and frame is not None and late("ack-timeout", frame.t_ns + span.most_ns, event.t_ns):
            self.exercise(event)

    @on(Received)
    def received(self, event: Received) -> None:
        super().received(event)
        entry = self.tracker.entries.get(event.seq)
        if entry is not None:
            self._handed.add((event.handle, entry))

    def redeliver(self, request: Request) -> None:
        consumer, event = request.consumer, request.frame
        if span_of(self.view, consumer) is None:
            return
        for id in event.ids:
            entry = entry_on(request.session, id)
            frame = self.frames.get((consumer.handle, entry))
            whole = frame is not None and frame.intact is not False and frame.meta is not None
            if frame is None or not whole or (consumer.handle, entry) in self._handed or _is_chunk(frame):
                continue
            self.suspect(
                "ack-timeout",
                frame.t_ns,
                event.t_ns,
                "prefetched-asked-for",
                f"consumer {consumer.handle} got {entry} at {ms(frame.t_ns)} and asked for it again "
                f"{elapsed(event.t_ns, frame.t_ns)} later, while it waited for the application to take it",
                frame,
                event,
            )


def _is_chunk(frame: Frame) -> bool:
    return frame.meta is not None and frame.meta.chunk_id is not None
