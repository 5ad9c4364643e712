"""What is known of the messages an application holds, and of the time they may be held."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.model.event import Frame
from assay_conformance.pulsar.timeline import MS, Consumer, Entry, Timeline
from assay_conformance.pulsar.timeline.moments import Delivered, Dispatched, Moment, SessionOver

DEFAULT_TICK_MS = 1_000


class Span(NamedTuple):
    """When, after a message was delivered, it may and must be requested; without the tolerances."""

    least_ns: int
    most_ns: int
    even: bool
    """The time-out is a whole number of its ticks."""


def timed(timeline: Timeline) -> Iterator[tuple[Consumer, Span]]:
    """Yield every consumer with a time-out."""
    for consumer in timeline.consumers:
        timeout_ms = timeline.setting(consumer, "ack_timeout_ms")
        if timeout_ms:
            set_ms = timeline.setting(consumer, "ack_timeout_tick_ms") or DEFAULT_TICK_MS
            most_ms = timeout_ms + 2 * min(set_ms, timeout_ms)
            yield consumer, Span(timeout_ms * MS, most_ms * MS, even=timeout_ms % set_ms == 0)


class HeldStep(NamedTuple):
    """A moment, and the last MESSAGE of each entry on the sessions that run. `frame`: what a message came with that is
    delivered while its session runs; `is_sure`: that no other copy may be meant."""

    moment: Moment
    last: dict[Entry, Frame]
    frame: Frame | None = None
    is_sure: bool = False


def steps(timeline: Timeline, consumer: Consumer) -> Iterator[HeldStep]:
    """Yield the moments of a consumer, and what its messages came with."""
    last: dict[Entry, Frame] = {}
    copies: dict[Entry, int] = {}
    for moment in timeline.moments(consumer):
        step = HeldStep(moment, last)
        if isinstance(moment, SessionOver):
            for entry in [entry for entry in last if moment.ends(entry)]:
                del last[entry]
        elif isinstance(moment, Dispatched) and moment.event.to_receiver:
            copies[moment.entry] = copies.get(moment.entry, 0) + moment.event.messages
            last[moment.entry] = moment.event
        elif isinstance(moment, Delivered):
            frame, count = last.get(moment.entry), copies.get(moment.entry, 0)
            copies[moment.entry] = max(0, count - 1)
            if timeline.session_at(consumer, moment.entry.topic, moment.event) is not None:
                # Of two copies on their way it is not known which one this is, nor whether the first was thrown away.
                step = HeldStep(moment, last, frame, is_sure=frame is not None and count <= frame.messages)
        yield step
