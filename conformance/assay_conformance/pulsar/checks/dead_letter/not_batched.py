"""dead-letter.not-batched"""

from __future__ import annotations

from assay_conformance.checks.base import ms
from assay_conformance.checks.occasions import Setting
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.dead_letter._sending import Kind, Letter, LetterCheck


class NotBatched(LetterCheck):
    """A dead letter in a batch waits for company, and its original for the batch."""

    requirement = RequirementId("dead-letter.not-batched")
    needs = (Setting("consumer", "max_redeliver_count"),)

    def posted(self, letter: Letter) -> None:
        if letter.kind is not Kind.DEAD:
            return
        self.exercise(letter.frame)
        if letter.frame.meta is not None and letter.frame.meta.batch is not None:
            self.breach(
                "batched",
                f"{letter} left at {ms(letter.frame.t_ns)} in a batch of {letter.frame.meta.batch}; dead letters are "
                "sent without batching",
                letter.frame,
            )
