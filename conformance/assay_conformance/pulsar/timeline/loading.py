"""Loads of topics by brokers, at which everything kept only in memory is lost."""

from __future__ import annotations

from assay_conformance.checks.loading import BrokerEnds, Loads
from assay_conformance.history.events import Events, in_order
from assay_conformance.model.case import Case
from assay_conformance.model.event import Fired, Stepped


def reloads(case: Case, events: Events, topic: str) -> list[Stepped | Fired]:
    """Return the steps and faults of a Case that load a topic again, as they happened, in order."""
    loads, found = Loads(case), list[Stepped | Fired]()
    happened: list[Stepped | Fired] = [*events.of(Fired), *(step for step in events.of(Stepped) if not step.skipped)]
    for event in in_order(happened):
        before = loads.of(topic)
        loads.see(event)
        if loads.of(topic) > before:
            found.append(event)
    return found


def ends_of_brokers(case: Case, events: Events) -> list[Stepped | Fired]:
    """Return the steps and faults of a Case that ended a broker, as they happened, in order."""
    ends = BrokerEnds(case)
    happened: list[Stepped | Fired] = [*events.of(Fired), *events.of(Stepped)]
    return [event for event in in_order(happened) if ends.see(event)] if ends.possible else []
