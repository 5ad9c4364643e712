"""Grants of consumers whose queue size is known."""

from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.model.event import Event
from assay_conformance.pulsar.timeline import Grant, PermitAccount, Timeline


def later_grants(timeline: Timeline) -> Iterator[Grant]:
    """Yield every FLOW that is not the first of its session."""
    return (grant for account in timeline.accounts for grant in account.grants[1:])


def until_ns(account: PermitAccount, end: Event) -> int:
    """Return until when permits were due on a session: the application may have ended its consumer before `end`."""
    closing = None if account.consumer is None else account.consumer.closing
    return end.t_ns if closing is None else min(end.t_ns, closing.t_ns)
