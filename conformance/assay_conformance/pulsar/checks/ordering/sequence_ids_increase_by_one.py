"""Sequence ids that a client assigns itself increase by one from message to message."""

from __future__ import annotations

import itertools
from bisect import bisect_left

from assay_conformance.checks.base import Check, ms
from assay_conformance.checks.lines import Line, Unit, last_id
from assay_conformance.model.requirement import RequirementId


class SequenceIdsIncreaseByOne(Check):
    """Between message a and message b of a producer the ids differ by 1 to b - a: by exactly 1 where b is the next.

    Messages in between that never left (refused, timed out, or routed to another partition) may have taken an id or
    not; one that left together with an earlier message has taken one, too. Not judged are ids that the application
    chose, and those of a key-based batcher.

    Messages without a number in their payload are judged by their first SENDs on one session, where none may overtake:
    each has a greater id than the one before, and skips no more ids than there were send calls whose messages have not
    left.
    """

    requirement = RequirementId("ordering.sequence-ids-increase-by-one")
    skips_plain = True

    def finish(self) -> None:
        for line in self.tracker.lines.all:
            if self._judges(line):
                self._judge(line)

    def _judges(self, line: Line) -> bool:
        if line.handle is None or line.handle in self.tracker.foresight.explicit:
            return False
        by_key = self.view.producer_setting(line.handle, "batching_type") == "key_based"
        return not by_key or self.view.producer_setting(line.handle, "batching") is False

    def _judge(self, line: Line) -> None:
        taken = {frame.sequence_id or 0 for unit in line.units for _, frame in unit.sends[1:]}
        for earlier, later in itertools.pairwise(unit for unit in line.units if unit.numbers):
            if earlier.numbers[-1] >= later.numbers[0] or _is_overtaken(earlier):
                continue  # Resent in other batches, or out of order: judged by other requirements.
            between = later.numbers[0] - earlier.numbers[-1]
            step = later.sequence_id - last_id(earlier)
            if between == 1:
                self.exercise(later.first)
            if step < 1:
                self._breach("id-reused", earlier, later, "a greater id")
            elif step > between and step > between + sum(last_id(earlier) < id < later.sequence_id for id in taken):
                self._breach("id-skipped", earlier, later, f"{last_id(earlier) + 1}")

        if self._judges_unnumbered(line):
            self._judge_unnumbered(line)

    def _judges_unnumbered(self, line: Line) -> bool:
        """Whether every SEND can be matched with its send calls, and no message may overtake a batch."""
        lines, handle = self.tracker.lines, line.handle or 0
        if handle in lines.foresight.unsure | lines.torn_sends | lines.forged_sends | lines.burst:
            return False
        sends = self.tracker.sends.get(handle, ())
        return not any({"deliver_at_ms", "deliver_after_ms"} & send.invoke.args.keys() for send in sends)

    def _judge_unnumbered(self, line: Line) -> None:
        asked = [send.invoke.seq for send in self.tracker.sends.get(line.handle or 0, ())]
        left = 0
        earlier: Unit | None = None
        for later in line.units:
            meta = later.first.meta
            left += later.first.messages if meta is None or not meta.chunk_id else 0
            if meta is None or meta.chunk_id is not None:
                earlier = None
                continue
            if earlier is not None and not (earlier.numbers and later.numbers) and _on_one_session(earlier, later):
                self._compare(earlier, later, bisect_left(asked, later.first.seq) - left)
            earlier = later

    def _compare(self, earlier: Unit, later: Unit, spare: int) -> None:
        """`spare`: number of messages that may have taken an id and have not left."""
        last = earlier.sequence_id + earlier.first.messages - 1
        step = later.sequence_id - last
        if step < 1 or step > 1 + max(spare, 0):
            self.breach(
                "id-reused" if step < 1 else "id-skipped",
                f"{later.line}: a message left at {ms(later.first.t_ns)} with sequence id {later.sequence_id}; "
                f"expected {'a greater id than' if step < 1 else f'{last + 1}, since the message before it has'} "
                f"{last}",
                earlier.first,
                later.first,
            )
        else:
            self.exercise(later.first)

    def _breach(self, code: str, earlier: Unit, later: Unit, expected: str) -> None:
        self.breach(
            code,
            f"{later.line}: message {later.numbers[0]} left at {ms(later.first.t_ns)} with sequence id "
            f"{later.sequence_id}; expected {expected}, since message {earlier.numbers[-1]} has {last_id(earlier)}",
            earlier.first,
            later.first,
        )


def _is_overtaken(unit: Unit) -> bool:
    """Whether messages sent between those of the batch left before it, with ids of their own."""
    return unit.numbers[-1] - unit.numbers[0] >= len(unit.numbers)


def _on_one_session(earlier: Unit, later: Unit) -> bool:
    return earlier.sends[0][0] is later.sends[0][0]
