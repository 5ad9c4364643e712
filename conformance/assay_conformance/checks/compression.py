"""Compression: that every client can read what any other wrote, and what one does that cannot."""

from __future__ import annotations

from assay_conformance.checks.base import LEFT, Check, View, ms, on
from assay_conformance.checks.consumption import to_client
from assay_conformance.checks.discarding import Discarding
from assay_conformance.checks.handover import HandoverCheck, Offer
from assay_conformance.checks.leaving import ends_reading
from assay_conformance.checks.lines import Unit
from assay_conformance.checks.occasions import Trait
from assay_conformance.model.event import Completion, Fired, Frame, Meta, Received
from assay_conformance.model.requirement import RequirementId
from assay_conformance.wire.describe import MAX_MESSAGE_BYTES

HEADERS_BYTES = 1_000
"""More than command and metadata of any message in a Case: a frame this much over the limit has a body over it."""


class CommonFormat(HandoverCheck):
    """What a producer compressed unpacks as its codec says, and a consumer hands over what any producer compressed.

    Sizes that differ are a matter of their own, and so is what else is wrong with the body of a batch.
    """

    requirement = RequirementId("compression.interoperable-format")
    needs = (Trait.COMPRESSED,)

    def start(self) -> None:
        super().start()
        self._unreadable: set[int] = set()
        """Connections with bytes on them that are no frame: what a client makes of those behind is another clause."""

    @on(Fired)
    def fired(self, event: Fired) -> None:
        if event.conn is not None and ends_reading(self.view, event):
            self._unreadable.add(event.conn)

    @on(Frame, "SEND")
    def send(self, event: Frame) -> None:
        unit, meta = self.tracker.lines.first(event), _compressed(event)
        if unit is None or meta is None or event.intact is False:
            return
        if meta.unpacked_bytes == -1:
            self.breach(
                "another-format",
                f"{unit.line}: the message at {ms(event.t_ns)} says {meta.compression}, and nothing that Pulsar means "
                f"by that unpacks it to {meta.uncompressed_size} bytes or any other size",
                event,
            )
        elif event.members or meta.unpacked_bytes is not None:
            self.exercise(event)

    @on(Frame, "MESSAGE")
    def message(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is None or not to_client(event) or not event.intact or not event.members:
            return
        meta = _compressed(event)
        # The parts of a chunked message are a chapter of their own.
        if meta is not None and meta.chunk_id is None and not _too_large(self.view, event):
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
                f"consumer {event.handle} handed {offer.entry} over as {event.size} bytes of digest "
                f"{event.digest:08x}; {meta.compression if meta else 'what came'} unpacks to {member.size} bytes of "
                f"digest {member.digest:08x}",
                offer.frame,
                event,
            )

    def what(self, offer: Offer) -> str:
        return f"compressed by {offer.frame.meta.compression if offer.frame.meta else 'some codec'}"


class ExactSize(Check):
    """Unbatched: without compression the payload is on the wire as it is; with it, it unpacks to the payload, and to
    the size that the metadata says. A client may leave a payload uncompressed, and say so.
    """

    requirement = RequirementId("compression.uncompressed-size-exact")
    skips_plain = True

    @on(Frame, "SEND", seen=LEFT)
    def send(self, event: Frame) -> None:
        unit, meta = self.tracker.lines.first(event), event.meta
        if unit is None or meta is None or event.intact is False or meta.batch is not None or meta.chunk_id is not None:
            return
        if meta.unpacked_bytes == -1:
            return
        if meta.unpacked_bytes is not None:
            self.breach(
                "wrong-size",
                f"{unit.line}: the {meta.compression} message at {ms(event.t_ns)} says that it is "
                f"{meta.uncompressed_size} bytes uncompressed, and unpacks to {meta.unpacked_bytes}",
                event,
            )
            return
        handle = unit.line.handle or 0
        if meta.compression != "NONE" and self.view.producer_setting(handle, "compression") == "NONE":
            self.breach(
                "compressed-unasked",
                f"{unit.line}: the message at {ms(event.t_ns)} is compressed by {meta.compression}, and no compression "
                "was asked for",
                event,
            )
        self._content(handle, unit, event)

    def _content(self, handle: int, unit: Unit, event: Frame) -> None:
        if handle in self.tracker.lines.burst or not event.members:
            return
        self.exercise(event)
        member = event.members[0]
        own = self.tracker.send_of(handle, unit.numbers[0]) if unit.numbers else None
        if own is not None and own.invoke.digest == member.digest and own.invoke.size == member.size:
            return
        if not any(send.invoke.payload == member.payload for send in reversed(self.tracker.sends.get(handle, ()))):
            self.breach(
                "payload-changed",
                f"{unit.line}: the message at {ms(event.t_ns)} carries {member.size} bytes of digest "
                f"{member.digest:08x}, which is no message it was asked to send",
                event,
            )


class GarbledMessage(Discarding):
    """An unchunked MESSAGE whose checksum fits and whose body its codec cannot unpack, or not to the size announced, or
    that is larger than the broker takes.
    """

    requirement = RequirementId("compression.decompression-error-reported")
    needs = (Trait.COMPRESSED,)
    state = "garbled"
    how = "as what nobody can decompress"

    def reason(self, event: Frame) -> str | None:
        meta = _compressed(event)
        if meta is None or not event.intact or meta.chunk_id is not None:
            return None
        if meta.uncompressed_size > MAX_MESSAGE_BYTES:
            return None  # whichever of the two reasons it is given: `doubted_sizes`
        if _too_large(self.view, event):
            return "UncompressedSizeCorruption"
        return "DecompressionError" if meta.unpacked_bytes is not None else None


def _too_large(view: View, event: Frame) -> bool:
    """The body inside is larger than a message may be, whatever the headers around it."""
    return event.size > view.case.topology.max_message_bytes + HEADERS_BYTES


def _compressed(event: Frame) -> Meta | None:
    """The metadata of a compressed payload."""
    meta = event.meta
    return None if meta is None or meta.compression == "NONE" else meta
