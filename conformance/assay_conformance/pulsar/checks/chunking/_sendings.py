"""Sendings: the chunks of one producer with one uuid, over all its sessions, and which of them have receipts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from assay_conformance.checks.consumption import from_client, to_client
from assay_conformance.model.event import Frame, Meta
from assay_conformance.pulsar.checks.chunking._receipts import Receipts
from assay_conformance.pulsar.checks.chunking._sent_chunks import Message
from assay_conformance.pulsar.timeline import Producer, ProducerSession, Timeline


@dataclass(slots=True, eq=False)
class Sending:
    """`carrier`: connection and producer id of the latest session; `shared`: several messages had this uuid."""

    first: Frame
    producer: Producer
    sequence_id: int
    uuid: str
    sessions: list[int] = field(default_factory=list)
    carrier: tuple[int, int | None] = (-1, -1)
    receipts: Receipts = field(default_factory=Receipts)
    last: Frame | None = None
    message: Message | None = None
    shared: bool = False

    @property
    def interrupted(self) -> bool:
        """Whether a connection was lost between two of its chunks."""
        return len(self.sessions) > 1


class Resumed(NamedTuple):
    """A sending that goes on at a chunk over another session; `missed`: the first chunk without a receipt."""

    sending: Sending
    chunk: Frame
    missed: int


class Renamed(NamedTuple):
    """A message that was begun with another uuid."""

    before: Sending
    sending: Sending
    message: Message


class Sendings:
    """All of the attempt, in order of their first chunks."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self.all: dict[tuple[int, str], Sending] = {}
        self.resumed: list[Resumed] = []
        self.renamed: list[Renamed] = []
        self._of_id: dict[tuple[int, int], list[Sending]] = {}
        """Producer and sequence id -> its sendings."""
        self._carried: dict[tuple[int, int | None, int | None], list[Sending]] = {}
        chunks = (unit for producer in timeline.producers for unit in producer.units if unit.is_chunk)
        self._producers = {frame.seq: unit.line for unit in chunks for _, frame in unit.sends}
        for frame in timeline.events.frames("SEND", "SEND_RECEIPT", "SEND_ERROR") if self._producers else ():
            if frame.command == "SEND":
                self._send(frame)
            elif to_client(frame) and frame.sequence_id is not None:
                self._answer(frame)

    def _send(self, frame: Frame) -> None:
        meta, session = frame.meta, self._timeline.session_of(frame)
        if meta is None or meta.chunk_id is None or meta.uuid is None or session is None:
            return
        if from_client(frame) and frame.seq in self._producers:
            self._sent(frame, meta, meta.chunk_id, session)
        if frame.to_receiver:
            for sending in self._carried.get((session.conn, session.producer_id, meta.sequence_id), ()):
                if sending.uuid == meta.uuid:
                    sending.receipts.reached(meta.chunk_id, intact=frame.intact is not False)

    def _sent(self, frame: Frame, meta: Meta, number: int, session: ProducerSession) -> None:
        producer, uuid = self._producers[frame.seq], meta.uuid or ""
        sending = self.all.get((id(producer), uuid))
        if sending is None:
            sending = self.all[id(producer), uuid] = Sending(frame, producer, meta.sequence_id, uuid)
            self._of_id.setdefault((id(producer), meta.sequence_id), []).append(sending)
        if session.request.seq not in sending.sessions:
            if sending.sessions and number > sending.receipts.first_without:
                self.resumed.append(Resumed(sending, frame, sending.receipts.first_without))
            sending.sessions.append(session.request.seq)
            sending.receipts.session_begins(number)
            sending.carrier = (session.conn, session.producer_id)
            carried = self._carried.setdefault((*sending.carrier, meta.sequence_id), [])
            if sending not in carried:
                carried.append(sending)
        if number + 1 == meta.chunks:
            sending.last = frame
            self._ended(sending, frame)

    def _ended(self, sending: Sending, last: Frame) -> None:
        """Note the end of a sending, which shows its message, and whether it was begun with another uuid."""
        identity = last.members[0].identity if last.members else None
        send = None if identity is None else self._timeline.send(identity.handle, identity.number)
        if identity is None or send is None:
            return
        message = (identity.handle, identity.number)
        sending.shared = sending.shared or sending.message not in (None, message)
        sending.message = message
        for other in self._of_id[id(sending.producer), sending.sequence_id]:
            begun = send.invoke.seq < other.first.seq < sending.first.seq
            if other is not sending and begun and other.last is None:
                self.renamed.append(Renamed(other, sending, message))
                return

    def _answer(self, answer: Frame) -> None:
        session = self._timeline.session_of(answer)
        carrier = (answer.conn, answer.producer_id)
        for sending in self._carried.get((*carrier, answer.sequence_id), ()) if session is not None else ():
            if sending.carrier != carrier:
                continue
            if answer.command == "SEND_RECEIPT":
                sending.receipts.receipt()
            elif answer.fields.get("error") == "ChecksumError":
                sending.receipts.refused()
