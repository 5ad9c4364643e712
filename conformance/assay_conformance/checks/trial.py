"""Trying one check on a history: the shortest way from events to what it said."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import msgspec

from assay_conformance.checks.base import Check, View
from assay_conformance.checks.log_order import in_log_order
from assay_conformance.checks.part import run
from assay_conformance.checks.tracker import Tracker
from assay_conformance.history.client_words import translated
from assay_conformance.model.case import Case
from assay_conformance.model.event import Event, Invoke
from assay_conformance.model.facts import ClientFacts
from assay_conformance.pulsar.timeline.sends import RESENDS

C = TypeVar("C", bound=Check)

ANY_CASE = Case(id="test/case", title="A history by hand", requirements=(), steps=())
ANY_CLIENT = ClientFacts(agent="test", client="test-client", client_version="1", capabilities=frozenset({RESENDS}))


def trial(check: type[C], events: Iterable[Event], case: Case = ANY_CASE, facts: ClientFacts | None = None) -> C:
    """Return the check after it has seen these events, with its findings, examples and exercised count.

    What it raises comes out. Without facts it is about a client that takes whatever the Case or the history configures,
    and sends again.
    """
    events = tuple(events)
    facts = facts or _taking(case, events)
    events = translated(events, case, facts)
    view = View(case, facts, Tracker())
    judging = check(view)
    run(in_log_order(events), view, [judging])
    if judging.crashed is not None:
        raise judging.crashed
    return judging


def _taking(case: Case, events: Iterable[Event]) -> ClientFacts:
    config = case.config
    configs = [config.client, config.producer, config.consumer]
    configs += [event.args.get("config", {}) for event in events if isinstance(event, Invoke)]
    return msgspec.structs.replace(ANY_CLIENT, settable=frozenset().union(*configs))
