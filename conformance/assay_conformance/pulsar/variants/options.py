"""Clients with fewer options, or with mandatory ones."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from assay_conformance.client.acks import Outlet
from assay_conformance.client.batch_receive import BatchLimits
from assay_conformance.client.handed import Queue
from assay_conformance.client.numbering import Numbering
from assay_conformance.client.pending import Pending
from assay_conformance.client.permits import Permits
from assay_conformance.client.settings import ConsumerSettings, ProducerSettings
from assay_conformance.client.shared import MS, Shared
from assay_conformance.client.validation import Validation
from assay_conformance.client.values import Failed
from assay_conformance.model.event import ErrorClass

LEAST_MS, LEAST_TICK_MS = 1_000, 100


class AckTimeoutOfSecond(Validation):
    """An acknowledgment time-out of less than a second is refused, and so is a tick of less than 100 ms."""

    as_in = "Java client, ConsumerBuilderImpl: MIN_ACK_TIMEOUT_MILLIS, MIN_TICK_TIME_MILLIS"
    within = (
        "ack-timeout.redelivery-requested-in-time",
        "ack-timeout.request-fits-subscription-type",
        "ack-timeout.not-for-prefetched",
        "ack-timeout.ended-by-ack",
        "ack-timeout.tick-within-timeout",
        "ack-timeout.minimum-enforced",
        "nack.ends-ack-timeout",
    )
    lacks = ("short_ack_timeout",)
    fixes: ClassVar = {"ack_timeout_min_ms": LEAST_MS}

    def _times_out_too_soon(self, settings: ConsumerSettings) -> bool:
        return 0 < settings.ack_timeout_ms < LEAST_MS or settings.ack_timeout_tick_ms < LEAST_TICK_MS


def _with_room_for_a_batch(settings: ConsumerSettings) -> ConsumerSettings:
    size = max(settings.receiver_queue_size, settings.batch_receive_max_messages)
    return msgspec.structs.replace(settings, receiver_queue_size=size)


class _PermitsForABatch(Permits):
    def __init__(self, shared: Shared, settings: ConsumerSettings, outlet: Outlet, queue: Queue) -> None:
        super().__init__(shared, _with_room_for_a_batch(settings), outlet, queue)


class QueueHoldsAWholeBatch(BatchLimits):
    """The receiver queue holds as many messages as a batch receive may return, whatever its configured size."""

    as_in = "Java client, ConsumerBuilderImpl.subscribeAsync"
    within = ("batch-receive.ends-at-first-limit", "batch-receive.takes-what-is-there")
    also = (_PermitsForABatch,)

    def __init__(self, settings: ConsumerSettings) -> None:
        super().__init__(_with_room_for_a_batch(settings))


class PartitionsUpdateOfSecond(Validation):
    """Added partitions are looked for once a second at most: a shorter interval is refused."""

    as_in = "Java client, ProducerBuilderImpl and ConsumerBuilderImpl: autoUpdatePartitionsInterval"
    within = ("topics.finds-added-partitions", "topics.uses-added-partitions")
    lacks = ("short_partitions_update",)
    fixes: ClassVar = {"partitions_update_min_ms": LEAST_MS}

    _REFUSED = Failed(ErrorClass.INVALID_CONFIG, "partitions are looked for once a second at most", certain=True)

    def producer(self, settings: ProducerSettings) -> Failed | None:
        return self._REFUSED if settings.partitions_update_ms < LEAST_MS else super().producer(settings)

    def consumer(self, settings: ConsumerSettings) -> Failed | None:
        return self._REFUSED if settings.partitions_update_ms < LEAST_MS else super().consumer(settings)


class DeadLetterTopicRequired(Validation):
    """A consumer with dead letters does not open without the name of their topic."""

    as_in = "Go client, newDlqRouter; pulsar-rs, DeadLetterPolicy"
    within = (
        "dead-letter.max-redeliver-count",
        "dead-letter.copy-is-complete",
        "dead-letter.original-acked-after-receipt",
        "dead-letter.large-message-chunked",
        "dead-letter.not-batched",
        "dead-letter.initial-subscription",
    )
    declares: ClassVar = {"required": {"consumer": {"dead_letter_topic": ("max_redeliver_count",)}}}

    _REFUSED = Failed(ErrorClass.INVALID_CONFIG, "dead letters need the name of a topic", certain=True)

    def consumer(self, settings: ConsumerSettings) -> Failed | None:
        unnamed = settings.max_redeliver_count and not settings.dead_letter_topic
        return self._REFUSED if unnamed else super().consumer(settings)


class InitialSequenceIdNotSettable(Numbering):
    """There is no option for a producer's initial sequence id."""

    as_in = "Go client, ProducerOptions"
    within = (
        "dedup.resumes-after-last-sequence-id",
        "dedup.records-highest-sequence-id",
        "dedup.duplicate-not-stored",
        "ordering.sequence-ids-increase-by-one",
    )
    unsettable = ("initial_sequence_id",)

    def __init__(self, settings: ProducerSettings) -> None:
        super().__init__(msgspec.structs.replace(settings, initial_sequence_id=None))


class SendTimeoutOfOperations(Pending):
    """A send has the operation time-out: there is no option for a send time-out."""

    as_in = "pulsar-rs, OperationRetryOptions.operation_timeout"
    within = (
        "resend.send-timeout",
        "resend.keeps-queue-order",
        "resend.identical-bytes",
        "resend.reconnect-backoff",
        "robustness.calls-do-not-hang",
    )
    unsettable = ("send_timeout_ms",)
    declares: ClassVar = {"same_as": {"send_timeout_ms": "operation_timeout_ms"}}

    def due_ns(self, created_ns: int) -> int | None:
        return created_ns + self._age_ns()

    def _age_ns(self) -> int:
        return self._shared.settings.operation_timeout_ms * MS
