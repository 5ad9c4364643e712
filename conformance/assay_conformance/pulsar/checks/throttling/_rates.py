"""Which limiters a check is about, and when a machine allows to judge them."""

from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.checks.base import View
from assay_conformance.model.event import Frame
from assay_conformance.pulsar.timeline import Limiter, Timeline, levels_of, unchanged_topics


def has_rates(view: View) -> bool:
    """Return whether some topic has a rate that can be judged."""
    return view.once(_has_rates)


def _has_rates(view: View) -> bool:
    return any(levels_of(view, topic) for topic in unchanged_topics(view))


def throttles_all(view: View) -> bool:
    """Return whether a broker throttles consumers without a backlog as well, and there are rates.

    On another one only `throttling.no-backlog-not-throttled` is judged.
    """
    return view.case.topology.settings.throttles_caught_up and has_rates(view)


def plain_limiters(timeline: Timeline) -> Iterator[Limiter]:
    """Yield the limiters with a period of a second, and without another level that is involved."""
    return (limiter for limiter in timeline.limiters if limiter.level.is_plain)


def check_measured(timeline: Timeline, first: Frame, last: Frame, until_ns: int = 0) -> None:
    """Raise `TooBusyError` unless the machine was quiet and the broker served this Case only, from `first` to `last`,
    or to `until_ns` where something did not come.

    A stall may move dispatches of two periods together, never apart. What a broker dispatches for other Cases meanwhile
    may be charged here: in Pulsar the dispatcher of one active consumer reads the number of sent messages when they are
    written, and by then its thread may have counted another topic's (SendMessageInfo is a thread local).
    """
    until_ns = max(last.t_ns, until_ns)
    what = "which period of a rate something belongs to"
    timeline.bounds.check_quiet("rate", first.t_ns, until_ns, what=what)
    timeline.bounds.check_alone(first.t_ns, until_ns)
