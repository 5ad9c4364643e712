"""Brokers that change the order of messages."""

from __future__ import annotations

from assay_conformance.broker.consumer import Consumer
from assay_conformance.broker.key_sharing import KeyShared
from assay_conformance.broker.producer import Producer
from assay_conformance.broker.publishing import Publish, Publishing
from assay_conformance.broker.store import Entry
from assay_conformance.broker.timers import Timer
from assay_conformance.broker.topic import Topic
from assay_conformance.wire import Frame


class ReordersAppends(Publishing):
    """Two consecutive SENDs of a producer are stored in reverse order, and receipted in the original one."""

    breaks = "ordering.keeps-send-order"
    stands_for = "writes given to a thread pool that keeps no order"

    PARKED_MS = 20
    """How long an append waits for another to change payloads with, so that their receipts keep the order."""

    _parked: Publish | None = None
    _timer: Timer | None = None

    def _write(self, publish: Publish) -> None:
        first = self._parked
        if first is None:
            self._parked = publish
            self._timer = self._host.after(self.PARKED_MS, self._flush)
            return
        if first.producer_name == publish.producer_name:
            first.payload, publish.payload = publish.payload, first.payload
        self._flush()
        super()._write(publish)

    def _flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._parked is not None:
            parked, self._parked = self._parked, None
            super()._write(parked)


class ReceiptsOutOfOrder(Publishing):
    """Receipts of entries that become durable together are sent in reverse order."""

    breaks = "ordering.receipts-in-send-order"
    stands_for = "completions of one flush processed from the last to the first"

    _held: list[tuple[Producer, Frame]] | None = None

    def release(self) -> None:
        self._held = []
        super().release()
        held, self._held = self._held, None
        for producer, receipt in reversed(held):
            super()._send_receipt(producer, receipt)

    def _send_receipt(self, producer: Producer, receipt: Frame) -> None:
        if self._held is None:
            super()._send_receipt(producer, receipt)
        else:
            self._held.append((producer, receipt))


class KeySharedSkipsDraining(KeyShared):
    """A new Key_Shared consumer gets its keys at once, although another consumer has unacknowledged entries of them."""

    breaks = "ordering.key-shared-keeps-order"
    stands_for = "hash ranges assigned to a new consumer before the former one has acknowledged its entries"

    def _has_to_wait(self, entry: Entry, consumer: Consumer) -> bool:
        return entry.key_hash in self._held


class EntryIdsRestartAfterLoad(Topic):
    """A topic that is loaded again continues in its last ledger, with entry ids from 0."""

    breaks = "ordering.message-ids-increase"
    stands_for = "a ledger reopened for writing, with its number of entries lost"

    def _open_ledger(self) -> None:
        self.store.open_ledger(self.store.next_position[0])


class ReceiptNamesNextEntry(Publishing):
    """Receipts name the entry after the one that was stored."""

    breaks = "ordering.message-ids-increase"
    stands_for = "the position after an entry taken for its own"

    def _named(self, entry: Entry) -> tuple[int, int]:
        ledger, number = super()._named(entry)
        return ledger, number + 1
