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
    """What deduplication finds to be persisted already is stored once more."""

    breaks = "dedup.duplicate-not-stored"
    stands_for = "the verdict of deduplication looked at after the write was issued"

    def _copy(self, producer: Producer, lowest: int, last: int) -> Copy:
        copy = super()._copy(producer, lowest, last)
        return Copy.NEW if copy is Copy.DUPLICATE else copy


class DedupReceiptsPendingDuplicate(Publishing):
    """A copy of what is not stored yet gets the receipt of a duplicate."""

    breaks = "dedup.pending-duplicate-rejected"
    stands_for = "one answer for both kinds of repeated id: known to have arrived taken for known to be stored"

    def _copy(self, producer: Producer, lowest: int, last: int) -> Copy:
        copy = super()._copy(producer, lowest, last)
        return Copy.DUPLICATE if copy is Copy.UNKNOWN else copy


class DedupReportsNextId(Publishing):
    """PRODUCER_SUCCESS carries the next sequence id for the last one."""

    breaks = "dedup.reports-last-sequence-id"
    stands_for = "the last id and the next one taken for each other"

    def last_sequence_id(self, name: str) -> int:
        last = super().last_sequence_id(name)
        return last if self.dedup is None else last + 1


class DedupForgetsOnUnload(Deduplication):
    """A topic that is loaded again knows no sequence ids."""

    breaks = "dedup.survives-unload"
    stands_for = "the entries behind the snapshot are not replayed when a topic is loaded"

    def _behind_snapshot(self) -> Iterable[Entry]:
        self._covered = len(self._entries)
        return super()._behind_snapshot()


class DedupForgetsSnapshot(Deduplication):
    """A topic that is loaded again knows the sequence ids behind its last snapshot only."""

    breaks = "dedup.survives-unload"
    stands_for = "the cursor of deduplication is read, and the snapshot that it holds is not"

    def _read_snapshot(self) -> dict[str, int]:
        return {}


class DedupNeverForgetsInactive(Deduplication):
    """A name without a producer is never forgotten."""

    breaks = "dedup.forgets-inactive-producers"
    stands_for = "the purge of inactive producers never scheduled"

    def _purge(self) -> None:
        pass


class DedupForgetsActiveProducer(Deduplication):
    """A name is forgotten that long after its producer came, whether it is still there or not."""

    breaks = "dedup.forgets-inactive-producers"
    stands_for = "inactive taken for silent: the time since the producer came, not since it left"

    def joined(self, name: str) -> None:
        self._purge()
        self._idle_since_ns.setdefault(name, self._host.now_ns)

    def left(self, name: str) -> None:
        pass


class DedupChecksMarkers(Publishing):
    """Markers are compared and remembered as messages are."""

    breaks = "dedup.markers-are-exempt"
    stands_for = "markers of replicated subscriptions and transactions published like messages"

    def _is_marker(self, send: CommandSend) -> bool:
        return False


class DedupSnapshotUnbounded(Deduplication):
    """However many names a topic has, all of them are in its snapshots."""

    breaks = "dedup.max-producers-in-snapshot"
    stands_for = "brokerDeduplicationMaxNumberOfProducers not read"

    def _most_names(self) -> int | None:
        return None


class DedupRejectsGaps(Deduplication):
    """A sequence id more than one above the last is answered as a duplicate."""

    breaks = "dedup.sequence-gaps-accepted"
    stands_for = "sequence ids taken for consecutive: not equal to the next one in place of not above the last"

    def push(self, name: str, lowest: int, highest: int) -> Copy:
        last = self._pushed.get(name)
        if last is not None and lowest > last + 1:
            return Copy.DUPLICATE
        return super().push(name, lowest, highest)


class DedupRecordsLowest(Publishing):
    """Of a batch the lowest sequence id is remembered."""

    breaks = "dedup.records-highest-sequence-id"
    stands_for = "the sequence id of a batch's SEND recorded, its highest_sequence_id not read"

    def _recorded(self, send: CommandSend, payload: Payload, lowest: int, last: int) -> int | None:
        return super()._recorded(send, payload, lowest, lowest)


class DedupComparesHighest(Deduplication):
    """A batch is compared by its highest sequence id."""

    breaks = "dedup.batch-judged-by-lowest-id"
    stands_for = "a batch compared by the id that it is recorded by"

    def _compared(self, lowest: int, highest: int) -> int:
        return highest


class DedupChecksEarlyChunks(Publishing):
    """Every chunk is compared and remembered."""

    breaks = "dedup.checks-last-chunk-only"
    stands_for = "chunks of one message, which share a sequence id, taken for copies of each other"

    def _is_early_chunk(self, send: CommandSend, payload: Payload) -> bool:
        return False


class DedupRemembersFailedWrite(Deduplication):
    """What could not be written stays among what has arrived."""

    breaks = "dedup.accepts-retry-of-failed-write"
    stands_for = "the id of a failed write left among those that arrived: each retry is answered as undecided"

    def forget_unwritten(self) -> None:
        pass
