"""Sizes that cannot be: what a message says it unpacks to is somebody else's word, and memory is one's own."""

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
    """A message that says it unpacks to more than any message may costs itself: those that came behind it are handed
    over, and neither its connection nor the process ends of it."""

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
        # Whether a last chunk completes its message is a chapter of its own.
        elif event.members and meta.chunk_id is None and self._before(session.consumer.handle) is not None:
            self.handover.offer(session, event)

    def _before(self, handle: int | None) -> Frame | None:
        """The first of its kind that this consumer got."""
        return next((frame for consumer, frame in self._came if consumer.handle == handle), None)

    @on(AgentEnded)
    def died(self, event: AgentEnded) -> None:
        if self._came and not event.killed:
            first = self._came[0][1]
            self.breach(
                "died",
                f"{_said(first)}, and the client's process ended at {ms(event.t_ns)}: {event.reason}",
                first,
                event,
            )

    @on(Fired)
    def fired(self, event: Fired) -> None:
        if event.conn is not None:
            self.reasons_to_leave.add(event.conn)
        else:
            # Bytes, processes, packets: every connection may end of it.
            self.leaving = True

    @on(Closed)
    def connection_closed(self, event: Closed) -> None:
        last = next((frame for _, frame in reversed(self._came) if frame.conn == event.conn), None)
        if last is not None and not late("answer", last.t_ns, event.t_ns) and self.was_left(event):
            self.breach(
                "connection-closed",
                f"{_said(last)}, and the client closed connection {event.conn} at {ms(event.t_ns)}; expected it to go "
                "on without that message",
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
                f"consumer {event.handle}: {_said(first)}; {offer.entry} came behind it at {ms(offer.frame.t_ns)} and "
                f"was not handed over by {ms(event.t_ns)}, when a receive ended short",
                first,
                event,
            )


def _said(frame: Frame) -> str:
    size = frame.meta.uncompressed_size if frame.meta is not None else 0
    return f"a message that says it unpacks to {size} bytes came at {ms(frame.t_ns)}"
