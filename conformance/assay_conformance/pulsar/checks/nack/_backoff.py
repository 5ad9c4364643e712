"""Negative acknowledgments whose delay grows with the redeliveries: each at its own time, whatever waits beside it.

Judged on subscriptions whose consumers share messages, where a request names what it is for; a message that was nacked
twice before it was requested may keep either time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from assay_conformance.checks.consumption import moves_to_dead_letter
from assay_conformance.checks.tracker import Call
from assay_conformance.model.event import Event
from assay_conformance.pulsar.checks.nack._windows import Window, backoff_window_of
from assay_conformance.pulsar.timeline import TOLERANCES, Consumer, Entry, Timeline
from assay_conformance.pulsar.timeline.moments import RedeliverWritten, SettleCalled, known_ns, taken

_LATE_NS: Final = TOLERANCES["nack-late"].slack_ns


@dataclass(frozen=True, slots=True)
class Growing:
    """A nack that waits for its time, until `event`: a REDELIVER, or what ends its session, where that came too
    late. `behind`: one that was nacked before it, and is due later."""

    call: Call
    window: Window
    event: Event
    behind: Growing | None = None

    @property
    def asked_ns(self) -> int:
        """When the application nacked it."""
        return self.call.invoke.t_ns

    def is_early(self, timeline: Timeline) -> bool:
        """Return whether it was requested before its time."""
        return timeline.bounds.is_before("nack-early", self.asked_ns + self.window.earliest_ns, self.event.t_ns)

    def is_late(self, timeline: Timeline) -> bool:
        """Return whether its time was over, counted from when the client knew of it."""
        since_ns = known_ns(self.call, self.event) or self.asked_ns
        return timeline.bounds.is_past("nack-late", since_ns + self.window.latest_ns, self.event.t_ns)


def backoffs(timeline: Timeline) -> Iterator[Growing]:
    """Yield every nack whose message was requested by its id, or was overdue when its session ended."""
    for consumer in timeline.nacking:
        if not moves_to_dead_letter(timeline.view, consumer):
            yield from _backoffs(timeline, consumer)


def _backoffs(timeline: Timeline, consumer: Consumer) -> Iterator[Growing]:
    """Yield the nacks of a consumer.

    `twice`: while the first nack waited. Which time they keep is not known, nor whether one request is for both, so the
    entry is not judged before the last of them is over. A nack that is called without a connection may wait beside the
    next one, and so may one that the end of a session left waiting.
    """
    waiting: dict[Entry, Growing] = {}
    twice: dict[Entry, int] = {}
    for moment in timeline.moments(consumer):
        if isinstance(moment, SettleCalled):
            entry, earlier = moment.entry, waiting.pop(moment.entry, None)
            # An acknowledgment of another message of its batch does not end a nack either.
            window = backoff_window_of(timeline.view, moment.call, timeline.redeliveries(moment.call.message))
            if earlier is not None or (moment.is_nack and moment.session is None):
                twice[entry] = moment.event.t_ns + (window.latest_ns if window is not None else 0) + _LATE_NS
            if moment.is_nack and window is not None and entry not in twice:
                growing = Growing(moment.call, window, moment.event)
                waiting[entry] = replace(growing, behind=_longer(growing, waiting))
        ended = [(entry, replace(one, event=moment.event)) for entry, one in taken(waiting, moment)]
        if isinstance(moment, RedeliverWritten):
            now_ns = moment.event.t_ns
            twice = {
                entry: until_ns for entry, until_ns in twice.items() if not moment.ends(entry) or now_ns < until_ns
            }
            yield from (one for _, one in ended if moment.named)
        else:
            twice |= {entry: one.asked_ns + one.window.latest_ns + _LATE_NS for entry, one in ended}
            yield from (one for _, one in ended if one.is_late(timeline))


def _longer(growing: Growing, waiting: dict[Entry, Growing]) -> Growing | None:
    latest_ns = growing.asked_ns + growing.window.latest_ns
    return next((one for one in waiting.values() if one.asked_ns + one.window.earliest_ns > latest_ns), None)
