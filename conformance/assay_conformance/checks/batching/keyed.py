"""Batches by key: what may share an entry, which ids entries go by, and in which order they leave.

Ids of batches that were open side by side interleave: {A: 0, 3, 4} and {B: 1, 2}. A client that tells ranges has one of
the two dropped as a duplicate, whichever leaves last; one that tells lowest ids has the broker believe that 1 was the
last. Each by its highest, sorted by that, is what works (Java client, BatchMessageKeyBasedContainer).
"""

from __future__ import annotations

from abc import abstractmethod

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.lines import Line, Unit
from assay_conformance.checks.occasions import Setting
from assay_conformance.model.event import Frame, Invoke, Meta
from assay_conformance.model.requirement import RequirementId

NO_KEY = b"NONE_KEY"
"""What a client may write where there is none, and what Key_Shared takes for it (broker, Commands.NONE_KEY)."""


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


class OneKeyPerEntry(KeyedCheck):
    """The messages of an entry have one key, the ordering key where there is one, and the entry says which."""

    requirement = RequirementId("batching.key-based-one-key-per-batch")

    def left(self, unit: Unit, event: Frame, meta: Meta) -> None:
        keys = self.keys(unit)
        told = meta.ordering_key or (meta.key or "").encode()
        odd = next((key for key in keys if key != keys[0]), None)
        if meta.batch is not None:
            self.exercise(event)
        if odd is not None:
            self.breach(
                "keys-mixed",
                f"{unit.line}: the entry at {ms(event.t_ns)} holds messages with {_named(keys[0])} and with "
                f"{_named(odd)}",
                event,
            )
        elif keys and told not in ({keys[0]} if keys[0] else {b"", NO_KEY}):
            self.breach(
                "key-not-told",
                f"{unit.line}: the messages of the entry at {ms(event.t_ns)} have {_named(keys[0])}; its metadata say "
                f"{_named(told)}",
                event,
            )


class KeyedTellsHighest(KeyedCheck):
    """Of several messages with ids of their own, the highest is what the broker is told: that one it remembers."""

    requirement = RequirementId("batching.key-based-highest-sequence-id")

    def left(self, unit: Unit, event: Frame, meta: Meta) -> None:
        ids = [member.sequence_id for member in event.members if member.sequence_id is not None]
        if len(ids) < 2:
            return
        self.exercise(event)
        told = {"SEND": _highest(event), "its metadata": max(meta.sequence_id, meta.highest_sequence_id)}
        where = next((where for where, id in told.items() if id != max(ids)), None)
        if where is not None:
            self.breach(
                "other-highest",
                f"{unit.line}: the entry at {ms(event.t_ns)} holds sequence ids {min(ids)} to {max(ids)}; the highest "
                f"that {where} tells is {told[where]}",
                event,
            )


class KeyedKeepsOrder(KeyedCheck):
    """Each entry goes by an id above all that was told before, and the messages of a key leave as they were sent.

    Ids are judged where the client numbers. The precondition is that ranges interleave: an entry begins with a message
    that was sent before another which has left.
    """

    requirement = RequirementId("batching.key-based-order")

    def start(self) -> None:
        self._told: dict[int, Frame] = {}
        """Line -> the SEND that told the highest id so far."""
        self._last: dict[tuple[int, bytes], tuple[int, Frame]] = {}
        """Line and key -> the last message of it that left."""
        self._furthest: dict[int, int] = {}

    def left(self, unit: Unit, event: Frame, meta: Meta) -> None:
        del meta
        line = id(unit.line)
        if min(unit.numbers) < self._furthest.get(line, -1):
            self.exercise(event)
        self._furthest[line] = max(self._furthest.get(line, -1), *unit.numbers)
        self._ids(unit.line, event)
        for number, key in zip(unit.numbers, self.keys(unit), strict=False):
            self._order(unit.line, key, number, event)

    def _ids(self, line: Line, event: Frame) -> None:
        if line.handle in self.tracker.foresight.explicit:
            return
        before = self._told.get(id(line))
        if before is None or _highest(event) > _highest(before):
            self._told[id(line)] = event
        if before is not None and (event.sequence_id or 0) <= _highest(before):
            self.breach(
                "id-told-before",
                f"{line}: the entry at {ms(event.t_ns)} goes by sequence id {event.sequence_id}, and "
                f"{_highest(before)} was told at {ms(before.t_ns)}; a broker that deduplicates drops it",
                before,
                event,
            )

    def _order(self, line: Line, key: bytes, number: int, event: Frame) -> None:
        before = self._last.get((id(line), key))
        self._last[id(line), key] = (number, event)
        if before is not None and number < before[0]:
            self.breach(
                "key-out-of-order",
                f"{line}: message {number} with {_named(key)} left at {ms(event.t_ns)}, behind message {before[0]} of "
                f"that key, which left at {ms(before[1].t_ns)} and had been sent later",
                before[1],
                event,
            )


def _sticky(send: Invoke) -> bytes:
    ordering_key = send.args.get("ordering_key")
    return str((send.args.get("key") or "") if ordering_key is None else ordering_key).encode()


def _highest(event: Frame) -> int:
    return max(event.sequence_id or 0, event.highest_sequence_id or 0)


def _named(key: bytes) -> str:
    return f"key {key.decode(errors='replace')!r}" if key else "no key"
