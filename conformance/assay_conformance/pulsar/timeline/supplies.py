"""When a broker could have dispatched to subscriptions: a backlog, and permits for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from assay_conformance.checks.base import View
from assay_conformance.history.events import Events, in_order
from assay_conformance.model.event import Frame, Stored
from assay_conformance.pulsar.timeline.consumers import ConsumerSession, ConsumerSessions
from assay_conformance.pulsar.timeline.limiters import counted
from assay_conformance.pulsar.timeline.permits import PermitAccount, charged


@dataclass(slots=True, eq=False)
class Supply:
    """When one subscription had a backlog and permits. `session`: its first; `exhausted_ns`: when it first had no
    backlog or no permits; `is_unclear`: another consumer was sent something as well, or something was redelivered."""

    session: ConsumerSession
    sent: int = 0
    exhausted_ns: int | None = None
    is_unclear: bool = False


def supplies(
    view: View, events: Events, sessions: ConsumerSessions, account_of: Callable[[ConsumerSession], PermitAccount]
) -> dict[tuple[str, str], Supply]:
    """Return the supplies by topic and subscription. `account_of`: the permits of a session as its broker keeps
    them."""
    found: dict[tuple[str, str], Supply] = {}
    stored: Counter[str] = Counter()
    seen: list[Stored | Frame] = [*events.of(Stored), *events.frames("MESSAGE")]
    for event in in_order(seen):
        if isinstance(event, Stored):
            stored[event.topic] += counted(view, event.meta.messages)
            continue
        session = sessions.of(event)
        if session is None or not event.at_broker:
            continue
        supply = found.setdefault((session.topic, session.subscription), Supply(session))
        supply.is_unclear = supply.is_unclear or supply.session is not session or bool(event.redelivery_count)
        supply.sent += counted(view, event.messages)
        permits = account_of(session).available_before[event.seq].available - charged(event)
        if supply.exhausted_ns is None and (permits <= 0 or supply.sent >= stored[session.topic]):
            supply.exhausted_ns = event.t_ns
    return found
