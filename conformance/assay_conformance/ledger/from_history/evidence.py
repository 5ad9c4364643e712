"""What a history knows besides its rows: when an application was asking for messages."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
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
        self._away_us = _away_us(self._outages(transcript.small.epochs.values()), self.info.stall_us)

    def outages_of(self, sub: int) -> list[Epoch]:
        """Return the ends of connections and of brokers. A frame that is lost or changed stops nothing."""
        return self._outages(self.epochs_of(sub))

    def stall_us(self, epoch: Epoch) -> int:
        """Return how long without a message is a stall after this epoch.

        A client that has tried in vain for some time may let as long go by before it tries again: its pauses double
        (Backoff of the Java, C++ and Go clients).
        """
        return self.info.stall_us + self._away_us.get(epoch.epoch, 0)

    def watched(self, sub: int) -> bool:
        return self.small.subscriptions[sub].type != ONLY_CONTENT and sub not in self._limited

    def served_until(self, sub: int, from_us: int, until_us: int) -> bool:
        spans = [
            self._attention[one.consumer]
            for one in self.consumers_of(sub)
            if one.consumer in self._attention and one.t_from < until_us and self._end_of(one) > from_us
        ]
        asking = (any(begun <= from_us and until_us <= ended for begun, ended in asked) for asked in spans)
        return bool(spans) and all(asking) and super().served_until(sub, from_us, until_us)

    @staticmethod
    def _outages(epochs: Iterable[Epoch]) -> list[Epoch]:
        return [epoch for epoch in epochs if epoch.restart or epoch.action == OUTAGE]


def _away_us(outages: Iterable[Epoch], stall_us: int) -> dict[int, int]:
    """Return by epoch how long a client had been away when it was over.

    One outage that soon follows another goes on with it.
    """
    away: dict[int, int] = {}
    began_us, over_us = 0, -stall_us
    for epoch in sorted(outages, key=lambda one: one.t_from):
        if epoch.t_from >= over_us + stall_us:
            began_us = epoch.t_from
        if epoch.t_to is not None:
            over_us = max(over_us, epoch.t_to)
            away[epoch.epoch] = epoch.t_to - began_us
    return away


@dataclass(frozen=True, slots=True)
class HistoryJudged:
    """An attempt's rows, and the rules that have seen them, by requirement."""

    transcript: Transcript
    rules: Mapping[str, Rule]


def judge_history(transcript: Transcript, asked: Container[str]) -> HistoryJudged:
    """Judge a history by the rules of the requirements that are asked for."""
    rules = all_rules(HistoryEvidence(transcript), [rule for rule in RULES if rule.requirement in asked])
    return HistoryJudged(transcript, {rule.requirement: rule for rule in rules})
