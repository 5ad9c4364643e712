from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from assay_conformance.history.events import OPENS
from assay_conformance.model.event import Event, Frame
from assay_conformance.pulsar.outcomes.errors import BUSY
from assay_conformance.pulsar.timeline import MS, Exercised, Says, Timeline, breach, check, ms

GROWN = 4
"""How many first pauses the latest of another topic has come to, for a difference to show."""


class _Pause(NamedTuple):
    """Between a lookup that failed for now and the next one of its topic. `again`: None where none followed."""

    topic: str
    failed: Frame
    again: Frame | None
    is_first: bool

    @property
    def lasted_ns(self) -> int:
        return 0 if self.again is None else self.again.t_ns - self.failed.t_ns


class _Troubled(NamedTuple):
    """The first failure of a topic, after another topic whose pauses had grown."""

    pause: _Pause
    grown: _Pause
    first: _Pause
    """Of that other topic."""


def _pauses(timeline: Timeline, command: str) -> Iterator[_Pause]:
    """Yield the pauses by topic, in order."""
    asked = sorted(timeline.requests(command), key=lambda one: (timeline.local_topic(one.frame), one.frame.seq))
    for topic, requests in groupby(asked, key=lambda one: timeline.local_topic(one.frame)):
        found, is_first = list(requests), True
        for number, one in enumerate(found):
            failed, later = one.answer, (other.frame for other in found[number + 1 :])
            if failed is not None and failed.fields.get("error") in BUSY:
                again = next((frame for frame in later if frame.seq > failed.seq), None)
                yield _Pause(topic, failed, again, is_first)
                is_first = False


def _troubled(timeline: Timeline) -> Iterator[_Troubled]:
    for command in ("LOOKUP", "PARTITIONED_METADATA"):
        pauses = list(_pauses(timeline, command))
        firsts = {pause.topic: pause for pause in pauses if pause.is_first}
        for pause in firsts.values():
            before = (one for one in pauses if one.topic != pause.topic and one.failed.seq < pause.failed.seq)
            grown = max(before, key=lambda one: one.lasted_ns, default=None)
            if grown is not None and 0 < GROWN * firsts[grown.topic].lasted_ns <= grown.lasted_ns:
                yield _Troubled(pause, grown, firsts[grown.topic])


def _over(timeline: Timeline, failed: Frame) -> Event | None:
    """Return what makes another lookup needless: an opening ends, or the application begins to end what it has."""
    ends: list[Event] = [*timeline.ends(*OPENS), *timeline.leavings]
    return min((end for end in ends if end.seq > failed.seq), key=lambda end: end.seq, default=None)


@check("connection.lookup-backoff-per-topic", of=_troubled)
def lookup_backoff_per_topic(timeline: Timeline, troubled: _Troubled) -> Says:
    """connection.lookup-backoff-per-topic: after the first failed lookup of a topic the client waits for its initial
    back-off, however long the back-off of another topic has become.

    How long that may be is taken from the client itself: up to twice the initial back-off of the other topic.
    """
    pause, grown, first = troubled
    due_ns = pause.failed.t_ns + 2 * first.lasted_ns
    seen_ns = timeline.bounds.until(pause.again, _over(timeline, pause.failed))
    yield Exercised(pause.failed)
    if timeline.bounds.is_overdue("reconnect", pause.failed.t_ns, seen_ns, due_ns=due_ns, what="the next lookup"):
        came = "none came" if pause.again is None else f"it came {(seen_ns - pause.failed.t_ns) // MS} ms later"
        yield breach(
            "waits-for-another",
            f"the first lookup of topic {pause.topic} failed at {ms(pause.failed.t_ns)}; expected the next one after "
            f"about {first.lasted_ns // MS} ms, the first pause of topic {first.topic}; {came}; the pauses of topic "
            f"{grown.topic} had grown to {grown.lasted_ns // MS} ms",
            grown.failed,
            pause.failed,
            *(() if pause.again is None else (pause.again,)),
        )
