"""Clients that confuse the messages of a batch when they acknowledge them."""

from __future__ import annotations

from assay_conformance.client.acks import AckGroup
from assay_conformance.client.consumer import Consumer
from assay_conformance.client.entries import Entry, Opened, Position


class CumulativeClearsOneBit(AckGroup):
    """The ack_set of a cumulative acknowledgment leaves the messages before the named one unacknowledged."""

    breaks = "ack.batch-index-ack-set"
    stands_for = "the bits of an individual acknowledgment in a cumulative one"

    def _up_to(self, index: int) -> int:
        return 1 << index


class AcksBatchOnFirstMessage(AckGroup):
    """Acknowledging one message of a batch acknowledges the whole entry."""

    breaks = "ack.whole-batch-only"
    stands_for = "pulsar-rs#345: the rest of the batch is lost in a crash"

    def individual(self, entry: Entry, index: int | None) -> None:
        super().individual(entry, None)


class AckSetInverted(AckGroup):
    """The bits of an ack_set are set for acknowledged messages, not for the remaining ones."""

    breaks = "ack.batch-index-ack-set"
    stands_for = "PIP-54 read the wrong way round"

    def _ack_set(self, bits: int) -> list[int]:
        return super()._ack_set(~bits & ((1 << bits.bit_length()) - 1))


class IgnoresAckSet(Consumer):
    """Messages that the ack_set of a MESSAGE marks as acknowledged are delivered."""

    breaks = "ack.ack-set-filters-delivery"
    stands_for = "pulsar-rs and DotPulsar: the field is not read"

    def _is_unacked(self, entry: Entry, message: Opened) -> bool:
        return True


class CumulativeAcksWholeBatch(AckGroup):
    """A cumulative acknowledgment inside a batch acknowledges the whole entry."""

    breaks = "ack.cumulative-inside-batch"
    stands_for = "the batch index dropped from the id: the rest of the batch is lost in a crash"

    def _reach_into(self, entry: Entry) -> None:
        self._greatest(entry.position, None)


class CumulativeInsideBatchNotSent(AckGroup):
    """A cumulative acknowledgment inside a batch sends nothing."""

    breaks = "ack.cumulative-inside-batch"
    stands_for = "DotPulsar (read in its source): only a complete batch counts"

    def _reach_into(self, entry: Entry) -> None:
        pass


class DeliversMemberWithPendingAck(AckGroup):
    """Messages of a redelivered batch whose acknowledgments are still grouped are delivered."""

    breaks = "ack.grouped-ack-filters-batch-member"
    stands_for = "apache/pulsar#21116: the filter knows entries, but not messages of a batch"

    def open_of(self, position: Position) -> int:
        return -1
