"""What the entry of a batch says: its ids, its body, and which messages may be in it."""

from __future__ import annotations

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.lines import Unit
from assay_conformance.checks.occasions import Setting, Trait
from assay_conformance.checks.tracker import Operation
from assay_conformance.model.event import Frame, Meta
from assay_conformance.model.requirement import RequirementId


class _Ids(Check):
    """What a batch of several messages says of the sequence ids inside.

    Of a key-based batch this is not said: the ids of several such batches interleave. Nor of one whose ids begin anew
    in its middle: that they do is a matter of `ordering.sequence-ids-increase-by-one`.
    """

    needs = (Trait.BATCH,)

    @on(Frame, "SEND")
    def send(self, event: Frame) -> None:
        unit, meta = self.tracker.lines.first(event), event.meta
        if unit is None or meta is None or len(event.members) < 2:
            return
        if self.view.producer_setting(unit.line.handle or 0, "batching_type") != "key_based":
            ids = [member.sequence_id for member in event.members if member.sequence_id is not None]
            self._judge(unit, event, meta, ids)

    def _judge(self, unit: Unit, event: Frame, meta: Meta, ids: list[int]) -> None:
        raise NotImplementedError


class NamesAllIds(_Ids):
    """It tells its highest sequence id, and each message has its own."""

    requirement = RequirementId("batching.highest-sequence-id")

    def _judge(self, unit: Unit, event: Frame, meta: Meta, ids: list[int]) -> None:
        self.exercise(event)
        if len(ids) < len(event.members):
            self.breach(
                "no-single-ids",
                f"{unit.line}: of {len(event.members)} messages in the batch at {ms(event.t_ns)} {len(ids)} carry a "
                "sequence id of their own, expected all",
                event,
            )
            return
        told = {"SEND": event.highest_sequence_id or 0, "its metadata": meta.highest_sequence_id}
        for where, highest in told.items() if ids == sorted(ids) else ():
            if highest == ids[-1]:
                continue
            self.breach(
                "wrong-highest-id" if highest else "no-highest-id",
                f"{unit.line}: the batch at {ms(event.t_ns)} holds sequence ids {ids[0]} to {ids[-1]}; {where} says "
                f"that the highest is {highest or 'nothing'}",
                event,
            )
            return


class GoesByLowestId(_Ids):
    """Where not every message has an id of its own, nobody knows the lowest."""

    requirement = RequirementId("batching.lowest-sequence-id")

    def _judge(self, unit: Unit, event: Frame, meta: Meta, ids: list[int]) -> None:
        if len(ids) < len(event.members) or ids != sorted(ids):
            return
        self.exercise(event)
        for where, lowest in {"SEND": event.sequence_id, "its metadata": meta.sequence_id}.items():
            if lowest != ids[0]:
                self.breach(
                    "other-id",
                    f"{unit.line}: the batch at {ms(event.t_ns)} holds sequence ids {ids[0]} to {ids[-1]}; {where} "
                    f"goes by {lowest}",
                    event,
                )
                return


