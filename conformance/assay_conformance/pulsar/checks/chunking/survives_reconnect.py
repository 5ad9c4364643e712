"""A connection that is lost between two chunks costs nothing, at the producer and at the consumer."""

from __future__ import annotations

from dataclasses import dataclass, field

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import from_client, to_client
from assay_conformance.checks.lines import Line
from assay_conformance.checks.tracker import ConsumerSession, Entry, Operation, ProducerSession
from assay_conformance.model.event import Completion, Frame, Meta, Outcome, Received, Stored
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.chunking._assembly import Assembly, ChunkFate
from assay_conformance.pulsar.checks.chunking._chunked import Arrival, ChunkedCheck, Story
from assay_conformance.pulsar.checks.chunking._receipts import Receipts
from assay_conformance.pulsar.checks.chunking._sent_chunks import Message, chunk_of
from assay_conformance.pulsar.checks.dedup._deduplication import may_repeat_ids


@dataclass(slots=True)
class _Sending:
    """The chunks of one producer with one uuid, over all its sessions."""

    first: Frame
    line: Line
    sequence_id: int
    uuid: str
    sessions: list[int] = field(default_factory=list)
    carrier: tuple[int, int] = (-1, -1)
    """Connection and producer id of the latest session."""
    receipts: Receipts = field(default_factory=Receipts)
    last: Frame | None = None
    message: Message | None = None
    shared: bool = False
    """Whether several messages had this uuid."""

    @property
    def interrupted(self) -> bool:
        return len(self.sessions) > 1


