"""Readers that do more than read."""

from __future__ import annotations

from typing import ClassVar

from assay_conformance.client.consumer import Consumer
from assay_conformance.client.entries import Entry, Opened
from assay_conformance.client.handed import Handed, Inbound
from assay_conformance.client.reader import LATEST_ID, ReadingPlace
from assay_conformance.wire import NO_ID, Frame
from assay_conformance.wire.pulsar_pb2 import BaseCommand, MessageIdData


class ReaderAcknowledges(Consumer):
    """A reader acknowledges what its application reads, cumulatively."""

    as_in = "Java client, ReaderImpl; Go client, reader_impl"
    within = ("ack.whole-batch-only", "seek.starts-at-target")

    def handed_over(self, inbound: Inbound) -> Handed:
        handed = super().handed_over(inbound)
        if self._reading is not None:
            self.ack(handed, cumulative=True)
            self._acks.issued()
        return handed


class ReadersHaveFewOptions(ReadingPlace):
    """A reader has no options of a consumer but its start position and the size of its queue."""

    as_in = "Java client, ReaderBuilder"
    within = ("seek.has-message-available-before-read", "subscription.non-durable-reader")
    declares: ClassVar = {
        "not_of_readers": frozenset(
            {"ack_receipt", "ack_group_ms", "ack_group_max", "subscription_type", "batch_index_ack", "nack_delay_ms"}
        )
    }


class NamesNoFirstMessage(Consumer):
    """A reader that starts at one end of its topic sends an initial position, and no message id."""

    as_in = "pulsar-rs, ConsumerBuilder.into_reader: start_message_id is None until the application gives one"
    within = ("subscription.non-durable-reader", "subscription.reader-resumes-after-last-read")

    def _registration(self, request_id: int) -> BaseCommand:
        built = super()._registration(request_id)
        if built.subscribe.start_message_id.ledgerId in (NO_ID, LATEST_ID):
            built.subscribe.ClearField("start_message_id")
        return built


class NamesTheEntryBeforeItsFirst(Consumer):
    """A reader that reconnects before anything was read names the entry before the first that had arrived."""

    as_in = "Java client, ConsumerImpl.getPreviousMessage: entry 0 less one is -1"
    within = (
        "subscription.non-durable-reader",
        "subscription.reader-resumes-after-last-read",
        "table-view.holds-what-was-stored",
    )

    _first: MessageIdData | None = None

    def message(self, frame: Frame) -> None:
        if self._first is None:
            self._first = frame.body.message_id
        super().message(frame)

    def _registration(self, request_id: int) -> BaseCommand:
        built, first = super()._registration(request_id), self._first
        start = built.subscribe.start_message_id
        if first is not None and self._reading is not None and start.ledgerId == NO_ID:
            start.ledgerId, start.entryId = first.ledgerId, (first.entryId - 1) & NO_ID
        return built


class AcksWhatASeekSkips(Consumer):
    """Messages of a batch that a seek skips are acknowledged when the batch arrives."""

    as_in = "Go client, consumer_partition.go: messageShouldBeDiscarded, AckID"
    within = ("seek.starts-at-target", "ack.batch-index-ack-set", "ack.whole-batch-only")

    def _is_behind_start(self, entry: Entry, message: Opened) -> bool:
        behind = super()._is_behind_start(entry, message)
        if not behind and message.index is not None and self._seeking.passes_over(entry.position):
            self._acks.individual(entry, message.index)
            self._acks.issued()
        return behind
