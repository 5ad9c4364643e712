"""robustness.any-segmentation"""

from __future__ import annotations

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import to_client
from assay_conformance.checks.handover import HandoverCheck, Offer
from assay_conformance.checks.leaving import LeavingCheck
from assay_conformance.checks.occasions import Trait
from assay_conformance.model.event import AgentEnded, Closed, Completion, Fired, Frame, Healed, Opened, Received
from assay_conformance.model.outside import TAGS
from assay_conformance.model.requirement import RequirementId


class AnySegmentation(HandoverCheck, LeavingCheck):
    """On a connection whose bytes come in unusual pieces, every message is received unchanged, and nothing is closed.

    That requests and sends complete is judged by the operations that wait for them.
    """

    requirement = RequirementId("robustness.any-segmentation")
    needs = (Trait.IN_PIECES,)

    def start(self) -> None:
        super().start()
        self._since: dict[int, Fired] = {}
        self._sliced: Fired | None = None
        self._ended: list[tuple[Fired, Closed]] = []

    @on(Fired)
    def fired(self, event: Fired) -> None:
        if event.action == "slicer":
            self._sliced = event
            for conn in self.tracker.opened.keys() - self.tracker.closed.keys():
                self._since.setdefault(conn, event)
        elif event.action in TAGS:
            # Faults of bytes, processes and packets may end every connection.
            self.leaving = True
        elif event.conn is None:
            return
        elif event.action == "resegment":
            self._since.setdefault(event.conn, event)
        else:
            self.reasons_to_leave.add(event.conn)

    @on(Opened)
    def connection_opened(self, event: Opened) -> None:
        if self._sliced is not None:
            self._since[event.conn] = self._sliced

    @on(Healed)
    def healed(self, event: Healed) -> None:
        if self._sliced is not None and self._sliced.fault == event.fault:
            self._sliced = None

    @on(Frame, "MESSAGE")
    def message(self, event: Frame) -> None:
        if event.conn not in self._since or not to_client(event) or event.intact is False or not event.members:
            return
        session = self.tracker.consumer_of(event)
        # Whether a last chunk completes its message is judged by the chunking checks.
        if session is not None and (event.meta is None or event.meta.chunk_id is None):
            self.handover.offer(session, event)

    def handed(self, offer: Offer, event: Received) -> None:
        member = offer.frame.members[max(offer.index, 0)]
        if event.payload == member.payload:
            self.exercise(event)
        else:
            self.breach(
                "message-changed",
                f"{offer.entry} came in pieces to consumer {event.handle}; expected {member.size} bytes of digest "
                f"{member.digest:08x}; it received {event.size} bytes of digest {event.digest:08x}",
                offer.frame,
                event,
            )

    def withheld(self, offer: Offer, event: Completion) -> None:
        if offer.frame.conn not in self.reasons_to_leave:
            self.suspect(
                "answer",
                offer.frame.t_ns,
                event.t_ns,
                "message-lost",
                f"{offer.entry} came in pieces to consumer {event.handle} at {ms(offer.frame.t_ns)}; expected it to be "
                f"received; a receive ended without it at {ms(event.t_ns)}",
                self._since[offer.frame.conn],
                offer.frame,
                event,
            )

    @on(Closed)
    def connection_closed(self, event: Closed) -> None:
        fired = self._since.pop(event.conn, None)
        if fired is not None and self.was_left(event):
            self._ended.append((fired, event))

    @on(AgentEnded)
    def process_ended(self, event: AgentEnded) -> None:
        """It ended its connections, too: why it ended is judged elsewhere."""
        del event
        self._ended.clear()

    def finish(self) -> None:
        super().finish()
        for fired, closed in self._ended:
            self.breach(
                "connection-closed",
                f"from {ms(fired.t_ns)} on the bytes of connection {closed.conn} came in unusual pieces; expected them "
                f"to be read as usual; the client closed the connection at {ms(closed.t_ns)}",
                fired,
                closed,
            )
