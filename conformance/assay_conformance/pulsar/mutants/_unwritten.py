"""Receipts for what is not stored."""

from __future__ import annotations

from assay_conformance.broker.publishing import Publish, Publishing
from assay_conformance.broker.store import Entry, Store


def receipt_unwritten(publishing: Publishing, publish: Publish, store: Store, number: int) -> None:
    """Answer as if it were stored, at a position that no entry has or will have: chunks share a sequence id, so that a
    position which came before would be taken for a receipt that came twice."""
    ledger, entry = store.next_position
    publish.written = True
    publishing.answer(publish, Entry(ledger, entry + 1_000_000 + number, len(store.entries), publish.payload))
