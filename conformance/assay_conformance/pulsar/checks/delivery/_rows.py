"""Delivery from end to end: the history as rows, judged by the same rules as any ledger.

The rows are made once for an attempt, after its last event, and every rule sees every row once.
"""

from __future__ import annotations

from itertools import chain, islice

from assay_conformance.checks.base import MAX_EXAMPLES, Check, View
from assay_conformance.ledger.from_history import Transcript, transcribe
from assay_conformance.ledger.from_history.evidence import HistoryJudged, judge_history
from assay_conformance.ledger.rules import Breach
from assay_conformance.model.event import Event, Fired, Received

MOST_EVENTS = 6
"""Events of a message that a finding names: send call, its end, stored, received, and received again."""


def ledger_of(view: View) -> HistoryJudged:
    """Return the judged rows, which are made at the first call."""
    if view.tracker.ledger is None:
        judged = {check.requirement for check in RowsCheck.__subclasses__()}
        transcript = transcribe(view.tracker.history, view.case, view.facts, asked=judged)
        view.tracker.ledger = judge_history(transcript, judged)
    return view.tracker.ledger


class RowsCheck(Check):
    """Reports what the rule of its requirement finds in the rows."""

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
        found = transcript.events.get((breach.stream, breach.seq))
        if found is None:
            found = [event for event in self.tracker.history if isinstance(event, Fired)]
        return tuple(sorted(found, key=lambda event: event.seq)[:MOST_EVENTS])
