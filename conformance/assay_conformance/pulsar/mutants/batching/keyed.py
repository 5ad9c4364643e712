"""Clients that mix up keys or sequence ids of batches by key."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from assay_conformance.client.batch import Group, OpenBatch
from assay_conformance.client.ops import OpBuilder, Sent
from assay_conformance.wire import MessageMetadata


class KeyBasedBatcherIgnoresKeys(OpenBatch):
    """Key-based batching puts messages of all keys into one batch."""

    breaks = "batching.key-based-one-key-per-batch"
    stands_for = "an option without effect: Key_Shared consumers get messages of other consumers' keys"

    def groups(self) -> list[Group]:
        return [Group(self.sent, self.first_ns)]


class KeyBasedBatchWithoutKey(OpBuilder):
    """The entry of a key-based batch carries no key."""

    breaks = "batching.key-based-one-key-per-batch"
    stands_for = "pulsar-rs: the metadata of a batch have no partition_key"

    def _keyed_metadata(self, batch: Sequence[Sent], unix_ms: int) -> MessageMetadata:
        metadata = super()._keyed_metadata(batch, unix_ms)
        metadata.ClearField("partition_key")
        metadata.ClearField("ordering_key")
        return metadata


class KeyBasedBatchSendsIdRange(OpBuilder):
    """Key-based batches carry their lowest and highest sequence id, as other batches do."""

    breaks = "batching.key-based-order"
    stands_for = (
        "Java client before its key-based batches carried only their highest id: deduplication drops one of two batches"
    )

    def _keyed_metadata(self, batch: Sequence[Sent], unix_ms: int) -> MessageMetadata:
        metadata = super()._keyed_metadata(batch, unix_ms)
        metadata.sequence_id = batch[0].sequence_id
        metadata.highest_sequence_id = batch[-1].sequence_id
        return metadata


class SortsByLowest(OpenBatch):
    def _sorted(self, groups: Iterable[Group]) -> list[Group]:
        return sorted(groups, key=lambda group: group.sent[0].sequence_id)


class KeyBasedBatchSendsLowestId(OpBuilder):
    """Key-based batches carry their lowest sequence id, and are sent in its order."""

    breaks = "batching.key-based-highest-sequence-id"
    stands_for = "C++ and Go clients (read in their source): the broker takes the lowest id for the last"
    also = (SortsByLowest,)

    def _keyed_metadata(self, batch: Sequence[Sent], unix_ms: int) -> MessageMetadata:
        metadata = super()._keyed_metadata(batch, unix_ms)
        metadata.sequence_id = batch[0].sequence_id
        return metadata


class KeyBasedBatchesUnsorted(OpenBatch):
    """Key-based batches are sent in the order in which their keys were first used."""

    breaks = "batching.key-based-order"
    stands_for = "a map of batches, sent in the order of iteration"

    def _sorted(self, groups: Iterable[Group]) -> list[Group]:
        return list(groups)
