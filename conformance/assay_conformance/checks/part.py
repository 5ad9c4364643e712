"""Judging one part of a history: one pass over its events, then every check says what the whole of it shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from assay_conformance.checks.base import Check, Said, View, blame
from assay_conformance.checks.bench_facts import BenchFacts
from assay_conformance.checks.log_order import in_log_order
from assay_conformance.checks.routes import Table
from assay_conformance.checks.tracker import Tracker
from assay_conformance.history.client_words import translated
from assay_conformance.model.case import Case
from assay_conformance.model.event import Event
from assay_conformance.model.facts import ClientFacts
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.timeline import Timeline, TimelineCheck

Results = Mapping[RequirementId, Said]
"""What the checks said that have something to say of it."""


def judge_part(
    events: Iterable[Event], case: Case, facts: ClientFacts, checks: Iterable[type[Check]]
) -> tuple[Results, BenchFacts]:
    """Judge a part; return what was said, and what the bench's own events are.

    Nothing else that was made for this part is left of it.
    """
    view, results = View(case, facts, Tracker()), dict[RequirementId, Said]()
    judging = [check(view) for check in checks]
    attempt_end = run(translated(in_log_order(tuple(events)), case, facts), view, judging)
    for check in judging:
        if check.says_something:
            said = results[check.requirement] = Said()
            said.add(check)
    view.tracker.release()
    return results, attempt_end


def run(events: Sequence[Event], view: View, checks: Sequence[Check]) -> BenchFacts:
    """Pass once over the events in log order, after those that read ahead.

    Every check whose Case concerns it sees the events it has handlers for, then its `finish`.
    """
    tracker = view.tracker
    tracker.foresight.read(events)
    tracker.history = events
    attempt = BenchFacts(tracker.load)
    checks = [check for check in checks if check.concerned()]
    see, handlers = tracker.see, Table([attempt, *checks]).of
    for event in events:
        see(event)
        for handler in handlers(event):
            try:
                handler(event)
            except Exception as error:
                blame(handler, error)
    timeline = Timeline(view)
    for check in checks:
        if isinstance(check, TimelineCheck):
            check.timeline = timeline
        try:
            check.finish()
        except Exception as error:
            blame(check.finish, error)
    timeline.forget()
    exercised = {check.requirement for check in checks if check.exercised}
    if attempt.unfired(view.case) or not exercised.issuperset(view.case.requirements):
        attempt.look_for_causes(events, view.case)
    return attempt