class CompressedAsOne(Check):
    """The body of a compressed batch is its messages with their headers, compressed once; its uncompressed size is
    that of this body. Whether the codec is what it says is a clause of its own.
    """

    requirement = RequirementId("batching.compressed-as-one")
    needs = (Trait.BATCH, Trait.COMPRESSED)

    @on(Frame, "SEND")
    def send(self, event: Frame) -> None:
        unit, meta = self.tracker.lines.first(event), event.meta
        if unit is None or meta is None or meta.batch is None or meta.compression == "NONE":
            return
        if meta.unpacked_bytes is not None:
            if meta.unpacked_bytes >= 0:
                self.breach(
                    "wrong-size",
                    f"{unit.line}: the {meta.compression} batch at {ms(event.t_ns)} says that it is "
                    f"{meta.uncompressed_size} bytes uncompressed, and unpacks to {meta.unpacked_bytes}",
                    event,
                )
            return
        if not event.members:
            self.breach(
                "unreadable",
                f"{unit.line}: the {meta.compression} batch at {ms(event.t_ns)} unpacks to {meta.uncompressed_size} "
                f"bytes as announced, which are no {meta.batch} messages with their headers",
                event,
            )
            return
        if len(event.members) > 1:
            self.exercise(event)
        self._members(unit, event)

    def _members(self, unit: Unit, event: Frame) -> None:
        handle = unit.line.handle or 0
        if handle in self.tracker.lines.burst:
            return
        asked = {send.invoke.payload for send in self.tracker.sends.get(handle, ())}
        for index, member in enumerate(event.members):
            if member.payload not in asked:
                self.breach(
                    "member-changed",
                    f"{unit.line}: message {index} in the batch at {ms(event.t_ns)} is {member.size} bytes of digest "
                    f"{member.digest:08x}, which is no message it was asked to send",
                    event,
                )
                return


class DelayedAlone(Check):
    """A message with a delivery time leaves in an entry of its own that carries it, behind what was batched before.

    Order is judged on each topic or partition of a producer by the numbers of its messages.
    """

    requirement = RequirementId("batching.delayed-not-batched")
    needs = (Setting("producer", "batching"),)

    @on(Frame, "SEND")
    def send(self, event: Frame) -> None:
        unit, meta = self.tracker.lines.first(event), event.meta
        if unit is None or meta is None or not self._batches(unit.line.handle or 0):
            return
        delayed = next((send for send in self._sends(unit) if is_delayed(send)), None)
        if delayed is None:
            return
        number = delayed.invoke.number or 0
        if meta.deliver_at_ms is None:
            self.breach(
                "time-lost",
                f"{unit.line}: message {number} was asked for with a delivery time at {ms(delayed.invoke.t_ns)}; its "
                f"SEND at {ms(event.t_ns)} carries none",
                delayed.invoke,
                event,
            )
        elif len(unit.numbers) > 1:
            self.breach(
                "batched",
                f"{unit.line}: message {number} was asked for with a delivery time at {ms(delayed.invoke.t_ns)}; its "
                f"SEND at {ms(event.t_ns)} makes {len(unit.numbers) - 1} others wait for it",
                delayed.invoke,
                event,
            )

    def finish(self) -> None:
        for handle in self.tracker.lines.openings:
            if self._batches(handle):
                for line in self.tracker.lines.of_handle(handle):
                    self._order(line.units)

    def _order(self, units: list[Unit]) -> None:
        """`units` in the order they first left."""
        for unit in units:
            for delayed in (send for send in self._sends(unit) if is_delayed(send)):
                number = delayed.invoke.number or 0
                older = [other for other in units if other.numbers and other.numbers[0] < number]
                waiting = [other for other in older if other.first.t_ns >= delayed.invoke.t_ns]
                if waiting and unit.first.meta is not None and unit.first.meta.deliver_at_ms is not None:
                    self.exercise(unit.first)
                passed = next((other for other in older if other.index > unit.index), None)
                if passed is not None:
                    self.breach(
                        "overtakes-batch",
                        f"{unit.line}: message {number}, delayed, left at {ms(unit.first.t_ns)}, and the older "
                        f"{passed} at {ms(passed.first.t_ns)}",
                        delayed.invoke,
                        unit.first,
                        passed.first,
                    )

    def _sends(self, unit: Unit) -> list[Operation]:
        sends = (self.tracker.send_of(unit.line.handle or 0, number) for number in unit.numbers)
        return [send for send in sends if send is not None]

    def _batches(self, handle: int) -> bool:
        return self.view.producer_setting(handle, "batching") is True


def is_delayed(send: Operation) -> bool:
    return any(send.invoke.args.get(key) is not None for key in ("deliver_after_ms", "deliver_at_ms"))
