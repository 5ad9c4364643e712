"""Batches by key: what may share an entry, which ids entries go by, and in which order they leave.

Ids of batches that were open side by side interleave: {A: 0, 3, 4} and {B: 1, 2}. A client that tells ranges has one of
the two dropped as a duplicate, whichever leaves last; one that tells lowest ids has the broker believe that 1 was the
last. Each by its highest, sorted by that, is what works (Java client, BatchMessageKeyBasedContainer).
"""

from __future__ import annotations

from abc import abstractmethod

from assay_conformance.checks.base import Check, on
from assay_conformance.checks.lines import Unit
from assay_conformance.checks.occasions import Setting
from assay_conformance.model.event import Frame, Invoke, Meta


class KeyedCheck(Check):
    """Entries of producers that batch by key, as they first leave."""

    needs = (Setting("producer", "batching"),)

    @abstractmethod
    def left(self, unit: Unit, event: Frame, meta: Meta) -> None: ...

    @on(Frame, "SEND")
    def send(self, event: Frame) -> None:
        unit, setting = self.tracker.lines.first(event), self.view.producer_setting
        if unit is None or event.meta is None or not unit.numbers:
            return
        handle = unit.line.handle or 0
        if setting(handle, "batching") is True and setting(handle, "batching_type") == "key_based":
            self.left(unit, event, event.meta)

    def keys(self, unit: Unit) -> list[bytes]:
        """What Key_Shared would go by for each of its messages."""
        sends = (self.tracker.send_of(unit.line.handle or 0, number) for number in unit.numbers)
        return [_sticky(send.invoke) for send in sends if send is not None]


def _sticky(send: Invoke) -> bytes:
    ordering_key = send.args.get("ordering_key")
    return str((send.args.get("key") or "") if ordering_key is None else ordering_key).encode()


def highest_id(event: Frame) -> int:
    return max(event.sequence_id or 0, event.highest_sequence_id or 0)


def quoted(key: bytes) -> str:
    return f"key {key.decode(errors='replace')!r}" if key else "no key"
