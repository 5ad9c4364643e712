"""Brokers that deduplicate too little or too much."""

from __future__ import annotations

from collections.abc import Iterable

from assay_conformance.broker.dedup import Copy, Deduplication
from assay_conformance.broker.producer import Producer
from assay_conformance.broker.publishing import Publishing
from assay_conformance.broker.store import Entry
from assay_conformance.wire import Payload
from assay_conformance.wire.pulsar_pb2 import CommandSend


class DedupStoresDuplicates(Publishing):
    """A duplicate of a stored message is stored once more."""

    breaks = "dedup.duplicate-not-stored"
    stands_for = "the result of deduplication checked after the write was issued"

    def _copy(self, producer: Producer, lowest: int, last: int) -> Copy:
        copy = super()._copy(producer, lowest, last)
        return Copy.NEW if copy is Copy.DUPLICATE else copy


class DedupReceiptsPendingDuplicate(Publishing):
    """A duplicate of a message that is not stored yet gets the receipt of a duplicate."""

    breaks = "dedup.pending-duplicate-rejected"
    stands_for = "one answer for both kinds of repeated id: arrived taken for stored"

    def _copy(self, producer: Producer, lowest: int, last: int) -> Copy:
        copy = super()._copy(producer, lowest, last)
        return Copy.DUPLICATE if copy is Copy.UNKNOWN else copy


class DedupReportsNextId(Publishing):
    """PRODUCER_SUCCESS carries the next sequence id as the last one."""

    breaks = "dedup.reports-last-sequence-id"
    stands_for = "the last id and the next one confused"

    def last_sequence_id(self, name: str) -> int:
        last = super().last_sequence_id(name)
        return last if self.dedup is None else last + 1


class DedupForgetsOnUnload(Deduplication):
    """A topic has no last sequence ids after it is loaded again."""

    breaks = "dedup.survives-unload"
    stands_for = "entries are not replayed when a topic is loaded"

    def _behind_snapshot(self) -> Iterable[Entry]:
        self._covered = len(self._entries)
        return super()._behind_snapshot()


class DedupForgetsSnapshot(Deduplication):
    """A topic that is loaded again has only the last sequence ids of entries after its snapshot."""

    breaks = "dedup.survives-unload"
    stands_for = "the cursor of deduplication is read, and the snapshot that it holds is not"

    def _read_snapshot(self) -> dict[str, int]:
        return {}


class DedupNeverForgetsInactive(Deduplication):
    """The last sequence id of an inactive producer name is never removed."""

    breaks = "dedup.forgets-inactive-producers"
    stands_for = "the purge of inactive producers never scheduled"

    def _purge(self) -> None:
        pass


class DedupForgetsActiveProducer(Deduplication):
    """The last sequence id of a name is removed that long after its producer connected, even if it is still
    connected."""

    breaks = "dedup.forgets-inactive-producers"
    stands_for = "the time counted since the producer connected, not since it left"

    def joined(self, name: str) -> None:
        self._purge()
        self._idle_since_ns.setdefault(name, self._host.now_ns)

    def left(self, name: str) -> None:
        pass


class DedupChecksMarkers(Publishing):
    """Deduplication checks and records markers like messages."""

    breaks = "dedup.markers-are-exempt"
    stands_for = "markers of replicated subscriptions and transactions published like messages"

    def _is_marker(self, send: CommandSend) -> bool:
        return False


class DedupSnapshotUnbounded(Deduplication):
    """The number of producer names in a deduplication snapshot is not limited."""

    breaks = "dedup.max-producers-in-snapshot"
    stands_for = "brokerDeduplicationMaxNumberOfProducers not read"

    def _most_names(self) -> int | None:
        return None


class DedupRejectsGaps(Deduplication):
    """A sequence id with a gap to the last one is answered as a duplicate."""

    breaks = "dedup.sequence-gaps-accepted"
    stands_for = "sequence ids assumed to be consecutive"

    def push(self, name: str, lowest: int, highest: int) -> Copy:
        last = self._pushed.get(name)
        if last is not None and lowest > last + 1:
            return Copy.DUPLICATE
        return super().push(name, lowest, highest)


class DedupRecordsLowest(Publishing):
    """Deduplication records the lowest sequence id of a batch."""

    breaks = "dedup.records-highest-sequence-id"
    stands_for = "the sequence id of a batch's SEND recorded, its highest_sequence_id not read"

    def _recorded(self, send: CommandSend, payload: Payload, lowest: int, last: int) -> int | None:
        return super()._recorded(send, payload, lowest, lowest)


class DedupComparesHighest(Deduplication):
    """Deduplication compares the highest sequence id of a batch."""

    breaks = "dedup.batch-judged-by-lowest-id"
    stands_for = "the recorded id used for the comparison, too"

    def _compared(self, lowest: int, highest: int) -> int:
        return highest


class DedupChecksEarlyChunks(Publishing):
    """Deduplication checks and records every chunk."""

    breaks = "dedup.checks-last-chunk-only"
    stands_for = "chunks of one message, which share a sequence id, taken for duplicates of each other"

    def _is_early_chunk(self, send: CommandSend, payload: Payload) -> bool:
        return False


class DedupRemembersFailedWrite(Deduplication):
    """A message whose write failed stays recorded as pending."""

    breaks = "dedup.accepts-retry-of-failed-write"
    stands_for = "the id of a failed write not removed: each retry is answered as undecided"

    def forget_unwritten(self) -> None:
        pass
