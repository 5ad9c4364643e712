"""compression.interoperable-format"""

from __future__ import annotations

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import to_client
from assay_conformance.checks.handover import HandoverCheck, Offer
from assay_conformance.checks.leaving import ends_reading
from assay_conformance.checks.occasions import Trait
from assay_conformance.model.event import Completion, Fired, Frame, Received
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.compression._compressed import is_too_large, metadata_if_compressed


class InteroperableFormat(HandoverCheck):
    """What a producer compressed can be decompressed with its codec, and a consumer receives what any producer
    compressed.

    Wrong sizes, and other defects in the body of a batch, are judged by other requirements.
    """

    requirement = RequirementId("compression.interoperable-format")
    needs = (Trait.COMPRESSED,)

    def start(self) -> None:
        super().start()
        self._unreadable: set[int] = set()
        """Connections with bytes that are no frame: what a client does after those is judged by another requirement."""

    @on(Fired)
    def fired(self, event: Fired) -> None:
        if event.conn is not None and ends_reading(self.view, event):
            self._unreadable.add(event.conn)

    @on(Frame, "SEND")
    def send(self, event: Frame) -> None:
        unit, meta = self.tracker.lines.first(event), metadata_if_compressed(event)
        if unit is None or meta is None or event.intact is False:
            return
        if meta.unpacked_bytes == -1:
            self.breach(
                "another-format",
                f"{unit.line}: the message at {ms(event.t_ns)} names the codec {meta.compression}; expected a body in "
                f"Pulsar's format for it, of {meta.uncompressed_size} bytes; it cannot be decompressed to any size",
                event,
            )
        elif event.members or meta.unpacked_bytes is not None:
            self.exercise(event)

    @on(Frame, "MESSAGE")
    def message(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is None or not to_client(event) or not event.intact or not event.members:
            return
        meta = metadata_if_compressed(event)
        # Chunked messages are judged by the chunking checks.
        if meta is not None and meta.chunk_id is None and not is_too_large(self.view, event):
            self.handover.offer(session, event)

    def withheld(self, offer: Offer, event: Completion) -> None:
        if offer.frame.conn not in self._unreadable:
            super().withheld(offer, event)

    def handed(self, offer: Offer, event: Received) -> None:
        member, meta = offer.frame.members[max(offer.index, 0)], offer.frame.meta
        if event.payload == member.payload:
            self.exercise(event)
        else:
            self.breach(
                "message-changed",
                f"consumer {event.handle} received {offer.entry} as {event.size} bytes of digest {event.digest:08x}; "
                f"expected {member.size} bytes of digest {member.digest:08x}, to which "
                f"{meta.compression if meta else 'it'} decompresses",
                offer.frame,
                event,
            )

    def what(self, offer: Offer) -> str:
        return f"compressed by {offer.frame.meta.compression if offer.frame.meta else 'some codec'}"
