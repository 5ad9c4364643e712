"""Delivery from end to end: the history as rows, judged by the same rules as any ledger.

The rows are made once an attempt, behind its last event, and every rule sees every row once.
"""

from __future__ import annotations

from itertools import chain, islice

from assay_conformance.checks.base import MAX_EXAMPLES, Check, View
from assay_conformance.ledger.from_history import Transcript, transcribe
from assay_conformance.ledger.from_history.evidence import HistoryJudged, judge_history
from assay_conformance.ledger.rules import Breach
from assay_conformance.model.event import Event, Fired, Received

MOST_EVENTS = 6
"""Events of a message that a finding names: asked for, told, stored, delivered, and delivered again."""


def ledger_of(view: View) -> HistoryJudged:
    """Made when it is asked for first."""
    if view.tracker.ledger is None:
        asked = {check.requirement for check in RowsCheck.__subclasses__()}
        transcript = transcribe(view.tracker.history, view.case, view.facts, asked=asked)
        view.tracker.ledger = judge_history(transcript, asked)
    return view.tracker.ledger


class RowsCheck(Check):
    """Says what the rule of its requirement says of the rows."""

    skips_plain = True

    def finish(self) -> None:
        ledger = ledger_of(self.view)
        rule = ledger.rules[self.requirement]
        self.exercised = rule.exercised()
        if self.exercised:
            events = chain.from_iterable(ledger.transcript.events.values())
            self.examples = list(islice((e.seq for e in events if isinstance(e, Received)), MAX_EXAMPLES))
        for breach in rule.breaches:
            self.judge(breach, self._events(breach, ledger.transcript))
        if rule.doubt:
            self.undecided(rule.doubt)

    def judge(self, breach: Breach, events: tuple[Event, ...]) -> None:
        self.breach(breach.code, breach.sentence, *events)

    def _events(self, breach: Breach, transcript: Transcript) -> tuple[Event, ...]:
        told = transcript.events.get((breach.stream, breach.seq))
        if told is None:
            told = [event for event in self.tracker.history if isinstance(event, Fired)]
        return tuple(sorted(told, key=lambda event: event.seq)[:MOST_EVENTS])
