"""What the answer to a batch means for the messages inside."""

from __future__ import annotations

from assay_conformance.checks.base import Check, ms
from assay_conformance.checks.lines import Unit, is_duplicate
from assay_conformance.checks.occasions import Trait
from assay_conformance.model.event import Completion, Outcome
from assay_conformance.model.requirement import RequirementId


class SucceedsOrFailsAsOne(Check):
    """All messages of a batch end alike: each with success and its place in the entry, or none.

    A message that has not ended yet when the history does is not judged. An agent may leave out how many messages the
    batch has.
    """

    requirement = RequirementId("batching.succeeds-or-fails-as-one")
    needs = (Trait.BATCH,)

    def finish(self) -> None:
        lines = self.tracker.lines
        unclear = lines.foresight.unsure | lines.torn_sends | lines.forged_sends
        for line in lines.all:
            if line.handle is not None and line.handle not in unclear:
                for unit in line.units:
                    if len(unit.numbers) > 1:
                        self._judge(line.handle, unit)

    def _judge(self, handle: int, unit: Unit) -> None:
        sends = [self.tracker.send_of(handle, number) for number in unit.numbers]
        ends = [send.completion for send in sends if send is not None and send.completion is not None]
        good = [end for end in ends if end.outcome is Outcome.OK]
        if len(good) not in (0, len(ends)):
            bad = next(end for end in ends if end.outcome is not Outcome.OK)
            self.breach(
                "ends-differ",
                f"{unit.line}: of the batch at {ms(unit.first.t_ns)} (messages {unit.numbers[0]} to "
                f"{unit.numbers[-1]}) {len(good)} were reported as sent and {len(ends) - len(good)} as {bad.outcome}",
                unit.first,
                good[0],
                bad,
            )
        elif len(ends) == len(sends):
            self.exercise(unit.first)
        lines = self.tracker.lines
        # Whoever uses an id anew cannot tell the receipts of both.
        if not lines.forged_receipts and unit.line.handle not in lines.reuses_ids and unit.receipts:
            for index, send in enumerate(sends):
                if send is not None and send.completion in good:
                    self._place(unit, index, send.completion)

    def _place(self, unit: Unit, index: int, end: Completion | None) -> None:
        told = None if end is None else end.message_id
        named = [receipt.ids[0].position for receipt in unit.receipts if receipt.ids and not is_duplicate(receipt)]
        if end is None or told is None or told.is_duplicate_marker or not named:
            return
        place = f"{unit.line}: message {unit.numbers[index]} is number {index} of a batch of {len(unit.numbers)}"
        if told.batch_index != index or told.batch_size not in (0, len(unit.numbers)):
            of = f" of {told.batch_size}" if told.batch_size else ""
            self.breach(
                "wrong-place",
                f"{place}; it was reported as number {told.batch_index}{of} at {ms(end.t_ns)}",
                unit.first,
                end,
            )
        elif told.position not in named:
            self.breach(
                "wrong-entry",
                f"{place}; its receipt named entry {named[0]}, and it was reported as {told.position}",
                unit.receipts[0],
                end,
            )
