"""Impossible uncompressed sizes: a consumer must not allocate memory by what the metadata of a message claims."""

from __future__ import annotations

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import late, to_client
from assay_conformance.checks.handover import HandoverCheck, Offer
from assay_conformance.checks.leaving import LeavingCheck
from assay_conformance.checks.occasions import Trait
from assay_conformance.checks.tracker import OpenedConsumer
from assay_conformance.model.event import AgentEnded, Closed, Completion, Fired, Frame
from assay_conformance.model.requirement import RequirementId
from assay_conformance.wire.describe import MAX_MESSAGE_BYTES


class AbsurdSizeNotTrusted(HandoverCheck, LeavingCheck):
    """A message with an uncompressed size beyond the limit of any message affects only itself: later messages are
    received, and neither the connection nor the process ends because of it."""

    requirement = RequirementId("compression.absurd-size-not-trusted")
    needs = (Trait.COMPRESSED,)

    def start(self) -> None:
        super().start()
        self._came: list[tuple[OpenedConsumer, Frame]] = []

    @on(Frame, "MESSAGE")
    def message(self, event: Frame) -> None:
        session, meta = self.tracker.consumer_of(event), event.meta
        if session is None or session.consumer is None or meta is None or not to_client(event) or not event.intact:
            return
        if meta.compression != "NONE" and meta.uncompressed_size > MAX_MESSAGE_BYTES:
            self._came.append((session.consumer, event))
            self.exercise(event)
        # Whether a last chunk completes its message is judged by the chunking checks.
        elif event.members and meta.chunk_id is None and self._before(session.consumer.handle) is not None:
            self.handover.offer(session, event)

    def _before(self, handle: int | None) -> Frame | None:
        """Return the first such message that this consumer got."""
        return next((frame for consumer, frame in self._came if consumer.handle == handle), None)

    @on(AgentEnded)
    def process_ended(self, event: AgentEnded) -> None:
        if self._came and not event.killed:
            first = self._came[0][1]
            self.breach(
                "died",
                f"{_describe(first)}; expected the client to survive it; its process ended at {ms(event.t_ns)}: "
                f"{event.reason}",
                first,
                event,
            )

    @on(Fired)
    def fired(self, event: Fired) -> None:
        if event.conn is not None:
            self.reasons_to_leave.add(event.conn)
        else:
            # Faults of bytes, processes and packets may end every connection.
            self.leaving = True

    @on(Closed)
    def connection_closed(self, event: Closed) -> None:
        last = next((frame for _, frame in reversed(self._came) if frame.conn == event.conn), None)
        if last is not None and not late("answer", last.t_ns, event.t_ns) and self.was_left(event):
            self.breach(
                "connection-closed",
                f"{_describe(last)}; expected the client to go on without that message; it closed connection "
                f"{event.conn} at {ms(event.t_ns)}",
                last,
                event,
            )

    def withheld(self, offer: Offer, event: Completion) -> None:
        first = self._before(event.handle)
        if first is not None:
            self.overdue(
                "answer",
                offer.frame.t_ns,
                event.t_ns,
                "stuck",
                f"consumer {event.handle}: {_describe(first)}; {offer.entry} arrived after it at "
                f"{ms(offer.frame.t_ns)}; expected it to be received; a receive ended without it at {ms(event.t_ns)}",
                first,
                event,
            )


def _describe(frame: Frame) -> str:
    size = frame.meta.uncompressed_size if frame.meta is not None else 0
    return f"a message with an uncompressed size of {size} bytes came at {ms(frame.t_ns)}"
