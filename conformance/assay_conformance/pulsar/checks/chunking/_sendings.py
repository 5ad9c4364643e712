"""Sendings: the chunks of one producer with one uuid, over all its sessions, and which of them have receipts.

A receipt names the message only; receipts come in the order of the chunks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from assay_conformance.history.events import grouped
from assay_conformance.model.event import Frame
from assay_conformance.pulsar.checks.chunking._sent_chunks import Message, message_in
from assay_conformance.pulsar.timeline import Producer, ProducerSession, Timeline


@dataclass(frozen=True, slots=True, eq=False)
class Sending:
    """`starts`: its first SEND on each session; `lasts`: the SENDs of its last chunk; `messages`: what these show it to
    be a message of, several where several had its uuid."""

    producer: Producer
    starts: tuple[Frame, ...]
    lasts: tuple[Frame, ...]
    messages: tuple[Message, ...]

    @property
    def first(self) -> Frame:
        """Its first SEND."""
        return self.starts[0]

    @property
    def uuid(self) -> str | None:
        """The uuid of its chunks."""
        return None if self.first.meta is None else self.first.meta.uuid

    @property
    def message(self) -> Message | None:
        """What it is a message of, the latest where several had its uuid; None where that is not known."""
        return self.messages[-1] if self.messages else None

    @property
    def interrupted(self) -> bool:
        """Whether a connection was lost between two of its chunks."""
        return len(self.starts) > 1


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


def sendings(timeline: Timeline) -> list[Sending]:
    """Return all of the attempt, in order of their first chunks."""
    found = []
    for producer in timeline.producers:
        sends = (send for unit in producer.units if unit.is_chunk for send in unit.sends)
        its = sorted(sends, key=lambda send: send[1].seq)
        for uuid, those in grouped(its, lambda send: None if send[1].meta is None else send[1].meta.uuid).items():
            if uuid is not None:
                found.append(_sending(timeline, producer, those))
    return sorted(found, key=lambda one: one.first.seq)


def _sending(timeline: Timeline, producer: Producer, sends: list[tuple[ProducerSession, Frame]]) -> Sending:
    starts = {session.request.seq: frame for session, frame in reversed(sends)}
    lasts = tuple(frame for _, frame in sends if frame.meta is not None and _number(frame) + 1 == frame.meta.chunks)
    named = (message for frame in lasts if (message := message_in(frame)) is not None)
    messages = tuple(message for message in named if timeline.send(*message) is not None)
    return Sending(producer, tuple(sorted(starts.values(), key=lambda frame: frame.seq)), lasts, messages)


def resumed(timeline: Timeline) -> Iterator[Resumed]:
    """Yield where sendings went on over another session."""
    for sending in timeline.once(sendings):
        confirmed = 0
        for start, again in pairwise(sending.starts):
            frames = timeline.events.frames_on(start.conn, "SEND", "SEND_RECEIPT", "SEND_ERROR")
            alike = (one for one in frames if start.seq <= one.seq < again.seq and one.to_receiver)
            own = (one for one in alike if (one.producer_id, one.sequence_id) == (start.producer_id, start.sequence_id))
            confirmed = _confirmed(start, own, confirmed)
            if _number(again) > confirmed:
                yield Resumed(sending, again, confirmed)


def _confirmed(start: Frame, frames: Iterable[Frame], confirmed: int) -> int:
    """Return the first chunk without a receipt after a session that began with the chunk `start`.

    `confirmed`: the same before it. A chunk that came damaged, was refused for that, and was not sent again has no
    receipt: those after those for the chunks before it are for the chunks after it. A client may take a receipt that
    came before the error for that chunk's.
    """
    number, refused, damaged, came = _number(start), None, list[int](), set[int]()
    for frame in frames:
        if frame.command == "SEND_RECEIPT":
            if number != refused:
                number += 1
                confirmed = max(confirmed, number)
        elif frame.command == "SEND_ERROR" and frame.fields.get("error") == "ChecksumError" and damaged:
            chunk = damaged.pop(0)
            refused = chunk if refused is None and chunk >= confirmed else refused
        elif frame.meta is not None and start.meta is not None and frame.meta.uuid == start.meta.uuid:
            chunk = _number(frame)
            if frame.intact is False and chunk not in came:
                damaged.append(chunk)
            elif chunk == refused:
                refused = None
            came.add(chunk)
    return confirmed


def _number(chunk: Frame) -> int:
    return 0 if chunk.meta is None else chunk.meta.chunk_id or 0


def renamed(timeline: Timeline) -> Iterator[Renamed]:
    """Yield messages that were begun with another uuid, and sent whole with this one alone."""
    known = timeline.once(sendings)
    alike = grouped(known, lambda one: (id(one.producer), one.first.sequence_id))
    for sending in known:
        others = alike[id(sending.producer), sending.first.sequence_id]
        send = None if sending.message is None or len(others) < 2 else timeline.send(*sending.message)
        for other in others if send is not None and sending.message is not None else ():
            is_over = any(last.seq < sending.lasts[0].seq for last in other.lasts)
            if send is not None and send.invoke.seq < other.first.seq < sending.first.seq and not is_over:
                yield Renamed(other, sending, sending.message)  # type: ignore[arg-type]
                break
