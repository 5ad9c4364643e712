"""What batches save: frames, bytes, and what they cost in time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from typing import NamedTuple

from assay_conformance.model.event import Outcome
from assay_conformance.pulsar.checks.batching._closing import flushes
from assay_conformance.pulsar.checks.batching._limits import Limits, is_clear, limits_of, units_read_at_once
from assay_conformance.pulsar.timeline import Send, Timeline, Unit
from assay_conformance.pulsar.timeline.handlers import done_ns

FRAMES_OVER = 1
"""A batch may have been open when the first message of a burst came, or its timer due."""

BYTES_OVER = 1.02
FEWEST_MESSAGES = 10
"""Of fewer, a message more or less in a batch says more than the settings do."""


class Cost(NamedTuple):
    """What a producer's messages cost on the wire and in time."""

    handle: int
    limits: Limits
    load: tuple[object, ...]
    """What must be alike for two costs to be compared, and so must be the messages `sent`, each by what it weighs."""
    sent: tuple[tuple[str, ...], ...]
    units: tuple[Unit, ...]
    waited_ns: float
    """From a message's call to its end, on average."""

    @property
    def messages(self) -> int:
        return sum(len(unit.numbers) for unit in self.units)

    @property
    def bytes(self) -> int:
        return sum(unit.first.size for unit in self.units)

    @property
    def full(self) -> tuple[Unit, ...]:
        return tuple(unit for unit in self.units if len(unit.numbers) == self.limits.messages)


def compared(timeline: Timeline) -> Iterator[tuple[Cost, Cost]]:
    """Yield both orders of every pair of producers with alike messages that batch differently.

    Each was given the same messages and sent every one of them. Only what was not flushed in between counts: flushes
    cut batches alike, whatever their limits are.
    """
    openings = timeline.openings if len(timeline.openings) > 1 and timeline.batches else ()
    costs = [cost for handle in openings for cost in _cost(timeline, handle)]
    alike = (pair for pair in permutations(costs, 2) if pair[0].load == pair[1].load and pair[0].sent == pair[1].sent)
    yield from alike


def _cost(timeline: Timeline, handle: int) -> Iterator[Cost]:
    view, sends = timeline.view, timeline.sends_of(handle)
    limits = limits_of(view, handle)
    if (
        limits is None
        or not is_clear(timeline, handle)
        or len(sends) < FEWEST_MESSAGES
        or _is_flushed(timeline, handle)
    ):
        return
    ends = [send.completion for send in sends if send.completion is not None]
    waits = [done_ns(end) - end.called_ns for end in ends if end.called_ns is not None]
    if len(waits) < len(sends) or any(end.outcome is not Outcome.OK for end in ends):
        return
    all_units = list(units_read_at_once(view, handle))
    load = (
        view.producer_setting(handle, "compression") or "NONE",
        view.producer_setting(handle, "batching_type"),
        len({unit.line.topic for unit in all_units}),
    )
    sent = tuple(sorted(tuple(str(_of_message(send, name)) for name in _WEIGHING) for send in sends))
    units = tuple(unit for unit in all_units if unit.numbers)
    yield Cost(handle, limits, load, sent, units, sum(waits) / len(waits))


def _is_flushed(timeline: Timeline, handle: int) -> bool:
    """Return whether it is flushed, by a flush or a synchronous send, with messages after it."""
    last = timeline.sends_of(handle)[-1].invoke
    return any(call.seq < last.seq for call in flushes(timeline, handle, "flush"))


_WEIGHING = ("size", "key", "properties", "event_time_ms")
"""What makes a message larger."""


def _of_message(send: Send, name: str) -> object:
    return send.invoke.size if name == "size" else send.invoke.args.get(name)
