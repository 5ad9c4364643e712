"""connection.max-message-size-per-connection"""

from __future__ import annotations

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.occasions import Trait
from assay_conformance.checks.tracker import ProducerSession
from assay_conformance.model.event import Completion, ErrorClass, Frame
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.topic_names import is_partition

METADATA_BYTES = 1_024
"""Room for the metadata of a message that has no properties."""


class MaxMessageSizePerConnection(Check):
    """The limit on the size of a message is that of the connection it leaves on, whatever another connection announced.

    Judged are messages alone in their frame, uncompressed and without properties: of others the size on the wire is not
    the size that the application sent.
    """

    requirement = RequirementId("connection.max-message-size-per-connection")
    needs = (Trait.OVERSIZE,)

    def start(self) -> None:
        self._limits: dict[int, int] = {}

    @on(Frame, "CONNECTED")
    def connected(self, event: Frame) -> None:
        limit = event.fields.get("max_message_size")
        if event.to_receiver and limit:
            self._limits[event.conn] = int(limit)

    @on(Frame, "SEND")
    def sent(self, event: Frame) -> None:
        limit, meta = self._limits.get(event.conn), event.meta
        if limit is None or meta is None or not event.from_sender or self.tracker.lines.again:
            return
        if meta.batch or meta.chunk_id is not None or meta.compression != "NONE" or len(event.members) != 1:
            return
        size = event.members[0].size
        if size > limit and not self._measured_before(event):
            self.breach(
                "sent-too-large",
                f"a message of {size} bytes left on connection {event.conn} at {ms(event.t_ns)}; expected at most "
                f"{limit}, the max_message_size of its CONNECTED",
                event,
            )
        elif any(size > other for other in self._limits.values()):
            self.exercise(event)

    def _measured_before(self, event: Frame) -> bool:
        """Whether it was sent before its producer was on this connection, and so measured by the limit of another."""
        unit, session = self.tracker.lines.unit, self.tracker.producer_of(event)
        if unit is None or session is None or session.ready is None or not unit.numbers:
            return False
        send = self.tracker.send_of(unit.line.handle or 0, unit.numbers[0])
        return send is not None and send.invoke.seq < session.ready.seq

    @on(Completion, "send")
    def ended(self, event: Completion) -> None:
        operation = self.tracker.operations.get(event.op)
        if event.error is not ErrorClass.TOO_LARGE or operation is None or event.handle is None:
            return
        invoke = operation.invoke
        session = self._session(event.handle, invoke.seq, event.seq)
        limit = None if session is None else self._limits.get(session.conn)
        if session is None or limit is None or invoke.args.get("properties"):
            return
        size = invoke.size or 0
        if size + METADATA_BYTES <= limit and not self.view.producer_setting(event.handle, "batching"):
            assert session.ready is not None
            self.breach(
                "refused-though-it-fits",
                f"producer {event.handle}: message {invoke.number} of {size} bytes failed as too large at "
                f"{ms(event.t_ns)}; expected it to be sent, since connection {session.conn} has a max_message_size of "
                f"{limit}",
                session.ready,
                event,
            )
        elif size > limit and any(size <= other for other in self._limits.values()):
            self.exercise(event)

    def _session(self, handle: int, called_seq: int, ended_seq: int) -> ProducerSession | None:
        """Return the producer's session where it was the same from the call to its end. For a message that never left
        it is unknown which partition, and so which connection, it was for."""
        sessions = [session for line in self.tracker.lines.of_handle(handle) for session in line.sessions]
        ready = [session for session in sessions if session.ready is not None and session.ready.seq < called_seq]
        if len(ready) == 0 or any(session.request.seq > called_seq for session in sessions):
            return None
        if is_partition(ready[-1].topic):
            return None
        closed = self.tracker.closed.get(ready[-1].conn)
        return ready[-1] if closed is None or closed.seq > ended_seq else None
