"""Ids of chunked messages: which chunk an application is told of, and which one a seek asks for."""

from __future__ import annotations

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.consumption import from_client, to_client
from assay_conformance.checks.lines import is_duplicate
from assay_conformance.checks.occasions import Trait
from assay_conformance.model.event import Completion, Frame, Invoke, MessageId, Outcome
from assay_conformance.model.requirement import RequirementId


class MessageIdSpansChunks(Check):
    """The id of a send is that of its last chunk's receipt; a SEEK to a chunked message names the first chunk.

    Judged are seeks to one consumer's own deliveries, of messages whose chunks have come once each.
    """

    requirement = RequirementId("chunking.message-id-spans-chunks")
    needs = (Trait.CHUNK,)

    def start(self) -> None:
        self._firsts: dict[tuple[int, str], list[Frame]] = {}
        """Consumer handle and uuid -> its chunks as they came."""
        self._wanted: dict[int, Invoke | None] = {}
        """Consumer handle -> its seek that has not left yet; None where there are two, of which either may leave."""

    @on(Completion, "send")
    def sent(self, event: Completion) -> None:
        number = self.tracker.operations[event.op].invoke.number or 0
        unit = self.tracker.lines.by_message.get((event.handle or 0, number))
        told = event.message_id
        if unit is None or unit.first.meta is None or unit.first.meta.chunk_id is None or told is None:
            return
        receipts = [receipt for receipt in unit.receipts if receipt.ids and not is_duplicate(receipt)]
        if event.outcome is not Outcome.OK or not receipts or self.tracker.lines.forged_receipts:
            return
        if event.handle in self.tracker.lines.unpaired:
            # A receipt that came twice is taken for that of the next chunk: it names neither chunk nor copy. Nor can
            # the receipts of a message that timed out be told from those of the next one under its id.
            return
        if told.is_duplicate_marker and any(map(is_duplicate, unit.receipts)):
            return  # The last word on it was that it had been stored before.
        self.exercise(event)
        named = receipts[-1].ids[0].position
        if told.position not in [receipt.ids[0].position for receipt in receipts]:
            self.breach(
                "other-id",
                f"{unit.line}: message {number}, sent in chunks, was reported as {told.name} at "
                f"{ms(event.t_ns)}; its last chunk is {named[0]}:{named[1]}",
                receipts[-1],
                event,
            )

    @on(Frame, "MESSAGE")
    def message(self, event: Frame) -> None:
        session, meta = self.tracker.consumer_of(event), event.meta
        if session is not None and session.consumer is not None and to_client(event) and meta and meta.uuid:
            self._firsts.setdefault((session.consumer.handle, meta.uuid), []).append(event)

    @on(Invoke, "seek")
    def seek(self, event: Invoke) -> None:
        if event.handle is not None:
            self._wanted[event.handle] = None if event.handle in self._wanted else event

    @on(Completion, "seek")
    def sought(self, event: Completion) -> None:
        self._wanted.pop(event.handle or 0, None)

    @on(Frame, "SEEK")
    def asked(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is None or session.consumer is None or not from_client(event) or not event.ids:
            return
        wanted = self._wanted.pop(session.consumer.handle, None)
        chunks = None if wanted is None else self._chunks(session.consumer.handle, wanted)
        if not chunks:
            return
        self.exercise(event)
        first, named = chunks[0].ids[0].position, event.ids[0].position
        if named != first:
            self.breach(
                "sought-inside",
                f"consumer {session.consumer.handle} was to seek a message of {len(chunks)} chunks, the first of which "
                f"is {first[0]}:{first[1]}; its SEEK at {ms(event.t_ns)} names {named[0]}:{named[1]}",
                chunks[0],
                event,
            )

    def _chunks(self, handle: int, seek: Invoke) -> list[Frame]:
        """The chunks of the message sought, first to last; none where it is no chunked one, or they are not clear."""
        if seek.args.get("message_id") is None:
            return []
        target = MessageId(*seek.args["message_id"])
        for (owner, _), chunks in self._firsts.items():
            ids = [chunk.meta.chunk_id for chunk in chunks if chunk.meta is not None]
            if owner == handle and chunks[-1].ids[0].position == target.position and ids == list(range(len(ids))):
                return chunks if len(ids) > 1 else []
        return []
