"""Judging one part of a history: the checks that fit it are shown its events, in one pass.

Of a long one they are shown it without its plain stretches (`plain`), and believed if they have nothing to say against
anybody. Those that are not passed over there (`Check.skips_plain`) see all of it. One that need not be held (`History`)
is held only where that does not tell enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from assay_conformance.checks.base import Check, Said, View, blame
from assay_conformance.checks.bench_facts import BenchFacts
from assay_conformance.checks.log_order import in_log_order
from assay_conformance.checks.occasions import met_by, occasions
from assay_conformance.checks.plain import LEAST, LONG, shortened
from assay_conformance.checks.routes import Table
from assay_conformance.checks.tracker import Tracker
from assay_conformance.history.rereading import Held, History
from assay_conformance.model.case import Case
from assay_conformance.model.event import Event
from assay_conformance.model.facts import ClientFacts
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.timeline import Timeline, TimelineCheck

Results = Mapping[RequirementId, Said]
"""What the checks that fit said."""


def judge_part(
    events: Iterable[Event] | History,
    case: Case,
    facts: ClientFacts,
    checks: Sequence[type[Check]],
    long: int = LONG,
    least: int = LEAST,
) -> tuple[Results, BenchFacts]:
    """What was said, and what the bench's own events are. Nothing else that was made for this part is left of it.
    `long`, `least`: as of `plain.shortened`."""

    def without_plain(history: History) -> tuple[Results, BenchFacts] | None:
        shorter = shortened(history, case, facts, long, least)
        return None if shorter is None else _judge_shorter(history, shorter, case, facts, checks)

    if isinstance(events, History) and (said := without_plain(events)) is not None:
        return said
    held = Held(in_log_order(tuple(events)))
    return without_plain(held) or _judge(held.events, case, facts, fitting(checks, held.events, case, facts))


def _judge_shorter(
    history: History,
    shorter: Sequence[Event],
    case: Case,
    facts: ClientFacts,
    checks: Sequence[type[Check]],
) -> tuple[Results, BenchFacts] | None:
    """None where that is not enough: there is something to look into, or a check has to see all, which is not held."""
    # What a plain stretch is an occasion for, the stretches that are left are, too.
    suited = fitting(checks, shorter, case, facts)
    results, attempt_end = _judge(shorter, case, facts, [check for check in suited if check.skips_plain])
    view = View(case, facts, Tracker(history=shorter))
    others = [check for check in suited if not check.skips_plain and check(view).concerned()]
    if others and isinstance(history, Held):
        results, others = {**results, **_judge(history.events, case, facts, others)[0]}, []
    return None if others or not _is_clear(results, case) else (results, attempt_end)


def _is_clear(results: Results, case: Case) -> bool:
    """No finding, no doubt, and each requirement of the Case was exercised."""
    doubted = any(said.findings or said.undecided_because or said.crashed for said in results.values())
    return not doubted and all(said.exercised for one, said in results.items() if one in case.requirements)


def _judge(
    events: Sequence[Event], case: Case, facts: ClientFacts, checks: Iterable[type[Check]]
) -> tuple[Results, BenchFacts]:
    view, results = View(case, facts, Tracker()), dict[RequirementId, Said]()
    judging = [check(view) for check in checks]
    attempt_end = run(events, view, judging)
    for check in judging:
        said = results[check.requirement] = Said()
        said.add(check)
    view.tracker.let_go()
    return results, attempt_end


def fitting(
    checks: Iterable[type[Check]], events: Sequence[Event], case: Case, facts: ClientFacts
) -> list[type[Check]]:
    """Those whose needs this history meets: the others have nothing to say of it."""
    met = occasions(events, case, facts)
    return [check for check in checks if met_by(check.needs, met)]


def run(events: Sequence[Event], view: View, checks: Sequence[Check]) -> BenchFacts:
    """One pass over events in log order, after those that read ahead: every check whose Case concerns it sees the
    events it has handlers for, then its `finish`. What these need has been met."""
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
    timeline.let_go()
    return attempt
