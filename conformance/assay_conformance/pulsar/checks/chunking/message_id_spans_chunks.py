"""Ids of chunked messages: which chunk the result of a send names, and which one a SEEK names."""

from __future__ import annotations

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.consumption import from_client, to_client
from assay_conformance.checks.lines import is_duplicate
from assay_conformance.checks.occasions import Trait
from assay_conformance.model.event import Completion, Frame, Invoke, MessageId, Outcome
from assay_conformance.model.requirement import RequirementId


class MessageIdSpansChunks(Check):
    """A send returns the id of its last chunk's receipt; a SEEK to a chunked message names its first chunk.

    Judged are seeks to a consumer's own deliveries, of messages whose chunks came once each.
    """

    requirement = RequirementId("chunking.message-id-spans-chunks")
    needs = (Trait.CHUNK,)

    def start(self) -> None:
        self._arrived_chunks: dict[tuple[int, str], list[Frame]] = {}
        """Consumer handle and uuid -> its chunks in order of arrival."""
        self._seeks: dict[int, Invoke | None] = {}
        """Consumer handle -> its seek that has not left yet; None where there are two, of which either may leave
        first."""

    @on(Completion, "send")
    def sent(self, event: Completion) -> None:
        number = self.tracker.operations[event.op].invoke.number or 0
        unit = self.tracker.lines.by_message.get((event.handle or 0, number))
        returned = event.message_id
        if unit is None or unit.first.meta is None or unit.first.meta.chunk_id is None or returned is None:
            return
        receipts = [receipt for receipt in unit.receipts if receipt.ids and not is_duplicate(receipt)]
        if event.outcome is not Outcome.OK or not receipts or self.tracker.lines.forged_receipts:
            return
        if event.handle in self.tracker.lines.unpaired:
            # A duplicated receipt is taken for that of the next chunk. Nor can the receipts of a message that timed out
            # be distinguished from those of the next one with its sequence id.
            return
        if returned.is_duplicate_marker and any(map(is_duplicate, unit.receipts)):
            return  # The last answer was that it had been stored before.
        self.exercise(event)
        named = receipts[-1].ids[0].position
        if returned.position not in [receipt.ids[0].position for receipt in receipts]:
            self.breach(
                "other-id",
                f"{unit.line}: the send of message {number} returned {returned.name} at {ms(event.t_ns)}; expected "
                f"{named[0]}:{named[1]}, the id of its last chunk",
                receipts[-1],
                event,
            )

    @on(Frame, "MESSAGE")
    def message(self, event: Frame) -> None:
        session, meta = self.tracker.consumer_of(event), event.meta
        if session is not None and session.consumer is not None and to_client(event) and meta and meta.uuid:
            self._arrived_chunks.setdefault((session.consumer.handle, meta.uuid), []).append(event)

    @on(Invoke, "seek")
    def seek(self, event: Invoke) -> None:
        if event.handle is not None:
            self._seeks[event.handle] = None if event.handle in self._seeks else event

    @on(Completion, "seek")
    def seek_ended(self, event: Completion) -> None:
        self._seeks.pop(event.handle or 0, None)

    @on(Frame, "SEEK")
    def seek_sent(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is None or session.consumer is None or not from_client(event) or not event.ids:
            return
        wanted = self._seeks.pop(session.consumer.handle, None)
        chunks = None if wanted is None else self._chunks(session.consumer.handle, wanted)
        if not chunks:
            return
        self.exercise(event)
        first, named = chunks[0].ids[0].position, event.ids[0].position
        if named != first:
            self.breach(
                "sought-inside",
                f"the application called seek at consumer {session.consumer.handle} for a message of {len(chunks)} "
                f"chunks; expected SEEK to name the first one, {first[0]}:{first[1]}; at {ms(event.t_ns)} it names "
                f"{named[0]}:{named[1]}",
                chunks[0],
                event,
            )

    def _chunks(self, handle: int, seek: Invoke) -> list[Frame]:
        """Return the chunks of the target message in order; none where it is not chunked, or its chunks are not
        clear."""
        if seek.args.get("message_id") is None:
            return []
        target = MessageId(*seek.args["message_id"])
        for (owner, _), chunks in self._arrived_chunks.items():
            ids = [chunk.meta.chunk_id for chunk in chunks if chunk.meta is not None]
            if owner == handle and chunks[-1].ids[0].position == target.position and ids == list(range(len(ids))):
                return chunks if len(ids) > 1 else []
        return []
