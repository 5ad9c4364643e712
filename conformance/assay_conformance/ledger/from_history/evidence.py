"""What a history knows besides its rows: when an application was asking for messages."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass

from assay_conformance.ledger.from_history.subscribers import ONLY_CONTENT
from assay_conformance.ledger.from_history.transcript import OUTAGE, Transcript
from assay_conformance.ledger.judge import all_rules
from assay_conformance.ledger.lives import Evidence
from assay_conformance.ledger.rows import Epoch
from assay_conformance.ledger.rules import RULES, Rule


class HistoryEvidence(Evidence):
    """A consumer whose application does not ask gets nothing, and that is no stall; nor is it one when it keeps from
    the others what it was sent."""

    def __init__(self, transcript: Transcript) -> None:
        super().__init__(transcript.rows, transcript.small, transcript.info, transcript.sums)
        self._attention = transcript.attention
        self._limited = transcript.limited

    def outages_of(self, sub: int) -> list[Epoch]:
        """Ends of connections and of brokers. A frame that is lost or changed stops nothing."""
        return [epoch for epoch in self.epochs_of(sub) if epoch.restart or epoch.action == OUTAGE]

    def watched(self, sub: int) -> bool:
        return self.small.subscriptions[sub].type != ONLY_CONTENT and sub not in self._limited

    def served_from(self, sub: int, from_us: int) -> bool:
        until_us = from_us + self.info.stall_us
        spans = [
            self._attention[one.consumer]
            for one in self.consumers_of(sub)
            if one.consumer in self._attention and one.t_from < until_us and self._end_of(one) > from_us
        ]
        asking = (any(begun <= from_us and until_us <= ended for begun, ended in asked) for asked in spans)
        return bool(spans) and all(asking) and super().served_from(sub, from_us)


@dataclass(frozen=True, slots=True)
class HistoryJudged:
    """An attempt's rows, and the rules that have seen them, by requirement."""

    transcript: Transcript
    rules: Mapping[str, Rule]


def judge_history(transcript: Transcript, asked: Container[str]) -> HistoryJudged:
    """By the rules of the requirements that are asked for."""
    rules = all_rules(HistoryEvidence(transcript), [rule for rule in RULES if rule.requirement in asked])
    return HistoryJudged(transcript, {rule.requirement: rule for rule in rules})
