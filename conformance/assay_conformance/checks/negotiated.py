"""What a connection's handshake agreed upon: the protocol version, and the largest message."""

from __future__ import annotations

from assay_conformance.checks.agreed import VersionCheck
from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.consumption import from_client
from assay_conformance.checks.occasions import Trait
from assay_conformance.checks.tracker import ProducerSession
from assay_conformance.model.event import Completion, ErrorClass, Frame
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.topic_names import is_partition

CHECKSUM_SINCE = 6
"""A checksum in front of the metadata of a SEND."""

SEVERAL_IDS_SINCE = 12
"""ACK with more than one message id."""

RECEIPTS_SINCE = 17
"""ACK with a request id, answered by ACK_RESPONSE."""

COMMANDS_SINCE = {
    "GET_LAST_MESSAGE_ID": 12,
    "GET_TOPICS_OF_NAMESPACE": 12,
    "AUTH_RESPONSE": 14,
    "GET_OR_CREATE_SCHEMA": 15,
    "WATCH_TOPIC_LIST": 20,
}
"""Command of a client -> the protocol version that brought it."""

METADATA_BYTES = 1_024
"""Room for the metadata of a message without properties."""


class AgreedVersion(VersionCheck):
    """Nothing of a later protocol version than the lower one of client and broker is used on a connection."""

    requirement = RequirementId("connection.negotiated-version")
    skips_plain = True

    @on(Frame, "ACK")
    def ack(self, event: Frame) -> None:
        version, _ = self.agreed.get(event.conn, (RECEIPTS_SINCE, event))
        if not from_client(event) or version >= RECEIPTS_SINCE:
            return
        if event.request_id is not None:
            self._too_new(event, "an ACK that asks for an answer", RECEIPTS_SINCE, "asks-for-receipt")
        elif len(event.ids) > 1 and version < SEVERAL_IDS_SINCE:
            self._too_new(event, f"an ACK of {len(event.ids)} ids", SEVERAL_IDS_SINCE, "several-ids")
        else:
            self.exercise(event)

    @on(Frame, *COMMANDS_SINCE)
    def command(self, event: Frame) -> None:
        since = COMMANDS_SINCE[event.command]
        if from_client(event) and event.conn in self.agreed and self.agreed[event.conn][0] < since:
            self._too_new(event, event.command, since, "unknown-command")

    def _too_new(self, event: Frame, what: str, since: int, code: str) -> None:
        version, agreed = self.agreed[event.conn]
        self.breach(
            code,
            f"{what} left on connection {event.conn} at {ms(event.t_ns)}; client and broker agreed on protocol version "
            f"{version}, which is older than {since}",
            agreed,
            event,
        )


class NoChecksumForTheOld(VersionCheck):
    """A SEND to a broker that knows no checksum begins with the size of its metadata. Whoever says no version is not
    judged."""

    requirement = RequirementId("connection.no-checksum-to-old-broker")
    skips_plain = True

    @on(Frame, "SEND")
    def sent(self, event: Frame) -> None:
        version, agreed = self.agreed.get(event.conn, (CHECKSUM_SINCE, event))
        if not from_client(event) or version >= CHECKSUM_SINCE or "protocol_version" not in agreed.fields:
            return
        if event.fields.get("checksum") is False:
            self.exercise(event)
            return
        self.breach(
            "has-checksum",
            f"SEND {event.sequence_id} left on connection {event.conn} at {ms(event.t_ns)} with a checksum; client and "
            f"broker agreed on protocol version {version}, which is older than {CHECKSUM_SINCE}",
            agreed,
            event,
        )


class LimitOfEach(Check):
    """The largest message is that of the connection a message leaves on, whatever another connection announced.

    Messages alone in their frame, uncompressed and without properties: of others the size on the wire is not the
    application's.
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
        if size > limit and not self._asked_away(event):
            self.breach(
                "sent-too-large",
                f"a message of {size} bytes left on connection {event.conn} at {ms(event.t_ns)}, whose broker takes "
                f"{limit}",
                event,
            )
        elif any(size > other for other in self._limits.values()):
            self.exercise(event)

    def _asked_away(self, event: Frame) -> bool:
        """Whether the message was asked for before its producer was on this connection, and measured by another."""
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
                f"producer {event.handle}: message {invoke.number} of {size} bytes was refused as too large at "
                f"{ms(event.t_ns)}; the broker of connection {session.conn} takes {limit}",
                session.ready,
                event,
            )
        elif size > limit and any(size <= other for other in self._limits.values()):
            self.exercise(event)

    def _session(self, handle: int, asked_seq: int, ended_seq: int) -> ProducerSession | None:
        """The producer's session, when it was one and the same from the call to its end. Which of its partitions a
        message was for, and so on which connection, is not told of one that never left."""
        sessions = [session for line in self.tracker.lines.of_handle(handle) for session in line.sessions]
        ready = [session for session in sessions if session.ready is not None and session.ready.seq < asked_seq]
        if len(ready) == 0 or any(session.request.seq > asked_seq for session in sessions):
            return None
        if is_partition(ready[-1].topic):
            return None
        closed = self.tracker.closed.get(ready[-1].conn)
        return ready[-1] if closed is None or closed.seq > ended_seq else None
