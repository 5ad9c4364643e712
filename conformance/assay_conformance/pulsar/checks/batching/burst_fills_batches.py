from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import groupby, pairwise
from typing import NamedTuple

from assay_conformance.pulsar.checks.batching._closing import between_flushes, flushes, is_alone
from assay_conformance.pulsar.checks.batching._costs import FRAMES_OVER
from assay_conformance.pulsar.checks.batching._limits import (
    Limits,
    admitted_by,
    in_one_frame,
    is_clear,
    limits_of,
)
from assay_conformance.pulsar.timeline import (
    MS,
    Exercised,
    Says,
    Send,
    Timeline,
    Unit,
    breach,
    check,
    ms,
)
from assay_conformance.tuning import Room, closing


class _Burst(NamedTuple):
    """Units of one partition with messages of one burst alone, of which a full batch holds `most`."""

    units: list[Unit]
    limits: Limits
    most: int
    since_ns: int


def _bursts(timeline: Timeline) -> Iterator[_Burst]:
    for handle in timeline.openings:
        limits, sends = limits_of(timeline.view, handle), timeline.sends_of(handle)
        if (
            limits is None
            or timeline.batches_by_key(handle)
            or not is_clear(timeline, handle)
            or _is_short(timeline, handle)
        ):
            continue
        for burst in between_flushes(sends, [call.seq for call in flushes(timeline, handle, "flush")]):
            yield from _of_burst(timeline, burst, in_one_frame(timeline.view, limits))


def _is_short(timeline: Timeline, handle: int) -> bool:
    """Return whether its queue or its client's memory may have filled."""
    queue = int(timeline.view.producer_setting(handle, "max_pending_messages") or 0)
    memory = int(timeline.view.client_setting(handle, "memory_limit_bytes") or 0)
    if 0 < queue < len(timeline.sends_of(handle)):
        return True
    return 0 < memory < sum(send.invoke.size or 0 for other in timeline.openings for send in timeline.sends_of(other))


def _of_burst(timeline: Timeline, sends: list[Send], limits: Limits) -> Iterator[_Burst]:
    calls = [send.called_ns for send in sends if send.called_ns is not None]
    sizes = {send.invoke.size or 0 for send in sends}
    if len(calls) < len(sends) or len(sizes) > 1 or any(is_alone(send) for send in sends):
        return
    if max(calls) - min(calls) >= limits.delay_ms * MS // 2:
        return
    room = Room(limits.messages or math.inf, limits.bytes or math.inf, limits.delay_ms)
    most = int(closing(room, max(sizes.pop(), 1))[1])
    first, last = sends[0].invoke.number or 0, sends[-1].invoke.number or 0
    left = {id(unit): unit for send in sends if (unit := timeline.unit_with(send)) is not None}
    inside = (unit for unit in left.values() if first <= unit.numbers[0] and unit.numbers[-1] <= last)
    known = [unit for unit in inside if timeline.view.is_read_at_once()]
    known.sort(key=lambda unit: (unit.line.topic, unit.index))
    for _, units in groupby(known, lambda unit: unit.line):
        yield _Burst(list(units), limits, most, min(calls))


@check("batching.burst-fills-batches", of=_bursts)
def burst_fills_batches(timeline: Timeline, burst: _Burst) -> Says:
    """batching.burst-fills-batches: messages that are sent faster than the publish delay closes a batch leave in as few
    frames as full batches need.

    A burst is what a producer was asked to send between two flushes, in less than half its delay, all of one size.
    """
    units, limits, most, since_ns = burst
    messages = sum(len(unit.numbers) for unit in units)
    fewest = math.ceil(messages / most)
    if fewest < 2 or not admitted_by(units[0], since_ns):
        return
    not_full = sum(not limits.reached_by(unit, after, headers=True) for unit, after in pairwise(units))
    if len(units) <= fewest + FRAMES_OVER or not not_full:
        yield Exercised(units[-1].first)
        return
    yield breach(
        "too-many-frames",
        f"{units[0].line}: {messages} messages, all sent by the application by {ms(since_ns)}; expected {fewest} "
        f"frames, full batches of {most}; they left in {len(units)}",
        *(units[0].first, units[-1].first),
    )