class SurvivesReconnect(ChunkedCheck):
    """After a connection is lost between two chunks, sending goes on at the first chunk without a receipt, with the
    same uuid, and the consumer receives the message once and intact.

    Whether a receipt written to a lost connection was read is unknown, so a chunk counts as missed only if no receipt
    was written for it. Where the broker closed the producer and it registers again on the same connection, an earlier
    receipt may come until chunks are sent again. Storing and delivery are judged for messages that were reported as
    sent, unless a fault dropped one of the producer's SENDs, so that no chunks can be stored in order. Where a fault
    altered one they are judged if the message came through. Not judged where sequence ids may repeat, so that
    deduplication may drop a last chunk, nor where several messages have one uuid, so that it is unknown to which a
    chunk belongs.
    """

    requirement = RequirementId("chunking.survives-reconnect")

    def start(self) -> None:
        super().start()
        self._sendings: dict[tuple[int, str], _Sending] = {}
        self._carriers: dict[tuple[int, int, int], list[_Sending]] = {}
        self._stored: dict[str, Assembly] = {}
        self._whole: set[Message] = set()
        self._deliveries: dict[Message, list[tuple[Received, ConsumerSession | None]]] = {}
        self._entries: dict[Entry, Message] = {}
        self._arrivals: dict[tuple[int, Message], list[int]] = {}
        """Consumer and message -> the number of the SUBSCRIBE of each session on which it came whole."""
        self._redelivered: set[int] = set()

    # --- the producer ---

    @on(Frame, "SEND")
    def send(self, event: Frame) -> None:
        meta, session = event.meta, self.tracker.producer_of(event)
        if meta is None or meta.chunk_id is None or meta.uuid is None or session is None:
            return
        if from_client(event):
            self._chunk_sent(event, meta, meta.chunk_id, session)
        if event.to_receiver:
            for sending in self._carriers.get((session.conn, session.producer_id, meta.sequence_id), ()):
                if sending.uuid == meta.uuid:
                    sending.receipts.reached(meta.chunk_id, intact=event.intact is not False)

    def _chunk_sent(self, event: Frame, meta: Meta, number: int, session: ProducerSession) -> None:
        line = self.tracker.lines.unit.line if self.tracker.lines.unit is not None else None
        if line is None or meta.uuid is None:
            return
        key = (id(line), meta.uuid)
        sending = self._sendings.get(key)
        if sending is None:
            sending = self._sendings[key] = _Sending(event, line, meta.sequence_id, meta.uuid)
        if session.request.seq not in sending.sessions:
            self._session_changed(sending, meta, number, event)
            sending.sessions.append(session.request.seq)
            sending.receipts.session_begins(number)
            sending.carrier = (session.conn, session.producer_id)
            carried = self._carriers.setdefault((*sending.carrier, meta.sequence_id), [])
            if all(other is not sending for other in carried):
                carried.append(sending)
        if number + 1 == meta.chunks:
            sending.last = event
            self._last_chunk_sent(sending, meta, event)

    def _session_changed(self, sending: _Sending, meta: Meta, number: int, event: Frame) -> None:
        sure, missed = sending.line.handle not in self.tracker.foresight.unsure, sending.receipts.first_without
        if sure and sending.sessions and number > missed:
            self.breach(
                "chunk-skipped",
                f"{chunk_of(event)} goes on with chunk {number} of {meta.uuid} at {ms(event.t_ns)}; expected chunk "
                f"{missed}, which had no receipt when its connection was lost",
                sending.first,
                event,
            )

    def _last_chunk_sent(self, sending: _Sending, meta: Meta, event: Frame) -> None:
        """Take its last chunk: the message is known, and whether it was begun with another uuid."""
        identity = event.members[0].identity if event.members else None
        send = None if identity is None else self.tracker.send_of(identity.handle, identity.number)
        if identity is None or send is None:
            return
        message = (identity.handle, identity.number)
        sending.shared = sending.shared or sending.message not in (None, message)
        sending.message = message
        before = next(
            (
                other
                for other in self._sendings.values()
                if other is not sending
                and other.line is sending.line
                and other.sequence_id == sending.sequence_id
                and other.last is None
                and send.invoke.seq < other.first.seq < sending.first.seq
            ),
            None,
        )
        if before is not None:
            assert before.first.meta is not None
            self.breach(
                "uuid-changed",
                f"message {identity.number} of producer {identity.handle} was begun as {before.first.meta.uuid} at "
                f"{ms(before.first.t_ns)}; expected the same uuid after its connection was lost; it was sent as "
                f"{meta.uuid}, so its chunks cannot be joined",
                before.first,
                sending.first,
            )

    @on(Frame, "SEND_RECEIPT", "SEND_ERROR")
    def answered(self, event: Frame) -> None:
        session = self.tracker.producer_of(event)
        if session is None or event.sequence_id is None or not to_client(event):
            return
        for sending in self._carriers.get((session.conn, session.producer_id, event.sequence_id), ()):
            if sending.carrier != (session.conn, session.producer_id):
                continue
            if event.command == "SEND_RECEIPT":
                sending.receipts.receipt()
            elif event.fields.get("error") == "ChecksumError":
                sending.receipts.refused()

    # --- the broker ---

    @on(Stored)
    def stored(self, event: Stored) -> None:
        if event.meta.chunk_id is not None and event.meta.uuid is not None:
            assembly = self._stored.setdefault(event.topic, Assembly())
            entry = Entry(event.topic, event.id.ledger, event.id.entry)
            identity = event.members[0].identity if event.members else None
            if assembly.add(event.meta, entry) is ChunkFate.COMPLETE and identity is not None:
                self._whole.add((identity.handle, identity.number))

    # --- the consumer ---

    def arrived(self, arrival: Arrival) -> None:
        identity = arrival.frame.members[0].identity if arrival.frame.members else None
        if arrival.fate is ChunkFate.COMPLETE and identity is not None:
            message = (identity.handle, identity.number)
            self._entries[arrival.entry] = message
            if arrival.session.consumer is not None:
                place = (arrival.session.consumer.handle, message)
                self._arrivals.setdefault(place, []).append(arrival.session.request.seq)

    @on(Frame, "REDELIVER_UNACKNOWLEDGED_MESSAGES")
    def redeliver(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is not None:
            self._redelivered.add(session.request.seq)

    @on(Received)
    def received(self, event: Received) -> None:
        consumer, entry = self.taken(event)
        message = self._entries.get(entry) if entry is not None else None
        if message is None and event.identity is not None:
            message = (event.identity.handle, event.identity.number)
        if consumer is None or message is None or not self._sendings:
            return
        session = None if entry is None else consumer.latest.get(entry.topic)
        self._deliveries.setdefault(message, []).append((event, session))

    @on(Completion, "receive")
    def receive_ended(self, event: Completion) -> None:
        self.not_delivered(event)

    def story(self, handle: int, entry: Entry) -> Story | None:
        del handle
        message = self._entries.get(entry)
        for sending in self._sendings.values():
            if sending.interrupted and sending.message == message:
                return f", after its sending, begun at {ms(sending.first.t_ns)}, was interrupted", (sending.first,)
        return None

    # --- end to end ---

    def finish(self) -> None:
        super().finish()
        lines = self.tracker.lines
        for (_, uuid), sending in self._sendings.items():
            send = None if sending.message is None else self.tracker.send_of(*sending.message)
            if send is None or send.outcome is not Outcome.OK or not sending.interrupted or sending.shared:
                continue
            handle = send.invoke.handle or 0
            if handle in lines.unpaired or may_repeat_ids(self.view, handle):
                continue
            if handle not in lines.forged_sends or self._came_once(sending.message, send):
                self._end_to_end(uuid, sending, send)

    def _came_once(self, message: Message | None, send: Operation) -> bool:
        """Whether it was stored whole, and received once and intact."""
        payloads = [received.payload for received, _ in self._deliveries.get(message, ())] if message else []
        return message in self._whole and payloads == [send.invoke.payload]

    def _end_to_end(self, uuid: str, sending: _Sending, send: Operation) -> None:
        assert sending.message is not None
        assert sending.last is not None
        assert send.completion is not None
        handle, number = sending.message
        if sending.message not in self._whole:
            self.breach(
                "stored-incomplete",
                f"the connection was lost between chunks of message {number} of producer {handle}, whose send "
                f"succeeded at {ms(send.completion.t_ns)}; expected the broker to hold all chunks of {uuid} in order; "
                "it does not",
                sending.first,
                sending.last,
                send.completion,
            )
            return
        deliveries = self._deliveries.get(sending.message, [])
        for received, _ in deliveries:
            if received.payload != send.invoke.payload:
                self.breach(
                    "damaged",
                    f"message {number} of producer {handle}, interrupted between chunks, came to consumer "
                    f"{received.handle} as {received.size} bytes of digest {received.digest:08x}; expected "
                    f"{send.invoke.size} bytes of digest {send.invoke.digest or 0:08x}",
                    send.invoke,
                    received,
                )
                return
        if not self._twice(sending.message, deliveries) and deliveries:
            self.exercise(deliveries[0][0])

    def _twice(self, message: Message, deliveries: list[tuple[Received, ConsumerSession | None]]) -> bool:
        """Whether a message is received more often than it came whole, over any connection so far: what came whole over
        a lost connection may be received after the next one is open. Not judged after a request for redelivery.

        It comes whole once, unless its last chunk was stored again: deduplication is judged by another requirement.
        """
        seen: dict[int, list[Received]] = {}
        for received, session in deliveries:
            if session is None or session.request.seq in self._redelivered:
                continue
            earlier = seen.setdefault(received.handle, [])
            earlier.append(received)
            arrivals = self._arrivals.get((received.handle, message), ())
            whole = sum(came <= session.request.seq for came in arrivals)
            if len(earlier) > max(whole, 1):
                self.breach(
                    "delivered-twice",
                    f"message {message[1]} of producer {message[0]}, interrupted between chunks, came to consumer "
                    f"{received.handle} at {ms(earlier[0].t_ns)} and again at {ms(received.t_ns)}; expected it once",
                    earlier[0],
                    received,
                )
                return True
        return False
