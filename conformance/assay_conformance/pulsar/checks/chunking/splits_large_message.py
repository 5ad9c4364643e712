"""chunking.splits-large-message"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.consumption import from_client
from assay_conformance.checks.occasions import Setting, Trait
from assay_conformance.model.event import Completion, ErrorClass, Frame, Meta, Outcome
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.chunking._sent_chunks import Message, chunk_of, properties_bytes

VARIABLE_BYTES = 8
"""By so much may two full chunks differ: their numbers take one byte or more."""


@dataclass(slots=True)
class _Split:
    """The chunks of one message on one producer session, in order so far."""

    first: Frame
    meta: Meta
    last: int
    full_bytes: int

    @property
    def whole(self) -> bool:
        return self.last + 1 == self.meta.chunks


class SplitsLargeMessage(Check):
    """Chunks 0 to n-1 in order, with the same metadata but for the number, full but for the last, together the message.

    After a reconnect the chunks go on with any that an earlier session had begun. The compressed size is known only
    where nothing was compressed, so the total is judged only then.
    """

    requirement = RequirementId("chunking.splits-large-message")
    needs = (frozenset({Trait.CHUNK, Setting("producer", "chunking")}),)

    def start(self) -> None:
        self._splits: dict[tuple[int, str], _Split] = {}
        self._begun: set[str] = set()
        self._unclear: set[int] = set()
        self._joined: set[Message] = set()

    @on(Frame, "SEND_ERROR")
    def refused(self, event: Frame) -> None:
        """What follows may be sent again on the same session."""
        session = self.tracker.producer_of(event)
        if session is not None:
            self._unclear.add(session.request.seq)

    @on(Frame, "SEND")
    def send(self, event: Frame) -> None:
        meta, session = event.meta, self.tracker.producer_of(event)
        if meta is None or session is None or not from_client(event):
            return
        if meta.chunk_id is None and not event.fields.get("is_chunk"):
            self._whole(event, meta)
            return
        for member in event.members:
            if member.identity is not None:
                self._joined.add((member.identity.handle, member.identity.number))
        if session.request.seq in self._unclear:
            if meta.uuid is not None:
                self._begun.add(meta.uuid)
            return
        if meta.uuid is None or not meta.chunks or not meta.chunk_total_bytes or meta.chunk_id is None:
            self.breach(
                "metadata-missing",
                f"{chunk_of(event)} at {ms(event.t_ns)} has uuid {meta.uuid!r}, chunk {meta.chunk_id} of "
                f"{meta.chunks}, and a total of {meta.chunk_total_bytes} bytes; expected all four",
                event,
            )
            return
        self._piece(session.request.seq, meta.uuid, meta.chunk_id, meta, event)

    def _piece(self, session: int, uuid: str, number: int, meta: Meta, event: Frame) -> None:
        key = (session, uuid)
        split = self._splits.get(key)
        # An application that uses a sequence id twice sends another message, for which most clients reuse the uuid.
        expected = number if split is None and uuid in self._begun else 0
        if split is not None and not split.whole:
            expected = split.last + 1
        else:
            split = self._splits[key] = _Split(event, meta, number, event.size)
        self._begun.add(uuid)
        wrong = self._wrong(split, number, expected, meta, event)
        split.last = number
        if wrong is not None:
            code, sentence = wrong
            self.breach(code, f"{chunk_of(event)} at {ms(event.t_ns)} {sentence}", split.first, event)
        elif number + 1 == meta.chunks:
            self._complete(split, event)

    def _wrong(self, split: _Split, number: int, expected: int, meta: Meta, event: Frame) -> tuple[str, str] | None:
        if not event.fields.get("is_chunk"):
            return "not-marked", "has no is_chunk in its SEND, expected it"
        if number != expected:
            return "out-of-order", f"is chunk {number}, expected chunk {expected}"
        if msgspec.structs.replace(meta, chunk_id=split.meta.chunk_id) != split.meta:
            return "metadata-differs", "has other metadata than the chunk before it, expected only its number to differ"
        if event.sequence_id != split.first.sequence_id:
            return "sequence-differs", f"has sequence id {event.sequence_id}, expected {split.first.sequence_id}"
        if meta.chunks == 1:
            return "needless", "is the only chunk, expected an ordinary message"
        last = number + 1 == meta.chunks
        if event.size > split.full_bytes + VARIABLE_BYTES or (
            not last and event.size < split.full_bytes - VARIABLE_BYTES
        ):
            return "uneven", f"is a frame of {event.size} bytes, expected {split.full_bytes} like the chunk before it"
        return None

    def _complete(self, split: _Split, event: Frame) -> None:
        member = event.members[0] if event.members else None
        if member is None or split.meta.chunk_id != 0:
            self.exercise(event)
            return
        total = split.meta.chunk_total_bytes
        if split.meta.compression == "NONE" and total != member.size:
            self.breach(
                "wrong-total",
                f"{chunk_of(event)} and the chunks before it announce a total of {total} bytes; expected "
                f"{member.size}, which they carry",
                split.first,
                event,
            )
            return
        identity = member.identity
        send = None if identity is None else self.tracker.send_of(identity.handle, identity.number)
        if send is not None and send.invoke.payload != member.payload:
            self.breach(
                "joined-differs",
                f"the chunks up to {chunk_of(event)} at {ms(event.t_ns)} join to {member.size} bytes of digest "
                f"{member.digest:08x}; expected what the application sent: {send.invoke.size} bytes of digest "
                f"{send.invoke.digest or 0:08x}",
                send.invoke,
                split.first,
                event,
            )
            return
        self.exercise(event)

    def _whole(self, event: Frame, meta: Meta) -> None:
        """Judge an unbatched, uncompressed message that was sent in one frame although it exceeds the limit."""
        limit = self.view.case.topology.max_message_bytes
        member = event.members[0] if event.members and meta.batch is None and meta.compression == "NONE" else None
        if member is None or member.identity is None or member.size <= limit:
            return
        if self._chunking(member.identity.handle):
            self.breach(
                "not-split",
                f"producer {member.identity.handle} has chunking enabled and sent {member.size} bytes in one SEND at "
                f"{ms(event.t_ns)}; expected chunks, since the broker's limit is {limit} bytes",
                event,
            )

    def _never_fits(self, handle: int, size: int) -> bool:
        """Whether it has more chunks (with one extra for the metadata of each) than may ever be pending."""
        most = self.view.producer_setting(handle, "max_pending_messages")
        return isinstance(most, int) and 0 < most < size // self.view.case.topology.max_message_bytes + 2

    @on(Completion, "send")
    def send_ended(self, event: Completion) -> None:
        operation = self.tracker.operations.get(event.op)
        if operation is None or event.handle is None:
            return
        invoke, limit = operation.invoke, self.view.case.topology.max_message_bytes
        if (invoke.size or 0) <= limit or invoke.number is None or not self._chunking(event.handle):
            return
        if properties_bytes(invoke) >= limit:
            return  # There is no room for a chunk: judged by chunking.chunks-fit-max-message-size.
        if self._never_fits(event.handle, invoke.size or 0):
            return
        if self.view.producer_setting(event.handle, "compression") not in (None, "NONE"):
            return
        if event.outcome is Outcome.FAIL and event.error is ErrorClass.TOO_LARGE:
            self.breach(
                "refused",
                f"message {invoke.number} of {invoke.size} bytes of producer {event.handle} failed as too large at "
                f"{ms(event.t_ns)}; expected chunks, since chunking is enabled",
                invoke,
                event,
            )
        elif event.handle in self.tracker.lines.torn_sends:
            return  # A chunk that a fault duplicated got more receipts than the client can know of.
        elif event.outcome is Outcome.OK and (event.handle, invoke.number) not in self._joined:
            self.breach(
                "incomplete",
                f"the send of message {invoke.number} of {invoke.size} bytes of producer {event.handle} succeeded at "
                f"{ms(event.t_ns)}; expected all of its chunks to have left; some had not",
                invoke,
                event,
            )

    def _chunking(self, handle: int) -> bool:
        """What happens to chunking with batching is judged by another requirement."""
        setting = self.view.producer_setting
        return setting(handle, "chunking") is True and setting(handle, "batching") is not True
