"""Clients with other message ids, or that show less of messages."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import msgspec

from assay_conformance.client.handed import Inbound
from assay_conformance.client.ops import Op, Sent
from assay_conformance.client.producer import Producer
from assay_conformance.client.receipts import Receipts
from assay_conformance.client.subscription import Subscription
from assay_conformance.client.values import Delivery, Done, Result
from assay_conformance.model.event import MessageId
from assay_conformance.model.facts import Lack


class _ReceiptsOfPartitionZero(Receipts):
    """Message ids of sends."""

    def _result(self, sent: Sent, message_id: MessageId) -> Result:
        return super()._result(sent, msgspec.structs.replace(message_id, partition=max(message_id.partition, 0)))


class PartitionZeroWithoutPartitions(Subscription):
    """Ids of a topic without partitions have partition 0."""

    as_in = "Go client, consumer_partition.go and producer_partition.go: partitionIdx is 0"
    within = ("delivery.successful-send-is-delivered", "seek.starts-at-target", "delivery.no-phantom-messages")
    also = (_ReceiptsOfPartitionZero,)

    def _delivery(self, number: int, inbound: Inbound) -> Delivery:
        delivery = super()._delivery(number, inbound)
        id = delivery.message_id
        return replace(delivery, message_id=msgspec.structs.replace(id, partition=max(id.partition, 0)))

    def seek(self, op: int, message_id: MessageId | None, publish_time_ms: int | None) -> None:
        if message_id is not None and all(consumer.partition < 0 for consumer in self.consumers):
            message_id = msgspec.structs.replace(message_id, partition=-1)
        super().seek(op, message_id, publish_time_ms)


class _ReceiptsWithoutPartition(Receipts):
    """Message ids of sends."""

    def _result(self, sent: Sent, message_id: MessageId) -> Result:
        return super()._result(sent, msgspec.structs.replace(message_id, partition=-1))


class PartitionByTopicOnly(Subscription):
    """Ids have no partition: only the topic name shows the partition of a message."""

    as_in = "Rust client, MessageIdData as the broker sent it, without a partition"
    within = ("delivery.successful-send-is-delivered", "delivery.no-phantom-messages")
    also = (_ReceiptsWithoutPartition,)

    def _delivery(self, number: int, inbound: Inbound) -> Delivery:
        delivery = super()._delivery(number, inbound)
        return replace(delivery, message_id=msgspec.structs.replace(delivery.message_id, partition=-1))


class _ReceiptsOfEntries(Receipts):
    """Message ids of sends."""

    def _place(self, _op: Op, _index: int) -> tuple[int, int]:
        return (-1, 0)


class EntryIdsOnly(Subscription):
    """A message of a batch has the id of its entry, without a batch index."""

    as_in = "clients whose ids are the MessageIdData of SEND_RECEIPT and MESSAGE"
    within = (
        "delivery.successful-send-is-delivered",
        "delivery.payload-unchanged",
        "ordering.delivers-in-message-id-order",
        "batching.succeeds-or-fails-as-one",
    )
    also = (_ReceiptsOfEntries,)
    declares: ClassVar = {"lacks": frozenset({Lack.BATCH_INDEX})}

    def _delivery(self, number: int, inbound: Inbound) -> Delivery:
        delivery = super()._delivery(number, inbound)
        return replace(delivery, message_id=msgspec.structs.replace(delivery.message_id, batch_index=-1, batch_size=0))


class _ReceiptsOfNumberZero(Receipts):
    """Message ids of sends."""

    def _place(self, _op: Op, _index: int) -> tuple[int, int]:
        return (0, 1)


class NumberZeroOfOne(Subscription):
    """Every message, batched or not, has batch index 0 and batch size 1."""

    as_in = "clients that fill the fields of an id without looking into the batch"
    within = ("delivery.successful-send-is-delivered", "ordering.delivers-in-message-id-order")
    also = (_ReceiptsOfNumberZero,)
    declares: ClassVar = {"lacks": frozenset({Lack.BATCH_INDEX})}

    def _delivery(self, number: int, inbound: Inbound) -> Delivery:
        delivery = super()._delivery(number, inbound)
        return replace(delivery, message_id=msgspec.structs.replace(delivery.message_id, batch_index=0, batch_size=1))

    def seek(self, op: int, message_id: MessageId | None, publish_time_ms: int | None) -> None:
        if message_id is not None:
            message_id = msgspec.structs.replace(message_id, batch_index=-1, batch_size=0)
        super().seek(op, message_id, publish_time_ms)


class ShowsNoRedeliveryCount(Subscription):
    """The application does not see how often a message was redelivered."""

    as_in = "Rust client, Message has no redelivery count"
    within = ("nack.backoff-grows", "dead-letter.max-redeliver-count")
    declares: ClassVar = {"lacks": frozenset({Lack.REDELIVERY_COUNT})}

    def _delivery(self, number: int, inbound: Inbound) -> Delivery:
        return replace(super()._delivery(number, inbound), redelivery_count=0)


class ShowsNoMetadata(Subscription):
    """The application sees neither key, properties nor event time of a message."""

    as_in = "clients with a minimal interface"
    within = ("robustness.edge-case-metadata-round-trip",)
    declares: ClassVar = {"lacks": frozenset({Lack.KEY, Lack.PROPERTIES, Lack.EVENT_TIME})}

    def _delivery(self, number: int, inbound: Inbound) -> Delivery:
        return replace(super()._delivery(number, inbound), key=None, properties={}, event_time_ms=None)


class GivenNameNotShown(Producer):
    """The name that the broker assigned to a producer is not shown to the application."""

    as_in = "Rust client, Producer has no name that it was given"
    within = ("producer.keeps-assigned-name",)

    def _is_open(self, producer_name: str, last_sequence_id: int) -> Done:
        return replace(super()._is_open(producer_name, last_sequence_id), producer_name=None)
